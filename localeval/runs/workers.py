"""Samples judged in several processes at once. A worker only judges; the driver alone writes and scores.

A score depends on nothing but its sample, so which worker judges what changes no bit. Samples are handed out
one by one. Of a sample that the journal holds in part, a worker is told what is there; one that the journal
holds whole goes to no worker.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel

from localeval.engine.engine import Engine
from localeval.engine.interface import physical_cores
from localeval.engine.memory import available
from localeval.errors import InputError
from localeval.judge import Judge, Records
from localeval.judgements import Failure, Judgement, failed_need, in_order
from localeval.judgements.journal import Journal, find, is_believed
from localeval.prompts.options import Options
from localeval.samples import Sample
from localeval.system.offline import attempts, is_offline, offline

MOST_TRIES = 3
"""How often a sample is given to a worker that ends without an answer, before it fails with `worker_lost`."""

Judged = tuple[int, Records, dict[str, str]]
Wanted = Callable[[Sample], Sequence[str]]
Line = tuple[str, str, str, dict[str, Any], Mapping[str, Any]]
"""What `Journal.put` takes."""


class Task(NamedTuple):
    """A sample to be judged: its place in the data, the judgements wanted, and the records that are there."""

    at: int
    sample: Sample
    wanted: Sequence[str]
    kept: dict[str, dict[str, Any]]
    options: Options


class Answer(NamedTuple):
    """What a worker made of a task; `refused` counts what tried to use the network meanwhile."""

    records: Records
    keys: dict[str, str]
    lines: list[Line]
    refused: int


class WorkerLost(Exception):
    """The worker's process ended, or its machine can't be reached."""


class Worker(Protocol):
    """One that judges tasks, one at a time. Loads its model at the first."""

    def judge(self, task: Task) -> Answer:
        """Wait for the answer. Raises WorkerLost, or what judging raised."""

    def stop(self) -> None:
        """End it, whatever it does."""


class Process:
    """A worker on this machine: a process with an engine of its own."""

    def __init__(self, load: Callable[[], Judge], guarded: bool) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share threads' locks with llama.cpp
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, load, guarded), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe ends with the process

    def judge(self, task: Task) -> Answer:
        try:
            self._pipe.send(task)
            answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerLost from error
        if isinstance(answer, Exception):
            raise answer
        found: Answer = answer
        return found

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


class _SampleJournal(Journal):
    """The records of one sample that the driver's journal holds, and the lines that are to be added."""

    def __init__(self, kept: Mapping[str, dict[str, Any]]) -> None:
        super().__init__()
        self._there = kept
        self.added: list[Line] = []

    def get(self, key: str) -> dict[str, Any] | None:
        return self._there.get(key)

    def put(self, *line: Any) -> None:
        self.added.append(line)


def answer(judge: Judge, task: Task) -> Answer:
    """Judge the task's sample, in a worker."""
    before, journal = attempts(), _SampleJournal(task.kept)
    records, keys = judge.judge_with_keys(task.sample, task.wanted, task.options, journal)
    return Answer(records, keys, journal.added, attempts() - before)


def _serve(pipe: Any, load: Callable[[], Judge], guarded: bool) -> None:
    """Answer tasks until the driver ends, which closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to answer
    if guarded:
        offline()
    with suppress(EOFError, OSError), load() as judge:
        while True:
            task = pipe.recv()
            try:
                found: Answer | Exception = answer(judge, task)
            except Exception as error:  # noqa: BLE001 (raised again in the driver)
                found = error
            pipe.send(found)


def choose_workers(judge: Judge, workers: int | Literal["auto"]) -> InProcess | Workers:
    """Return who judges. Raises InputError for a number below 1."""
    if workers != "auto" and (type(workers) is not int or workers < 1):
        raise InputError(f"workers is {workers!r}; give a number from 1 on, or auto.")
    number = _number(judge) if workers == "auto" else workers
    return InProcess(judge) if number == 1 else Workers(judge, number)


def _number(judge: Judge) -> int:
    """Resolve `auto`: as many as cores and free memory allow, each with the judge's threads; at least 1.

    Weights are mapped, so workers share them: each takes the cache and the working memory beside them.
    """
    number = physical_cores() // judge.engine.settings.n_threads
    if isinstance(judge.engine, Engine) and (need := judge.engine.memory()) and (free := available()):
        weights = int(judge.model["size"])
        number = min(number, (free - weights) // (need - weights))
    return max(1, number)


class InProcess:
    """The judge itself, in this process, one sample after the other."""

    refused = 0  # this process counts its own

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def judge(
        self, samples: Sequence[Sample], wanted: Wanted, options: Options, journal: Journal
    ) -> Iterator[Judged]:
        """Give (place, records, keys) of each sample as it is done, and write the journal."""
        for at, sample in enumerate(samples):
            yield at, *self._judge.judge_with_keys(sample, wanted(sample), options, journal)


class Workers:
    """Workers of one run. `refused` counts what tried to use the network in them."""

    def __init__(self, judge: Judge, number: int, start: Callable[[], Worker] | None = None) -> None:
        """Raises InputError for a judge that no other process can load."""
        if judge.loader is None and start is None:
            raise InputError("workers load the judge themselves; give one that Judge.load made, or its name.")
        self._judge, self._number = judge, number
        self._start = start or (lambda: Process(judge.loader, is_offline()))  # type: ignore[arg-type]
        self.refused = 0

    def judge(
        self, samples: Sequence[Sample], wanted: Wanted, options: Options, journal: Journal
    ) -> Iterator[Judged]:
        """Do as `InProcess.judge` does; samples are done in any order."""
        waiting = iter(enumerate(samples))
        again: list[tuple[Task, int]] = []
        free: list[Worker] = []
        started: list[Worker] = []
        running: dict[Future[Answer], tuple[Worker, Task, int]] = {}
        context = self._judge.context(options)
        with ThreadPoolExecutor(self._number) as threads:
            try:
                while True:
                    while len(running) < self._number:
                        if again:
                            task, tries = again.pop()
                        elif (following := next(waiting, None)) is None:
                            break
                        else:
                            (at, sample), tries = following, 1
                            names = wanted(sample)
                            records, keys, missing = self._known(context, sample, names, journal)
                            if missing is None:
                                yield at, records, keys
                                continue
                            kept = {key: journal.get(key) or {} for key in keys.values()}
                            task = Task(at, sample, names, kept, options)
                        if not free:
                            free.append(self._start())
                            started.append(free[-1])
                        worker = free.pop()
                        running[threads.submit(worker.judge, task)] = worker, task, tries
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        worker, task, tries = running.pop(future)
                        try:
                            found = future.result()
                        except WorkerLost:
                            worker.stop()
                            started.remove(worker)
                            if tries < MOST_TRIES:
                                again.append((task, tries + 1))
                            else:
                                yield self._lost(context, task, journal)
                            continue
                        free.append(worker)
                        self.refused += found.refused
                        for line in found.lines:
                            if journal.get(line[0]) != line[3]:  # another sample may have the same texts
                                journal.put(*line)
                        yield task.at, found.records, found.keys
            finally:
                for worker in started:
                    worker.stop()

    def _known(
        self, context: Any, sample: Sample, wanted: Sequence[str], journal: Journal
    ) -> tuple[Records, dict[str, str], tuple[Judgement, str] | None]:
        """Look up what the journal holds of a sample, and the first judgement, with its key, it lacks."""
        records: Records = {}
        keys: dict[str, str] = {}
        missing = None
        for row in in_order(wanted):
            if not all(need in records for need in row.needs):
                continue
            if failed := failed_need(row, records):
                records[row.name], keys[row.name] = records[failed], keys[failed]
                continue
            key = self._judge.key(row, context, sample, records)
            record = find(journal, row, key)
            if record is not None and is_believed(record):
                records[row.name], keys[row.name] = record, key
            else:
                missing = missing or (row, key)
        return records, keys, missing

    def _lost(self, context: Any, task: Task, journal: Journal) -> Judged:
        """Fail what is missing of a sample whose workers all ended."""
        records, keys, missing = self._known(context, task.sample, task.wanted, journal)
        if missing is not None:
            row, key = missing
            failure: BaseModel = Failure(failed="worker_lost", detail=f"{MOST_TRIES} workers ended")
            journal.put(
                key, row.name, task.sample.id, failure.model_dump(mode="json"), {"seconds": 0, "rows": 0}
            )
            for other in in_order(task.wanted):
                if other.name not in records:
                    records[other.name], keys[other.name] = failure, key
        return task.at, records, keys
