"""Start Python processes that import nothing from the current folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# `-m` and `-c` import first from the current folder, the user's: a `pip.py` there would be run. (Python 3.10
# has no -P, and in another working folder pip would not find the relative paths of its settings.)
_CLEAN = "import sys; sys.path[:] = [path for path in sys.path if path]\n"
_MODULE = "import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with these arguments, as `-m` does."""
    return code(_MODULE, name, *arguments)


def code(text: str, *arguments: str) -> list[str]:
    """Return the command that runs this program text, as `-c` does."""
    return [sys.executable, "-c", _CLEAN + text, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return a copy of this process's environment, with `more`, in which imports resolve as they do here."""
    paths = [str(Path(path).absolute()) for path in sys.path if path]
    package_root = str(Path(__file__).absolute().parents[2])
    return {**os.environ, **more, "PYTHONPATH": os.pathsep.join([*paths, package_root])}
