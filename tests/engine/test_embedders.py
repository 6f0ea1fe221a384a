"""Which embedder is taken where none is named, and what is left out where there is none."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localeval import Judge, evaluate, models
from localeval.engine.embedder import Embedder
from localeval.errors import ModelMissing
from localeval.testing import FakeEngine
from tests.engine.test_embedder import catalog_row, write_folder
from tests.loopback import BYTES, FILE, HUB, move_in, toml_row

FROM_BEST = ["bge-m3", "multilingual-e5-small", "multilingual-e5-small-q4", "all-minilm-l6-v2"]
SAMPLE = {"question": "What grows?", "answer": "Tea grows.", "contexts": ["Tea grows."]}


@pytest.fixture
def models_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty models folder, of a catalog that has all embedders."""
    return move_in(monkeypatch, tmp_path, *(toml_row(name, HUB, kind="embedder") for name in FROM_BEST))


def fake(answers: int) -> Judge:
    yes: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.9}]
    return Judge(FakeEngine(yes[:answers]), {"name": "fake", "sha256": "0" * 64, "size": 0})


def test_the_best_embedder_that_is_here_is_taken_and_told(models_folder: Path) -> None:
    for name in reversed(FROM_BEST):
        (models_folder / name).mkdir(parents=True)
        (models_folder / name / FILE).write_bytes(BYTES)
        assert models.resolve("auto", kind="embedder").name == name
        assert fake(0).companions.sources()["embedder"] == name


def test_what_has_no_model_here_is_left_out_with_the_command_that_brings_it(
    models_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with fake(2) as judge, caplog.at_level(logging.WARNING, "localeval"):
        result = evaluate([{**SAMPLE, "question": None}, {**SAMPLE, "contexts": None}], judge=judge)
    assert result.metrics == ["faithfulness", "context_relevance"]
    assert "localeval models fetch multilingual-e5-small" in caplog.text
    assert "answer_relevance" in caplog.text


def test_where_no_metric_is_left_the_model_is_missing(models_folder: Path) -> None:
    with pytest.raises(ModelMissing, match="localeval models fetch multilingual-e5-small"):
        evaluate([{**SAMPLE, "contexts": None}], judge=fake(0))
    with pytest.raises(ModelMissing, match="localeval models fetch multilingual-e5-small"):
        evaluate([SAMPLE], ["faithfulness", "answer_relevance"], judge=fake(0))


def test_an_embedder_that_wants_words_before_each_text_gets_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "models" / "small"
    write_folder(folder)
    move_in(monkeypatch, tmp_path, catalog_row(folder) + 'prefix = "query: "\n')
    texts = ["where does tea grow", "tea"]
    bare, named = Embedder.load(folder), Embedder.load("small")
    assert (named.embed(texts) == bare.embed([f"query: {text}" for text in texts])).all()
    assert not np.allclose(named.embed(texts), bare.embed(texts))
    assert named.signature()["prefix"] == "query: "
