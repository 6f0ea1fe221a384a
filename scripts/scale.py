"""Measure memory and overhead of a long run: synthetic samples through an engine that decodes nothing.

    scripts/scale [SAMPLES] [--profile]
    scripts/scale [SAMPLES] --workers 8 [--ray ADDRESS]

Prints how far peak memory rose above the start, and localeval's own processor time per sample: without the
engine, the embedder, fsync, and the sentence splitter, which is replaced by a plain one. Exit 1 if memory
rose by more than 150 MB or a sample took more than 3 ms.

With workers, the engine takes 50 ms per sample, and the script prints the share of the time from its first
sample to its last in which a worker was busy: how well the driver feeds them. Exit 1 below 95 %, on Ray 90 %.
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
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click

from localeval import Judge, evaluate, rescore
from localeval.claims import evidence, units
from localeval.judgements import windows
from localeval.runs import workers
from localeval.runs.folder import load
from localeval.samples import Sample
from localeval.text.sentences import Sentence
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

MAX_MEGABYTES = 150
MAX_MILLISECONDS = 3  # a sample
MIN_BUSY_SHARE = 0.95
MIN_BUSY_SHARE_ON_RAY = 0.90
METRICS = ["faithfulness", "answer_relevance", "context_relevance"]
WORDS = [
    first + vowel + last
    for vowel, first, last in product(("a", "e", "i", "ou"), "btkmrlsdn", ("l", "nd", "rk", "st", "m"))
]


def sentence(seed: int) -> str:
    """Return about 65 characters, different for each seed; a few words are in most sentences, most in few."""
    drawn = random.Random(seed)  # noqa: S311
    picked = [WORDS[int(len(WORDS) * drawn.random() ** 3)] for _ in range(9)]
    return f"The {' '.join(picked)} of the {seed % 97}."


def samples(number: int) -> Iterator[Sample]:
    for i in range(number):
        context = " ".join(sentence(i * 40 + j) for j in range(20))
        yield Sample(
            id=str(i),
            user_input=f"What was the {WORDS[i % len(WORDS)]} of {i}?",
            response=" ".join(sentence(i * 40 + j) for j in range(10))[:600],
            retrieved_contexts=[context[:650], context[650:1300]],
        )


def plain(text: str) -> list[Sentence]:
    return [Sentence(m[0], m.start(), m.end()) for m in re.finditer(r"[^ .][^.]*\.?", text)]


def peak() -> float:
    """Return the peak memory of this process, in MB."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


class Timer:
    """Seconds spent in functions that are not localeval's own work, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] = self.seconds.get(name, 0) + time.thread_time() - start

        return run


class SlowEngine(SteadyEngine):
    """An engine that takes 50 ms per sample, for which it is asked for statements once."""

    def generate(self, *args: Any, **kwargs: Any) -> Any:
        if args[3].__name__ == "StatementsReply":
            time.sleep(0.05)
        return super().generate(*args, **kwargs)


def watched_judge(log: Path) -> Judge:
    """Return a judge that logs, in a worker, when it started and finished each sample."""
    judge_task = workers.judge_task

    def logged_task(judge: Judge, task: workers.SampleTask, on_entry: workers.OnEntry) -> workers.TaskResult:
        start = time.time()
        result = judge_task(judge, task, on_entry)
        with log.open("a") as file:
            file.write(f"{os.getpid()} {start} {time.time()}\n")
        return result

    for name in ("workers", "cluster"):
        module = sys.modules.get(f"localeval.runs.{name}")
        if module:
            module.judge_task = logged_task  # type: ignore[attr-defined]
    judge = steady_judge(SlowEngine())
    judge.loader = partial(watched_judge, log)
    return judge


def feed(number: int, team: int, ray: str | None) -> bool:
    """Report whether the driver keeps `team` workers busy."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "log"
        data = list(samples(number))
        start = time.process_time()
        evaluate(data, METRICS, watched_judge(log), Path(name) / "run", workers=team, ray=ray)
        driver_seconds = time.process_time() - start  # of all threads: one waits for each worker
        workers_of_log = read_log(log)
    busy = sum(worker.busy for worker in workers_of_log)
    total = sum(worker.total for worker in workers_of_log)
    longest = max(worker.total for worker in workers_of_log)
    share = busy / total
    print(f"{number} samples, {len(workers_of_log)} workers: busy {share:.1%} of {longest:.0f} s")
    worker_ms = 1000 * busy / number
    driver_ms = 1000 * driver_seconds / number
    print(f"  a sample: {worker_ms:.0f} ms in a worker, {driver_ms:.1f} ms in the driver")
    return share >= (MIN_BUSY_SHARE if ray is None else MIN_BUSY_SHARE_ON_RAY)


class WorkerTime(NamedTuple):
    """Seconds in which a worker was busy, and from its first sample to its last."""

    busy: float
    total: float


def read_log(log: Path) -> list[WorkerTime]:
    """Read what `watched_judge` logged: a line for each sample with process, start and end."""
    intervals: dict[str, list[tuple[float, float]]] = {}
    for line in log.read_text().splitlines():
        process, start, end = line.split()
        intervals.setdefault(process, []).append((float(start), float(end)))
    times = []
    for rows in intervals.values():
        first = min(start for start, _ in rows)
        last = max(end for _, end in rows)
        times.append(WorkerTime(sum(end - start for start, end in rows), last - first))
    return times


@click.command()
@click.argument("number", metavar="[SAMPLES]", default=20_000)
@click.option("--workers", type=click.IntRange(min=1), help="Measure how well these are fed, instead.")
@click.option("--ray", help="Have the workers on this Ray cluster.")
@click.option("--profile", is_flag=True, help="Print the functions that take longest.")
def command(number: int, workers: int | None, ray: str | None, profile: bool) -> None:
    """Measure memory and own time of a run of SAMPLES."""
    is_within_limits = feed(number, workers, ray) if workers else main(number, profile)
    sys.exit(0 if is_within_limits else 1)


def main(number: int, profiled: bool) -> bool:
    """Report whether memory and time stay within their limits."""
    timer = Timer()
    time_others(timer)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        source = Path(name) / "data.jsonl"
        with source.open("w") as file:
            file.writelines(s.model_dump_json(exclude_none=True) + "\n" for s in samples(number))
        evaluate(list(samples(3)), METRICS, steady_judge(SteadyEngine()))  # to import everything first
        timer.seconds.clear()
        profile = cProfile.Profile(time.thread_time)
        before = peak()
        start = time.thread_time()
        if profiled:
            profile.enable()
        evaluate(str(source), METRICS, steady_judge(SteadyEngine()), folder)
        profile.disable()
        spent = time.thread_time() - start
        own_seconds = spent - sum(timer.seconds.values())
        increase = peak() - before
        print(f"{number} samples: memory {increase:.0f} MB above the start ({before:.0f} MB)")
        for what, seconds in {"own work": own_seconds, **timer.seconds}.items():
            print(f"  {what}: {1000 * seconds / number:.2f} ms a sample")
        if profiled:
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        else:
            print_repeats(folder, source)
        return increase <= MAX_MEGABYTES and 1000 * own_seconds / number <= MAX_MILLISECONDS


def time_others(timer: Timer) -> None:
    """Time, and replace where need be, what is not localeval's own work."""
    for module in (evidence, units, windows):
        if hasattr(module, "split_sentences"):
            module.split_sentences = timer.timed("splitter", plain)  # type: ignore[attr-defined]
    os.fsync = timer.timed("fsync", os.fsync)
    for name in ("generate", "read"):  # `count` is a mere length: timing it would take longer
        setattr(SteadyEngine, name, timer.timed("engine", getattr(SteadyEngine, name)))
    SteadyEmbedder.embed = timer.timed("engine", SteadyEmbedder.embed)  # type: ignore[method-assign]


def print_repeats(folder: Path, source: Path) -> None:
    """Print the time of a second call, of loading the run, and of scoring it again."""
    print_time("second call", lambda: evaluate(str(source), METRICS, steady_judge(SteadyEngine()), folder))
    print_time("load", lambda: load(folder))
    print_time("rescore", lambda: rescore(folder, threshold=0.6))
    print(f"  journal: {(folder / 'journal.jsonl').stat().st_size / 1e6:.0f} MB")


def print_time(what: str, function: Callable[[], Any]) -> None:
    start = time.thread_time()
    function()
    print(f"  {what}: {time.thread_time() - start:.1f} s")


if __name__ == "__main__":
    command()
