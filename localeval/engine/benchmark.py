"""Measure what a token costs on this machine with a model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from localeval.engine.architectures import Architecture, find_architecture
from localeval.engine.batching import BatchToken
from localeval.engine.interface import TokenUsage
from localeval.engine.llama import Llama
from localeval.engine.settings import EngineSettings

PROMPT_TOKENS = 512  # of the text whose tokens are measured together
SEQUENCES = 32  # texts that are continued together
STEPS = 8  # tokens by which each text is continued


class Speed(NamedTuple):
    """Seconds of a token or call.

    prefill     a token of one text of 512 tokens, in calls of n_batch
    token       a token of a call with one token for each of 32 texts
    step        a call of a single token
    read_share  share of `prefill` that a token takes which only the lower layers read, not measured
    """

    prefill: float
    token: float
    step: float
    read_share: float = Architecture.read_share

    def cost(self, spent: TokenUsage) -> float:
        """Estimate the seconds of these tokens, wrong guesses included, in calls of the best size.

        >>> Speed(0.01, 0.02, 0.05).cost(TokenUsage(context=80, items=40, decoded=10, guessed=5))
        1.5
        >>> Speed(0.01, 0.02, 0.05, read_share=0.5).cost(TokenUsage(read=100))
        0.5
        """
        prompt_tokens = spent.given - (1 - self.read_share) * spent.read
        return prompt_tokens * self.prefill + (spent.decoded + spent.guessed) * self.token


def measure(path: Path, settings: EngineSettings | None = None, behind: int = 0) -> Speed:
    """Measure with a model file, in some ten seconds, while no other process is busy: it would slow down all.

    `behind` is the number of tokens in the cache before each call. Every token attends to all of them, so
    one after a run's worked examples costs more than one in an empty cache.
    """
    with closing(Llama(path, settings or EngineSettings())) as llama:
        sequences = min(SEQUENCES, llama.n_sequences - 1)
        token = llama.tokenize(b"the")[0]
        if behind:
            llama.decode([BatchToken(token, i, (0,), False) for i in range(behind)])
        last = PROMPT_TOKENS - 1
        prompt = [BatchToken(token, behind + i, (0,), i == last) for i in range(PROMPT_TOKENS)]
        together = _steps(token, sequences, behind)
        alone = _steps(token, 1, behind)
        return Speed(
            prefill=_best_of_two(llama, [prompt], sequences, behind) / PROMPT_TOKENS,
            token=_best_of_two(llama, together, sequences, behind) / STEPS / sequences,
            step=_best_of_two(llama, alone, sequences, behind) / STEPS,
            read_share=find_architecture(llama.architecture()).read_share,
        )


def _steps(token: int, sequences: int, behind: int) -> list[list[BatchToken]]:
    """Return the calls that continue so many sequences by `STEPS` tokens, one in each call."""
    return [
        [BatchToken(token, position, (sequence,), True) for sequence in range(1, sequences + 1)]
        for position in range(behind, behind + STEPS)
    ]


def _best_of_two(llama: Llama, calls: Sequence[Sequence[BatchToken]], sequences: int, behind: int) -> float:
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
