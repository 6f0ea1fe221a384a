"""Probe a GGUF model in a child process, which runs this module, before it is loaded here.

llama.cpp ends the process, or runs for ever, on some damaged or hostile files, and on every file where it was
compiled for another processor. A file that passed is recorded by its sha256, the processor and the build.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel

from localeval.engine.build import library_digest, processor
from localeval.engine.engine import Engine
from localeval.engine.interface import EngineError
from localeval.engine.memory import OVERHEAD, check_fits
from localeval.engine.settings import MIN_CONTEXT, EngineSettings
from localeval.errors import InputError, LocalevalError, ModelBroken, ModelError
from localeval.models.catalog import entries
from localeval.models.files import ModelFiles
from localeval.prompts import PromptPrefix
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES, offline
from localeval.system.versions import digest, package_versions
from localeval.text.display import shorten

# Time limit of a probe, plus time for the size of the files: a slow disk or busy machine is not their fault.
SECONDS = 180
BYTES_A_SECOND = 25_000_000
# Increase it when a probe checks more, so that files that passed before are probed again.
PROBE_VERSION = 2
# A chat template is tried with 0 to so many examples; built-in prompts have up to 18.
MAX_EXAMPLES = 64
MAX_THREADS = 4
# Bytes besides weights: Python, libraries, stacks, buffers, a cache.
_ADDRESS_SPACE = 6 << 30
# No debugger at an abort; no address space for idle threads.
_VARIABLES = {"GGML_NO_BACKTRACE": "1", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
# The signals of a process that crashed, of those that this system has.
_CRASHES = [
    getattr(signal, name)
    for name in ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV")
    if hasattr(signal, name)
]
# Exit codes of a process that crashed on Windows: NTSTATUS values, in Microsoft's list.
_WINDOWS_CRASHES = {
    0xC0000005: "access violation",
    0xC0000006: "in-page error",
    0xC000001D: "illegal instruction",
    0xC0000094: "integer division by zero",
    0xC00000FD: "stack overflow",
    0xC0000409: "abort",
}
_PREFIX = PromptPrefix(
    "Answer.", (("One?", '{"word":"a","verdict":"yes"}'), ("Two?", '{"word":"b","verdict":"no"}'))
)
_TEXT = "".join(map(chr, range(1, 256))) + "<|im_end|> 中文字 한국어 🍎👩‍👩‍👧 \U0010ffff naïve, 12 345.\r\n\t"


def probe_vocabulary(files: ModelFiles, settings: EngineSettings) -> None:
    """Check that the vocabulary of a model can be opened here. Raises what `probe_model` raises.

    The vocabulary of a catalog's model can. Another model has to pass the whole probe first.
    """
    if not _are_of_the_catalog(files):
        probe_model(files, settings)


def probe_model(files: ModelFiles, settings: EngineSettings) -> None:
    """Check in a child process that the weights of a model can be loaded, unless they were before.

    A file that is not the catalog's has to pass; a file of the catalog is refused only where llama.cpp ends
    the process on it, since then the build is wrong.

    Raises ModelBroken if another file fails the probe, InputError for settings that don't suit it or too
    little memory, ModelError where no child process can be started, or llama.cpp does not work on this
    processor.
    """
    marker = _marker(files, settings)
    if marker.exists():
        return
    check_fits(files.found_as or files.path.name, None if settings.n_gpu_layers else files.size + OVERHEAD)
    known = _are_of_the_catalog(files)
    fault = _find_fault(files, settings, known)
    if fault is None:
        # Without the marker it is probed again next time.
        with contextlib.suppress(OSError):
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()
    elif not known:
        raise fault


def check_weights(files: ModelFiles, engine: Engine) -> None:
    """Check that an engine for this model can load its weights here.

    Raises InputError where they do not fit into free memory, and what `probe_model` raises.
    """
    check_fits(files.found_as or files.path.name, engine.memory())
    probe_model(files, engine.settings)


def _are_of_the_catalog(files: ModelFiles) -> bool:
    """Return whether each file has the bytes of one of the catalog, wherever it lies."""
    catalog = {file.sha256 for entry in entries().values() for file in entry.files}
    return catalog.issuperset(files.checksums.values())


def _marker(files: ModelFiles, settings: EngineSettings) -> Path:
    """Return the file that exists once the model has passed, with this build, processor and settings.

    The length of the context and the number of threads are left out: a probe has its own.
    """
    names = ("n_gpu_layers", "n_batch", "width", "flash_attention", "cache_type", "mmap")
    key = {
        "files": list(files.checksums.values()),
        "packages": package_versions(),
        "library": library_digest(),
        "processor": processor(),
        "settings": {name: getattr(settings, name) for name in names},
        "probe": PROBE_VERSION,
    }
    return platformdirs.user_cache_path("localeval") / "probed" / digest(key)


def _find_fault(files: ModelFiles, settings: EngineSettings, known: bool) -> LocalevalError | None:
    """Probe the model and return its fault, None if it passes. Raises ModelError where the build is wrong."""
    seconds = SECONDS + files.size // BYTES_A_SECOND
    try:
        child = subprocess.run(  # noqa: S603 (this Python, with paths for its data)
            subprocesses.module(
                "localeval.engine.probe",
                json.dumps(_limited(settings)),
                *map(str, files.checksums),
            ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env=subprocesses.environment(**SWITCHES, **_VARIABLES),
        )
    except subprocess.TimeoutExpired:
        return _broken(files.path, f"loading it did not end within {seconds} seconds")
    except OSError as error:
        return ModelError(
            f"{files.path}: no process can be started to probe it in ({error.strerror}); "
            f"run once, with the same localeval: python -m localeval doctor --judge {files.path}"
        )
    output = child.stdout.splitlines()
    if child.returncode == 0 and output:
        return _told_fault(output[-1])
    ending = _describe_ending(child.returncode)
    crashed = -child.returncode in _CRASHES or child.returncode in _WINDOWS_CRASHES
    if known and crashed:
        raise ModelError(
            f"{files.path}: llama.cpp ends the process on this model ({ending}), whose bytes are the "
            "catalog's, so its build is at fault, most often one for another processor; compile it "
            "again here (in a checkout: rm -r .venv; pip cache remove llama_cpp_python; scripts/setup)."
        )
    said = [line for line in child.stderr.splitlines() if line.strip()]
    if said:
        ending = f"{ending}: {shorten(said[-1], 120)}"
    return _broken(files.path, f"llama.cpp ended on it ({ending})")


def _limited(settings: EngineSettings) -> dict[str, Any]:
    """Return the settings of a probe: a short context, and few threads, as each takes address space."""
    return {
        **vars(settings),
        "n_ctx": MIN_CONTEXT,
        "n_batch": min(settings.n_batch, MIN_CONTEXT),
        "n_threads": min(settings.n_threads, MAX_THREADS),
    }


def _told_fault(line: str) -> LocalevalError | None:
    """Return the fault that a child printed as its last line; None if it had none."""
    kind, fault = json.loads(line)
    if not fault:
        return None
    return InputError(fault) if kind == InputError.__name__ else ModelBroken(fault)


def _describe_ending(code: int) -> str:
    """Name the signal or the crash that ended a process with this exit code.

    >>> _describe_ending(-9), _describe_ending(0xC0000005), _describe_ending(1)
    ('SIGKILL', 'access violation', 'exit code 1')
    """
    if code in _WINDOWS_CRASHES:
        return _WINDOWS_CRASHES[code]
    for known_signal in signal.Signals:
        if known_signal == -code:
            return known_signal.name
    return f"exit code {code}"


def _broken(path: Path, fault: str) -> ModelBroken:
    return ModelBroken(
        f"{path}: {fault}, tried in a child process; copy or fetch it again, or choose another file."
    )


class _Answer(BaseModel):
    word: str
    verdict: Literal["yes", "no"]


def load_and_ask(files: Sequence[Path], settings: EngineSettings) -> None:
    """Load the model in this process, frame prompts of all lengths, and generate a reply to varied text.

    Raises ModelBroken or InputError for every failure.
    """
    path = files[0]
    try:
        _limit_memory(sum(file.stat().st_size for file in files), settings)
        with contextlib.closing(Engine(files, settings)) as engine:
            assert engine.llama  # noqa: S101 (it loads)
            # A template may fail for some numbers of examples.
            for examples in range(MAX_EXAMPLES + 1):
                engine.frame(PromptPrefix("", (("", ""),) * examples))
            engine.generate(_PREFIX, _TEXT, ["One?", "Two?"], _Answer, budget=4)
    except EngineError as error:
        raise ModelBroken(f"{path}: {error}; copy or fetch it again, or choose another file.") from error
    except LocalevalError:
        raise
    except Exception as error:  # a damaged file can make the libraries raise anything
        raise ModelBroken(
            f"{path}: this file can't be used ({shorten(repr(error))}); choose another file."
        ) from error


def _limit_memory(weights: int, settings: EngineSettings) -> None:
    """Limit the address space to what a valid file of this size can need, and disable core dumps.

    Does nothing where the system has no such limits, as on Windows.
    """
    try:
        import resource
    except ImportError:
        return
    if sys.platform == "win32":  # for the type checker
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # A GPU's driver maps far more than it uses.
    if sys.platform == "linux" and not settings.n_gpu_layers:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = 2 * weights + _ADDRESS_SPACE
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def main(settings: str, *files: str) -> None:
    """Probe the files with settings in JSON; print the kind of the fault and its sentence, or empty ones."""
    offline()
    kind = ""
    fault = ""
    try:
        load_and_ask([Path(file) for file in files], EngineSettings(**json.loads(settings)))
    except LocalevalError as error:
        kind = type(error).__name__
        fault = str(error)
    print(json.dumps([kind, fault]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
