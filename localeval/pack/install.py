"""Install the localeval pack that this file lies in. It needs Python, no network and no compiler.

Exit codes: 0 done; 2 the pack does not fit this machine, or a folder is not usable; 3 a file of the pack is
damaged or missing; 130 interrupted (the same command makes the environment again from the start).

This file is copied into every pack, so it stands alone and imports only the standard library. It runs in an
older Python too, to report which Python the pack is for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST = "manifest.json"
MARKER = "localeval-pack.txt"  # in an environment: its pack's sha256, or that it is not finished
MAX_BYTES = 2**63
GROWTH = 1.4  # bytes on disk for a byte of unpacked wheels, as pip adds compiled Python
SMOKE = "import llama_cpp, numpy, outlines_core, pysbd, sentence_transformers, sklearn"


class Refused(Exception):
    """A fault as one sentence, with the exit code: 2 (usage, machine) or 3 (damaged pack)."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def read_manifest(folder: Path, sha256: str = "") -> dict[str, Any]:
    """Read the manifest. Raises Refused if it is damaged, names unsafe paths, or has another `sha256`."""
    path = folder / MANIFEST
    if not path.is_file():
        raise Refused(f"{folder} is no finished pack of localeval's: it has no {MANIFEST}.")
    actual = file_sha256(path)
    if sha256 and actual != sha256.lower():
        raise Refused(
            f"{path} has the sha256 {actual}, expected {sha256}: it is not the pack you were told of.", 3
        )
    try:
        manifest = dict(json.loads(path.read_text(encoding="utf-8")), sha256=actual)
        if manifest["localeval_pack"] != FORMAT:
            raise Refused(f"{path} is of a newer kind of pack; use the install.py in its folder.")
        check_types(manifest)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Refused(f"{path} is damaged; copy the pack again.", 3) from error
    for name in manifest["files"]:
        if not is_safe(name):
            raise Refused(f"{path} names {name!r}, which no pack holds; do not use this pack.", 3)
    return manifest


def check_types(manifest: dict[str, Any]) -> None:
    """Raise KeyError, TypeError or ValueError for a fact that is missing, of another type, or too large."""
    for fact in (*this_machine(), "localeval", "glibc", "pip"):
        require(manifest[fact], str)
    for fact in ("models", "cpu"):
        for item in require(manifest[fact], list):
            require(item, str)
    if require(manifest["installed_bytes"], int) > MAX_BYTES:
        raise ValueError("no disk has so many bytes")
    for file in require(manifest["files"], dict).values():
        require(file["size"], int)
        require(file["sha256"], str)
    if manifest["pip"] not in manifest["files"]:
        raise KeyError(manifest["pip"])
    version_numbers(manifest["glibc"])


def require(value: Any, kind: type) -> Any:
    """Return the value if it is of this type. Raises TypeError otherwise."""
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def is_safe(name: str) -> bool:
    """Return whether a path in a manifest stays inside the pack, in a folder that packs have.

    >>> is_safe("models/a.gguf"), is_safe("models/../../.bashrc"), is_safe("/etc/passwd")
    (True, False, False)
    """
    return bool(re.fullmatch(r"install\.py|(wheels|models)(/[\w+!-][\w.+!-]*)+", name))


def check_files(folder: Path, manifest: dict[str, Any]) -> int:
    """Check every file of the pack, and return their bytes. Refused names the first bad one."""
    files: dict[str, Any] = manifest["files"]
    for name, expected in sorted(files.items()):
        path = folder / name
        if not path.is_file() or file_sha256(path) != expected["sha256"]:
            raise Refused(
                f"{path} is damaged or missing: it should have the sha256 {expected['sha256']}; "
                "copy the pack again.",
                3,
            )
    return sum(file["size"] for file in files.values())


def file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def this_machine() -> dict[str, str]:
    """Return what wheels depend on, under the keys of a manifest."""
    return {
        "implementation": platform.python_implementation(),
        "python": ".".join(map(str, sys.version_info[:2])),
        "system": platform.system(),
        "machine": platform.machine(),
    }


def check_machine(manifest: dict[str, Any]) -> None:
    """Raise Refused unless the pack's wheels run on this Python, system, processor and C library."""
    here = this_machine()
    if any(manifest[fact] != here[fact] for fact in here):
        packed = " ".join(manifest[fact] for fact in here)
        raise Refused(
            f"this pack is for {packed}, and this is {' '.join(here.values())} ({sys.executable}); "
            f"run install.py with python{manifest['python']}, or pack on a machine of this kind."
        )
    glibc = platform.libc_ver()[1]
    if version_numbers(glibc) < version_numbers(manifest["glibc"]):
        raise Refused(
            f"this pack needs glibc {manifest['glibc']} or newer, and this system has "
            f"{glibc or 'another C library'}; pack on a machine that is as old."
        )
    flags = cpu_flags()
    missing = sorted(set(manifest["cpu"]) - flags)
    if flags and missing:
        raise Refused(
            f"this processor has no {', '.join(missing)}, which the pack's llama.cpp needs; "
            "pack on such a machine with: localeval pack --native."
        )


def version_numbers(version: str) -> list[int]:
    """Split a version into numbers, for comparison: 2.9 is below 2.28."""
    return [int(number) for number in re.findall(r"\d+", version)]


def cpu_flags() -> set[str]:
    """Return the processor's flags in /proc/cpuinfo; empty where there is no such file or line."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return set()
    match = re.search(r"(?m)^(?:flags|Features)\s*:(.*)$", path.read_text())
    return set(match.group(1).split()) if match else set()


def install(folder: Path, into: Path, manifest: dict[str, Any]) -> Path:
    """Install a pack with checked files into the environment `into`, test it, and copy the models.

    Returns the path of the environment's `localeval`. Raises Refused with the reason if that fails.
    """
    into = into.resolve() if into.is_symlink() else into  # venv takes no link
    marker = into / MARKER
    installed = marker.read_text(encoding="utf-8").strip() if marker.is_file() else ""
    if installed == manifest["sha256"]:
        say(f"{into} is made of this pack already; its packages are left as they are.")
    elif installed != "unfinished" and into.exists() and any(into.iterdir()):
        raise Refused(
            f"{into} is there already, and not of this pack; remove it, or give another folder with --into."
        )
    else:
        make_room(into, int(manifest["installed_bytes"] * GROWTH))
        marker.write_text("unfinished\n", encoding="utf-8")
        install_wheels(folder, into, manifest)
        marker.write_text(manifest["sha256"] + "\n", encoding="utf-8")
    copy_models(folder, into, manifest["models"])
    return program(into, "localeval")


def make_room(into: Path, needed: int) -> None:
    """Make an empty folder. Raises Refused, and leaves none, where `needed` bytes are not free."""
    shutil.rmtree(str(into), ignore_errors=True)
    into.mkdir(parents=True, exist_ok=True)  # a mount point can't be removed
    free = shutil.disk_usage(str(into)).free
    if needed > free:
        shutil.rmtree(str(into), ignore_errors=True)
        raise Refused(
            f"the environment needs {needed:,} bytes in {into}, where {free:,} are free; "
            "make room, or choose another folder."
        )


def install_wheels(folder: Path, into: Path, manifest: dict[str, Any]) -> None:
    """Make an environment with the pack's packages, and import those that are compiled."""
    wheels = [str(folder / name) for name in sorted(manifest["files"]) if name.startswith("wheels/")]
    say(f"installing {len(wheels)} packages into {into}")
    # pip runs from its wheel, as Debian's Python has no ensurepip.
    venv.EnvBuilder(symlinks=os.name != "nt", with_pip=False).create(str(into))
    python = str(program(into, "python"))
    pip = [python, "-I", str(folder / manifest["pip"] / "pip"), "install", "--isolated", "--quiet"]
    # The checked wheels are named, and no folder is searched, so that nothing else is installed.
    pip += ["--no-index", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    run("pip could not install", [*pip, *wheels])
    run("the installed packages do not load here", [python, "-I", "-c", SMOKE])


def copy_models(folder: Path, into: Path, names: list[str]) -> None:
    """Copy models to the user's models folder, by the localeval that was installed, which checks them."""
    if not names:
        return
    fetch = [str(program(into, "python")), "-I", "-m", "localeval", "models", "fetch"]
    fetch += ["--from", str(folder / "models"), "--"]
    exit_code = subprocess.call([*fetch, *names], stdout=sys.stderr)  # noqa: S603
    if exit_code:
        raise Refused("the models are not in place; the same command goes on from here.", exit_code)


def program(environment: Path, name: str) -> Path:
    """Return the path of a program in an environment; its folder has another name on Windows."""
    if os.name == "nt":
        return environment / "Scripts" / f"{name}.exe"
    return environment / "bin" / name


def run(fault: str, command: list[str]) -> None:
    """Run a command. Raises Refused with `fault` and the last line of the output if it fails."""
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
    if process.returncode:
        lines = [line for line in process.stdout.decode("utf-8", "replace").split("\n") if line]
        errors = [line for line in lines if line.startswith("ERROR")]
        reasons = errors or lines or [f"exit code {process.returncode}"]
        raise Refused(f"{fault}: {reasons[-1]}", 3)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Install the localeval pack that this file lies in.")
    into = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share") / "localeval" / "venv"
    parser.add_argument("--into", type=Path, default=into, help="folder of the environment")
    parser.add_argument("--models", type=Path, help="folder of the models; by default the user's own")
    parser.add_argument("--check", action="store_true", help="check every file, and do nothing else")
    parser.add_argument("--sha256", default="", help=f"required sha256 of {MANIFEST}, as pack printed it")
    options = parser.parse_args()
    folder = Path(__file__).resolve().parent
    try:
        manifest = read_manifest(folder, options.sha256)
        if not options.check:
            check_machine(manifest)
        say(f"checking {len(manifest['files'])} files")
        size = check_files(folder, manifest)
        say(f"all {size:,} bytes are as packed; {MANIFEST} has the sha256 {manifest['sha256']}")
        if options.check:
            return 0
        if options.models:
            os.environ["LOCALEVAL_MODELS"] = str(options.models.expanduser().absolute())
        installed = install(folder, options.into.expanduser().absolute(), manifest)
    except Refused as error:
        say(f"install.py: {error}")
        return error.exit_code
    except (OSError, RuntimeError) as error:  # RuntimeError: no home folder
        say(f"install.py: {error}; say where with --into and --models.")
        return 2
    except KeyboardInterrupt:
        say("\nInterrupted; the same command makes the environment again from the start.")
        return 130
    print(f"localeval {manifest['localeval']} is installed. Go on with:")
    print(f"  {installed} doctor")
    print(f"  {installed} evaluate --example -m faithfulness -o example-run")
    if options.models:
        print(f"with LOCALEVAL_MODELS={os.environ['LOCALEVAL_MODELS']} in the environment")
    return 0


if __name__ == "__main__":
    sys.exit(main())
