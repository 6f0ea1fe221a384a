"""Workers: processes that judge one sample at a time. They judge only; the main process writes and scores.

A worker gets the records of its sample that the journal holds already, and sends back those that it makes.
"""

from __future__ import annotations

import multiprocessing
import platform
import signal
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from threading import RLock
from typing import Any, NamedTuple, Protocol, cast

from localeval import errors
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.journal import Journal
from localeval.metrics import register_criteria
from localeval.options import Options
from localeval.samples import Sample
from localeval.system.offline import attempts, is_offline, offline

GRACE_SECONDS = 5.0
"""Time after a sample's time limit in which a worker may still end its judgement; then it is ended. A worker
that is ended costs the load of another model."""


class JournalEntry(NamedTuple):
    """The arguments of `Journal.put`."""

    key: str
    judgement: str
    sample: str
    record: dict[str, Any]
    cost: Mapping[str, Any]


OnEntry = Callable[[JournalEntry], None]
"""Called with each entry as soon as it is made, or has come from the worker."""


class SampleTask(NamedTuple):
    """A sample to judge.

    position  of the sample in the run, from 0
    required  names of the judgements
    stored    key -> the records of this sample that the journal holds
    timeout   seconds for the judgements; None for no limit
    """

    position: int
    sample: Sample
    required: Sequence[str]
    stored: dict[str, dict[str, Any]]
    options: Options
    timeout: float | None = None

    def seconds_to_answer(self) -> float | None:
        """Return the seconds after which a worker that does not answer is taken to hang; None for never."""
        if self.timeout is None:
            return None
        return self.timeout + GRACE_SECONDS


class TaskResult(NamedTuple):
    """What a worker answers when a sample is judged.

    keys     judgement -> the key of its record, which is in the task or in an entry that was sent
    refused  number of attempts to use the network meanwhile
    node     name of the worker's machine
    """

    keys: dict[str, str]
    refused: int
    node: str


class ModelsLoaded(NamedTuple):
    """A worker's message that its models are loaded: from now on the time of a task counts."""


class RemoteError(NamedTuple):
    """An exception of a worker, as texts: some exceptions can't be pickled, or not be made of a pickle."""

    kind: str
    text: str
    trace: str

    @classmethod
    def describe(cls, error: Exception) -> RemoteError:
        return cls(type(error).__name__, str(error), "".join(traceback.format_exception(error)))

    def as_exception(self) -> Exception:
        """Return the exception to raise here: of the same type where it is one of localeval's."""
        kind = getattr(errors, self.kind, None)
        if isinstance(kind, type) and issubclass(kind, errors.LocalevalError):
            return kind(self.text)
        error = RuntimeError(f"a worker ended with {self.kind}: {self.text}")
        error.add_note(f"In the worker:\n{self.trace}")
        return error


class WorkerLost(Exception):
    """Raised when the worker's process has ended, or its machine is gone."""


class WorkerHangs(WorkerLost):
    """Raised when the worker did not answer within the time of its task."""


class Worker(Protocol):
    """Judges samples, one at a time. It loads its model at the first one."""

    def wait_until_started(self) -> None:
        """Wait until the worker can take a task. Raises WorkerLost."""

    def judge(self, task: SampleTask, on_entry: OnEntry) -> TaskResult:
        """Wait for the answer. Raises what the judging raised, as `RemoteError.as_exception`.

        Raises WorkerHangs where it takes too long (the worker can't be used afterwards), or WorkerLost.
        """

    def stop(self) -> None:
        """End the worker, whatever it is doing. Any thread may call this, and more than once."""

    def close(self) -> None:
        """Free its resources here, after it was stopped and when no thread waits for it."""


class ProcessWorker(Worker):
    """A worker in a process of this machine, with an engine of its own."""

    def __init__(self, judge: Judge) -> None:
        # A fork would share threads' locks with llama.cpp.
        context = multiprocessing.get_context("spawn")
        try:
            self._pipe, worker_end = context.Pipe()
            arguments = (worker_end, judge.loader_for_workers(), is_offline())
            self._process = context.Process(target=_serve, args=arguments, daemon=True)
            self._process.start()
        except OSError as error:
            raise InputError(f"no worker can be started ({error.strerror}); choose fewer.") from error
        # So that the pipe ends with the process.
        worker_end.close()

    def wait_until_started(self) -> None:
        try:
            self._pipe.recv()
        except (EOFError, OSError) as error:
            raise WorkerLost(
                'its process ended; a script has to call evaluate below `if __name__ == "__main__":`'
            ) from error

    def judge(self, task: SampleTask, on_entry: OnEntry) -> TaskResult:
        try:
            message = self._exchange(task, on_entry)
        except (EOFError, OSError) as error:
            raise WorkerLost from error
        if isinstance(message, RemoteError):
            raise message.as_exception()
        return message

    def _exchange(self, task: SampleTask, on_entry: OnEntry) -> TaskResult | RemoteError:
        """Send the task, pass on its entries, and return the last message."""
        self._pipe.send(task)
        deadline: float | None = None
        while True:
            message = self._receive(deadline)
            if isinstance(message, JournalEntry):
                on_entry(message)
            elif isinstance(message, ModelsLoaded):
                seconds = task.seconds_to_answer()
                deadline = None if seconds is None else time.monotonic() + seconds
            else:
                return cast("TaskResult | RemoteError", message)

    def _receive(self, deadline: float | None) -> Any:
        """Wait for the next message. Raises WorkerHangs where none comes until then."""
        if deadline is not None and not self._pipe.poll(max(0.0, deadline - time.monotonic())):
            raise WorkerHangs
        return self._pipe.recv()

    def stop(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.join()
        self._pipe.close()


class RemoteJournal(Journal):
    """The journal of the main process as a worker sees it: the records of one sample; new ones are sent."""

    def __init__(self, stored: Mapping[str, dict[str, Any]], on_entry: OnEntry) -> None:
        super().__init__()
        self._stored = stored
        self._on_entry = on_entry

    def get(self, key: str) -> dict[str, Any] | None:
        return self._stored.get(key)

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        self._on_entry(JournalEntry(key, judgement, sample, record, cost))


def judge_task(judge: Judge, task: SampleTask, on_entry: OnEntry) -> TaskResult:
    """Judge the sample of a task; called in a worker."""
    attempts_before = attempts()
    register_criteria(task.options.criteria)
    journal = RemoteJournal(task.stored, on_entry)
    _, keys = judge.judge_with_keys(task.sample, task.required, task.options, journal, task.timeout)
    return TaskResult(keys, attempts() - attempts_before, platform.node())


def _serve(pipe: Any, load: Callable[[], Judge], refuse_network: bool) -> None:
    """Say that the process has started, then judge tasks until the main process closes the pipe."""
    # The main process handles Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _use_a_lock_without_semaphore()
    if refuse_network:
        offline()
    judge: Judge | None = None
    with suppress(EOFError, OSError), ExitStack() as stack:
        pipe.send("ready")
        while True:
            task = pipe.recv()
            result: TaskResult | RemoteError
            try:
                register_criteria(task.options.criteria)
                if judge is None:
                    judge = stack.enter_context(load())
                if task.timeout is not None:
                    judge.load_models(task.required, task.options)
                pipe.send(ModelsLoaded())
                result = judge_task(judge, task, pipe.send)
            except Exception as error:  # noqa: BLE001 (raised again in the main process)
                result = RemoteError.describe(error)
            pipe.send(result)


def _use_a_lock_without_semaphore() -> None:
    """Give the progress bars of sentence-transformers a lock that is no semaphore.

    Python warns of a semaphore that is left over after a kill.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    tqdm.set_lock(RLock())
