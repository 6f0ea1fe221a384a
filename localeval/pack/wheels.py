"""The wheels of a pack, by pip: downloaded from where the user's pip gets them, localeval's own built."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from localeval.errors import DownloadFailed, InputError
from localeval.store import catalog
from localeval.texts import said

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
    """localeval's own wheel in `folder`: built from the checkout, else downloaded in this version."""
    from localeval.signature import own_version

    if root := catalog.checkout():
        _pip(["wheel", "--wheel-dir", str(folder), str(root)])
    else:
        _pip(["download", "--only-binary", ":all:", "--dest", str(folder), f"localeval=={own_version()}"])
    return next(folder.glob("localeval-*.whl"))


def identity(wheel: str) -> tuple[str, str]:
    """The normalized name and the version of a wheel's file name.

    >>> identity("Jinja2-3.1.6-py3-none-any.whl")
    ('jinja2', '3.1.6')
    """
    name, version = wheel.split("-")[:2]
    return re.sub(r"[-_.]+", "-", name).lower(), version


def _pip(arguments: list[str]) -> None:
    options = ["--no-deps", "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet"]
    command = [sys.executable, "-m", "pip", arguments[0], *options, *arguments[1:]]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    if not done.returncode:
        return
    if "No module named pip" in done.stderr:
        raise InputError(
            f"this Python has no pip ({sys.executable}), and pack needs it; run: python -m ensurepip"
        )
    if "No space left on device" in done.stderr:
        raise InputError("the disk is full; make room and run the same command again, it goes on from there.")
    lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no word from pip"]
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    raise DownloadFailed(f"pip {arguments[0]}: {said(errors[-1])}")
