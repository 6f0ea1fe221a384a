"""Probe a GGUF file in a child process, which runs this module, before it is loaded here.

llama.cpp ends the process, or runs for ever, on some damaged or hostile files, and on every file where it was
compiled for another processor. A file that passed is recorded by its sha256, the processor and the build.
"""

from __future__ import annotations

import contextlib
import json
import platform
import signal
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import platformdirs
from pydantic import BaseModel

from localeval.engine.interface import LEAST_CONTEXT, EngineError, EngineSettings
from localeval.engine.memory import OVERHEAD, check_fits
from localeval.errors import InputError, LocalevalError, ModelBroken, ModelError
from localeval.models.catalog import entries
from localeval.models.files import file_sha256, hash_file
from localeval.models.gguf import split_files
from localeval.prompts import PromptPrefix
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES, offline
from localeval.system.versions import digest, package_versions
from localeval.text.display import shorten

# Time limit of a probe, plus time for the file's size: a slow disk or busy machine is not the file's fault.
SECONDS, BYTES_A_SECOND = 180, 25_000_000
PROBE_VERSION = 2  # increase when a probe checks more, so that files that passed before are probed again
IN_CHILD = False  # True in a probe's own process, which loads files without probing them first
_ADDRESS_SPACE = 6 << 30  # bytes besides weights: Python, libraries, stacks, buffers, a cache
MOST_EXAMPLES = 64  # a chat template is tried with 0 to so many; built-in prompts have up to 18
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


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Return the processor's name and, on Linux, its features."""
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = fields.get("model name") or platform.processor() or platform.machine()
    return {"name": name, "features": fields.get("flags", fields.get("Features", ""))}


@cache
def library() -> str:
    """Digest llama.cpp's compiled libraries: two builds of one version have two digests."""
    spec = find_spec("llama_cpp")
    folders = [Path(package) / "lib" for package in (spec and spec.submodule_search_locations) or ()]
    files = sorted(file for folder in folders for file in folder.glob("lib*") if "so." not in file.name)
    return digest([(file.name, hash_file(file)) for file in files])


def probe_model(path: Path, settings: EngineSettings | None = None) -> None:
    """Check in a child process that the model at `path` can be loaded; without `settings`, its vocabulary.

    A file that is not the catalog's has to pass; a file of the catalog is refused only where llama.cpp ends
    the process on it, since then the build is wrong.

    Raises ModelBroken if another file fails the probe, InputError for settings that don't suit it, ModelError
    where no child process can be started, or llama.cpp does not work on this processor.
    """
    if IN_CHILD:
        return
    files = split_files(path)
    checksums = [file_sha256(file) for file in files]
    known = set(checksums) <= {file.sha256 for entry in entries().values() for file in entry.files}
    if known and settings is None:
        return
    settings = settings or EngineSettings()
    names = ("n_gpu_layers", "n_batch", "width", "flash_attention", "cache_type", "mmap")
    tested = {name: getattr(settings, name) for name in names}
    environment = {"packages": package_versions(), "library": library(), "processor": processor()}
    key = digest({"files": checksums, **environment, "settings": tested, "probe": PROBE_VERSION})
    marker = platformdirs.user_cache_path("localeval") / "probed" / key
    if marker.exists():
        return
    weights = sum(file.stat().st_size for file in files)
    check_fits(path, None if settings.n_gpu_layers else weights + OVERHEAD)
    fault = _find_fault(path, settings, SECONDS + weights // BYTES_A_SECOND, known)
    if fault is None:
        with contextlib.suppress(OSError):  # without the marker it is probed again next time
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()
    elif not known:
        raise fault


def _find_fault(path: Path, settings: EngineSettings, seconds: int, known: bool) -> LocalevalError | None:
    """Probe the model and return its fault, None if it passes. Raises ModelError where the build is wrong."""
    threads = min(settings.n_threads, 4)  # each takes address space, which is limited in the child
    n_batch = min(settings.n_batch, LEAST_CONTEXT)
    limited = {**vars(settings), "n_ctx": LEAST_CONTEXT, "n_batch": n_batch, "n_threads": threads}
    try:
        child = subprocess.run(  # noqa: S603 (this Python, with a path for its data)
            subprocesses.module("localeval.engine.probe", str(path), json.dumps(limited)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env=subprocesses.environment(**SWITCHES, **_VARIABLES),
        )
    except subprocess.TimeoutExpired:
        return _broken(path, f"loading it did not end within {seconds} seconds")
    except OSError as error:
        return ModelError(
            f"{path}: no process can be started to probe it in ({error.strerror}); "
            f"run once, with the same localeval: python -m localeval doctor --judge {path}"
        )
    if child.returncode == 0 and (lines := child.stdout.splitlines()):
        kind, fault = json.loads(lines[-1])
        return (InputError if kind == "InputError" else ModelBroken)(fault) if fault else None
    code = -child.returncode
    ending = next((s.name for s in signal.Signals if s == code), f"exit code {child.returncode}")
    ending = _WINDOWS_CRASHES.get(child.returncode, ending)
    if known and (code in _CRASHES or child.returncode in _WINDOWS_CRASHES):
        raise ModelError(
            f"{path}: llama.cpp ends the process on this model ({ending}), whose bytes are the "
            "catalog's, so its build is at fault, most often one for another processor; compile it "
            "again here (in a checkout: rm -r .venv; pip cache remove llama_cpp_python; scripts/setup)."
        )
    last = next((shorten(line, 120) for line in reversed(child.stderr.splitlines()) if line.strip()), "")
    return _broken(path, f"llama.cpp ended on it ({ending}{': ' if last else ''}{last})")


def _broken(path: Path, fault: str) -> ModelBroken:
    return ModelBroken(
        f"{path}: {fault}, tried in a child process; copy or fetch it again, or choose another file."
    )


class _Answer(BaseModel):
    word: str
    verdict: Literal["yes", "no"]


def load_and_ask(path: Path, settings: EngineSettings) -> None:
    """Load the model in this process, frame prompts of all lengths, and generate a reply to varied text.

    Raises ModelBroken or InputError for every failure.
    """
    from localeval.engine.engine import Engine

    global IN_CHILD
    IN_CHILD = True
    try:
        _limit_memory(sum(file.stat().st_size for file in split_files(path)), settings)
        with contextlib.closing(Engine(path, settings)) as engine:
            assert engine.llama  # noqa: S101 (it loads)
            for examples in range(MOST_EXAMPLES + 1):  # a template may fail for some numbers
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
    if sys.platform == "linux" and not settings.n_gpu_layers:  # a GPU's driver maps far more than it uses
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = 2 * weights + _ADDRESS_SPACE
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


if __name__ == "__main__":
    from localeval.engine import probe  # the module that the engine imports, not `__main__`

    offline()
    kind, fault = "", ""
    try:
        probe.load_and_ask(Path(sys.argv[1]), EngineSettings(**json.loads(sys.argv[2])))
    except LocalevalError as error:
        kind, fault = type(error).__name__, str(error)
    print(json.dumps([kind, fault]), flush=True)
