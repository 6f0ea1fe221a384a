"""The doctor finds each planted fault by its name, and says what to do; on a sound machine it finds none."""

from __future__ import annotations

import importlib.metadata
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

import pytest

from localeval.doctor import Finding, examine
from localeval.doctor.asked import Asked
from localeval.doctor.machine import import_faults, processor_features
from localeval.engine import trial
from localeval.engine.interface import EngineSettings
from localeval.engine.lazy import LazyEngine
from localeval.errors import NetworkRefused
from localeval.system.offline import offline
from localeval.testing import FakeEngine, fake_judge
from tests import test_classifier, test_embedder
from tests.loopback import HUB, move_in, toml_row
from tests.tiny import write_tiny_model


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The models folder of a store with a judge, an embedder and a classifier, all there and all random."""
    folder = tmp_path / "models"
    test_embedder.write_folder(folder / "small")
    test_classifier.write(folder / "hhem", test_classifier.tensors())
    write_tiny_model(folder / "tiny.gguf")
    rows = [
        toml_row("tiny", HUB, files=named(folder, "tiny.gguf")),
        test_embedder.catalog_row(folder / "small"),
        toml_row("hhem", HUB, kind="classifier", files='{ name = "config.json" }'),
    ]
    return move_in(monkeypatch, tmp_path, *rows)


def named(folder: Path, *names: str) -> str:
    from localeval.models.files import hash_file

    paths = [folder / name for name in names]
    return ", ".join(
        f'{{ name = "{p.name}", size = {p.stat().st_size}, sha256 = "{hash_file(p)}" }}' for p in paths
    )


def found(*names: str, asked: Asked | None = None, **more: Any) -> dict[str, Finding]:
    asked = asked or Asked("tiny", "small", "hhem", 1, **more)
    return {finding.name: finding for finding in examine(asked, names)}


# Each plants one fault, and names the check that must find it and a word of what it says.
Plant = Callable[[pytest.MonkeyPatch, Path, Path], dict[str, Any] | None]


def no_room(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=5_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)


def folder_is_a_file(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "file").touch()
    return {"folder": tmp_path / "file" / "runs"}


def cache_is_a_file(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))


def judge_too_large(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    monkeypatch.setattr("localeval.doctor.machine.available", lambda: 500_000_000)


def byte_changed_unseen(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    found("checksums")  # its sum is remembered
    path, status = models / "tiny.gguf", (models / "tiny.gguf").stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def judge_is_gone(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    (models / "tiny.gguf").unlink()


def judge_is_cut(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    path = models / "tiny.gguf"
    path.write_bytes(path.read_bytes()[:-1])


def judge_is_no_instruct_model(
    monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path
) -> dict[str, Any]:
    path = write_tiny_model(tmp_path / "base.gguf", template=None)
    return {"asked": Asked(str(path), threads=1)}


def judge_guesses(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    """The tiny judge is random as it is."""


def splitter_does_not_split(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    import pysbd

    at_each_word = lambda self, text: SimpleNamespace(process=lambda: text.split())  # noqa: E731
    monkeypatch.setattr(pysbd.Segmenter, "processor", at_each_word)


def embedder_guesses(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    """The small embedder is random as it is."""


def hhem_guesses(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    """The classifier is random as it is."""


def more_threads_than_cores(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> dict[str, Any]:
    return {"asked": Asked("tiny", threads=1000)}


def fewer_threads_than_none(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> dict[str, Any]:
    return {"asked": Asked("tiny", threads=-1)}


def guard_down(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    monkeypatch.setattr(sys.modules["localeval.system.offline"]._GUARD, "shut", False)


def switch_off(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")


def something_phones(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> None:
    with pytest.raises(NetworkRefused):
        socket.gethostbyname("localhost")


def bits_drift(monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path) -> dict[str, Any]:
    asked = Asked("tiny")
    engine = FakeEngine([{"verdict": share} for share in (0.9, 0.9, 0.2, 0.2, 0.9, 0.8)])
    vars(asked)["loaded"] = fake_judge(engine)
    return {"asked": asked}


PLANTS: list[tuple[Plant, str, str]] = [
    (no_room, "disk", "make room"),
    (folder_is_a_file, "disk", "nothing can be written for runs"),
    (cache_is_a_file, "disk", "XDG_CACHE_HOME"),
    (judge_too_large, "memory", "tiny needs about 0.6 GB, 0.5 GB are free"),
    (byte_changed_unseen, "checksums", "found sha256"),
    (judge_is_gone, "judge", "localeval models fetch tiny"),
    (judge_is_cut, "judge", "bytes, expected"),
    (judge_is_no_instruct_model, "judge", "choose an instruct model"),
    (judge_guesses, "faithfulness", "this judge does not judge"),
    (splitter_does_not_split, "splitter", "sentences, expected"),
    (embedder_guesses, "embedder", "cosines of near and far texts"),
    (hhem_guesses, "classifier", "localeval models fetch hhem"),
    (more_threads_than_cores, "processor", "1000 threads"),
    (fewer_threads_than_none, "judge", "n_threads is -1"),
    (fewer_threads_than_none, "processor", "-1 threads"),
    (guard_down, "offline", "localeval.offline()"),
    (switch_off, "offline", "HF_HUB_OFFLINE"),
    (something_phones, "offline", "refused: 1 attempts"),
    (bits_drift, "same bits", "two records"),
]


@pytest.mark.parametrize(("plant", "name", "said"), PLANTS, ids=[plant.__name__ for plant, *_ in PLANTS])
def test_each_planted_fault_is_found_by_its_name_with_what_to_do(
    plant: Plant, name: str, said: str, monkeypatch: pytest.MonkeyPatch, models: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys.modules["localeval.system.offline"]._GUARD, "refused", 0)
    offline()
    given = plant(monkeypatch, models, tmp_path) or {}
    finding = found(name, **given)[name]
    assert finding.status == "fault"
    assert said in str(finding)
    assert "\n" not in str(finding)


def test_an_old_package_a_broken_one_and_one_for_another_processor_are_named(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "planted"
    (planted / "outlines-1.0.0.dist-info").mkdir(parents=True)
    metadata = "Metadata-Version: 2.1\nName: outlines\nVersion: 1.0.0\n"
    (planted / "outlines-1.0.0.dist-info" / "METADATA").write_text(metadata)
    (planted / "pysbd.py").write_text("raise ImportError('half of it is missing')")
    (planted / "sentence_transformers.py").write_text(
        "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
    )
    monkeypatch.syspath_prepend(str(planted))
    assert importlib.metadata.version("outlines") == "1.0.0"
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
    assert import_faults(["llama_cpp"]) == []


def test_what_is_sound_is_ok_and_what_is_not_here_is_no_fault(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["localeval.system.offline"]._GUARD, "refused", 0)
    offline()
    names = ("python", "disk", "memory", "checksums", "splitter", "judge", "grammar", "same bits", "offline")
    assert {f.name: f.status for f in found(*names).values()} == dict.fromkeys(names, "ok")
    shutil.rmtree(models / "small")
    shutil.rmtree(models / "hhem")
    beside = found("embedder", "classifier")
    assert [finding.status for finding in beside.values()] == ["absent", "absent"]
    assert "localeval models fetch small" in beside["embedder"].found


def test_the_memory_that_a_judge_needs_is_what_a_run_plans_with(models: Path) -> None:
    """Not the catalog's rough figure, which is 0.1 GB here."""
    planned = LazyEngine(models / "tiny.gguf", EngineSettings()).memory()
    assert planned is not None
    assert found("memory")["memory"].found.startswith(f"tiny needs about {planned / 1e9:.1f} GB, ")


def test_where_the_judge_cannot_be_loaded_its_row_says_why_and_no_other() -> None:
    rows = found("judge", "grammar", "faithfulness", "same bits", asked=Asked("none.gguf"))
    assert [row.status for row in rows.values()] == ["fault", "absent", "absent", "absent"]
    assert "none.gguf is not there" in rows["judge"].found


def test_a_judge_on_which_llama_cpp_ends_is_told_once_and_by_its_own_row(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vocabulary of such a file can be read: only its weights, or the first reply, end the process."""
    tries = []

    def crashed(path: Path, *_: object) -> subprocess.CompletedProcess[str]:
        tries.append(path)
        return subprocess.CompletedProcess([], -signal.SIGILL, "", "")

    monkeypatch.setattr(trial, "library", lambda: "made for another processor")
    monkeypatch.setattr(trial, "_run", crashed)
    rows = found("judge", "grammar", "faithfulness", "same bits", asked=Asked("tiny"))
    assert "llama.cpp ends the process on this model (SIGILL)" in rows["judge"].found
    assert [row.status for row in rows.values()] == ["fault", "absent", "absent", "absent"]
    assert tries == [models / "tiny.gguf"]


def doctor(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
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
    run = doctor("--judge", tiny_path, cwd=tmp_path, LOCALEVAL_MODELS=str(tmp_path))
    assert run.returncode == 3, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == 14
    faults = [line for line in lines if line.startswith("FAULT")]
    assert faults == [line for line in lines if "faithfulness" in line]
    assert run.stderr == ""


def test_json_holds_what_was_found_and_a_check_that_is_no_check_is_exit_2(tmp_path: Path) -> None:
    chosen = ("--only", "judge", "--only", "grammar", "--judge", "none.gguf")
    run = doctor("--json", *chosen, cwd=tmp_path)
    assert run.returncode == 3
    findings = json.loads(run.stdout)
    assert [(f["name"], f["status"]) for f in findings] == [("judge", "fault"), ("grammar", "absent")]
    run = doctor("--only", "pulse", cwd=tmp_path)
    assert run.returncode == 2
    assert "'pulse' is no check; choose from: python, packages" in run.stderr


def test_the_processors_features_are_read_from_what_linux_tells(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor : 0\nflags\t\t: fpu avx avx2 fma hypervisor\n")
    assert processor_features(path) == ["avx", "avx2", "fma"]
    assert processor_features(tmp_path / "none") == []


@pytest.mark.model
def test_the_quick_start_is_sound(tmp_path: Path) -> None:
    run = doctor(cwd=tmp_path)
    assert run.returncode == 0, run.stdout
