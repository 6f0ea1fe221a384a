"""A long run in a folder needs little memory."""

from __future__ import annotations

import gc
import importlib
import tracemalloc
from pathlib import Path

import pytest

from localeval import evaluate
from localeval.text import claims, overlap
from tests.steady import SteadyEngine, steady_judge

METRICS = ["faithfulness", "answer_relevance", "context_relevance"]


def test_a_run_in_a_folder_holds_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a text nor a score: only where its lines stand. Without a folder the records are held."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    scale = importlib.import_module("scale")
    samples = list(scale.samples(60))
    for module in (overlap, claims):
        monkeypatch.setattr(module, "split_sentences", scale.plain)  # pysbd's time is not what is looked at
    judge = steady_judge(SteadyEngine())
    evaluate(samples[:5], METRICS, judge, tmp_path / "once")  # what is imported and remembered once

    def held(folder: Path | None) -> float:
        gc.collect()
        tracemalloc.start()
        result = evaluate(samples, METRICS, judge, folder)
        gc.collect()
        bytes_held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return bytes_held / len(result.samples)

    monkeypatch.setattr("localeval.system.files.IN_MEMORY", 1)
    evaluate(samples, METRICS, judge, tmp_path / "run")
    assert held(tmp_path / "run") < 1500  # 750 seen with 300 samples; in a long run 200
    assert held(None) > 10_000
