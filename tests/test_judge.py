"""A judge says what is wrong with what it is given, and tells a run where its models lie."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, Score, evaluate, plan, rescore
from localeval.compat.metrics import beside
from localeval.engine.auxiliary_models import AuxiliaryModels
from localeval.engine.engine import Engine
from localeval.engine.interface import ContextTooLong, EngineError
from localeval.errors import InputError
from localeval.runs.folder import read
from localeval.runs.verify import verify
from localeval.testing import FakeClassifier, FakeEngine, fake_judge
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

TEA: dict[str, Any] = {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
SETTINGS: dict[str, Any] = {"n_threads": 2, "n_ctx": 16384}


class Other(SteadyEmbedder):
    def signature(self) -> dict[str, Any]:
        return {"name": "other", "sha256": "1" * 64}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"n_thread": 2}, "n_thread.*did you mean n_threads"),
        ({"verbose": True}, "verbose"),
        ({"n_threads": "2"}, "n_threads is '2'"),
        ({"n_threads": -1}, "n_threads is -1"),
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
    config = read(tmp_path / "run")[1]
    assert Path(config.judge).samefile(home / "m.gguf")
    assert Path(config.embedder).samefile(home / "beside")
    assert Path(config.classifier).samefile(home / "beside")
    assert verify(tmp_path / "run", share=1).difference == ""


def test_catalog_names_stay_names_and_a_link_stays_a_link(tiny_path: Path, tmp_path: Path) -> None:
    """Where links lead may have another name: that of a part of a split model is all that tells it."""
    link = tmp_path / "link.gguf"
    link.symlink_to(tiny_path)
    with Judge.load(os.fspath(link), embedder="all-minilm-l6-v2", **SETTINGS) as judge:
        assert judge.source == str(link)
        assert judge.companions.sources() == {"embedder": "all-minilm-l6-v2", "classifier": "hhem-2.1-open"}


def test_an_error_of_the_engine_is_asked_again_and_what_is_too_long_is_not(tmp_path: Path) -> None:
    """By the judge as by a run; where nothing is asked the error stays."""
    yes, failed = Score(1.0, 0.75), Score.failed("context_too_long")
    for error, second in ((EngineError("no cell is free"), yes), (ContextTooLong("too long"), failed)):
        judge = fake_judge(FakeEngine([error, {"verdict": 0.75}]))
        assert judge.score("faithfulness", TEA, statements="sentences").status == "failed"
        for _ in range(2):  # the second time nothing is asked
            assert judge.score("faithfulness", TEA, statements="sentences") == second

    judge = fake_judge(FakeEngine([EngineError("no cell is free"), {"verdict": 0.75}]))
    for expected in (Score.failed("engine_error"), yes, yes):
        made = evaluate([TEA], ["faithfulness"], judge, tmp_path, statements="sentences")
        assert made.scores == rescore(tmp_path).scores == [{"faithfulness": expected}]


def test_a_model_of_ones_own_is_recorded_as_no_catalog_name_and_as_itself() -> None:
    class Named(SteadyEmbedder):
        source = "all-minilm-l6-v2"

    sources = AuxiliaryModels(SteadyEmbedder(), FakeClassifier({})).sources()
    assert sources["embedder"].startswith("<SteadyEmbedder ")
    assert sources["classifier"].startswith("<FakeClassifier ")
    assert AuxiliaryModels(SteadyEmbedder()).sources()["embedder"] == sources["embedder"]
    assert AuxiliaryModels(Other()).sources()["embedder"] != sources["embedder"]
    assert AuxiliaryModels(Named()).sources()["embedder"] == "all-minilm-l6-v2"


def test_two_embedders_of_ones_own_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    mine = steady_judge(SteadyEngine())
    others = Judge(SteadyEngine(), mine.model, companions=AuxiliaryModels(Other()))
    sample = {**TEA, "user_input": "Tea?"}
    evaluate([sample], ["answer_relevance"], mine, tmp_path)
    evaluate([sample], ["faithfulness"], mine, tmp_path)
    assert read(tmp_path)[1].beside["embedder"]["name"] == "steady"
    evaluate([sample], ["faithfulness"], others, tmp_path)
    assert read(tmp_path)[1].beside == {}


def test_a_judge_that_was_closed_says_so_and_loads_nothing(tiny_path: Path, tmp_path: Path) -> None:
    with Judge.load(tiny_path, **SETTINGS) as judge:
        evaluate([TEA], ["faithfulness"], judge, tmp_path / "run", statements="sentences")
    for use in (
        lambda: judge.score("faithfulness", TEA, statements="sentences"),
        lambda: beside(judge, AuxiliaryModels()).score("faithfulness", {**TEA, "response": "It sings."}),
        lambda: evaluate([TEA], ["faithfulness"], judge, tmp_path / "other"),
        lambda: plan([TEA], ["faithfulness"], judge),
        lambda: verify(tmp_path / "run", judge=judge),
    ):
        with pytest.raises(InputError, match="this judge was closed"):
            use()
    assert isinstance(judge.engine, Engine)
    assert not judge.engine.loaded
    judge.close()  # a second time does nothing
