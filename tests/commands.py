"""The command line for tests, in this process or in one of its own, and what a call says that is refused."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from localeval import cli


def process(*arguments: str | Path, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "localeval", *map(str, arguments)]
    env = {**os.environ, "LOCALEVAL_N_CTX": "16384"}
    return subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, encoding="utf-8", timeout=120, env=env
    )


def localeval(*arguments: str | Path, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in this process; its output is as from a process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    words = [*map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(cwd)
        patch.setenv("LOCALEVAL_N_CTX", "16384")
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        try:
            cli.main(words)
        except SystemExit as error:
            code = int(error.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def fault(run: subprocess.CompletedProcess[str]) -> str:
    """The last line of stderr, which has no traceback; stdout is empty."""
    assert "Traceback" not in run.stderr
    assert run.stdout == ""
    return run.stderr.strip().splitlines()[-1]


def said(error: type[Exception], call: Callable[..., object], *arguments: Any, **options: Any) -> str:
    """What the error of this type says that the call ends with."""
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    return str(caught.value)


def refused(*arguments: str | Path, code: int = 2) -> str:
    """The fault of a command that ends with this exit code, run in the current folder."""
    run = localeval(*arguments, cwd=Path.cwd())
    assert run.returncode == code, run.stderr
    return fault(run)
