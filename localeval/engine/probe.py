"""A GGUF file is first loaded and asked in a process of its own (`localeval.engine.probe_child`).

llama.cpp ends the process on some damaged or hostile files, or runs for ever; and on every file where it was
compiled for another processor, or wrongly. That must never be the caller's process. Bytes that passed are
remembered, by their sha256, with the processor and the build, and probed no more.
"""

from __future__ import annotations

import contextlib
import errno
import json
import signal
import subprocess
import sys
from pathlib import Path

import platformdirs

from localeval.engine.build import library, processor
from localeval.engine.interface import EngineSettings
from localeval.errors import InputError, LocalevalError, ModelBroken, ModelError
from localeval.models.catalog import rows
from localeval.models.files import file_sha256
from localeval.models.gguf import check_gguf, split_files
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES
from localeval.system.versions import digest, package_versions
from localeval.text.display import shorten

SECONDS, BYTES_A_SECOND = 180, 25_000_000
"""A probe may take this long, and longer by the file's size: a slow disk or busy machine is not its fault."""

VERSION = 2
"""One more whenever a probe asks more of a file, so that what passed before is probed anew."""

IN_CHILD = False
"""Set in a process that may end by what it loads: nothing is probed elsewhere first."""

# No debugger at an abort; no address space for threads that do nothing.
_QUIET = {"GGML_NO_BACKTRACE": "1", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}

_CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)


def probe_model(path: Path, settings: EngineSettings | None = None) -> None:
    """Return if the model at `path` may be loaded here; without `settings`, if its vocabulary may.

    Bytes that the catalog does not know have to pass; its own are refused only where llama.cpp ends the
    process on them, since then it is the build that is wrong.

    Raises ModelBroken if the probe of unknown bytes ends in any other way, InputError for settings that don't
    suit them, ModelError where this process can start no other, or llama.cpp does not work on this processor.
    """
    if IN_CHILD:
        return
    files = split_files(path)
    sums = [file_sha256(file) for file in files]
    known = set(sums) <= {file.sha256 for row in rows().values() for file in row.files}
    if known and settings is None:
        return
    settings = settings or EngineSettings()
    passed = _passed(sums, settings)
    if passed.exists():
        return
    if not known:
        for file in files:
            check_gguf(file)
    seconds = SECONDS + sum(file.stat().st_size for file in files) // BYTES_A_SECOND
    fault: LocalevalError | None
    try:
        done = _run(path, settings, seconds)
    except subprocess.TimeoutExpired:
        fault = _broken(path, f"loading it did not end within {seconds} seconds")
    except OSError as error:
        fault = ModelError(
            f"{path}: no process can be started to probe it in ({error.strerror}); "
            f"run once, with the same localeval: python -m localeval doctor --judge {path}"
        )
    else:
        if known and -done.returncode in _CRASHES:
            how = _signal(-done.returncode)
            raise ModelError(
                f"{path}: llama.cpp ends the process on this model ({how}), whose bytes are the "
                "catalog's, so it was not compiled for this processor; compile it again here "
                "(in a checkout: rm -r .venv; pip cache remove llama_cpp_python; scripts/setup)."
            )
        fault = _fault(path, done)
    if fault is None:
        with contextlib.suppress(OSError):  # then it is probed again next time
            passed.parent.mkdir(parents=True, exist_ok=True)
            passed.touch()
    elif not known:
        raise fault


def _run(path: Path, settings: EngineSettings, seconds: int) -> subprocess.CompletedProcess[str]:
    """The probe itself. Raises TimeoutExpired, and OSError where no process can be started."""
    if getattr(sys, "frozen", False):  # it would start itself again
        raise OSError(errno.ENOENT, "a frozen program has no Python")
    threads = min(settings.n_threads, 4)  # each takes address space, which is limited there
    small = {**vars(settings), "n_ctx": 2048, "n_batch": min(settings.n_batch, 2048), "n_threads": threads}
    return subprocess.run(  # noqa: S603 (this Python, with a path for its data)
        subprocesses.module("localeval.engine.probe_child", str(path), json.dumps(small)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
        env=subprocesses.environment(**SWITCHES, **_QUIET),
    )


def _fault(path: Path, done: subprocess.CompletedProcess[str]) -> LocalevalError | None:
    """What the probe found; None if the model passed."""
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
        fault, kind = answer["fault"], answer["kind"]
    except (IndexError, ValueError, KeyError, TypeError):  # it did not come to its end
        fault = kind = ""
    if fault:
        return {"InputError": InputError, "ModelError": ModelError}.get(kind, ModelBroken)(fault)
    if done.returncode == 0 and fault is None:
        return None
    how = _signal(-done.returncode) if done.returncode < 0 else f"exit code {done.returncode}"
    last = next((shorten(line, 120) for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    return _broken(path, f"llama.cpp ended on it ({how}{': ' if last else ''}{last})")


def _broken(path: Path, what: str) -> ModelBroken:
    return ModelBroken(
        f"{path}: {what}, in a trial apart from this process; copy or fetch it again, or choose another file."
    )


def _signal(number: int) -> str:
    return next((one.name for one in signal.Signals if one == number), f"signal {number}")


def _passed(sums: list[str], settings: EngineSettings) -> Path:
    """The file that says these bytes passed here, with this build and what of the settings is proved."""
    names = ("n_gpu_layers", "n_batch", "width", "flash_attention", "cache_type", "mmap")
    proved = {name: getattr(settings, name) for name in names}
    here = {"packages": package_versions(), "library": library(), "processor": processor()}
    key = digest({"files": sums, **here, "settings": proved, "trial": VERSION})
    return platformdirs.user_cache_path("localeval") / "tried" / key
