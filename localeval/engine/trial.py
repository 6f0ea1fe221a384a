"""A GGUF file is first loaded and asked in a process of its own.

llama.cpp ends the process on some damaged or hostile files, or runs for ever; and on every file where it was
compiled for another processor, or wrongly. That must never be the caller's process: so the first load is a
trial elsewhere, with a limit of time and memory. Bytes that passed are remembered, by their sha256, with the
processor and the build, and tried no more.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import platformdirs

from localeval.engine.build import library, processor
from localeval.engine.interface import EngineSettings
from localeval.errors import InputError, ModelBroken, ModelError
from localeval.models.catalog import rows
from localeval.models.files import file_sha256
from localeval.models.gguf import check_gguf, split_files
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES
from localeval.system.versions import digest, package_versions
from localeval.text.display import said

SECONDS, BYTES_A_SECOND = 180, 25_000_000
"""A trial may take this long, and longer by the file's size: a slow disk or busy machine is not its fault."""

TRIAL = 2
"""One more whenever a trial asks more of a file, so that what passed before is tried anew."""

_QUIET = {"GGML_NO_BACKTRACE": "1", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
"""No debugger at an abort; no address space for threads that do nothing."""

KINDS = {"InputError": InputError, "ModelError": ModelError}

_CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)


class _Process:
    """What this process is for."""

    is_trial = False


_THIS = _Process()


def begin_trial() -> None:
    """From now on this process is one that may end by what it loads: nothing is tried elsewhere first."""
    _THIS.is_trial = True


def try_first(path: Path, settings: EngineSettings | None = None) -> None:
    """Return if the model at `path` may be loaded here; without `settings`, if its vocabulary may.

    Bytes that the catalog does not know have to pass a trial; its own are refused only where llama.cpp ends
    the process on them, since then it is the build that is wrong.

    Raises ModelBroken if the trial of unknown bytes ends in any other way, InputError for settings that don't
    suit them, ModelError where this process can start no other, or llama.cpp does not work on this processor.
    """
    if _THIS.is_trial:
        return
    files = split_files(path) or [path]
    sums = [file_sha256(file) for file in files]
    known = set(sums) <= {file.sha256 for row in rows().values() for file in row.files}
    if known and settings is None:
        return
    settings = settings or EngineSettings()
    passed = _memory(sums, settings)
    if passed.exists():
        return
    weights = sum(file.stat().st_size for file in files)
    if known:
        if not _suits(path, settings, weights):
            return
    else:
        for file in files:
            check_gguf(file)
        _try(path, settings, weights)
    with contextlib.suppress(OSError):  # then it is tried again next time
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.touch()


def _suits(path: Path, settings: EngineSettings, weights: int) -> bool:
    """Whether llama.cpp was seen to work on a model whose bytes are the catalog's; False if nothing was seen.

    Raises ModelError where it ends the process.
    """
    if not _has_python():
        return False
    try:
        done = _run(path, settings, _seconds(weights))
    except (subprocess.TimeoutExpired, OSError):
        return False
    if -done.returncode in _CRASHES:
        raise ModelError(
            f"{path}: llama.cpp ends the process on this model ({_name(-done.returncode)}), whose bytes are "
            "the catalog's, so it was not compiled for this processor; compile it again here (in a checkout: "
            "rm -r .venv; pip cache remove llama_cpp_python; scripts/setup)."
        )
    answer = _answer(done)
    return answer is not None and answer["fault"] is None


def _try(path: Path, settings: EngineSettings, weights: int) -> None:
    if not _has_python():
        raise ModelError(
            f"{path} is not in the catalog, and this program has no Python to try it in; "
            f"run once, with the same localeval: python -m localeval doctor --judge {path}"
        )
    seconds = _seconds(weights)
    try:
        done = _run(path, settings, seconds)
    except subprocess.TimeoutExpired as error:
        raise _broken(path, f"loading it did not end within {seconds} seconds") from error
    except OSError as error:
        raise ModelError(f"{path}: no process can be started to try it in ({error.strerror}).") from error
    _judge(path, done)


def _seconds(weights: int) -> int:
    return SECONDS + weights // BYTES_A_SECOND


def _run(path: Path, settings: EngineSettings, seconds: int) -> subprocess.CompletedProcess[str]:
    """The trial itself. Raises TimeoutExpired, and OSError where no process can be started."""
    threads = min(settings.n_threads, 4)  # each takes address space, which is limited there
    small = replace(settings, n_ctx=2048, n_batch=min(settings.n_batch, 2048), n_threads=threads)
    return subprocess.run(  # noqa: S603 (this Python, with a path for its data)
        subprocesses.module("localeval.engine.check", str(path), json.dumps(asdict(small))),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
        env=subprocesses.environment(**SWITCHES, **_QUIET),
    )


def _judge(path: Path, done: subprocess.CompletedProcess[str]) -> None:
    """Return if the trial passed; else raise what it found."""
    answer = _answer(done)
    if answer is None:
        how = _name(-done.returncode) if done.returncode < 0 else f"exit code {done.returncode}"
        last = next((said(line, 120) for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        raise _broken(path, f"llama.cpp ended on it ({how}{': ' if last else ''}{last})")
    if answer["fault"] is not None:
        raise KINDS.get(answer.get("kind", ""), ModelBroken)(answer["fault"])


def _answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any] | None:
    """What a trial that came to its end said; None of one that did not."""
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return None
    whole = isinstance(answer, dict) and isinstance(answer.get("fault", 0), str | None)
    return answer if whole and (done.returncode == 0 or answer["fault"]) else None


def _broken(path: Path, what: str) -> ModelBroken:
    return ModelBroken(
        f"{path}: {what}, in a trial apart from this process; copy or fetch it again, or choose another file."
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _has_python() -> bool:
    """A frozen program has no Python to start."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def _memory(sums: list[str], settings: EngineSettings) -> Path:
    """The file that says these bytes passed here, with this build and what of the settings is proved."""
    names = ("n_gpu_layers", "n_batch", "width", "flash_attention", "cache_type", "mmap")
    proved = {name: getattr(settings, name) for name in names}
    here = {"packages": package_versions(), "library": library(), "processor": processor()}
    key = digest({"files": sums, **here, "settings": proved, "trial": TRIAL})
    return platformdirs.user_cache_path("localeval") / "tried" / key
