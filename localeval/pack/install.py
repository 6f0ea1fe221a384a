"""Install the localeval pack that this file lies in. It needs Python, no network and no compiler.

    python3 install.py                  check every file, make an environment, put the models in place
    python3 install.py --into FOLDER    make it there; by default localeval/venv in the user's data folder
    python3 install.py --check          check every file, and do nothing else

Exit codes: 0 done; 2 this pack and this machine do not fit, or a folder is not usable; 3 a file of the pack
is damaged or missing; 130 interrupted (the same command starts the environment anew).

The file is copied into every pack, so it is one file and imports nothing but the standard library. It is
written so that an older Python still reads it, to say in one sentence which Python the pack is for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST = "manifest.json"
MARKER = "localeval-pack.txt"  # in an environment: of which pack it was made, or that it is not finished
TOP = ("install.py", "catalog.toml")  # the files beside wheels/ and models/
GROWTH = 1.4  # bytes on the disk for a byte of unpacked wheels: compiled Python comes to them
SMOKE = "import llama_cpp, numpy, outlines_core, pysbd, sentence_transformers, sklearn"


class Refused(Exception):
    """What cannot be done, as one sentence, and the exit code: 2 (usage, machine) or 3 (damaged pack)."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def read_manifest(folder: Path, sha256: str = "") -> dict[str, Any]:
    """The pack's manifest; Refused if it is missing, damaged, or names paths that no pack has.

    `sha256` is what the manifest's own bytes must have, where the caller knows it.
    """
    path = folder / MANIFEST
    if path.is_symlink() or not path.is_file():
        unfinished = (folder / (MANIFEST + ".part")).is_file()
        why = "is not finished; run localeval pack again" if unfinished else "is no pack of localeval's"
        raise Refused(f"{folder} {why}: it has no {MANIFEST}.", 3 if unfinished else 2)
    found = file_sha256(path)
    if sha256 and found != sha256.lower():
        raise Refused(
            f"{path} has the sha256 {found}, expected {sha256}: it is not the pack you were told of.", 3
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version, files = manifest["localeval_pack"], manifest["files"]
        sound = isinstance(files, dict) and all(
            isinstance(entry["size"], int) and re.fullmatch("[0-9a-f]{64}", entry["sha256"])
            for entry in files.values()
        )
        sound = sound and all(isinstance(manifest[key], kind) for key, kind in _FIELDS.items())
    except (ValueError, KeyError, TypeError, RecursionError):
        version, sound = FORMAT, False
    if version != FORMAT:
        raise Refused(f"{path} is of a newer kind of pack ({version!r}); use the install.py beside it.")
    if not sound:
        raise Refused(f"{path} is damaged; copy the pack again.", 3)
    for name in files:
        if not is_safe(name):
            raise Refused(f"{path} names the file {name!r}, which no pack holds; do not use this pack.", 3)
    if manifest["pip"] not in files:
        raise Refused(f"{path} names no pip wheel; copy the pack again.", 3)
    manifest["sha256"] = found
    return dict(manifest)


_FIELDS = {
    "localeval": str,
    "python": str,
    "implementation": str,
    "system": str,
    "machine": str,
    "glibc": str,
    "cpu": list,
    "llama": dict,
    "models": list,
    "installed_bytes": int,
    "pip": str,
}


def is_safe(name: str) -> bool:
    """Whether a manifest's path stays inside the pack, in the places that a pack has.

    >>> is_safe("models/a.gguf"), is_safe("models/../../.bashrc"), is_safe("/etc/passwd")
    (True, False, False)
    """
    parts = name.split("/")
    if any(
        part in ("", ".", "..") or not part.isprintable() or set(part) & set('\\:*?"<>|') for part in parts
    ):
        return False
    return name in TOP or (parts[0] in ("wheels", "models") and len(parts) > 1)


def check_files(folder: Path, manifest: dict[str, Any], beginning: tuple[str, ...] = ("",)) -> int:
    """Read the pack's files whose names begin so; returns their bytes, Refused names the first bad file."""
    total = 0
    for name, expected in sorted(manifest["files"].items()):
        if name.startswith(beginning):
            _check_file(folder, name, expected["size"], expected["sha256"])
            total += expected["size"]
    return total


def _check_file(folder: Path, name: str, size: int, sha256: str) -> None:
    path = folder
    for part in name.split("/"):
        path = path / part
        if path.is_symlink():
            raise Refused(f"{path} is a link, and a pack holds none; copy the pack again.", 3)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            raise Refused(
                f"{path} is damaged: found {status.st_size:,} bytes, expected {size:,}; copy the pack again.",
                3,
            )
        found = file_sha256(path)
    except FileNotFoundError:
        raise Refused(f"{path} is missing; copy the pack again.", 3) from None
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror}); copy the pack again.", 3) from error
    if found != sha256:
        raise Refused(f"{path} is damaged: found sha256 {found}, expected {sha256}; copy the pack again.", 3)


def file_sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def check_machine(manifest: dict[str, Any]) -> None:
    """Refused unless the pack's wheels run on this Python, system, processor and C library."""
    python = ".".join(map(str, sys.version_info[:2]))
    here = f"{platform.python_implementation()} {python}"
    packed = f"{manifest['implementation']} {manifest['python']}"
    if here != packed:
        raise Refused(
            f"this pack is for {packed}, and this is {here} ({sys.executable}); "
            f"run install.py with python{manifest['python']}, or pack again with a Python {python}."
        )
    machine, wanted = (
        f"{platform.system()} {platform.machine()}",
        f"{manifest['system']} {manifest['machine']}",
    )
    if machine != wanted:
        raise Refused(f"this pack is for {wanted}, and this is {machine}; pack on a machine of this kind.")
    if manifest["glibc"]:
        _check_glibc(manifest["glibc"], platform.libc_ver()[1])
    lacking = sorted(set(manifest["cpu"]) - cpu_flags()) if cpu_flags() else []
    if lacking:
        raise Refused(
            f"this processor has no {', '.join(lacking)}, which the pack's llama.cpp needs; "
            "pack on such a machine with: localeval pack --native."
        )


def _check_glibc(needed: str, here: str) -> None:
    if not here:
        raise Refused(f"this pack needs glibc {needed} or newer, and this system has another C library.")
    if [int(n) for n in re.findall(r"\d+", here)] < [int(n) for n in re.findall(r"\d+", needed)]:
        raise Refused(
            f"this pack needs glibc {needed} or newer, and this system has {here}; pack on one as old."
        )


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> set[str]:
    """What the processor can do, as Linux tells it; empty where it does not tell."""
    try:
        found = re.search(r"^(?:flags|Features)\s*:(.*)$", cpuinfo.read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return set()
    return set(found.group(1).split()) if found else set()


def check_room(place: Path, needed: int, what: str) -> None:
    """Refused unless `needed` bytes are free where `place` is or will be."""
    there = place
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise Refused(
            f"{what} needs {needed:,} bytes in {place}, where {free:,} are free; "
            "make room, or choose another folder."
        )


def default_environment() -> Path:
    try:
        data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    except RuntimeError:
        raise Refused("this user has no home folder; say where with --into and --models.") from None
    return Path(data) / "localeval" / "venv"


def install(folder: Path, into: Path, manifest: dict[str, Any], models: Path | None = None) -> Path:
    """Make the environment `into` of a pack whose files are checked, try it out, and put the models in place.

    They go to `models`, or where the user's are. Returns the environment's `localeval`; Refused says what
    stands in the way.
    """
    marker, whole = into / MARKER, manifest["sha256"]
    state = marker.read_text(encoding="utf-8").strip() if marker.is_file() else None
    if state is None and into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise Refused(
            f"{into} is there already and is no environment of a pack; give another folder with --into."
        )
    if state not in (None, "unfinished", whole):
        raise Refused(
            f"{into} was made of another pack; remove that folder, or give another one with --into."
        )
    python = into / "bin" / "python"
    if state == whole:
        say(f"{into} is made of this pack already; its packages are left as they are.")
    else:
        check_room(into, int(manifest["installed_bytes"] * GROWTH), "the environment")
        if state:
            shutil.rmtree(str(into))
        _make_environment(folder, into, python, manifest)
        _run([python, "-I", "-c", SMOKE], "the installed packages do not load here")
        marker.write_text(whole + "\n", encoding="utf-8")
    if manifest["models"]:
        command = [str(python), "-I", "-m", "localeval", "unpack", str(folder)]
        chosen = {"LOCALEVAL_MODELS": str(models)} if models else {}
        done = subprocess.call(command, stdout=sys.stderr, env={**os.environ, **chosen})  # noqa: S603
        if done:
            raise Refused("the models are not in place, see above; the same command goes on from here.", done)
    return into / "bin" / "localeval"


def _make_environment(folder: Path, into: Path, python: Path, manifest: dict[str, Any]) -> None:
    wheels = [folder / name for name in sorted(manifest["files"]) if name.startswith("wheels/")]
    say(f"installing {len(wheels)} packages into {into}")
    into.mkdir(parents=True, exist_ok=True)
    (into / MARKER).write_text("unfinished\n", encoding="utf-8")
    # pip runs from its wheel: Debian's Python comes without ensurepip.
    venv.EnvBuilder(symlinks=True, with_pip=False).create(str(into))
    options = [
        "--isolated",
        "--no-index",
        "--no-cache-dir",
        "--no-input",
        "--disable-pip-version-check",
        "--quiet",
    ]
    # The checked wheels by name, and no folder to search: nothing else can get in.
    _run(
        [python, "-I", folder / manifest["pip"] / "pip", "install", *options, *wheels],
        "pip could not install",
    )


def _run(command: list[Any], what: str) -> None:
    """Run it; Refused with its last words if it fails."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # noqa: S603
    if done.returncode:
        said = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")]
        last = (errors or said or [f"exit {done.returncode}"])[-1]
        raise Refused(f"{what}: {last.strip()}", 3)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Install the localeval pack that this file lies in, with no network."
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="of the environment; by default in the user's data folder"
    )
    parser.add_argument(
        "--models", type=Path, metavar="FOLDER", help="of the models; by default the user's own"
    )
    parser.add_argument("--check", action="store_true", help="check every file, and do nothing else")
    parser.add_argument(
        "--sha256", default="", metavar="SUM", help=f"what {MANIFEST} must have, as pack printed it"
    )
    given = parser.parse_args(arguments)
    folder = Path(__file__).resolve().parent
    try:
        manifest = read_manifest(folder, given.sha256)
        if not given.check:
            check_machine(manifest)
        say(f"checking {len(manifest['files'])} files")
        size = check_files(folder, manifest)
        say(f"all {size:,} bytes are as packed; {MANIFEST} has the sha256 {manifest['sha256']}")
        if given.check:
            return 0
        into = _whole_path(given.into or default_environment())
        models = _whole_path(given.models) if given.models else None
        program = install(folder, into, manifest, models)
    except Refused as error:
        say(f"install.py: {error}")
        return error.exit_code
    except OSError as error:
        say(f"install.py: {error.filename or folder}: {error.strerror or error}.")
        return 2
    except KeyboardInterrupt:
        say("\nInterrupted; the same command starts the environment anew.")
        return 130
    print(f"localeval {manifest['localeval']} is installed. Go on with:")
    print(f"  {program} {'doctor' if _has_doctor(into) else 'models list'}")
    print(f"  {program} evaluate {_example(into)} -m faithfulness -o example-run")
    if models:
        print(f"with LOCALEVAL_MODELS={models} in the environment")
    return 0


def _whole_path(given: Path) -> Path:
    try:
        return given.expanduser().absolute()
    except RuntimeError:
        raise Refused(f"{given}: no home folder is known for its ~; give the whole path.") from None


def _has_doctor(into: Path) -> bool:
    return any(into.glob("lib/python*/site-packages/localeval/cli/doctor.py"))


def _example(into: Path) -> Path:
    return next(
        into.glob("lib/python*/site-packages/localeval/examples/answers.jsonl"), Path("answers.jsonl")
    )


if __name__ == "__main__":
    sys.exit(main())
