"""The measuring scripts: plans that still fit the prompts, and campaigns that are there."""

from __future__ import annotations

import gc
import importlib
import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest

from localeval import evaluate
from localeval.engine.interface import EngineSettings
from tests.steady import SteadyEngine, steady_judge

ROOT = Path(__file__).parents[2]


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module(name)


@pytest.mark.parametrize("plan", sorted(ROOT.glob("scripts/experiments/*.toml")), ids=lambda plan: plan.stem)
def test_every_variant_finds_what_it_changes(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = script("experiment", monkeypatch)
    rows = experiment.tomllib.loads(plan.read_text(encoding="utf-8"))["variant"]
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


def test_a_run_in_a_folder_holds_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a text nor a score: only where its lines stand. Without a folder the records are held."""
    scale = script("scale", monkeypatch)
    samples = list(scale.samples(60))
    for module in ("overlap", "claims"):  # pysbd's time is not what is looked at
        monkeypatch.setattr(f"localeval.text.{module}.split_sentences", scale.plain)
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

    monkeypatch.setattr("localeval.system.files.IN_MEMORY", 1)
    evaluate(samples, scale.METRICS, judge, tmp_path / "run")
    assert bytes_per_sample(tmp_path / "run") < 1500  # 750 seen with 300 samples; in a long run 200
    assert bytes_per_sample(None) > 10_000
