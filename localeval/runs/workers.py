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
from localeval.judgements import Failure, Judgement, in_order, walk
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
    """The worker's process ended, or its machine is gone."""


class Worker(Protocol):
    """One that judges tasks, one at a time. Loads its model at the first."""

    def ready(self) -> None:
        """Wait until it can be given a task. Raises WorkerLost."""

    def judge(self, task: Task) -> Answer:
        """Wait for the answer. Raises WorkerLost, or what judging raised."""

    def stop(self) -> None:
        """End it, whatever it does."""


class Process:
    """A worker on this machine: a process with an engine of its own."""

    def __init__(self, judge: Judge) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share threads' locks with llama.cpp
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, judge.loader, is_offline()), daemon=True)
        self._process.start()
        theirs.close()  # so that the pipe ends with the process

    def ready(self) -> None:
        """Do nothing: a pipe takes a task at once."""

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


def choose_workers(judge: Judge, workers: int | Literal["auto"], ray: str | None) -> InProcess | Workers:
    """Return who judges. Raises InputError for a number below 1, or a cluster that does not answer."""
    if workers != "auto" and (type(workers) is not int or workers < 1):
        raise InputError(f"workers is {workers!r}; give a number from 1 on, or auto.")
    if ray is not None:
        from localeval.runs import cluster

        cluster.connect(ray)
        room = cluster.count(judge.engine.settings.n_threads)
        asked = 1 if workers == "auto" else workers
        return Workers(judge, asked if asked > 1 else room, cluster.Actor)
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

    def __init__(self, judge: Judge, number: int, start: Callable[[Judge], Worker] = Process) -> None:
        """Raises InputError for a judge that no other process can load."""
        if judge.loader is None:
            raise InputError("workers load the judge themselves; give one that Judge.load made, or its name.")
        self._judge, self._number, self._start = judge, number, start
        self.refused = 0

    def judge(
        self, samples: Sequence[Sample], wanted: Wanted, options: Options, journal: Journal
    ) -> Iterator[Judged]:
        """Do as `InProcess.judge` does; samples are done in any order."""
        tasks = self._tasks(samples, wanted, options, journal)
        following = next(tasks, None)
        again: list[tuple[Task, int]] = []  # of workers that were lost, with the number of tries
        workers: list[Worker] = []
        starting: dict[Future[None], Worker] = {}
        free: list[Worker] = []
        running: dict[Future[Answer], tuple[Worker, Task, int]] = {}
        never_began = 0  # of workers, one after the other
        threads = ThreadPoolExecutor(self._number)  # one waits for each worker
        try:
            while following is not None or again or running:
                if following is not None and not isinstance(following, Task):
                    yield following  # the journal has it whole
                    following = next(tasks, None)
                    continue
                while len(workers) < min(self._number, len(running) + len(again) + (following is not None)):
                    workers.append(self._start(self._judge))
                    starting[threads.submit(workers[-1].ready)] = workers[-1]
                if free and (again or following is not None):
                    if again:
                        task, tries = again.pop()
                    elif following is not None:
                        task, tries, following = following, 1, next(tasks, None)
                    worker = free.pop()
                    running[threads.submit(worker.judge, task)] = worker, task, tries
                    continue
                waiting: list[Future[Any]] = [*starting, *running]
                for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                    if done in starting:
                        worker = starting.pop(done)
                        try:
                            done.result()
                        except WorkerLost as error:
                            workers.remove(worker)
                            never_began += 1
                            if never_began > MOST_TRIES * self._number:
                                raise InputError(
                                    f"no worker can be started ({error}); is localeval on each machine?"
                                ) from error
                            continue
                        free.append(worker)
                        never_began = 0
                        continue
                    worker, task, tries = running.pop(done)
                    try:
                        found = done.result()
                    except WorkerLost:
                        worker.stop()
                        workers.remove(worker)
                        if tries < MOST_TRIES:
                            again.append((task, tries + 1))
                        else:
                            yield self._lost(task, journal)
                        continue
                    free.append(worker)
                    self.refused += found.refused
                    for line in found.lines:
                        if journal.get(line[0]) != line[3]:  # another sample may have the same texts
                            journal.put(*line)
                    yield task.at, found.records, found.keys
        finally:
            for worker in workers:
                worker.stop()
            threads.shutdown()

    def _tasks(
        self, samples: Sequence[Sample], wanted: Wanted, options: Options, journal: Journal
    ) -> Iterator[Task | Judged]:
        """Give what is to be judged, or what the journal has of it where that is all."""
        context = self._judge.context(options)
        for at, sample in enumerate(samples):
            names = wanted(sample)
            records, keys, missing = self._known(context, sample, names, journal)
            if missing is None:
                yield at, records, keys
            else:
                kept = {key: journal.get(key) or {} for key in keys.values()}
                yield Task(at, sample, names, kept, options)

    def _known(
        self, context: Any, sample: Sample, wanted: Sequence[str], journal: Journal
    ) -> tuple[Records, dict[str, str], tuple[Judgement, str] | None]:
        """Look up what the journal holds of a sample, and the first judgement, with its key, it lacks."""
        missing: list[tuple[Judgement, str]] = []

        def look_up(row: Judgement, sample: Sample, records: Records) -> tuple[BaseModel, str] | None:
            key = self._judge.key(row, context, sample, records)
            record = find(journal, row, key)
            if record is not None and is_believed(record):
                return record, key
            missing.append((row, key))
            return None

        records, keys = walk(sample, wanted, look_up)
        return records, keys, missing[0] if missing else None

    def _lost(self, task: Task, journal: Journal) -> Judged:
        """Fail what is missing of a sample whose workers all ended."""
        context = self._judge.context(task.options)
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
