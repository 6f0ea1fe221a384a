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
    facts = {
        "event loop": asyncio.run(asyncio.sleep(0, "slept")),
        "cores": physical_cores(),
        "free memory": available(),
        "signals of a crash": len(probe._CRASHES),
    }
    print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process from which all that is taken away."""
    first = tmp_path_factory.mktemp("first")
    (first / "sitecustomize.py").write_text(TAKEN_AWAY, encoding="utf-8")
    paths = [str(first), str(Path(__file__).parents[2])]
    # filelock's, which on Windows locks in another way.
    warnings = "ignore:only soft file lock is available"
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": warnings}


@pytest.fixture(scope="module")
def folder(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which `PROGRAM` ran, with what it printed in facts.json."""
    folder = tmp_path_factory.mktemp("portable")
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(program), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    assert done.returncode == 0
    (folder / "facts.json").write_text(done.stdout)
    return folder


@pytest.mark.parametrize("name", ["results.json", "scores.csv", "statements.csv", "report.html"])
def test_a_run_has_all_its_files_without_what_only_posix_has(folder: Path, name: str) -> None:
    assert (folder / "alone" / name).stat().st_size > 0


@pytest.mark.parametrize("name", ["workers", "timed"])
def test_workers_give_the_same_results_without_what_only_posix_has(folder: Path, name: str) -> None:
    results = (folder / name / "results.json").read_bytes()
    assert results == (folder / "alone" / "results.json").read_bytes()


def test_the_machine_is_known_without_what_only_posix_has(folder: Path) -> None:
    facts = json.loads((folder / "facts.json").read_text())
    assert facts["event loop"] == "slept"
    assert facts["cores"] >= 1
    assert facts["free memory"] > 0
    assert facts["signals of a crash"] == 4  # of five, of which SIGBUS is missing


@pytest.mark.parametrize("words", ["--help", "evaluate --help", "models --help", "compare --help"])
def test_the_modules_of_a_command_are_imported_without_what_only_posix_has(
    environment: dict[str, str], words: str
) -> None:
    command = [sys.executable, "-m", "localeval", *words.split()]
    assert subprocess.run(command, env=environment, capture_output=True, timeout=120).returncode == 0


def test_a_table_in_a_console_of_western_europe_has_rules_of_ascii(tmp_path: Path) -> None:
    judged(tmp_path / "run", [0.9])
    command = [sys.executable, "-m", "localeval", "report", str(tmp_path / "run")]
    variables = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, env=variables, capture_output=True, timeout=120)
    shown = done.stdout.decode("cp1252")
    assert done.returncode == 0
    assert "-----" in shown
    assert "\\u" not in shown
