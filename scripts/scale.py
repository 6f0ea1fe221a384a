"""Memory and own time of a long run: synthetic samples through an engine that decodes nothing.

    scripts/scale [SAMPLES] [--profile]
    scripts/scale [SAMPLES] --workers 8 [--ray ADDRESS]

Prints how far the peak of memory rose above the start, and the processor time a sample that is localeval's
own: without the engine, the embedder, fsync, and the sentence splitter, in whose place a plain one stands.
Exit 1 where the one is above 150 MB or the other above 3 ms.

With workers, each sample takes its engine 50 ms, and what is printed is the share of the time, from its first
sample to its last, that a worker was busy: how well the driver feeds them. Exit 1 below 95 %, on Ray 90 %.
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
from functools import partial
from pathlib import Path
from typing import Any

from localeval import Judge, evaluate, rescore
from localeval.judgements import windows
from localeval.runs import workers
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


class SlowEngine(SteadyEngine):
    """Takes 50 ms for a sample: its statements are asked for once in each."""

    def generate(self, *given: Any, **named: Any) -> Any:
        if given[3].__name__ == "StatementsReply":
            time.sleep(0.05)
        return super().generate(*given, **named)


def watched_judge(log: Path) -> Judge:
    """Make a judge that notes, in a worker, when it began and ended each sample."""
    answer = workers.answer

    def noted(judge: Judge, task: workers.Task) -> workers.Answer:
        start = time.time()
        found = answer(judge, task)
        with log.open("a") as file:
            file.write(f"{os.getpid()} {start} {time.time()}\n")
        return found

    for name in ("workers", "cluster"):
        if module := sys.modules.get(f"localeval.runs.{name}"):
            module.answer = noted  # type: ignore[attr-defined]
    judge = steady_judge(SlowEngine())
    judge.loader = partial(watched_judge, log)
    return judge


def feed(number: int, team: int, ray: str | None) -> bool:
    """Whether the driver keeps so many workers busy."""
    with tempfile.TemporaryDirectory() as name:
        log, start = Path(name) / "log", time.process_time()
        evaluate(
            list(samples(number)), METRICS, watched_judge(log), Path(name) / "run", workers=team, ray=ray
        )
        own = time.process_time() - start  # of all its threads: one waits for each worker
        spans: dict[str, list[tuple[float, float]]] = {}
        for line in log.read_text().splitlines():
            pid, began, ended = line.split()
            spans.setdefault(pid, []).append((float(began), float(ended)))
    took = {pid: sum(b - a for a, b in of) for pid, of in spans.items()}
    whole = {pid: max(b for _, b in of) - min(a for a, _ in of) for pid, of in spans.items()}
    busy = sum(took.values()) / sum(whole.values())
    print(f"{number} samples, {len(spans)} workers: busy {busy:.1%} of {max(whole.values()):.0f} s")
    inside, own = 1000 * sum(took.values()) / number, 1000 * own / number
    print(f"  a sample: {inside:.0f} ms in a worker, {own:.1f} ms in the driver")
    return busy >= (0.95 if ray is None else 0.90)


def main(number: int, profiled: bool) -> bool:
    """Whether memory and time stay within their bars."""
    apart = Apart()
    for module in (overlap, claims, windows):
        if hasattr(module, "split_sentences"):
            module.split_sentences = apart.timed("splitter", plain)
    os.fsync = apart.timed("fsync", os.fsync)
    for name in ("generate", "count", "read"):
        setattr(SteadyEngine, name, apart.timed("engine", getattr(SteadyEngine, name)))
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


def option(name: str) -> str | None:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else None


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:2] if word.isdigit()]
    number, team = (numbers[0] if numbers else 20_000), int(option("--workers") or 0)
    sys.exit(not (feed(number, team, option("--ray")) if team else main(number, "--profile" in sys.argv)))
