"""Workers on a Ray cluster (the extra `ray`): each is an actor, with the model of its own machine.

Only Ray uses the network; the guard of `localeval.offline` is active in the driver and in each actor.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from localeval.engine.settings import EngineSettings
from localeval.errors import InputError, ModelBroken, ModelError
from localeval.judge import Judge
from localeval.metrics import register_criteria
from localeval.runs.workers import (
    JournalEntry,
    OnEntry,
    RemoteError,
    SampleTask,
    TaskResult,
    Worker,
    WorkerHangs,
    WorkerLost,
    judge_task,
)
from localeval.system.offline import is_offline, offline
from localeval.text.display import shorten

LOG = logging.getLogger("localeval")

SECONDS_TO_ANSWER = 20
SECONDS_TO_START = 60
"""Time in which a worker starts where there is room; after it, a warning says that it waits."""


def connect(address: str) -> None:
    """Join the cluster at `address`, or the cluster of this machine for `auto`. Raises InputError."""
    # Else Ray sends usage statistics to its makers.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError as error:
        raise InputError("a cluster needs Ray; run: pip install 'localeval[ray]'.") from error
    if ray.is_initialized():
        return
    try:
        # Where none answers, ray.init would wait for many minutes.
        if address != "auto":
            command = [sys.executable, "-m", "ray.scripts.scripts", "status", "--address", address]
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS_TO_ANSWER)  # noqa: S603
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:  # Ray raises exceptions of many types
        raise InputError(
            f"no Ray cluster answers at {shorten(address)} ({_reason(error)}); start one with "
            "`ray start --head`, or give its address."
        ) from error


def _reason(error: Exception) -> str:
    """Return the last line of what the command that failed printed, or of the error itself."""
    printed = ""
    if isinstance(error, subprocess.CalledProcessError):
        printed = error.stderr.decode(errors="replace").strip()
    text = printed or str(error) or repr(error)
    return shorten(text.splitlines()[-1])


def count(settings: EngineSettings) -> int:
    """Return how many workers the machines of the cluster have room for, with the threads of `settings`.

    Raises InputError where no machine has room for one: Ray would wait for ever for such a machine.
    """
    import ray

    machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    threads = settings.n_threads
    largest = int(max((machine.get("CPU", 0) for machine in machines), default=0))
    if largest < threads:
        remedy = f"give --threads {largest} (in Python, n_threads)" if largest else "give its machines cores"
        raise InputError(
            f"no machine of the Ray cluster has the {threads} cores that a worker asks for, one a thread; "
            f"the largest has {largest}. Start a larger machine, or {remedy}."
        )
    rooms = [int(machine.get("CPU", 0)) // threads for machine in machines]
    if settings.n_gpu_layers:
        gpus = [int(machine.get("GPU", 0)) for machine in machines]
        rooms = [min(room, gpu) for room, gpu in zip(rooms, gpus, strict=True)]
    if not sum(rooms):
        raise InputError(
            f"no machine of the Ray cluster has a GPU and the {threads} cores that a worker asks for; leave "
            "--gpu-layers out, or start such a machine."
        )
    return sum(rooms)


class Actor(Worker):
    """A worker in the cluster. An error about its own machine names that machine."""

    def __init__(self, judge: Judge) -> None:
        import ray

        self._ray = ray
        settings = judge.engine.settings
        gpus = 1 if settings.n_gpu_layers else 0
        remote: Any = ray.remote(_RemoteJudge).options(num_cpus=settings.n_threads, num_gpus=gpus)
        self._actor = remote.remote(judge.loader_for_workers(), judge.model["sha256"], is_offline())

    def wait_until_started(self) -> None:
        """Wait until the cluster has room for the actor. Raises WorkerLost where it can't be started."""
        try:
            start = self._actor.start.remote()
            started, _ = self._ray.wait([start], timeout=SECONDS_TO_START)
            if not started:
                LOG.warning("a worker waits for room on the Ray cluster, which others use.")
            self._ray.get(start)
        except self._ray.exceptions.RayError as error:
            raise WorkerLost(f"{shorten(error)}; is localeval on its machine?") from error

    def judge(self, task: SampleTask, on_entry: OnEntry) -> TaskResult:
        try:
            if task.timeout is not None:
                # Beforehand, as the time limit of a sample does not count the loading of the models.
                self._take(self._actor.load_models.remote(task), seconds=None)
            judged = self._actor.judge.remote(task)
            answer, entries = self._take(judged, task.seconds_to_answer())
        except self._ray.exceptions.GetTimeoutError as error:
            raise WorkerHangs from error
        except self._ray.exceptions.RayError as error:
            # The actor, its process or its machine is gone.
            raise WorkerLost from error
        for entry in entries:
            on_entry(entry)
        return cast("TaskResult", answer)

    def _take(self, reference: Any, seconds: float | None) -> Any:
        """Wait for a result, at most `seconds`, or without end for None.

        Raises Ray's errors, or what the judging raised.
        """
        result = self._ray.get(reference, timeout=seconds)
        if isinstance(result, RemoteError):
            raise result.as_exception()
        return result

    def stop(self) -> None:
        # It may be gone already, and the cluster with it.
        with suppress(Exception):
            self._ray.kill(self._actor)


class _RemoteJudge:
    """The class of an actor."""

    def __init__(self, load: Callable[[], Judge], sha256: str, refuse_network: bool) -> None:
        self._load = load
        self._sha256 = sha256
        self._judge: Judge | None = None
        if refuse_network:
            offline()

    def start(self) -> None:
        """Return; the call runs only once the cluster has room for the actor."""

    def load_models(self, task: SampleTask) -> RemoteError | None:
        """Load the models of a task, whose time does not count that."""
        try:
            register_criteria(task.options.criteria)
            self._loaded().load_models(task.required, task.options)
        except Exception as error:  # noqa: BLE001 (raised again in the main process)
            return RemoteError.describe(error)
        return None

    def judge(self, task: SampleTask) -> tuple[TaskResult, list[JournalEntry]] | RemoteError:
        """Judge the sample of a task, and return the new entries of the journal, too."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        entries: list[JournalEntry] = []
        try:
            answer = judge_task(self._loaded(), task, entries.append)
        except Exception as error:  # noqa: BLE001 (raised again in the main process)
            return RemoteError.describe(error)
        return answer._replace(node=node), entries

    def _loaded(self) -> Judge:
        """Return the judge, loaded at the first call."""
        import ray

        if self._judge is None:
            self._judge = self._load_judge(ray.util.get_node_ip_address())
        return self._judge

    def _load_judge(self, node: str) -> Judge:
        """Load the judge on this machine, and check that it has the model of the main process."""
        try:
            judge = self._load()
        except ModelError as error:
            raise type(error)(f"on {node}: {error}") from error
        if judge.model["sha256"] != self._sha256:
            raise ModelBroken(
                f"on {node}: {judge.source} has sha256 {judge.model['sha256']}, and {self._sha256} here; "
                "copy the file from here to there."
            )
        return judge
