"""Checks of the machine and the installation: none of them loads a model."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import platformdirs
from packaging.requirements import Requirement

from localeval.doctor.checking import CheckContext, Fault, check, require
from localeval.engine import build
from localeval.engine.settings import physical_cores
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES, attempts, is_offline
from localeval.text.display import shorten

MIN_FREE = 1_000_000_000  # bytes, where runs are written: a full disk loses work
IMPORT_TIMEOUT = 300  # seconds, for all packages

_MODULES = {"llama-cpp-python": "llama_cpp", "scikit-learn": "sklearn"}
_TRANSITIVE = ("torch", "transformers", "tokenizers", "safetensors")  # installed by sentence-transformers
_FEATURES = ("avx", "avx2", "fma", "f16c", "avx512f", "asimd")  # that affect llama.cpp's speed

# Run in a separate process, which a library built for another processor would end.
_IMPORT_EACH = """
import importlib, sys
for name in sys.argv[1:]:
    print(name, flush=True)
    importlib.import_module(name)
"""


@check
def python(_: CheckContext) -> str:
    return f"{platform.python_version()}, {platform.python_implementation()} on {platform.platform()}"


@check
def packages(_: CheckContext) -> str:
    """Check that every required package is installed in a suitable version and can be imported."""
    required = _required_packages()
    modules = [_MODULES.get(package.name, package.name.replace("-", "_")) for package in required]
    modules += _TRANSITIVE
    faults = [*_version_faults(required), *_import_faults(modules)]
    remedy = "install localeval again, or what it names, from the same source"
    require(not faults, "; ".join(faults), remedy)
    return f"{len(modules)} packages can be imported, in versions that localeval supports"


def _required_packages() -> list[Requirement]:
    """Return what localeval requires on this machine, without its extras."""
    packages = []
    for line in requires("localeval") or ():
        package = Requirement(line)
        # The marker of a package of an extra does not hold with the extra "".
        if package.marker is None or package.marker.evaluate({"extra": ""}):
            packages.append(package)
    return packages


def _version_faults(required: Sequence[Requirement]) -> list[str]:
    faults = []
    for package in required:
        try:
            installed = version(package.name)
        except PackageNotFoundError:
            faults.append(f"{package.name} is not installed")
            continue
        if not package.specifier.contains(installed, prereleases=True):
            faults.append(f"{package.name} is {installed}, expected {package.specifier}")
    return faults


def _import_faults(modules: Sequence[str]) -> list[str]:
    """Import the modules one by one in a process of its own; return why the first that fails can't be."""
    process = subprocess.run(  # noqa: S603
        subprocesses.code(_IMPORT_EACH, *modules),
        capture_output=True,
        text=True,
        timeout=IMPORT_TIMEOUT,
        check=False,
        env=subprocesses.environment(**SWITCHES),
    )
    if process.returncode == 0:
        return []
    # Each name is printed before the import.
    begun = process.stdout.split() or ["Python"]
    return [f"{begun[-1]} can't be imported ({_why_ended(process.returncode, process.stderr)})"]


def _why_ended(code: int, stderr: str) -> str:
    """Say why a process ended with this exit code: by which signal, else by its last line on stderr."""
    if code >= 0:
        lines = stderr.splitlines() or [""]
        return shorten(lines[-1], 120)
    names = {int(number): number.name for number in signal.Signals}
    reason = f"it ends the process: {names.get(-code, code)}"
    if code == -signal.SIGILL:
        reason += ", as it is built for another processor"
    return reason


@check
def processor(context: CheckContext) -> str:
    cores = physical_cores()
    remedy = "choose at most as many --threads as there are cores, or 0 for all of them"
    require(0 <= context.threads <= cores, f"{context.threads} threads on {cores} cores", remedy)
    features = build.processor()["features"].split()
    listed = " ".join(name for name in _FEATURES if name in features) or platform.machine()
    return f"{cores} cores, {context.threads or cores} threads; {listed}"


@check
def disk(context: CheckContext) -> str:
    """Check that there is space, and permission to write, for runs and for the cache of checksums."""
    _check_folder("the cache", platformdirs.user_cache_path("localeval"))
    return _check_folder("runs", context.folder.absolute())


def _check_folder(what: str, folder: Path) -> str:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise Fault(
            f"nothing can be written for {what} in {folder} ({error.strerror})",
            "choose another folder, or for the cache another XDG_CACHE_HOME",
        ) from error
    free = shutil.disk_usage(folder).free
    description = f"{free / 1e9:.1f} GB are free for {what} in {folder}"
    return require(free >= MIN_FREE, description, f"make room for at least {MIN_FREE / 1e9:.0f} GB")


@check
def offline(context: CheckContext) -> str:
    """Check that the network guard is on, the switches are set, and no check tried to use the network."""
    remedy = "call localeval.offline() before anything else is imported"
    unset = [name for name, value in SWITCHES.items() if os.environ.get(name) != value]
    require(not unset, f"{', '.join(unset)} not set", remedy)
    require(is_offline(), "the network guard is off", remedy)
    refused = attempts() - context.attempts_before
    description = f"something tried to use the network; refused: {refused} attempts"
    require(not refused, description, "find out what: no part of localeval does")
    return "the network is refused in this process, the libraries' switches are set, 0 attempts"
