"""Judge samples in several processes at once. Workers only judge; the driver alone writes and scores.

A worker gets the records of its sample that the journal holds already; a sample with all its records in the
journal goes to no worker.
"""

from __future__ import annotations

import multiprocessing
import platform
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from threading import RLock, Thread
from typing import Any, Literal, NamedTuple, Protocol, cast

from pydantic import BaseModel

from localeval.engine.engine import Engine
from localeval.engine.interface import physical_cores
from localeval.engine.memory import available
from localeval.errors import EngineFailing, FolderError, InputError
from localeval.judge import Judge
from localeval.judgements import JUDGEMENTS, Failure, Judgement, Records, make_records, with_needs
from localeval.judgements.journal import Journal, find_believed, key_of_failure, parse_record
from localeval.prompts.options import Options
from localeval.samples import Sample
from localeval.system.offline import attempts, is_offline, offline
from localeval.text.display import shorten

MOST_TRIES = 3
"""Number of workers lost while judging a sample, after which it fails with `worker_lost`."""

AUTO_THREADS = 4
"""Threads per worker with `auto`, about: on 16 cores, 4 workers of 4 are faster than 1 of 16 or 16 of 1."""

MOST_FAILED_AT_FIRST = 5
"""Samples in a row that the engine fails, with none judged before, after which a run stops: by then the fault
is not in a sample, and each lost sample costs `MOST_TRIES` starts of a worker."""

MOST_FAILED_LATER = 50
"""The same once a sample was judged: samples that are alike, such as long ones, often stand together."""

Judged = tuple[int, Sample, dict[str, BaseModel], dict[str, str]]
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


class Answer(NamedTuple):
    """The answer of a worker on `node`; `refused` counts attempts to use the network meanwhile.

    keys  judgement -> the key of its record, which is in the task or in a line that was kept
    """

    keys: dict[str, str]
    refused: int
    node: str


class WorkerLost(Exception):
    """Raised when the worker's process has ended, or its machine is gone."""


class Worker(Protocol):
    """Judges tasks, one at a time. It loads its model at the first one."""

    def ready(self) -> None:
        """Wait until the worker can take a task. Raises WorkerLost."""

    def judge(self, task: Task, keep: Keep) -> Answer:
        """Wait for the answer, and `keep` the lines. Raises WorkerLost, or whatever the judging raised."""

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
            arguments = (worker_end, judge.loader, is_offline())
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
            while isinstance(answer := self._pipe.recv(), Line):
                keep(answer)
        except (EOFError, OSError) as error:
            raise WorkerLost from error
        if isinstance(answer, Exception):
            raise answer
        return cast("Answer", answer)

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
    _, keys = judge.judge_with_keys(task.sample, task.required, task.options, journal)
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
                result: Answer | Exception = answer(judge, task, pipe.send)
            except Exception as error:  # noqa: BLE001 (raised again in the driver)
                result = error
            pipe.send(result)


class Brake:
    """Stops a run in which every sample fails by the engine, or ends its worker."""

    def __init__(self) -> None:
        self._in_a_row = 0
        self._most = MOST_FAILED_AT_FIRST

    def check(self, records: Mapping[str, BaseModel]) -> None:
        """Look at the records of the next sample. Raises EngineFailing."""
        if not records:
            return
        failures = [record for record in records.values() if isinstance(record, Failure)]
        broken = [failure for failure in failures if failure.failed in ("engine_error", "worker_lost")]
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


def choose_workers(judge: Judge, workers: int | Literal["auto"], ray: str | None) -> InProcess | Workers:
    """Return what judges the samples. Raises InputError for a cluster that does not answer."""
    if ray is not None:
        from localeval.runs import cluster

        cluster.connect(ray)
        capacity = cluster.count(judge.engine.settings.n_threads)
        requested = 1 if workers == "auto" else workers
        return Workers(judge, requested if requested > 1 else capacity, cluster.Actor)
    count = _auto_count(judge) if workers == "auto" else workers
    if count == 1:
        return InProcess(judge)
    _check_memory(judge, count)
    return Workers(judge, count)


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

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def __str__(self) -> str:
        return ""

    def judge(
        self, samples: Sequence[Sample], required: Wanted, options: Options, journal: Journal
    ) -> Generator[Judged, None, None]:
        """Yield (index, sample, records, keys) of each sample as it is done, and write the journal."""
        brake = Brake()
        for index, sample in enumerate(samples):
            records, keys = self._judge.judge_with_keys(sample, required(sample), options, journal)
            yield index, sample, records, keys
            brake.check(records)


class Workers:
    """The workers of one run, each with a thread here that waits for it.

    refused  number of attempts to use the network in the workers
    """

    def __init__(self, judge: Judge, number: int, start: Callable[[Judge], Worker] = Process) -> None:
        """Raises InputError for a judge that another process can't load."""
        if judge.loader is None:
            raise InputError(
                "workers load the judge themselves; give its name, or one that Judge.load made with names or "
                "paths of its models."
            )
        self._judge, self._number, self._start = judge, number, start
        self.refused = 0
        self._workers: dict[Worker, str] = {}  # worker -> its node, once it has answered
        self._stopped = False
        self._tasks: SimpleQueue[tuple[Task, int] | None] = SimpleQueue()  # and the number of the try
        self._done: SimpleQueue[Line | tuple[Task, Answer | None] | Exception] = SimpleQueue()

    def __str__(self) -> str:
        nodes = set(self._workers.values()) - {""}
        return f"{len(self._workers)} workers" + f" on {len(nodes)} nodes" * (len(nodes) > 1)

    def judge(
        self, samples: Sequence[Sample], required: Wanted, options: Options, journal: Journal
    ) -> Generator[Judged, None, None]:
        """Yield as `InProcess.judge` does, but in any order."""
        self._context = self._judge.context(options)
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
                self._tasks.put((Task(index, sample, names, stored, options), 1))
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
        except WorkerLost:
            if tries < MOST_TRIES:
                self._tasks.put((task, tries + 1))
            else:
                self._done.put((task, None))
            raise

    def _next_answer(self, journal: Journal) -> Judged:
        """Wait for the next answer, and write the lines until then. Raises whatever a worker raised."""
        while isinstance(result := self._done.get(), Line):
            self._write(result, journal)
        if isinstance(result, Exception):
            raise result
        task, answer = result
        if answer is None:
            return self._fail(task, journal)
        self.refused += answer.refused
        records = {
            name: parse_record(JUDGEMENTS[name], task.stored[key]) for name, key in answer.keys.items()
        }
        return task.position, task.sample, records, answer.keys

    def _write(self, line: Line, journal: Journal) -> None:
        if find_believed(journal, JUDGEMENTS[line.judgement], line.key) is None:  # a twin may have written it
            journal.put(*line)

    def _look_up(
        self, sample: Sample, required: Sequence[str], journal: Journal
    ) -> tuple[dict[str, BaseModel], dict[str, str], tuple[Judgement, str] | None]:
        """Return the records and keys of a sample in the journal, and the first missing (judgement, key)."""
        missing: list[tuple[Judgement, str]] = []

        def look_up(judgement: Judgement, sample: Sample, records: Records) -> tuple[BaseModel, str] | None:
            key = self._judge.key(judgement, self._context, sample, records)
            if (record := find_believed(journal, judgement, key)) is not None:
                return record, key
            missing.append((judgement, key))
            return None

        records, keys = make_records(sample, required, look_up)
        return records, keys, missing[0] if missing else None

    def _fail(self, task: Task, journal: Journal) -> Judged:
        """Write a failure for what is missing of a sample whose workers were all lost."""
        records, keys, missing = self._look_up(task.sample, task.required, journal)
        if missing is not None:
            judgement, key = missing
            key = key_of_failure(key, task.sample)
            failure: BaseModel = Failure(failed="worker_lost", detail=f"{MOST_TRIES} workers ended")
            cost = {"seconds": 0, "rows": 0}
            journal.put(key, judgement.name, task.sample.id, failure.model_dump(mode="json"), cost)
            for other in with_needs(task.required):
                if other.name not in records:
                    records[other.name], keys[other.name] = failure, key
        return task.position, task.sample, records, keys
