"""Judge samples in several processes at once. Workers only judge; the driver alone writes and scores.

A worker gets the records of its sample that the journal holds already; a sample with all its records in the
journal goes to no worker.
"""

from __future__ import annotations

import logging
import multiprocessing
import platform
import signal
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from queue import Empty, SimpleQueue
from threading import RLock, Thread
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

from localeval import errors
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
from localeval.options import Options
from localeval.samples import Sample
from localeval.system.offline import attempts, is_offline, offline
from localeval.text.display import shorten

LOG = logging.getLogger("localeval")

MOST_TRIES = 3
"""Number of workers lost while judging a sample, after which it fails with `worker_lost`."""

AUTO_THREADS = 4
"""Threads per worker with `auto`, about: on 16 cores, 4 workers of 4 are faster than 1 of 16 or 16 of 1."""

MOST_FAILED_AT_FIRST = 5
"""Samples in a row that the engine fails, with none judged before, after which a run stops: by then the fault
is not in a sample, and each lost sample costs `MOST_TRIES` starts of a worker."""

MOST_FAILED_LATER = 50
"""The same once a sample was judged: samples that are alike, such as long ones, often stand together."""

GRACE = 5.0
"""Seconds after a sample's time limit in which a worker may still end its judgement; then it is ended. A
worker that is ended costs the load of another model."""

BETWEEN_LOOKS = 0.5
"""Seconds after which a wait for the workers looks for Ctrl-C, which Windows does not tell during a wait."""

T = TypeVar("T")

Judged = tuple[int, Sample, dict[str, Record], dict[str, str]]
Wanted = Callable[[Sample], Sequence[str]]


class Line(NamedTuple):
    """The arguments of `Journal.put`."""

    key: str
    judgement: str
    sample: str
    record: dict[str, Any]
    cost: Mapping[str, Any]


Keep = Callable[[Line], None]


class Task(NamedTuple):
    """A sample to judge, its position in the run, the judgements required, and its records in the journal."""

    position: int
    sample: Sample
    required: Sequence[str]
    stored: dict[str, dict[str, Any]]
    options: Options
    timeout: float | None = None  # seconds for its judgements

    def given_up_after(self) -> float | None:
        """Return the seconds after which a worker that does not answer is taken to hang; None for never."""
        return None if self.timeout is None else self.timeout + GRACE


class Begun(NamedTuple):
    """A worker's message that its models are loaded: from now on the time of a task counts."""


class Raised(NamedTuple):
    """An exception of a worker, as texts: some exceptions can't be pickled, or not be made of a pickle."""

    kind: str
    text: str
    trace: str

    @classmethod
    def of(cls, error: Exception) -> Raised:
        """Describe an exception."""
        return cls(type(error).__name__, str(error), "".join(traceback.format_exception(error)))

    def error(self) -> Exception:
        """Return the exception to raise here: of the same type where it is one of localeval's."""
        kind = getattr(errors, self.kind, None)
        if isinstance(kind, type) and issubclass(kind, errors.LocalevalError):
            return kind(self.text)
        error = RuntimeError(f"a worker ended with {self.kind}: {self.text}")
        error.add_note(f"In the worker:\n{self.trace}")
        return error


class Answer(NamedTuple):
    """The answer of a worker on `node`; `refused` counts attempts to use the network meanwhile.

    keys  judgement -> the key of its record, which is in the task or in a line that was kept
    """

    keys: dict[str, str]
    refused: int
    node: str


class WorkerLost(Exception):
    """Raised when the worker's process has ended, or its machine is gone."""


class WorkerHangs(WorkerLost):
    """Raised when the worker did not answer within the time of its task."""


class Worker(Protocol):
    """Judges tasks, one at a time. It loads its model at the first one."""

    def ready(self) -> None:
        """Wait until the worker can take a task. Raises WorkerLost."""

    def judge(self, task: Task, keep: Keep) -> Answer:
        """Wait for the answer, and `keep` the lines. Raises what the judging raised, as `Raised.error`.

        Raises WorkerHangs where it takes too long (the worker can't be used afterwards), or WorkerLost.
        """

    def stop(self) -> None:
        """End the worker, whatever it is doing. Any thread may call this, and more than once."""

    def close(self) -> None:
        """Free its resources here, after it was stopped and when no thread waits for it."""


class Process(Worker):
    """A worker in a process of this machine, with an engine of its own."""

    def __init__(self, judge: Judge) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share threads' locks with llama.cpp
        try:
            self._pipe, worker_end = context.Pipe()
            arguments = (worker_end, judge.loader_for_workers(), is_offline())
            self._process = context.Process(target=_serve, args=arguments, daemon=True)
            self._process.start()
        except OSError as error:
            raise InputError(f"no worker can be started ({error.strerror}); choose fewer.") from error
        worker_end.close()  # so that the pipe ends with the process

    def ready(self) -> None:
        try:
            self._pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerLost(
                'its process ended; a script has to call evaluate below `if __name__ == "__main__":`'
            ) from error

    def judge(self, task: Task, keep: Keep) -> Answer:
        try:
            self._pipe.send(task)
            message = self._receive(None)
            seconds = task.given_up_after()
            until = None
            while isinstance(message, Line | Begun):
                if isinstance(message, Line):
                    keep(message)
                elif seconds is not None:
                    until = time.monotonic() + seconds
                message = self._receive(until)
        except (EOFError, OSError) as error:
            raise WorkerLost from error
        if isinstance(message, Raised):
            raise message.error()
        return cast("Answer", message)

    def _receive(self, until: float | None) -> Any:
        """Wait for the next message. Raises WorkerHangs where none comes until then."""
        if until is not None and not self._pipe.poll(max(0.0, until - time.monotonic())):
            raise WorkerHangs
        return self._pipe.recv()

    def stop(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.join()
        self._pipe.close()


class _SampleJournal(Journal):
    """A sample's records in the driver's journal, which keeps the lines that are added."""

    def __init__(self, records: Mapping[str, dict[str, Any]], keep: Keep) -> None:
        super().__init__()
        self._stored, self._keep = records, keep

    def get(self, key: str) -> dict[str, Any] | None:
        return self._stored.get(key)

    def put(self, *line: Any) -> None:
        self._keep(Line(*line))


def answer(judge: Judge, task: Task, keep: Keep) -> Answer:
    """Judge the sample of a task, and `keep` each line as it is made; called in a worker."""
    attempts_before, journal = attempts(), _SampleJournal(task.stored, keep)
    _, keys = judge.judge_with_keys(task.sample, task.required, task.options, journal, task.timeout)
    return Answer(keys, attempts() - attempts_before, platform.node())


def _serve(pipe: Any, load: Callable[[], Judge], refuse_network: bool) -> None:
    """Say that the process has started, then answer tasks until the driver ends, which closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver handles Ctrl-C
    from tqdm import tqdm  # type: ignore[import-untyped]  # of sentence-transformers, as are the bars

    tqdm.set_lock(RLock())  # else a bar makes a semaphore, of which Python warns after a kill
    if refuse_network:
        offline()
    judge: Judge | None = None
    with suppress(EOFError, OSError), ExitStack() as stack:
        pipe.send("ready")
        while True:
            task = pipe.recv()
            try:
                judge = judge or stack.enter_context(load())
                if task.timeout is not None:
                    judge.load_models(task.required, task.options)
                pipe.send(Begun())
                result: Answer | Raised = answer(judge, task, pipe.send)
            except Exception as error:  # noqa: BLE001 (raised again in the driver)
                result = Raised.of(error)
            pipe.send(result)


class Brake:
    """Stops a run in which every sample fails by the engine, or ends its worker."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._most = MOST_FAILED_AT_FIRST

    def check(self, records: Mapping[str, Record]) -> None:
        """Look at the records of the next sample. Raises EngineFailing."""
        if not records:
            return
        failures = [record for record in records.values() if isinstance(record, Failure)]
        broken = [failure for failure in failures if failure.failed in PASSING]
        if not broken:
            self._in_a_row, self._most = 0, MOST_FAILED_LATER
            return
        self._in_a_row += 1
        last = broken[-1]
        # A worker that ends costs the start of another one, so lost samples are never waited for.
        most = MOST_FAILED_AT_FIRST if last.failed == "worker_lost" else self._most
        if self._in_a_row >= most:
            raise EngineFailing(
                f"the last {self._in_a_row} samples all failed ({last.failed}: {shorten(last.detail)}), so "
                "the run stops; what was judged is kept: mend the cause, then give the same command again."
            )


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


def choose_workers(
    judge: Judge, workers: int | Literal["auto"], ray: str | None, timeout: float | None = None
) -> InProcess | Workers:
    """Return what judges the samples.

    With a `timeout` a worker judges even where one process is enough: nothing ends a judgement that hangs in
    this one. Only a judge that no other process can load is asked here, and a warning says so.

    Raises InputError for a cluster that does not answer, or has no room for a worker.
    """
    if ray is not None:
        from localeval.runs import cluster

        cluster.connect(ray)
        capacity = cluster.count(judge.engine.settings)
        requested = 1 if workers == "auto" else workers
        return Workers(judge, requested if requested > 1 else capacity, cluster.Actor, timeout)
    count = _auto_count(judge) if workers == "auto" else workers
    if count == 1 and (timeout is None or judge.loader is None):
        if timeout is not None:
            LOG.warning(
                "no other process can load this judge, so its time limit is looked at between judgements, "
                "and nothing ends a judgement that hangs."
            )
        return InProcess(judge, timeout)
    if count > 1:
        _check_memory(judge, count)
    return Workers(judge, count, timeout=timeout)


def _check_memory(judge: Judge, count: int) -> None:
    """Raise InputError where so many workers need more memory than is free, so that some would be killed."""
    if (memory := _memory(judge)) is None:
        return
    weights, each, free = memory
    needed = weights + count * each
    if needed > free:
        most = max(1, (free - weights) // each)
        raise InputError(
            f"{count} workers need about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free; "
            f"give --workers {most}, or auto, or a smaller --n-ctx."
        )


def _memory(judge: Judge) -> tuple[int, int, int] | None:
    """Return the bytes of the weights, which workers share as they are mapped, of each worker, and free ones.

    None where they are not known: for an engine without a model's file, or with layers on a GPU.
    """
    if judge.engine.settings.n_gpu_layers or not isinstance(judge.engine, Engine):
        return None
    need, free = judge.engine.memory(), available()
    if not need or not free:
        return None
    weights = int(judge.model["size"])
    return weights, need - weights, free


def _auto_count(judge: Judge) -> int:
    """Resolve `auto`: as many as cores and free memory allow, each with the judge's threads; at least 1.

    Weights are mapped, so workers share them: each needs only the cache and the working memory of its own.
    With layers on a GPU it is 1, as the memory there is not known.
    """
    if judge.engine.settings.n_gpu_layers:
        return 1
    count = physical_cores() // judge.engine.settings.n_threads
    if (memory := _memory(judge)) is not None:
        weights, each, free = memory
        count = min(count, (free - weights) // each)
    return max(1, count)


class InProcess:
    """Judges in this process, one sample after the other."""

    refused = 0  # this process counts its attempts itself

    def __init__(self, judge: Judge, timeout: float | None = None) -> None:
        self._judge = judge
        self._timeout = timeout

    def __str__(self) -> str:
        return ""

    def judge(
        self, samples: Sequence[Sample], required: Wanted, options: Options, journal: Journal
    ) -> Generator[Judged, None, None]:
        """Yield (index, sample, records, keys) of each sample as it is done, and write the journal."""
        brake = Brake()
        for index, sample in enumerate(samples):
            records, keys = self._judge.judge_with_keys(
                sample, required(sample), options, journal, self._timeout
            )
            yield index, sample, records, keys
            brake.check(records)


class Workers:
    """The workers of one run, each with a thread here that waits for it.

    refused  number of attempts to use the network in the workers
    """

    def __init__(
        self,
        judge: Judge,
        number: int,
        start: Callable[[Judge], Worker] = Process,
        timeout: float | None = None,
    ) -> None:
        """Raises InputError for a judge that another process can't load."""
        if judge.loader is None:
            raise InputError(
                "workers load the judge themselves; give its name, or one that Judge.load made with names or "
                "paths of its models."
            )
        self._judge, self._number, self._start = judge, number, start
        self._timeout = timeout
        self.refused = 0
        self._workers: dict[Worker, str] = {}  # worker -> its node, once it has answered
        self._stopped = False
        self._tasks: SimpleQueue[tuple[Task, int] | None] = SimpleQueue()  # and the number of the try
        self._done: SimpleQueue[Line | tuple[Task, Answer | Failure] | Exception] = SimpleQueue()

    def __str__(self) -> str:
        nodes = set(self._workers.values()) - {""}
        number = len(self._workers)
        return f"{number} worker{'' if number == 1 else 's'}" + f" on {len(nodes)} nodes" * (len(nodes) > 1)

    def judge(
        self, samples: Sequence[Sample], required: Wanted, options: Options, journal: Journal
    ) -> Generator[Judged, None, None]:
        """Yield as `InProcess.judge` does, but in any order."""
        self._options = options
        brake = Brake()
        threads: list[Thread] = []
        submitted = finished = 0
        try:
            for index, sample in enumerate(samples):
                names = required(sample)
                records, keys, missing = self._look_up(sample, names, journal)
                if missing is None:
                    yield index, sample, records, keys
                    continue
                stored = {key: journal.get(key) or {} for key in keys.values()}
                self._tasks.put((Task(index, sample, names, stored, options, self._timeout), 1))
                submitted += 1
                if len(threads) < self._number:
                    threads.append(Thread(target=self._run_worker, daemon=True))
                    threads[-1].start()
                while submitted - finished >= 2 * self._number:  # each worker has one task, and one waits
                    judged = self._next_answer(journal)
                    yield judged
                    brake.check(judged[2])
                    finished += 1
            for _ in range(submitted - finished):
                judged = self._next_answer(journal)
                yield judged
                brake.check(judged[2])
        finally:
            self._stopped = True
            for worker in list(self._workers):
                worker.stop()
            for _ in threads:
                self._tasks.put(None)
            for thread in threads:
                thread.join()
            while not self._done.empty():  # what the workers made before they were stopped
                if isinstance(result := self._done.get(), Line):
                    with suppress(FolderError):  # the run ends with an error already
                        self._write(result, journal)

    def _run_worker(self) -> None:
        """Start a worker and give it one task after the other; start another worker where it is lost."""
        failed_starts = 0  # in a row
        while not self._stopped:
            worker: Worker | None = None
            try:
                worker = self._start(self._judge)
                self._workers[worker] = ""
                if not self._stopped:  # `judge` stops only the workers that it sees
                    worker.ready()
                failed_starts = 0
                while not self._stopped and (entry := self._tasks.get()):
                    self._judge_task(worker, *entry)
            except WorkerLost as error:
                failed_starts += 1
                if failed_starts > MOST_TRIES:
                    self._done.put(InputError(f"no worker can be started: {error}."))
                    return
            except Exception as error:  # noqa: BLE001 (raised again in the driver)
                self._done.put(error)
                return
            finally:
                if worker is not None:
                    worker.stop()
                    worker.close()
                    del self._workers[worker]

    def _judge_task(self, worker: Worker, task: Task, tries: int) -> None:
        """Have a task judged; where the worker is lost, leave the rest to another one. Raises WorkerLost."""

        def keep(line: Line) -> None:
            task.stored[line.key] = line.record
            self._done.put(line)

        try:
            answer = worker.judge(task, keep)
            self._workers[worker] = answer.node
            self._done.put((task, answer))
        except WorkerHangs:
            self._done.put((task, late(task.timeout or 0.0)))
            raise
        except WorkerLost:
            if tries < MOST_TRIES:
                self._tasks.put((task, tries + 1))
            else:
                lost = Failure(failed="worker_lost", detail=f"{MOST_TRIES} workers ended")
                self._done.put((task, lost))
            raise

    def _next_answer(self, journal: Journal) -> Judged:
        """Wait for the next answer, and write the lines until then. Raises whatever a worker raised."""
        while isinstance(result := _wait_for_next(self._done), Line):
            self._write(result, journal)
        if isinstance(result, Exception):
            raise result
        task, answer = result
        if isinstance(answer, Failure):
            return self._fail(task, answer, journal)
        self.refused += answer.refused
        records = {
            name: parse_record(JUDGEMENTS[name], task.stored[key]) for name, key in answer.keys.items()
        }
        return task.position, task.sample, records, answer.keys

    def _write(self, line: Line, journal: Journal) -> None:
        if find_final(journal, JUDGEMENTS[line.judgement], line.key) is None:  # a twin may have written it
            journal.put(*line)

    def _look_up(
        self, sample: Sample, required: Sequence[str], journal: Journal
    ) -> tuple[dict[str, Record], dict[str, str], tuple[AnyJudgement, str] | None]:
        """Return the records and keys of a sample in the journal, and the first missing (judgement, key)."""
        missing: list[tuple[AnyJudgement, str]] = []
        choices = self._judge.choices(required, self._options)

        def look_up(judgement: AnyJudgement, sample: Sample, records: Records) -> KeyedRecord | None:
            key = self._judge.key(judgement, judgement.inputs(sample, records, choices))
            record = find_final(journal, judgement, key)
            if record is not None:
                return record, key
            missing.append((judgement, key))
            return None

        records, keys = make_records(sample, required, look_up)
        return records, keys, missing[0] if missing else None

    def _fail(self, task: Task, failure: Failure, journal: Journal) -> Judged:
        """Write the failure for what is missing of a sample that no worker could judge."""
        records, keys, missing = self._look_up(task.sample, task.required, journal)
        if missing is not None:
            judgement, key = missing
            key = put_failure(journal, judgement, key, task.sample, failure)
            for other in with_needs(task.required):
                if other.name not in records:
                    records[other.name], keys[other.name] = failure, key
        return task.position, task.sample, records, keys


def _wait_for_next(queue: SimpleQueue[T]) -> T:
    """Wait for the queue's next entry, and look for Ctrl-C meanwhile."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=BETWEEN_LOOKS)
