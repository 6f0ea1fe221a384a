"""Another Python process, for which nothing that lies in the current folder can pass as a package."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# `-m` and `-c` put the current folder first, and there lie the user's files: a `pip.py` would be run. (Python
# 3.10 has no -P, and in a folder of our own the relative paths of pip's settings would not be found.)
_CLEAN = "import sys; sys.path[:] = [place for place in sys.path if place]\n"
_MODULE = "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def module(name: str, *arguments: str) -> list[str]:
    """Make the command that runs a module with these arguments, as `-m` does."""
    return code(_MODULE, name, *arguments)


def code(text: str, *arguments: str) -> list[str]:
    """Make the command that runs this program text, as `-c` does."""
    return [sys.executable, "-c", _CLEAN + text, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Copy this process's environment, with more; imports go where they go here, localeval's own too."""
    places = [str(Path(place).absolute()) for place in sys.path if place]
    own = str(Path(__file__).absolute().parents[2])
    return {**os.environ, **more, "PYTHONPATH": os.pathsep.join([*places, own])}
