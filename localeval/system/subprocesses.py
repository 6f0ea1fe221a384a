"""Start Python processes that import nothing from the user's current folder, which `-P` leaves out."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with these arguments."""
    return [sys.executable, "-P", "-m", name, *arguments]


def code(text: str, *arguments: str) -> list[str]:
    """Return the command that runs this program text with these arguments."""
    return [sys.executable, "-P", "-c", text, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return a copy of this process's environment, with `more`, in which imports resolve as they do here."""
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    package_root = str(Path(__file__).absolute().parents[2])
    return {**os.environ, **more, "PYTHONPATH": os.pathsep.join([*paths, package_root])}
