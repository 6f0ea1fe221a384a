"""A GGUF file is first loaded and asked in a process of its own, which is this module as a program.

llama.cpp ends the process, or runs for ever, on some damaged or hostile files, and on every file where it was
compiled for another processor. Bytes that passed are remembered with the processor and the build.
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

from localeval.engine.interface import EngineError, EngineSettings
from localeval.engine.memory import OVERHEAD, check
from localeval.errors import InputError, LocalevalError, ModelBroken, ModelError
from localeval.models.catalog import entries
from localeval.models.files import file_sha256, hash_file
from localeval.models.gguf import split_files
from localeval.prompts import PromptPrefix
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES, offline
from localeval.system.versions import digest, package_versions
from localeval.text.display import shorten

# A probe may take this long, and longer by the file's size: a slow disk or busy machine is not its fault.
SECONDS, BYTES_A_SECOND = 180, 25_000_000
VERSION = 2  # one more whenever a probe asks more of a file, so that what passed before is probed anew
IN_CHILD = False  # set in a process that may end by what it loads: nothing is probed elsewhere first
BESIDE = 6 << 30  # bytes of address space beside the weights: Python, libraries, stacks, buffers, a cache
MOST_EXAMPLES = 64  # that a chat template is tried with, and fewer; built-in prompts have up to 18
# No debugger at an abort; no address space for threads that do nothing.
_QUIET = {"GGML_NO_BACKTRACE": "1", "MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
_KINDS: dict[str, type[LocalevalError]] = {"InputError": InputError, "ModelError": ModelError}
_CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV)
_PREFIX = PromptPrefix(
    "Answer.", (("One?", '{"word":"a","verdict":"yes"}'), ("Two?", '{"word":"b","verdict":"no"}'))
)
_TEXT = "".join(map(chr, range(1, 256))) + "<|im_end|> 中文字 한국어 🍎👩‍👩‍👧 \U0010ffff naïve, 12 345.\r\n\t"


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Give the processor's name and, where Linux tells them, its features."""
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = told.get("model name") or platform.processor() or platform.machine()
    return {"name": name, "features": told.get("flags", told.get("Features", ""))}


@cache
def library() -> str:
    """Digest llama.cpp's compiled libraries: one version compiled in two ways gives two."""
    found = find_spec("llama_cpp")
    places = [Path(place) / "lib" for place in (found and found.submodule_search_locations) or ()]
    files = sorted(file for place in places for file in place.glob("lib*") if "so." not in file.name)
    return digest([(file.name, hash_file(file)) for file in files])


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
    known = set(sums) <= {file.sha256 for entry in entries().values() for file in entry.files}
    if known and settings is None:
        return
    settings = settings or EngineSettings()
    names = ("n_gpu_layers", "n_batch", "width", "flash_attention", "cache_type", "mmap")
    proved = {name: getattr(settings, name) for name in names}
    here = {"packages": package_versions(), "library": library(), "processor": processor()}
    key = digest({"files": sums, **here, "settings": proved, "trial": VERSION})
    passed = platformdirs.user_cache_path("localeval") / "tried" / key
    if passed.exists():
        return
    weights = sum(file.stat().st_size for file in files)
    check(path, None if settings.n_gpu_layers else weights + OVERHEAD)
    fault = _fault(path, settings, SECONDS + weights // BYTES_A_SECOND, known)
    if fault is None:
        with contextlib.suppress(OSError):  # then it is probed again next time
            passed.parent.mkdir(parents=True, exist_ok=True)
            passed.touch()
    elif not known:
        raise fault


def _fault(path: Path, settings: EngineSettings, seconds: int, known: bool) -> LocalevalError | None:
    """Probe the model and give its fault; None if it passes. Raises ModelError where the build is wrong."""
    threads = min(settings.n_threads, 4)  # each takes address space, which is limited there
    small = {**vars(settings), "n_ctx": 2048, "n_batch": min(settings.n_batch, 2048), "n_threads": threads}
    try:
        done = subprocess.run(  # noqa: S603 (this Python, with a path for its data)
            subprocesses.module("localeval.engine.probe", str(path), json.dumps(small)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            env=subprocesses.environment(**SWITCHES, **_QUIET),
        )
    except subprocess.TimeoutExpired:
        return _broken(path, f"loading it did not end within {seconds} seconds")
    except OSError as error:
        return ModelError(
            f"{path}: no process can be started to probe it in ({error.strerror}); "
            f"run once, with the same localeval: python -m localeval doctor --judge {path}"
        )
    if done.returncode == 0 and (lines := done.stdout.splitlines()):
        kind, fault = json.loads(lines[-1])
        return _KINDS.get(kind, ModelBroken)(fault) if fault else None
    code = -done.returncode
    how = next((one.name for one in signal.Signals if one == code), f"exit code {done.returncode}")
    if known and code in _CRASHES:
        raise ModelError(
            f"{path}: llama.cpp ends the process on this model ({how}), whose bytes are the "
            "catalog's, so its build is at fault, most often one for another processor; compile it "
            "again here (in a checkout: rm -r .venv; pip cache remove llama_cpp_python; scripts/setup)."
        )
    last = next((shorten(line, 120) for line in reversed(done.stderr.splitlines()) if line.strip()), "")
    return _broken(path, f"llama.cpp ended on it ({how}{': ' if last else ''}{last})")


def _broken(path: Path, what: str) -> ModelBroken:
    return ModelBroken(
        f"{path}: {what}, in a trial apart from this process; copy or fetch it again, or choose another file."
    )


class _Answer(BaseModel):
    word: str
    verdict: Literal["yes", "no"]


def load_and_ask(path: Path, settings: EngineSettings) -> None:
    """Load the model in this process, frame prompts of every length, and let it reply to every sort of text.

    Raises ModelBroken, InputError or ModelError for whatever goes wrong.
    """
    from localeval.engine.engine import Engine

    global IN_CHILD
    IN_CHILD = True
    try:
        _limit(sum(file.stat().st_size for file in split_files(path)), settings)
        with contextlib.closing(Engine(path, settings)) as engine:
            assert engine.llama  # noqa: S101 (it loads)
            for examples in range(MOST_EXAMPLES + 1):  # what a template takes may hang on the number of turns
                engine.frame(PromptPrefix("", (("", ""),) * examples))
            engine.generate(_PREFIX, _TEXT, ["One?", "Two?"], _Answer, budget=4)
    except EngineError as error:
        raise ModelBroken(f"{path}: {error}; copy or fetch it again, or choose another file.") from error
    except LocalevalError:
        raise
    except Exception as error:  # a file can make the libraries raise anything
        raise ModelBroken(
            f"{path}: this file can't be used ({shorten(repr(error))}); choose another file."
        ) from error


def _limit(weights: int, settings: EngineSettings) -> None:
    """Hold this process to the memory that an honest file of this size can need; it leaves no core file."""
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux" and not settings.n_gpu_layers:  # a GPU's driver maps far more than it uses
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = 2 * weights + BESIDE
        wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


if __name__ == "__main__":
    from localeval.engine import probe  # the module that the engine asks, not this copy of it

    offline()
    kind, fault = "", ""
    try:
        probe.load_and_ask(Path(sys.argv[1]), EngineSettings(**json.loads(sys.argv[2])))
    except LocalevalError as error:
        kind, fault = type(error).__name__, str(error)
    print(json.dumps([kind, fault]), flush=True)
