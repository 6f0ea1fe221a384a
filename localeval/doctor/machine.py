"""Checks of the machine and of what is installed on it."""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import platformdirs

from localeval import models
from localeval.doctor.asked import Asked, Fault
from localeval.engine import build
from localeval.engine.engine import Engine
from localeval.engine.interface import physical_cores
from localeval.engine.memory import available
from localeval.models import catalog
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES, attempts, is_offline
from localeval.text.display import said

OLDEST = (3, 10)
ROOM = 1_000_000_000
"""Bytes that should be free where runs are written: journals are small, but a full disk loses work."""

SECONDS = 300
_MODULES = {"llama-cpp-python": "llama_cpp", "scikit-learn": "sklearn"}
_BESIDE = ("torch", "transformers", "tokenizers", "safetensors")  # what sentence-transformers brings
_FEATURES = ("avx", "avx2", "fma", "f16c", "avx512f", "asimd")

_PROBE = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    print(json.dumps({"trying": name}), flush=True)
    try:
        module = importlib.import_module(name)
        if name == "llama_cpp":
            module.llama_backend_init()
            print(json.dumps({"llama": module.llama_print_system_info().decode()}), flush=True)
    except Exception as error:
        print(json.dumps({"failed": name, "why": repr(error)}), flush=True)
"""
"""Imports each module in a process of its own: a library built for another processor ends the process."""


def python(_: Asked) -> str:
    found = f"{platform.python_version()}, {platform.python_implementation()} on {platform.platform()}"
    if sys.version_info < OLDEST:
        raise Fault(found, "localeval needs Python 3.10 or newer")
    return found


def packages(_: Asked) -> str:
    """Every package that localeval needs is there, in a version that suits, and can be imported."""
    needed = needed_packages()
    wrong = [fault for name, wanted in needed.items() if (fault := version_fault(name, wanted))]
    modules = [_MODULES.get(name, name.replace("-", "_")) for name in needed]
    wrong += import_faults([*modules, *_BESIDE])
    if wrong:
        raise Fault("; ".join(wrong), "install localeval again, or what it names, from the same source")
    return f"{len(modules) + len(_BESIDE)} packages can be imported, versions as localeval wants them"


def needed_packages() -> dict[str, Any]:
    """Package -> the versions that suit, as localeval's own metadata has it for this Python."""
    from packaging.requirements import Requirement

    read = map(Requirement, requires("localeval") or ())
    return {r.name: r.specifier for r in read if r.marker is None or r.marker.evaluate({"extra": ""})}


def version_fault(name: str, wanted: Any) -> str:
    """What is wrong with the version that is installed; empty if nothing is."""
    try:
        found = version(name)
    except PackageNotFoundError:
        return f"{name} is not installed"
    return "" if wanted.contains(found, prereleases=True) else f"{name} is {found}, expected {wanted}"


def import_faults(modules: list[str]) -> list[str]:
    """What keeps these modules from being imported, a line each."""
    lines, code = _probed(modules)
    faults = [
        f"{line['failed']} can't be imported ({said(line['why'], 120)})" for line in lines if "failed" in line
    ]
    if code:
        last = next((line["trying"] for line in reversed(lines) if "trying" in line), "python")
        why = "ends the process" if code > 0 else f"ends the process ({signal.Signals(-code).name})"
        hint = ": it is built for another processor" if code == -signal.SIGILL else ""
        faults.append(f"importing {last} {why}{hint}")
    return faults


def processor(asked: Asked) -> str:
    """Cores, threads and features; what llama.cpp was built to use, as it says itself."""
    cores, features = physical_cores(), processor_features()
    used = next((line["llama"] for line in _probed(["llama_cpp"])[0] if "llama" in line), "")
    built = [part.split(" = ")[0] for part in said(used, 600).split(" | ") if part.endswith(" = 1")]
    if not 0 <= asked.threads <= cores:
        raise Fault(
            f"{asked.threads} threads on {cores} cores",
            "choose at most as many --threads as there are cores, or 0 for all of them",
        )
    return (
        f"{cores} cores, {asked.threads or cores} threads; {' '.join(features) or platform.machine()}; "
        f"llama.cpp: {', '.join(built) or 'says nothing of itself'}"
    )


def processor_features(cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """Those of the processor's features that decide how fast llama.cpp is; none where Linux does not tell."""
    found = build.processor(cpuinfo)["features"].split()
    return [name for name in _FEATURES if name in found]


def _probed(modules: list[str]) -> tuple[list[dict[str, str]], int]:
    """(what the probe said, its exit code: 0, or negative for a signal)."""
    command, environment = (
        subprocesses.code(_PROBE, json.dumps(modules)),
        subprocesses.environment(**SWITCHES),
    )
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise Fault(
            f"importing the packages took more than {SECONDS} s", "look for a slow or busy disk"
        ) from error
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], done.returncode


def disk(asked: Asked) -> str:
    """Room and leave to write where runs go, and where checksums are remembered."""
    cache = platformdirs.user_cache_path("localeval")
    for what, folder in (("runs", asked.folder.absolute()), ("the cache", cache)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise Fault(
                f"nothing can be written for {what} in {folder} ({error.strerror})",
                "choose another folder, or for the cache another XDG_CACHE_HOME",
            ) from error
        if (free := shutil.disk_usage(folder).free) < ROOM:
            raise Fault(
                f"{free / 1e9:.1f} GB are free for {what} in {folder}",
                f"make room for at least {ROOM / 1e9:.0f} GB",
            )
    return (
        f"{shutil.disk_usage(asked.folder).free / 1e9:.0f} GB are free for runs in {asked.folder.absolute()}"
    )


def memory(asked: Asked) -> str:
    """The judge fits into what is free now, by the figure that a run plans with and a load is refused by."""
    files = models.resolve(asked.judge, kind="judge")
    with closing(Engine(files.path)) as engine:
        needed, free = engine.memory() or 0, available()
    if free is None:
        return f"{files.name} needs about {needed / 1e9:.1f} GB; the system does not tell what is free"
    found = f"{files.name} needs about {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free"
    if free < needed:
        raise Fault(found, f"close other programs, or choose a smaller judge of: {', '.join(judges())}")
    return found


def judges() -> list[str]:
    return [row.name for row in catalog.rows().values() if row.kind == "judge"]


def network(_: Asked) -> str:
    """The guard stands, the switches are set, and nothing has tried to get out."""
    wrong = [name for name, value in SWITCHES.items() if os.environ.get(name) != value]
    if not is_offline() or wrong:
        what = f"{', '.join(wrong)} not set" if wrong else "the network guard does not stand"
        raise Fault(what, "call localeval.offline() before anything else is imported")
    if tried := attempts():
        raise Fault(
            f"something tried to use the network; refused: {tried} attempts",
            "find out what: no part of localeval does",
        )
    return "the network is refused in this process, the libraries' switches are set, 0 attempts"
