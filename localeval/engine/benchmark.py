"""What a token costs on this machine, measured with a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from localeval.engine.batching import BatchToken
from localeval.engine.interface import EngineSettings, TokenUsage
from localeval.engine.llama import Llama

BATCH, SEQUENCES, STEPS = 512, 32, 8

READ_SHARE = 0.58  # of a token's time, where it is read through the layers that a head needs: 16 of 28


class Speed(NamedTuple):
    """Seconds.

    prefill  a token of 512 of one text, in calls of n_batch
    token    a token of a call of one each for 32 texts
    step     a call of one token, alone
    """

    prefill: float
    token: float
    step: float

    def cost(self, spent: TokenUsage) -> float:
        """Reckon the seconds of these tokens in calls of the best size, wrong guesses and all.

        >>> Speed(0.01, 0.02, 0.05).cost(TokenUsage(context=80, items=40, decoded=10, guessed=5))
        1.5
        """
        given = (spent.given - (1 - READ_SHARE) * spent.read) * self.prefill
        return given + (spent.decoded + spent.guessed) * self.token


def measure(path: Path, settings: EngineSettings | None = None, behind: int = 0) -> Speed:
    """Calibrate on a model file, in some ten seconds. Run it alone: another busy process multiplies all.

    `behind` is how many tokens stand in the cache before each call. Every token attends to all of them, so
    that one behind a run's worked examples costs more than one in an empty cache.
    """
    with closing(Llama(path, settings or EngineSettings())) as llama:
        sequences = min(SEQUENCES, llama.n_sequences - 1)
        token = llama.tokenize(b"the")[0]
        text = [BatchToken(token, behind + i, (0,), i == BATCH - 1) for i in range(BATCH)]
        if behind:
            llama.decode([BatchToken(token, i, (0,), False) for i in range(behind)])

        def best_of_two(calls: Sequence[list[BatchToken]]) -> float:
            """Time the calls after a run that warms up: what disturbs a run only makes it longer."""
            found = []
            for _ in range(3):
                llama.drop(0, behind)
                for sequence in range(1, sequences + 1):
                    llama.drop(sequence)
                    llama.fork(0, sequence)
                start = time.perf_counter()
                for batch in calls:
                    llama.decode(batch)
                found.append(time.perf_counter() - start)
            return min(found[1:])

        def steps(n: int) -> list[list[BatchToken]]:
            places = range(behind, behind + STEPS)
            return [[BatchToken(token, place, (one,), True) for one in range(1, n + 1)] for place in places]

        return Speed(
            best_of_two([text]) / BATCH,
            best_of_two(steps(sequences)) / STEPS / sequences,
            best_of_two(steps(1)) / STEPS,
        )
