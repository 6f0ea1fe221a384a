"""A judge says what is wrong with what it is given, and tells a run where its models lie."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, Score, evaluate, rescore
from localeval.engine.interface import ContextTooLong, EngineError
from localeval.errors import InputError
from localeval.run import read
from localeval.testing import FakeEngine, fake_judge
from localeval.verify import verify

TEA: dict[str, Any] = {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
SETTINGS: dict[str, Any] = {"n_threads": 2, "n_ctx": 16384}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_thread": 2}, r"there is no setting 'n_thread' of a judge; did you mean n_threads\?"),
        ({"verbose": True}, r"there is no setting 'verbose' of a judge; choose from: n_ctx, n_threads, .*"),
        ({"n_threads": "2"}, r"a setting of the judge is of the wrong type .*; give a number\."),
        ({"n_threads": -1}, r"n_threads is -1; choose a number from 0 to 1024\."),
    ],
)
def test_a_setting_that_is_none_is_refused_before_any_file_is_read(
    settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        Judge.load("/nowhere/at/all.gguf", **settings)


@pytest.fixture
def home(tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a model and the folders of two others, in which the work begins."""
    folder = tmp_path / "home"
    folder.mkdir()
    shutil.copy(tiny_path, folder / "m.gguf")
    (folder / "beside").mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("at", ["~/{}", "../home/{}"])
def test_a_run_names_its_models_so_that_they_are_found_from_any_folder(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    model, beside = at.format("m.gguf"), at.format("beside")
    with Judge.load(model, embedder=beside, classifier=Path(beside), **SETTINGS) as judge:
        evaluate([TEA], ["faithfulness"], judge, tmp_path / "run", statements="sentences")
    monkeypatch.chdir("/")
    recipe = read(tmp_path / "run")[1]
    assert Path(recipe.judge).samefile(home / "m.gguf")
    assert Path(recipe.embedder).samefile(home / "beside")
    assert Path(recipe.classifier).samefile(home / "beside")
    assert verify(tmp_path / "run", share=1).difference == ""


def test_catalog_names_stay_names_and_a_link_stays_a_link(
    tiny_path: Path, home: Path, tmp_path: Path
) -> None:
    """Where links lead may have another name: that of a part of a split model is all that tells it."""
    link = tmp_path / "link.gguf"
    link.symlink_to(tiny_path)
    with Judge.load(os.fspath(link), embedder="all-minilm-l6-v2", **SETTINGS) as judge:
        assert judge.source == str(link)
        assert judge.companions.sources() == {"embedder": "all-minilm-l6-v2", "classifier": "hhem-2.1-open"}


def test_an_error_of_the_engine_is_forgotten_and_what_is_too_long_is_not() -> None:
    for error, second in (
        (EngineError("no cell is free"), Score(1.0, 0.75)),
        (ContextTooLong("too long"), Score.failed("context_too_long")),
    ):
        judge = fake_judge(FakeEngine([error, {"verdict": 0.75}]))
        assert judge.score("faithfulness", TEA, statements="sentences").status == "failed"
        assert judge.score("faithfulness", TEA, statements="sentences") == second
        assert judge.score("faithfulness", TEA, statements="sentences") == second  # and asks nothing


def test_an_error_of_the_engine_is_asked_again_by_the_same_run_and_stays_where_nothing_is_asked(
    tmp_path: Path,
) -> None:
    judge = fake_judge(FakeEngine([EngineError("no cell is free"), {"verdict": 0.75}]))

    def run() -> Score:
        return evaluate([TEA], ["faithfulness"], judge, tmp_path, statements="sentences").scores[0][
            "faithfulness"
        ]

    assert run() == rescore(tmp_path).scores[0]["faithfulness"] == Score.failed("engine_error")
    assert run() == run() == rescore(tmp_path).scores[0]["faithfulness"] == Score(1.0, 0.75)
