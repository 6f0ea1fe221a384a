"""The doctor finds each planted fault by its name, and says what to do; on a sound machine it finds none."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from localeval import doctor
from localeval.doctor import CheckContext, Finding, examine
from localeval.engine import memory
from localeval.errors import NetworkRefused
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.models.files import hash_file
from localeval.system.offline import offline
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval
from tests.loopback import HUB, move_in, toml_row

GUARD = sys.modules["localeval.system.offline"]._GUARD
FULL = shutil.disk_usage(".")._replace(free=5_000)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_path: Path) -> Path:
    """The models folder: a random judge, and an embedder and a classifier that know nothing."""
    rows = [toml_row("tiny", HUB, files=f'{{ name = "tiny.gguf", sha256 = "{hash_file(tiny_path)}" }}')]
    for name, kind in (("small", "embedder"), ("hhem", "classifier")):
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text("{}")
        rows.append(toml_row(name, HUB, kind=kind, files='{ name = "config.json" }'))
    shutil.copy(tiny_path, tmp_path / "models" / "tiny.gguf")
    same = SimpleNamespace(embed=lambda texts: np.ones((len(texts), 2)), close=lambda: None)
    half = SimpleNamespace(probabilities=lambda pairs: [0.5] * len(pairs), close=lambda: None)
    monkeypatch.setattr("localeval.auxiliary.embedder.Embedder.load", lambda name: same)
    monkeypatch.setattr("localeval.auxiliary.hhem.Classifier.load", lambda name: half)
    monkeypatch.setattr(GUARD, "refused", 3)  # what was tried before the doctor came is not its finding
    offline()
    return move_in(monkeypatch, tmp_path, *rows)


def findings(*names: str, context: CheckContext | None = None, **options: Any) -> dict[str, Finding]:
    context = context or CheckContext("tiny", "small", "hhem", **{"threads": 1, **options})
    context.only = names
    return {finding.name: finding for finding in examine(context)}


def change_a_byte_unseen(path: Path) -> None:
    findings("checksums")  # its sum is remembered
    status, content = path.stat(), path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def phone(*_: object) -> dict[str, CheckContext]:
    context = CheckContext("tiny")
    with pytest.raises(NetworkRefused):
        socket.gethostbyname("localhost")
    return {"context": context}


def drift(*_: object) -> dict[str, CheckContext]:
    context = CheckContext("tiny")
    answers = [{"verdict": share} for share in (0.9, 0.9, 0.2, 0.2, 0.9, 0.8)]
    vars(context)["loaded"] = fake_judge(FakeEngine(answers))
    return {"context": context}


# What is planted in a sound machine, and what else the doctor is asked about -> the check, and what it says.
Plant = Callable[[pytest.MonkeyPatch, Path], Any]
PLANTS: list[tuple[Plant, str, str]] = [
    (lambda patch, _: patch.setattr(shutil, "disk_usage", lambda path: FULL), "disk", "make room"),
    (lambda _, models: {"folder": models / "tiny.gguf" / "runs"}, "disk", "nothing can be written for runs"),
    (lambda patch, _: patch.setattr(memory, "available", lambda: 500_000_000), "judge", "0.5 GB are free"),
    (lambda _, models: change_a_byte_unseen(models / "tiny.gguf"), "checksums", "found sha256"),
    (lambda _, models: (models / "tiny.gguf").unlink(), "judge", "localeval models fetch tiny"),
    (lambda *_: {"threads": 1000}, "processor", "1000 threads"),
    (lambda *_: None, "embedder", "cosines of near and far texts"),
    (lambda *_: None, "classifier", "localeval models fetch hhem"),
    (lambda patch, _: patch.setattr(GUARD, "shut", False), "offline", "localeval.offline()"),
    (lambda patch, _: patch.setenv("HF_HUB_OFFLINE", "0"), "offline", "HF_HUB_OFFLINE"),
    (phone, "offline", "refused: 1 attempts"),
    (drift, "same bits", "two records"),
]
BAD_PACKAGES = [
    ("raise ImportError('half of it is missing')", "(ImportError: half of it is missing)"),
    ("import os; os.kill(os.getpid(), 4)  # SIGILL", "SIGILL, as it is built for another processor"),
]


@pytest.mark.parametrize(("plant", "name", "message"), PLANTS)
def test_each_planted_fault_is_found_by_its_name_with_what_to_do(
    plant: Plant, name: str, message: str, monkeypatch: pytest.MonkeyPatch, models: Path
) -> None:
    finding = findings(name, **(plant(monkeypatch, models) or {}))[name]
    assert message in str(finding)
    assert (finding.status, "\n" in str(finding)) == ("fault", False)


@pytest.mark.parametrize(("code", "why"), BAD_PACKAGES)
def test_a_bad_package_is_named(code: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no file of the current folder passes as a package."""
    site = tmp_path / "site"
    (site / "outlines-1.0.0.dist-info").mkdir(parents=True)
    (site / "outlines-1.0.0.dist-info" / "METADATA").write_text("Name: outlines\nVersion: 1.0.0\n")
    (site / "click.py").write_text(code)
    (tmp_path / "filelock.py").write_text("raise ImportError('it was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(site), *sys.path])  # as in an interactive Python
    finding = findings("packages")["packages"]
    assert (finding.status, "it was run" in finding.found) == ("fault", False)
    for part in ("outlines is 1.0.0, expected", "click can't be imported", why):
        assert part in finding.found


def test_what_is_sound_is_ok_and_what_is_not_here_is_no_fault(models: Path) -> None:
    names = ("python", "disk", "checksums", "judge", "grammar", "same bits", "offline")
    rows = findings(*names)
    assert {f.name: f.status for f in rows.values()} == dict.fromkeys(names, "ok")
    assert "tiny, small (in part unpinned), hhem (in part unpinned): " in rows["checksums"].found
    shutil.rmtree(models / "small")
    shutil.rmtree(models / "hhem")
    assert [row.status for row in findings("embedder", "classifier").values()] == ["absent", "absent"]


def test_a_judge_that_ends_the_process_is_told_once(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vocabulary of such a file can be read: only its weights, or the first reply, end the process."""
    start = Mock(return_value=subprocess.CompletedProcess([], -signal.SIGILL, "", ""))
    monkeypatch.setattr("localeval.engine.probe.library_digest", lambda: "made for another processor")
    monkeypatch.setattr(subprocess, "run", start)
    rows = findings("judge", "grammar", "faithfulness", "same bits")
    assert "llama.cpp ends the process on this model (SIGILL)" in rows["judge"].found
    assert [row.status for row in rows.values()] == ["fault", "absent", "absent", "absent"]
    assert [call.args[0][-1] for call in start.call_args_list] == [str(models / "tiny.gguf")]


def test_the_command_tells_each_fault(tiny_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.CHECKS, "packages", lambda _: "not tried")  # it takes seconds
    run = partial(localeval, "doctor", cwd=models)
    done = run("--judge", tiny_path, "--embedder", "none", "--classifier", "small")
    assert (done.returncode, len(done.stdout.splitlines())) == (3, 12)
    faults = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAULT")]
    assert faults == ["faithfulness", "embedder", "classifier"]  # the judge is random, the others are no such
    done = run("--json", "--only", "judge", "--only", "grammar", "--judge", "none.gguf")
    states = [(row["name"], row["status"]) for row in json.loads(done.stdout)]
    assert (done.returncode, states) == (3, [("judge", "fault"), ("grammar", "absent")])
    assert run("--only", "grammar", "--judge", "none.gguf").returncode == 3
    done = run("--only", "pulse")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.model
def test_the_quick_start_is_sound() -> None:
    offline()
    rows = findings(context=CheckContext(DEFAULT_JUDGE))
    assert [str(finding) for finding in rows.values() if finding.status == "fault"] == []
    assert rows["faithfulness"].status == "ok"
