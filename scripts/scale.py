"""Memory and own time of a long run: synthetic samples through an engine that decodes nothing.

    scripts/scale [SAMPLES] [--profile]

Prints how far the peak of memory rose above the start, and the processor time a sample that is localeval's
own: without the engine, the embedder, fsync, and the sentence splitter, in whose place a plain one stands.
Exit 1 where the one is above 150 MB or the other above 3 ms.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from localeval import evaluate, rescore
from localeval.judgements import windows
from localeval.runs.folder import load
from localeval.samples import Sample
from localeval.text import claims, overlap
from localeval.text.sentences import Sentence
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

MOST_MEGABYTES, MOST_MILLISECONDS = 150, 3
METRICS = ["faithfulness", "answer_relevance", "context_relevance"]
WORDS = [a + b + c for b in ("a", "e", "i", "ou") for a in "btkmrlsdn" for c in ("l", "nd", "rk", "st", "m")]


def sentence(seed: int) -> str:
    """About 65 characters, another one for each seed; some words are in most sentences, most are in few."""
    drawn = random.Random(seed)  # noqa: S311
    picked = [WORDS[int(len(WORDS) * drawn.random() ** 3)] for _ in range(9)]
    return f"The {' '.join(picked)} of the {seed % 97}."


def samples(number: int) -> Iterator[Sample]:
    for i in range(number):
        told = " ".join(sentence(i * 40 + j) for j in range(20))
        yield Sample(
            id=str(i),
            user_input=f"What was the {WORDS[i % len(WORDS)]} of {i}?",
            response=" ".join(sentence(i * 40 + j) for j in range(10))[:600],
            retrieved_contexts=[told[:650], told[650:1300]],
        )


def plain(text: str) -> list[Sentence]:
    return [Sentence(m[0], m.start(), m.end()) for m in re.finditer(r"[^ .][^.]*\.?", text)]


def peak() -> float:
    """Most memory that this process ever had, MB."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


class Apart:
    """Seconds spent in what is not counted."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                self.seconds[name] = self.seconds.get(name, 0) + time.thread_time() - start

        return run


def main(number: int, profiled: bool) -> bool:
    """Whether memory and time stay within their bars."""
    apart = Apart()
    for module in (overlap, claims, windows):
        if hasattr(module, "split"):
            module.split = apart.timed("splitter", plain)
    os.fsync = apart.timed("fsync", os.fsync)
    SteadyEngine.generate = apart.timed("engine", SteadyEngine.generate)  # type: ignore[method-assign]
    SteadyEmbedder.embed = apart.timed("engine", SteadyEmbedder.embed)  # type: ignore[method-assign]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        source = Path(name) / "data.jsonl"
        with source.open("w") as file:
            file.writelines(s.model_dump_json(exclude_none=True) + "\n" for s in samples(number))
        evaluate(list(samples(3)), METRICS, steady_judge(SteadyEngine()))  # what is imported once
        apart.seconds.clear()
        profile = cProfile.Profile(time.thread_time)
        before, start = peak(), time.thread_time()
        if profiled:
            profile.enable()
        evaluate(str(source), METRICS, steady_judge(SteadyEngine()), folder)
        profile.disable()
        spent = time.thread_time() - start
        own, risen = spent - sum(apart.seconds.values()), peak() - before
        print(f"{number} samples: memory {risen:.0f} MB above the start ({before:.0f} MB)")
        for what, seconds in {"own work": own, **apart.seconds}.items():
            print(f"  {what}: {1000 * seconds / number:.2f} ms a sample")
        if profiled:
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        else:
            more(folder, source)
        return risen <= MOST_MEGABYTES and 1000 * own / number <= MOST_MILLISECONDS


def more(folder: Path, source: Path) -> None:
    """What a second call, reading back and scoring again take."""
    again("second call", lambda: evaluate(str(source), METRICS, steady_judge(SteadyEngine()), folder))
    again("load", lambda: load(folder))
    again("rescore", lambda: rescore(folder, threshold=0.6))
    print(f"  journal: {(folder / 'journal.jsonl').stat().st_size / 1e6:.0f} MB")


def again(what: str, function: Callable[[], Any]) -> None:
    start = time.thread_time()
    function()
    print(f"  {what}: {time.thread_time() - start:.1f} s")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    sys.exit(not main(numbers[0] if numbers else 20_000, "--profile" in sys.argv))
