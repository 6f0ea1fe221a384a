"""The wheels of a pack: downloaded by pip from where the user's pip gets them, localeval's own made here."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from localeval.errors import DownloadFailed, InputError
from localeval.models import catalog
from localeval.system import subprocesses
from localeval.text.display import said

CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def download(wanted: dict[str, str], folder: Path) -> list[Path]:
    """The wheels of these packages and versions for this Python and machine, in `folder`; DownloadFailed with
    pip's last words.

    torch's CPU build is on its makers' index only, if the user's pip does not know another place.
    """
    pins = [f"{name}=={version}" if version else name for name, version in wanted.items()]
    torch = [pin for pin in pins if pin.startswith("torch==")]
    if others := [pin for pin in pins if pin not in torch]:
        _pip(["download", "--only-binary", ":all:", "--dest", str(folder), *others])
    for pin in torch:
        command = ["download", "--only-binary", ":all:", "--dest", str(folder), pin]
        try:
            _pip(command)
        except DownloadFailed:
            _pip([*command, "--index-url", CPU_INDEX])
    return sorted(folder.glob("*.whl"))


def own(folder: Path) -> Path:
    """localeval's own wheel in `folder`: built from the checkout, else of what is installed here.

    No index is asked for it: it is on none, and who took its name there would get into every pack.
    """
    if root := catalog.checkout():
        _pip(["wheel", "--wheel-dir", str(folder), str(root)])
        return next(folder.glob("localeval-*.whl"))
    return of_installed(distribution("localeval"), folder)


def of_installed(package: Distribution, folder: Path) -> Path:
    """The wheel, in `folder`, of a package of pure Python that pip installed from one.

    Programs and compiled Python are left out: pip makes them where it installs. Raises InputError where a
    file is missing, or nothing tells which files there are.
    """
    name = package.metadata["Name"]
    info = f"{name}-{package.version}.dist-info"
    own = (each for each in package.files or [] if each.parts[0] in (name, info))
    files = {each.as_posix(): Path(str(each.locate())) for each in own}
    needed = [f"{name}/__init__.py", f"{info}/METADATA", f"{info}/WHEEL"]
    missing = [f for f in (*needed, *files) if f not in files or not files[f].is_file()]
    if missing:
        raise InputError(
            f"{name} is not whole here ({missing[0]} is missing); install it again with pip, or pack from a "
            "checkout."
        )
    notes = {f"{info}/{note}" for note in _OF_THE_INSTALLATION}
    kept = sorted(f for f in files if f not in notes and not f.endswith(".pyc"))
    members = ((zipfile.ZipInfo(f), files[f].read_bytes()) for f in kept)
    return write(folder / f"{name}-{package.version}-py3-none-any.whl", info, members)


_OF_THE_INSTALLATION = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def write(path: Path, info: str, members: Iterable[tuple[zipfile.ZipInfo, bytes]]) -> Path:
    """Make a wheel of these members, which have no RECORD yet; it goes into the folder `info`."""
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for member, content in members:
            target.writestr(member, content, zipfile.ZIP_DEFLATED)
            sum64 = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{member.filename},sha256={sum64},{len(content)}\n")
        last = zipfile.ZipInfo(f"{info}/RECORD")
        target.writestr(last, "".join([*record, f"{last.filename},,\n"]), zipfile.ZIP_DEFLATED)
    return path


def identity(wheel: str) -> tuple[str, str]:
    """The normalized name and the version of a wheel's file name.

    >>> identity("Jinja2-3.1.6-py3-none-any.whl")
    ('jinja2', '3.1.6')
    """
    name, version = wheel.split("-")[:2]
    return re.sub(r"[-_.]+", "-", name).lower(), version


def _pip(arguments: list[str]) -> None:
    options = ["--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet"]
    command = subprocesses.module("pip", arguments[0], *options, *arguments[1:])
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    if not done.returncode:
        return
    if subprocesses.lacks("pip", done.stderr):
        raise InputError(
            f"this Python has no pip ({sys.executable}), and pack needs it; run: python -m ensurepip"
        )
    if "No space left on device" in done.stderr:
        raise InputError("the disk is full; make room and run the same command again, it goes on from there.")
    lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no word from pip"]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    raise DownloadFailed(f"pip {arguments[0]}: {said(errors[-1])}")
