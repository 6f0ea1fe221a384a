"""Samples judged in several processes at once. A worker only judges; the driver alone writes and scores.

Of a sample that the journal holds in part, a worker is told what is there; one that it holds whole goes to no
worker.
"""

from __future__ import annotations

import multiprocessing
import platform
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel

from localeval.engine.engine import Engine
from localeval.engine.interface import physical_cores
from localeval.engine.memory import available
from localeval.errors import InputError
from localeval.judge import Judge, Records
from localeval.judgements import JUDGEMENTS, Failure, Judgement, make_records, with_needs
from localeval.judgements.journal import Journal, find_believed
from localeval.prompts.options import Options
from localeval.samples import Sample
from localeval.system.offline import attempts, is_offline, offline

MOST_TRIES = 3
"""How often a sample is given to a worker that ends without an answer, before it fails with `worker_lost`."""

AUTO_THREADS = 4
"""Threads of each of `auto` workers: on 16 cores four such beat one of 16, and 16 of one were slower."""

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
    """What a worker on `node` made of a task; `refused` counts what tried to use the network meanwhile."""

    records: Records
    keys: dict[str, str]
    lines: list[Line]
    refused: int
    node: str


class WorkerLost(Exception):
    """The worker's process ended, or its machine is gone."""


class Worker(Protocol):
    """One that judges tasks, one at a time. Loads its model at the first."""

    def ready(self) -> None:
        """Wait, where it takes long, until it can be given a task. Raises WorkerLost."""

    def judge(self, task: Task) -> Answer:
        """Wait for the answer. Raises WorkerLost, or what judging raised."""

    def stop(self) -> None:
        """End it, whatever it does; from any thread, and more than once."""

    def close(self) -> None:
        """Free what may be held of it here, when it was stopped and no thread waits for it."""


class Process(Worker):
    """A worker on this machine: a process with an engine of its own."""

    def __init__(self, judge: Judge) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share threads' locks with llama.cpp
        try:
            self._pipe, theirs = context.Pipe()
            served = (theirs, judge.loader, is_offline())
            self._process = context.Process(target=_serve, args=served, daemon=True)
            self._process.start()
        except OSError as error:
            raise InputError(f"no worker can be started ({error.strerror}); choose fewer.") from error
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

    def close(self) -> None:
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
    return Answer(records, keys, journal.added, attempts() - before, platform.node())


def _serve(pipe: Any, load: Callable[[], Judge], guarded: bool) -> None:
    """Answer tasks until the driver ends, which closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to answer
    if guarded:
        offline()
    judge: Judge | None = None
    with suppress(EOFError, OSError), ExitStack() as opened:
        while True:
            task = pipe.recv()
            try:
                judge = judge or opened.enter_context(load())
                found: Answer | Exception = answer(judge, task)
            except Exception as error:  # noqa: BLE001 (raised again in the driver)
                found = error
            pipe.send(found)


def threads_each(workers: int | Literal["auto"]) -> int:
    """Return the threads of each worker, so that all share this machine's cores; 0, all cores, for one.

    Raises InputError for a number below 1.
    """
    if workers == "auto":
        return min(AUTO_THREADS, physical_cores())
    if type(workers) is not int or workers < 1:
        raise InputError(f"workers is {workers!r}; give a number from 1 on, or auto.")
    return max(1, physical_cores() // workers) if workers > 1 else 0


def choose_workers(judge: Judge, workers: int | Literal["auto"], ray: str | None) -> InProcess | Workers:
    """Return who judges. Raises InputError for a cluster that does not answer."""
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

    Weights are mapped, so workers share them: each takes the cache and the working memory beside them. With
    layers on a GPU it is 1, as nothing tells the memory there.
    """
    if judge.engine.settings.n_gpu_layers:
        return 1
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

    def __str__(self) -> str:
        return ""

    def judge(
        self, samples: Sequence[Sample], wanted: Wanted, options: Options, journal: Journal
    ) -> Generator[Judged, None, None]:
        """Give (place, records, keys) of each sample as it is done, and write the journal."""
        for at, sample in enumerate(samples):
            yield at, *self._judge.judge_with_keys(sample, wanted(sample), options, journal)


class Workers:
    """Workers of one run, each with a thread here that waits for it.

    refused  counts what tried to use the network in them
    """

    def __init__(self, judge: Judge, number: int, start: Callable[[Judge], Worker] = Process) -> None:
        """Raises InputError for a judge that no other process can load."""
        if judge.loader is None:
            raise InputError("workers load the judge themselves; give one that Judge.load made, or its name.")
        self._judge, self._number, self._start = judge, number, start
        self.refused = 0
        self._workers: dict[Worker, str] = {}  # and the node of each, once it has answered
        self._ended = False
        self._tasks: SimpleQueue[tuple[Task, int] | None] = SimpleQueue()  # and how often each was given
        self._done: SimpleQueue[tuple[Task, Answer | None] | Exception] = SimpleQueue()

    def __str__(self) -> str:
        nodes = set(self._workers.values()) - {""}
        return f"{len(self._workers)} workers" + f" on {len(nodes)} nodes" * (len(nodes) > 1)

    def judge(
        self, samples: Sequence[Sample], wanted: Wanted, options: Options, journal: Journal
    ) -> Generator[Judged, None, None]:
        """Do as `InProcess.judge` does; samples are done in any order."""
        self._context = self._judge.context(options)
        threads: list[Thread] = []
        given = taken = 0
        try:
            for item in self._to_do(samples, wanted, options, journal):
                if not isinstance(item, Task):
                    yield item  # the journal has it whole
                    continue
                self._tasks.put((item, 1))
                given += 1
                if len(threads) < self._number:
                    threads.append(Thread(target=self._attend, daemon=True))
                    threads[-1].start()
                while given - taken >= 2 * self._number:  # one in each worker's hands, and one that waits
                    yield self._next(journal)
                    taken += 1
            for _ in range(given - taken):
                yield self._next(journal)
        finally:
            self._ended = True
            for worker in list(self._workers):
                worker.stop()
            for _ in threads:
                self._tasks.put(None)
            for thread in threads:
                thread.join()

    def _attend(self) -> None:
        """Start a worker and hand it one task after the other; start another one where it is lost."""
        failed = 0  # starts, one after the other
        while not self._ended:
            worker: Worker | None = None
            try:
                worker = self._start(self._judge)
                self._workers[worker] = ""
                if not self._ended:  # which stopped only those that it saw
                    worker.ready()
                failed = 0
                while not self._ended and (given := self._tasks.get()):
                    self._hand(worker, *given)
            except WorkerLost as error:
                failed += 1
                if failed > MOST_TRIES:
                    self._done.put(InputError(f"no worker can be started ({error}); is localeval there?"))
                    return
            except Exception as error:  # noqa: BLE001 (raised again in the driver)
                self._done.put(error)
                return
            finally:
                if worker is not None:
                    worker.stop()
                    worker.close()
                    del self._workers[worker]

    def _hand(self, worker: Worker, task: Task, tries: int) -> None:
        """Have a task judged; where that ends the worker, leave it to another one. Raises WorkerLost."""
        try:
            answer = worker.judge(task)
            self._workers[worker] = answer.node
            self._done.put((task, answer))
        except WorkerLost:
            if tries < MOST_TRIES:
                self._tasks.put((task, tries + 1))
            else:
                self._done.put((task, None))
            raise

    def _next(self, journal: Journal) -> Judged:
        """Wait for the next answer, and write its records. Raises what a worker raised."""
        found = self._done.get()
        if isinstance(found, Exception):
            raise found
        task, answer = found
        if answer is None:
            return self._lost(task, journal)
        self.refused += answer.refused
        late = False
        for line in answer.lines:
            key, judgement, _, record, _ = line
            there = find_believed(journal, JUDGEMENTS[judgement], key)  # of a sample with the same texts
            if there is None:
                journal.put(*line)
            else:
                late |= there.model_dump(mode="json") != record
        if late:  # this one failed where the other did not: its judgement is there
            records, keys, missing = self._known(task.sample, task.wanted, journal)
            if missing is None:
                return task.at, records, keys
        return task.at, answer.records, answer.keys

    def _to_do(
        self, samples: Sequence[Sample], wanted: Wanted, options: Options, journal: Journal
    ) -> Iterator[Task | Judged]:
        """Give what is to be judged, or what the journal has of it where that is all."""
        for at, sample in enumerate(samples):
            names = wanted(sample)
            records, keys, missing = self._known(sample, names, journal)
            if missing is None:
                yield at, records, keys
            else:
                kept = {key: journal.get(key) or {} for key in keys.values()}
                yield Task(at, sample, names, kept, options)

    def _known(
        self, sample: Sample, wanted: Sequence[str], journal: Journal
    ) -> tuple[Records, dict[str, str], tuple[Judgement, str] | None]:
        """Look up what the journal holds of a sample, and the first judgement, with its key, it lacks."""
        missing: list[tuple[Judgement, str]] = []

        def look_up(row: Judgement, sample: Sample, records: Records) -> tuple[BaseModel, str] | None:
            key = self._judge.key(row, self._context, sample, records)
            if (record := find_believed(journal, row, key)) is not None:
                return record, key
            missing.append((row, key))
            return None

        records, keys = make_records(sample, wanted, look_up)
        return records, keys, missing[0] if missing else None

    def _lost(self, task: Task, journal: Journal) -> Judged:
        """Fail what is missing of a sample whose workers all ended."""
        records, keys, missing = self._known(task.sample, task.wanted, journal)
        if missing is not None:
            row, key = missing
            failure: BaseModel = Failure(failed="worker_lost", detail=f"{MOST_TRIES} workers ended")
            journal.put(
                key, row.name, task.sample.id, failure.model_dump(mode="json"), {"seconds": 0, "rows": 0}
            )
            for other in with_needs(task.wanted):
                if other.name not in records:
                    records[other.name], keys[other.name] = failure, key
        return task.at, records, keys
