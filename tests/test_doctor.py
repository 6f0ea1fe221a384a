"""The doctor finds each planted fault by its name, and says what to do; on a sound machine it finds none."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pysbd
import pytest

from localeval import doctor
from localeval.doctor import CheckContext, Finding, examine
from localeval.engine import probe
from localeval.engine.engine import Engine
from localeval.engine.interface import EngineSettings
from localeval.errors import NetworkRefused
from localeval.models.files import hash_file
from localeval.system.offline import offline
from localeval.testing import FakeEngine, fake_judge
from tests.engine import test_classifier, test_embedder
from tests.loopback import HUB, move_in, toml_row
from tests.tiny import write_tiny_model

GUARD = sys.modules["localeval.system.offline"]._GUARD


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The models folder of a store with a judge, an embedder and a classifier, all there and all random."""
    folder = tmp_path / "models"
    test_embedder.write_folder(folder / "small")
    test_classifier.write(folder / "hhem", test_classifier.tensors())
    path = write_tiny_model(folder / "tiny.gguf")
    file = f'{{ name = "tiny.gguf", size = {path.stat().st_size}, sha256 = "{hash_file(path)}" }}'
    rows = [
        toml_row("tiny", HUB, files=file),
        test_embedder.catalog_row(folder / "small"),
        toml_row("hhem", HUB, kind="classifier", files='{ name = "config.json" }'),
    ]
    monkeypatch.setattr(GUARD, "refused", 0)
    offline()
    return move_in(monkeypatch, tmp_path, *rows)


def found(
    *names: str, judge: str = "tiny", context: CheckContext | None = None, **more: Any
) -> dict[str, Finding]:
    context = context or CheckContext(judge, "small", "hhem", **{"threads": 1, **more})
    return {finding.name: finding for finding in examine(context, names)}


def change_a_byte_unseen(path: Path) -> None:
    found("checksums")  # its sum is remembered
    status, content = path.stat(), bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def split_at_each_word(_: object, text: str) -> SimpleNamespace:
    return SimpleNamespace(process=text.split)


def phone(*_: object) -> None:
    with pytest.raises(NetworkRefused):
        socket.gethostbyname("localhost")


def drifting() -> CheckContext:
    context = CheckContext("tiny")
    engine = FakeEngine([{"verdict": share} for share in (0.9, 0.9, 0.2, 0.2, 0.9, 0.8)])
    vars(context)["loaded"] = fake_judge(engine)
    return context


FULL = shutil.disk_usage("/")._replace(free=5_000)

# What is planted in a sound machine, and what else the doctor is asked about -> the check, and what it says.
Plant = Callable[[pytest.MonkeyPatch, Path], Any]
PLANTS: list[tuple[Plant, str, str]] = [
    (lambda patch, _: patch.setattr(shutil, "disk_usage", lambda path: FULL), "disk", "make room"),
    (lambda _, models: {"folder": models / "tiny.gguf" / "runs"}, "disk", "nothing can be written for runs"),
    (
        lambda patch, models: patch.setenv("XDG_CACHE_HOME", str(models / "tiny.gguf")),
        "disk",
        "XDG_CACHE_HOME",
    ),
    (
        lambda patch, _: patch.setattr(doctor, "available", lambda: 500_000_000),
        "memory",
        "tiny needs about 0.6 GB, 0.5 GB are free",
    ),
    (lambda _, models: change_a_byte_unseen(models / "tiny.gguf"), "checksums", "found sha256"),
    (lambda _, models: (models / "tiny.gguf").unlink(), "judge", "localeval models fetch tiny"),
    (
        lambda _, models: {"judge": str(write_tiny_model(models / "base.gguf", template=None))},
        "judge",
        "choose an instruct model",
    ),
    (lambda *_: {"threads": -1}, "judge", "n_threads is -1"),
    (lambda *_: {"threads": -1}, "processor", "-1 threads"),
    (lambda *_: {"threads": 1000}, "processor", "1000 threads"),
    (lambda *_: None, "faithfulness", "this judge does not judge"),  # the models are random as they are
    (lambda *_: None, "embedder", "cosines of near and far texts"),
    (lambda *_: None, "classifier", "localeval models fetch hhem"),
    (
        lambda patch, _: patch.setattr(pysbd.Segmenter, "processor", split_at_each_word),
        "splitter",
        "sentences, expected",
    ),
    (lambda patch, _: patch.setattr(GUARD, "shut", False), "offline", "localeval.offline()"),
    (lambda patch, _: patch.setenv("HF_HUB_OFFLINE", "0"), "offline", "HF_HUB_OFFLINE"),
    (phone, "offline", "refused: 1 attempts"),
    (lambda *_: {"context": drifting()}, "same bits", "two records"),
]


@pytest.mark.parametrize(
    ("plant", "name", "said"), PLANTS, ids=[f"{name}: {said}" for _, name, said in PLANTS]
)
def test_each_planted_fault_is_found_by_its_name_with_what_to_do(
    plant: Plant, name: str, said: str, monkeypatch: pytest.MonkeyPatch, models: Path
) -> None:
    finding = found(name, **(plant(monkeypatch, models) or {}))[name]
    assert finding.status == "fault"
    assert said in str(finding)
    assert "\n" not in str(finding)


def test_an_old_package_a_broken_one_and_one_for_another_processor_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outlines-1.0.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: outlines\nVersion: 1.0.0\n"
    (tmp_path / "outlines-1.0.0.dist-info" / "METADATA").write_text(metadata)
    (tmp_path / "pysbd.py").write_text("raise ImportError('half of it is missing')")
    (tmp_path / "sentence_transformers.py").write_text("import os; os.kill(os.getpid(), 4)  # SIGILL")
    monkeypatch.syspath_prepend(str(tmp_path))
    finding = found("packages")["packages"]
    assert finding.status == "fault"
    assert "outlines is 1.0.0, expected <2,>=1.3" in finding.found
    assert "pysbd can't be imported (ImportError('half of it is missing'))" in finding.found
    assert "importing sentence_transformers ends the process (SIGILL): it is built for" in finding.found


def test_no_file_of_the_current_folder_passes_as_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "llama_cpp.py").write_text("raise ImportError('it was run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # as in an interactive Python
    assert "it was run" not in found("packages")["packages"].found


def test_what_is_sound_is_ok_and_what_is_not_here_is_no_fault(models: Path) -> None:
    names = ("python", "disk", "memory", "checksums", "splitter", "judge", "grammar", "same bits", "offline")
    rows = found(*names)
    assert {f.name: f.status for f in rows.values()} == dict.fromkeys(names, "ok")
    # It is what a run plans with, and not the catalog's rough figure, which is 0.1 GB here.
    planned = Engine(models / "tiny.gguf", EngineSettings()).memory()
    assert planned is not None
    assert rows["memory"].found.startswith(f"tiny needs about {planned / 1e9:.1f} GB, ")
    shutil.rmtree(models / "small")
    shutil.rmtree(models / "hhem")
    beside = found("embedder", "classifier")
    assert [finding.status for finding in beside.values()] == ["absent", "absent"]
    assert "localeval models fetch small" in beside["embedder"].found


def test_a_judge_on_which_llama_cpp_ends_is_told_once_and_by_its_own_row(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vocabulary of such a file can be read: only its weights, or the first reply, end the process."""
    tries = []

    def crashed(path: Path, *_: object) -> subprocess.CompletedProcess[str]:
        tries.append(path)
        return subprocess.CompletedProcess([], -signal.SIGILL, "", "")

    monkeypatch.setattr(probe, "library", lambda: "made for another processor")
    monkeypatch.setattr(probe, "_run", crashed)
    rows = found("judge", "grammar", "faithfulness", "same bits")
    assert "llama.cpp ends the process on this model (SIGILL)" in rows["judge"].found
    assert [row.status for row in rows.values()] == ["fault", "absent", "absent", "absent"]
    assert tries == [models / "tiny.gguf"]


def run_doctor(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "localeval", "doctor", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, **env},
    )


def test_the_command_prints_a_line_each_and_ends_with_exit_3_on_a_fault(
    tiny_path: Path, tmp_path: Path
) -> None:
    run = run_doctor("--judge", tiny_path, cwd=tmp_path, LOCALEVAL_MODELS=str(tmp_path))
    assert run.returncode == 3, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 14
    faults = [line for line in lines if line.startswith("FAULT")]
    assert faults == [line for line in lines if "faithfulness" in line]
    assert run.stderr == ""


def test_json_holds_what_was_found_and_a_check_that_is_no_check_is_exit_2(tmp_path: Path) -> None:
    chosen = ("--only", "judge", "--only", "grammar", "--judge", "none.gguf")
    run = run_doctor("--json", *chosen, cwd=tmp_path)
    assert run.returncode == 3
    judge, grammar = json.loads(run.stdout)
    assert (judge["name"], judge["status"]) == ("judge", "fault")
    assert "none.gguf is not there" in judge["found"]
    assert (grammar["name"], grammar["status"]) == ("grammar", "absent")
    run = run_doctor("--only", "pulse", cwd=tmp_path)
    assert run.returncode == 2
    assert "'pulse' is no check; choose from: python, packages" in run.stderr


@pytest.mark.model
def test_the_quick_start_is_sound(tmp_path: Path) -> None:
    run = run_doctor(cwd=tmp_path)
    assert run.returncode == 0, run.stdout
