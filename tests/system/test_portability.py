"""localeval works where the parts of Python that only POSIX has are missing, as on Windows.

What is taken away here is taken from a Python on Linux: its standard library, and the libraries, still know
that they run on Linux. No real machine of another kind is tried.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localeval.system import spooled
from localeval.system.spooled import SpooledLines
from tests.finished_runs import judged

# Runs before anything else in the process, and so in each worker, which `spawn` starts with its path.
TAKEN_AWAY = """
import os, signal, sys

import _socket

for name in ("AF_UNIX", "socketpair"):  # then Python's own pair of sockets goes over the loopback
    delattr(_socket, name)
for name in ("SIGBUS", "SIGKILL", "SIGHUP"):
    delattr(signal, name)
for name in ("pread", "fork", "forkpty", "register_at_fork", "sched_getaffinity"):
    delattr(os, name)
for name in ("resource", "fcntl"):
    sys.modules[name] = None  # their import fails

# On Windows killing a process and terminating it are one.
from multiprocessing import popen_fork

popen_fork.Popen.kill = popen_fork.Popen.terminate
"""

PROGRAM = """
import asyncio, json, sys
from pathlib import Path

from localeval import evaluate, offline, rescore
from localeval.engine import probe
from localeval.engine.settings import physical_cores
from localeval.engine.memory import available
from tests.runs.test_workers import SAMPLES
from tests.steady import SteadyEngine, steady_judge

if __name__ == "__main__":
    offline()
    folder = Path(sys.argv[1])
    judge = steady_judge(SteadyEngine())
    for name, more in (("alone", {}), ("workers", {"workers": 2}), ("timed", {"timeout": 60})):
        evaluate(SAMPLES[:4], ["faithfulness"], judge, folder / name, **more)
        rescore(folder / name)
    loop = asyncio.run(asyncio.sleep(0, "slept"))
    print(json.dumps([loop, physical_cores() >= 1, available() is not None, len(probe._CRASHES)]))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables of a process from which all that is taken away."""
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "sitecustomize.py").write_text(TAKEN_AWAY, encoding="utf-8")
    paths = [str(tmp_path / "first"), str(Path(__file__).parents[2])]
    # filelock's, which on Windows locks in another way.
    warnings = "ignore:only soft file lock is available"
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": warnings}


def test_runs_workers_and_pages_are_made_without_what_only_posix_has(
    environment: dict[str, str], tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(program), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == ["slept", True, True, 4]
    for name in ("results.json", "scores.csv", "statements.csv", "report.html"):
        assert (tmp_path / "alone" / name).stat().st_size
    for folder in ("workers", "timed"):
        assert (tmp_path / folder / "results.json").read_bytes() == (
            tmp_path / "alone" / "results.json"
        ).read_bytes()


def test_every_module_of_the_command_line_is_imported_without_what_only_posix_has(
    environment: dict[str, str],
) -> None:
    for words in (["--help"], ["evaluate", "--help"], ["models", "--help"], ["compare", "--help"]):
        command = [sys.executable, "-m", "localeval", *words]
        assert subprocess.run(command, env=environment, capture_output=True, timeout=120).returncode == 0


def test_a_table_in_a_console_of_western_europe_has_rules_of_ascii(tmp_path: Path) -> None:
    judged(tmp_path / "run", [0.9])
    command = [sys.executable, "-m", "localeval", "report", str(tmp_path / "run")]
    variables = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, env=variables, capture_output=True, timeout=120)
    shown = done.stdout.decode("cp1252")
    assert (done.returncode, "\\u" in shown, "-----" in shown) == (0, False, True)


def test_many_lines_are_read_back_where_no_read_has_a_place_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And are appended after it."""
    monkeypatch.setattr(spooled, "MAX_BYTES_IN_MEMORY", 10)
    monkeypatch.delattr(os, "pread")
    lines = SpooledLines()
    for number in range(5):
        lines.append(f"line {number}\n".encode())
        assert lines[0] == b"line 0\n"
    assert [lines[number] for number in range(5)] == [f"line {number}\n".encode() for number in range(5)]
