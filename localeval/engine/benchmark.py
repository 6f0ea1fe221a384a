"""Measure what a token costs on this machine with a model."""

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

READ_SHARE = 0.58  # of a token's time, for a token read through the layers that a head needs: 16 of 28


class Speed(NamedTuple):
    """Seconds of a token or call.

    prefill  a token of one text of 512 tokens, in calls of n_batch
    token    a token of a call with one token for each of 32 texts
    step     a call of a single token
    """

    prefill: float
    token: float
    step: float

    def cost(self, spent: TokenUsage) -> float:
        """Estimate the seconds of these tokens, wrong guesses included, in calls of the best size.

        >>> Speed(0.01, 0.02, 0.05).cost(TokenUsage(context=80, items=40, decoded=10, guessed=5))
        1.5
        >>> Speed(0.01, 0.02, 0.05).cost(TokenUsage(read=100))  # 16 of 28 are 0.57
        0.58
        """
        prefill = (spent.given - (1 - READ_SHARE) * spent.read) * self.prefill
        return prefill + (spent.decoded + spent.guessed) * self.token


def measure(path: Path, settings: EngineSettings | None = None, behind: int = 0) -> Speed:
    """Measure with a model file, in some ten seconds, while no other process is busy: it would slow down all.

    `behind` is the number of tokens in the cache before each call. Every token attends to all of them, so
    one after a run's worked examples costs more than one in an empty cache.
    """
    with closing(Llama(path, settings or EngineSettings())) as llama:
        sequences = min(SEQUENCES, llama.n_sequences - 1)
        token = llama.tokenize(b"the")[0]
        text = [BatchToken(token, behind + i, (0,), i == BATCH - 1) for i in range(BATCH)]
        if behind:
            llama.decode([BatchToken(token, i, (0,), False) for i in range(behind)])

        def best_of_two(calls: Sequence[list[BatchToken]]) -> float:
            """Return the seconds of the faster of two runs after a warm-up: a disturbance only adds time."""
            seconds = []
            for _ in range(3):
                llama.drop(0, behind)
                for sequence in range(1, sequences + 1):
                    llama.drop(sequence)
                    llama.fork(0, sequence)
                start = time.perf_counter()
                for batch in calls:
                    llama.decode(batch)
                seconds.append(time.perf_counter() - start)
            return min(seconds[1:])

        def steps(n: int) -> list[list[BatchToken]]:
            positions = range(behind, behind + STEPS)
            return [[BatchToken(token, p, (s,), True) for s in range(1, n + 1)] for p in positions]

        return Speed(
            best_of_two([text]) / BATCH,
            best_of_two(steps(sequences)) / STEPS / sequences,
            best_of_two(steps(1)) / STEPS,
        )
