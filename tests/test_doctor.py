"""The doctor finds each planted fault by its name, and says what to do; on a sound machine it finds none."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
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


def fault_of(name: str, context: CheckContext | None = None, **options: Any) -> str:
    """What the check of this name says: it has found a fault, in one line."""
    finding = findings(name, context=context, **options)[name]
    assert finding.status == "fault"
    assert "\n" not in str(finding)
    return str(finding)


def test_a_disk_without_room_is_a_fault(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: FULL)
    assert "make room" in fault_of("disk")


def test_a_folder_that_nothing_can_be_written_to_is_a_fault(models: Path) -> None:
    runs = models / "tiny.gguf" / "runs"  # below a file
    assert "nothing can be written for runs" in fault_of("disk", folder=runs)


def test_a_judge_that_does_not_fit_into_free_memory_is_a_fault(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available", lambda: 500_000_000)
    assert "0.5 GB are free" in fault_of("judge")


def test_a_byte_of_a_model_that_changed_without_a_trace_is_a_fault(models: Path) -> None:
    findings("checksums")  # its sum is remembered
    path = models / "tiny.gguf"
    status = path.stat()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "found sha256" in fault_of("checksums")


def test_a_judge_that_is_not_here_is_a_fault_with_the_command_that_fetches_it(models: Path) -> None:
    (models / "tiny.gguf").unlink()
    assert "localeval models fetch tiny" in fault_of("judge")


def test_more_threads_than_cores_are_a_fault(models: Path) -> None:
    assert "1000 threads" in fault_of("processor", threads=1000)


def test_an_embedder_to_which_all_texts_are_alike_is_a_fault(models: Path) -> None:
    assert "cosines of near and far texts" in fault_of("embedder")


def test_a_classifier_that_gives_other_scores_than_its_card_is_a_fault(models: Path) -> None:
    assert "localeval models fetch hhem" in fault_of("classifier")


def test_a_guard_that_is_off_is_a_fault(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GUARD, "shut", False)
    assert "localeval.offline()" in fault_of("offline")


def test_a_switch_of_a_library_that_is_not_set_is_a_fault(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert "HF_HUB_OFFLINE" in fault_of("offline")


def test_a_refused_attempt_to_use_the_network_is_a_fault(models: Path) -> None:
    context = CheckContext("tiny")
    with pytest.raises(NetworkRefused):
        socket.gethostbyname("localhost")
    assert "refused: 1 attempts" in fault_of("offline", context)


def test_a_judge_that_answers_otherwise_the_second_time_is_a_fault(models: Path) -> None:
    context = CheckContext("tiny")
    # Two statements of each of three samples: supported, contradicted, and the first again.
    answers = [{"verdict": share} for share in (0.9, 0.9, 0.2, 0.2, 0.9, 0.8)]
    vars(context)["loaded"] = fake_judge(FakeEngine(answers))
    assert "two records" in fault_of("same bits", context)


def test_a_check_of_ones_own_is_one_function(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localeval.doctor.checking.CHECKS", dict(doctor.CHECKS))

    @doctor.check
    def spare_cores(context: CheckContext) -> str:
        return doctor.require(context.threads == 0, "all cores are taken", "leave one free")

    assert "FAULT spare cores   all cores are taken; leave one free" in fault_of("spare cores")
    names = list(doctor.checking.CHECKS)
    assert names[-2:] == ["spare cores", "offline"]  # which counts what the others tried


BAD_PACKAGES = [
    ("raise ImportError('half of it is missing')", "(ImportError: half of it is missing)"),
    ("import os; os.kill(os.getpid(), 4)  # SIGILL", "SIGILL, as it is built for another processor"),
]


@pytest.mark.parametrize(("code", "why"), BAD_PACKAGES, ids=["no import", "ends the process"])
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


def test_what_is_sound_is_ok(models: Path) -> None:
    names = ("python", "disk", "checksums", "judge", "grammar", "same bits", "offline")
    rows = findings(*names)
    assert {name: row.status for name, row in rows.items()} == dict.fromkeys(names, "ok")
    assert "tiny, small (in part unpinned), hhem (in part unpinned): " in rows["checksums"].found


def test_an_embedder_and_a_classifier_that_are_not_here_are_no_fault(models: Path) -> None:
    shutil.rmtree(models / "small")
    shutil.rmtree(models / "hhem")
    rows = findings("embedder", "classifier")
    assert [row.status for row in rows.values()] == ["absent", "absent"]


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
    arguments = ("--judge", tiny_path, "--embedder", "none", "--classifier", "small")
    done = localeval("doctor", *arguments, cwd=models)
    lines = done.stdout.splitlines()
    assert done.returncode == 3
    assert len(lines) == 13
    # The judge is random, and the others are no such models.
    faults = [line.split()[1] for line in lines if line.startswith("FAULT")]
    assert faults == ["faithfulness", "embedder", "classifier"]


def test_the_command_makes_only_the_named_checks_and_prints_json(models: Path) -> None:
    arguments = ("--json", "--only", "judge", "--only", "grammar", "--judge", "none.gguf")
    done = localeval("doctor", *arguments, cwd=models)
    states = {row["name"]: row["status"] for row in json.loads(done.stdout)}
    assert states == {"judge": "fault", "grammar": "absent"}
    assert done.returncode == 3


def test_a_judge_that_cannot_be_loaded_is_a_fault_of_the_only_check_that_needs_it(models: Path) -> None:
    assert localeval("doctor", "--only", "grammar", "--judge", "none.gguf", cwd=models).returncode == 3


def test_a_check_that_is_not_known_is_refused(models: Path) -> None:
    done = localeval("doctor", "--only", "pulse", cwd=models)
    assert done.returncode == 2
    assert done.stdout == ""


@pytest.mark.model
def test_the_quick_start_is_sound() -> None:
    offline()
    rows = findings(context=CheckContext(DEFAULT_JUDGE))
    assert [str(finding) for finding in rows.values() if finding.status == "fault"] == []
    assert rows["faithfulness"].status == "ok"


def own_stores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home folder without models; return llama.cpp's cache in it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_the_largest_judge_that_fits_is_suggested(
    models: Path, tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = own_stores(monkeypatch, tmp_path)
    monkeypatch.setattr(memory, "available", lambda: 2_000_000_000)
    assert "is tiny, of 1 (" in findings("best judge")["best judge"].found
    # The same model twice is a split one of twice the size.
    for part in (1, 2):
        shutil.copy(tiny_path, cache / f"big-0000{part}-of-00002.gguf")
    assert "is llamacpp:big-00001-of-00002.gguf, of 2 (" in findings("best judge")["best judge"].found


def test_a_larger_judge_of_the_catalog_that_fits_is_suggested_to_be_fetched(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_stores(monkeypatch, tmp_path)
    monkeypatch.setattr(memory, "available", lambda: 2_000_000_000)
    (models / "tiny.gguf").unlink()
    finding = findings("best judge")["best judge"]
    assert finding.status == "absent"
    assert "no judge here fits into 2.0 GB of free memory" in finding.found
    assert "localeval models fetch tiny" in finding.found


def test_a_judge_that_does_not_fit_is_not_suggested(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_stores(monkeypatch, tmp_path)
    monkeypatch.setattr(memory, "available", lambda: 100_000_000)
    finding = findings("best judge")["best judge"]
    assert finding.status == "absent"
    assert finding.found == "no judge here fits into 0.1 GB of free memory (1 were found)"
