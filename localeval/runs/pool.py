"""Pools: what scores the samples of a run, in this process or by several workers at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Literal, NamedTuple, Protocol, TypeVar

from localeval.engine.engine import Engine
from localeval.engine.memory import available
from localeval.engine.settings import physical_cores
from localeval.errors import EngineFailing, FolderError, InputError
from localeval.judge import Judge, late
from localeval.judgements import (
    JUDGEMENTS,
    AnyJudgement,
    Failure,
    Record,
    Records,
    make_records,
    with_needs,
)
from localeval.judgements.journal import PASSING, Journal, find_final, parse_record, put_failure
from localeval.judgements.making import KeyedRecord
from localeval.metrics import Metric
from localeval.metrics.sample_result import SampleResult, score_records
from localeval.metrics.summary import judgements_of_sample
from localeval.options import Options
from localeval.runs.workers import (
    JournalEntry,
    ProcessWorker,
    SampleTask,
    TaskResult,
    Worker,
    WorkerHangs,
    WorkerLost,
)
from localeval.samples import Sample
from localeval.text.display import shorten

LOG = logging.getLogger("localeval")

MAX_LOST_WORKERS = 3
"""Number of workers lost while judging a sample, after which it fails with `worker_lost`."""

AUTO_THREADS = 4
"""Threads per worker with `auto`, about: on 16 cores, 4 workers of 4 are faster than 1 of 16 or 16 of 1."""

MAX_FAILED_AT_FIRST = 5
"""Samples in a row that the engine fails, with none judged before, after which a run stops: by then the fault
is not in a sample, and each lost sample costs `MAX_LOST_WORKERS` starts of a worker."""

MAX_FAILED_LATER = 50
"""The same once a sample was judged: samples that are alike, such as long ones, often stand together."""

SECONDS_BETWEEN_LOOKS = 0.5
"""Time after which a wait for the workers looks for Ctrl-C, which Windows does not tell during a wait."""

T = TypeVar("T")


class Pool(Protocol):
    """Scores the samples of a run. `str(pool)` names its workers; it is empty where there are none.

    refused  number of attempts to use the network in other processes; this process counts its own
    """

    refused: int

    def score(
        self, samples: Sequence[Sample], metrics: Sequence[Metric], options: Options, journal: Journal
    ) -> Generator[tuple[int, SampleResult], None, None]:
        """Yield the position and the result of each sample as it is done, in any order; write the journal.

        Raises EngineFailing where sample after sample fails by the engine (see `FailuresInARow`).
        """
        ...


def threads_each(workers: int | Literal["auto"]) -> int:
    """Return the threads per worker, so that all share this machine's cores; 0 (all cores) for one worker.

    Raises InputError for a number below 1.
    """
    if workers == "auto":
        cores = physical_cores()
        return cores // max(1, round(cores / AUTO_THREADS))
    if type(workers) is not int or workers < 1:
        raise InputError(f"workers is {workers!r}; give a number from 1 on, or auto.")
    return max(1, physical_cores() // workers) if workers > 1 else 0


def choose_pool(
    judge: Judge, workers: int | Literal["auto"], ray: str | None, timeout: float | None = None
) -> Pool:
    """Return what scores the samples.

    With a `timeout` a worker judges even where one process is enough: nothing ends a judgement that hangs in
    this one. Only a judge that no other process can load is asked here, and a warning says so.

    Raises InputError for a cluster that does not answer, or has no room for a worker.
    """
    if ray is not None:
        return _choose_cluster(judge, workers, ray, timeout)
    count = _auto_count(judge) if workers == "auto" else workers
    if count > 1:
        _check_memory(judge, count)
        return WorkerPool(judge, count, timeout=timeout)
    if timeout is None:
        return InProcessPool(judge)
    if judge.loader is None:
        LOG.warning(
            "no other process can load this judge, so its time limit is looked at between judgements, "
            "and nothing ends a judgement that hangs."
        )
        return InProcessPool(judge, timeout)
    return WorkerPool(judge, count, timeout=timeout)


def _choose_cluster(
    judge: Judge, workers: int | Literal["auto"], address: str, timeout: float | None
) -> WorkerPool:
    """Return a pool of actors on a Ray cluster: so many, or by default as many as it has room for."""
    from localeval.runs import cluster

    cluster.connect(address)
    capacity = cluster.count(judge.engine.settings)
    number = capacity if workers == "auto" or workers == 1 else workers
    return WorkerPool(judge, number, cluster.Actor, timeout)


class _Memory(NamedTuple):
    """Bytes of the weights, which workers share as they are mapped, of each worker beside them, and free."""

    weights: int
    each: int
    free: int

    def most_workers(self) -> int:
        """Return how many workers fit, 0 or below for none."""
        return (self.free - self.weights) // self.each


def _memory(judge: Judge) -> _Memory | None:
    """Return the memory that workers need; None where that is not known.

    It is not known for an engine without a model's file, or with layers on a GPU.
    """
    if judge.engine.settings.n_gpu_layers or not isinstance(judge.engine, Engine):
        return None
    needed = judge.engine.memory()
    free = available()
    if not needed or not free:
        return None
    weights = int(judge.model["size"])
    return _Memory(weights, needed - weights, free)


def _check_memory(judge: Judge, count: int) -> None:
    """Raise InputError where so many workers need more memory than is free, so that some would be killed."""
    memory = _memory(judge)
    if memory is None:
        return
    needed = memory.weights + count * memory.each
    if needed > memory.free:
        most = max(1, memory.most_workers())
        raise InputError(
            f"{count} workers need about {needed / 1e9:.1f} GB of memory, and "
            f"{memory.free / 1e9:.1f} GB are free; give --workers {most}, or auto, or a smaller --n-ctx."
        )


def _auto_count(judge: Judge) -> int:
    """Resolve `auto`: as many as cores and free memory allow, each with the judge's threads; at least 1.

    With layers on a GPU it is 1, as the memory there is not known.
    """
    if judge.engine.settings.n_gpu_layers:
        return 1
    count = physical_cores() // judge.engine.settings.n_threads
    memory = _memory(judge)
    if memory is not None:
        count = min(count, memory.most_workers())
    return max(1, count)


class FailuresInARow:
    """Stops a run in which every sample fails by the engine, or ends its worker."""

    def __init__(self) -> None:
        self._count = 0
        self._limit = MAX_FAILED_AT_FIRST

    def check(self, records: Mapping[str, Record]) -> None:
        """Look at the records of the next sample. Raises EngineFailing."""
        if not records:
            return
        failures = [record for record in records.values() if isinstance(record, Failure)]
        by_engine = [failure for failure in failures if failure.failed in PASSING]
        if not by_engine:
            self._count = 0
            self._limit = MAX_FAILED_LATER
            return
        self._count += 1
        last = by_engine[-1]
        # A worker that ends costs the start of another one, so lost samples are never waited for.
        limit = MAX_FAILED_AT_FIRST if last.failed == "worker_lost" else self._limit
        if self._count >= limit:
            raise EngineFailing(
                f"the last {self._count} samples all failed ({last.failed}: {shorten(last.detail)}), so "
                "the run stops; what was judged is kept: mend the cause, then give the same command again."
            )


class InProcessPool:
    """Scores in this process, one sample after the other."""

    def __init__(self, judge: Judge, timeout: float | None = None) -> None:
        self._judge = judge
        self._timeout = timeout
        self.refused = 0

    def __str__(self) -> str:
        return ""

    def score(
        self, samples: Sequence[Sample], metrics: Sequence[Metric], options: Options, journal: Journal
    ) -> Generator[tuple[int, SampleResult], None, None]:
        """See `Pool.score`; here in the order of the samples."""
        failures = FailuresInARow()
        for position, sample in enumerate(samples):
            result = self._judge.score_sample(sample, metrics, options, journal, self._timeout)
            yield position, result
            failures.check(result.records)


class _Stored(NamedTuple):
    """The records of a sample that a journal holds, with their keys.

    missing  the first judgement that it does not hold, and its key; None where all are there
    """

    records: dict[str, Record]
    keys: dict[str, str]
    missing: tuple[AnyJudgement, str] | None


class _MainProcess:
    """What the main process does for its workers: it looks records up, writes new ones, and scores."""

    def __init__(self, judge: Judge, metrics: Sequence[Metric], options: Options, journal: Journal) -> None:
        self._judge = judge
        self._metrics = metrics
        self._options = options
        self._journal = journal
        self._curves = judge.curves(options)

    def make_task(self, position: int, sample: Sample, stored: _Stored, timeout: float | None) -> SampleTask:
        """Return the task to judge what is missing of a sample."""
        required = judgements_of_sample(self._metrics, self._options, sample)
        records = {key: self._journal.get(key) or {} for key in stored.keys.values()}
        return SampleTask(position, sample, required, records, self._options, timeout)

    def look_up(self, sample: Sample) -> _Stored:
        """Return what the journal holds of a sample."""
        missing: list[tuple[AnyJudgement, str]] = []

        def find(judgement: AnyJudgement, sample: Sample, records: Records) -> KeyedRecord | None:
            key = self._judge.key(judgement, judgement.inputs(sample, records, choices))
            record = find_final(self._journal, judgement, key)
            if record is None:
                missing.append((judgement, key))
                return None
            return record, key

        required = judgements_of_sample(self._metrics, self._options, sample)
        choices = self._judge.choices(required, self._options)
        ask_judge = self._judge.is_asked(required, self._options)
        records, keys = make_records(sample, required, find, ask_judge=ask_judge)
        return _Stored(records, keys, missing[0] if missing else None)

    def write(self, entry: JournalEntry) -> None:
        """Write an entry, unless another sample with the same texts had it written."""
        if find_final(self._journal, JUDGEMENTS[entry.judgement], entry.key) is None:
            self._journal.put(*entry)

    def score(self, sample: Sample, records: Mapping[str, Record], keys: Mapping[str, str]) -> SampleResult:
        return score_records(sample, self._metrics, records, keys, self._options, self._curves)

    def score_answer(self, task: SampleTask, answer: TaskResult) -> SampleResult:
        """Score a sample from the records that a worker made or was given."""
        records = {
            name: parse_record(JUDGEMENTS[name], task.stored[key]) for name, key in answer.keys.items()
        }
        return self.score(task.sample, records, answer.keys)

    def score_failure(self, task: SampleTask, failure: Failure) -> SampleResult:
        """Write the failure for what is missing of a sample that no worker could judge, and score it."""
        records, keys, missing = self.look_up(task.sample)
        if missing is not None:
            judgement, key = missing
            failure_key = put_failure(self._journal, judgement, key, task.sample, failure)
            for other in (judgement, *with_needs(task.required)):
                if other.name not in records:
                    records[other.name] = failure
                    keys[other.name] = failure_key
        return self.score(task.sample, records, keys)


class _QueuedTask(NamedTuple):
    """A task, and the number of workers that were lost while they judged it."""

    task: SampleTask
    lost: int


class _Finished(NamedTuple):
    """The end of a task: what the worker answered, or why there is no answer."""

    task: SampleTask
    outcome: TaskResult | Failure


class WorkerPool:
    """The workers of one run, each with a thread here that waits for it.

    A sample with all its records in the journal goes to no worker.
    """

    def __init__(
        self,
        judge: Judge,
        number: int,
        start: Callable[[Judge], Worker] = ProcessWorker,
        timeout: float | None = None,
    ) -> None:
        """Raises InputError for a judge that another process can't load."""
        if judge.loader is None:
            raise InputError(
                "workers load the judge themselves; give its name, or one that Judge.load made with names or "
                "paths of its models."
            )
        self._judge = judge
        self._number = number
        self._start = start
        self._timeout = timeout
        self.refused = 0
        # The name of each worker's node, once it has answered.
        self._nodes: dict[Worker, str] = {}
        self._threads: list[Thread] = []
        self._stopped = False
        self._tasks: SimpleQueue[_QueuedTask | None] = SimpleQueue()
        self._done: SimpleQueue[JournalEntry | _Finished | Exception] = SimpleQueue()
        # Number of tasks without a result.
        self._open = 0

    def __str__(self) -> str:
        number = len(self._nodes)
        workers = "1 worker" if number == 1 else f"{number} workers"
        nodes = set(self._nodes.values()) - {""}
        return f"{workers} on {len(nodes)} nodes" if len(nodes) > 1 else workers

    def score(
        self, samples: Sequence[Sample], metrics: Sequence[Metric], options: Options, journal: Journal
    ) -> Generator[tuple[int, SampleResult], None, None]:
        """See `Pool.score`."""
        main = _MainProcess(self._judge, metrics, options, journal)
        failures = FailuresInARow()
        # Each worker has one task, and one waits.
        most_open = 2 * self._number - 1
        try:
            for position, sample in enumerate(samples):
                stored = main.look_up(sample)
                if stored.missing is None:
                    yield position, main.score(sample, stored.records, stored.keys)
                    continue
                self._submit(main.make_task(position, sample, stored, self._timeout))
                yield from self._results(main, failures, most_open)
            yield from self._results(main, failures, 0)
        finally:
            self._stop()
            self._write_rest(main)

    def _submit(self, task: SampleTask) -> None:
        """Queue a task, and start one more thread until there is one for each worker."""
        self._tasks.put(_QueuedTask(task, 0))
        self._open += 1
        if len(self._threads) < self._number:
            thread = Thread(target=self._run_worker, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _results(
        self, main: _MainProcess, failures: FailuresInARow, most_open: int
    ) -> Generator[tuple[int, SampleResult], None, None]:
        """Yield results until at most so many tasks are open."""
        while self._open > most_open:
            position, result = self._next_result(main)
            self._open -= 1
            yield position, result
            failures.check(result.records)

    def _next_result(self, main: _MainProcess) -> tuple[int, SampleResult]:
        """Wait for the next finished task, and write the entries until then. Raises what a worker raised."""
        while True:
            message = _wait_for_next(self._done)
            if isinstance(message, JournalEntry):
                main.write(message)
                continue
            if isinstance(message, Exception):
                raise message
            task, outcome = message
            if isinstance(outcome, Failure):
                return task.position, main.score_failure(task, outcome)
            self.refused += outcome.refused
            return task.position, main.score_answer(task, outcome)

    def _stop(self) -> None:
        """End all workers and their threads."""
        self._stopped = True
        for worker in list(self._nodes):
            worker.stop()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()

    def _write_rest(self, main: _MainProcess) -> None:
        """Write what the workers made before they were stopped."""
        while not self._done.empty():
            message = self._done.get()
            if isinstance(message, JournalEntry):
                # Where the journal can't be written, the run ends with that error already.
                with suppress(FolderError):
                    main.write(message)

    def _run_worker(self) -> None:
        """Start a worker and give it one task after the other; start another worker where it is lost."""
        failed_starts = 0
        while not self._stopped:
            worker: Worker | None = None
            try:
                worker = self._start(self._judge)
                self._nodes[worker] = ""
                # `_stop` stops only the workers that it sees.
                if not self._stopped:
                    worker.wait_until_started()
                failed_starts = 0
                self._judge_tasks(worker)
            except WorkerLost as error:
                failed_starts += 1
                if failed_starts > MAX_LOST_WORKERS:
                    self._done.put(InputError(f"no worker can be started: {error}."))
                    return
            except Exception as error:  # noqa: BLE001 (raised again by `score`)
                self._done.put(error)
                return
            finally:
                if worker is not None:
                    worker.stop()
                    worker.close()
                    del self._nodes[worker]

    def _judge_tasks(self, worker: Worker) -> None:
        """Have the worker judge one task after the other, until the pool stops."""
        while not self._stopped:
            queued = self._tasks.get()
            if queued is None:
                return
            self._judge_task(worker, queued)

    def _judge_task(self, worker: Worker, queued: _QueuedTask) -> None:
        """Have a task judged; where the worker is lost, leave the rest to another one. Raises WorkerLost."""
        task = queued.task

        def on_entry(entry: JournalEntry) -> None:
            task.stored[entry.key] = entry.record
            self._done.put(entry)

        try:
            answer = worker.judge(task, on_entry)
            self._nodes[worker] = answer.node
            self._done.put(_Finished(task, answer))
        except WorkerHangs:
            self._done.put(_Finished(task, late(task.timeout or 0.0)))
            raise
        except WorkerLost:
            lost = queued.lost + 1
            if lost < MAX_LOST_WORKERS:
                self._tasks.put(_QueuedTask(task, lost))
            else:
                failure = Failure(failed="worker_lost", detail=f"{MAX_LOST_WORKERS} workers ended")
                self._done.put(_Finished(task, failure))
            raise


def _wait_for_next(queue: SimpleQueue[T]) -> T:
    """Wait for the queue's next entry, and look for Ctrl-C meanwhile."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=SECONDS_BETWEEN_LOOKS)
