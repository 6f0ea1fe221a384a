"""A judge says what is wrong with what it is given, and tells a run where its models lie."""

import json
import os
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from localeval import InputError, Judge, evaluate, plan
from localeval.cli import commands
from tests.commands import said
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

TEA: dict[str, Any] = {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
SETTINGS: dict[str, Any] = {"n_threads": 1, "n_ctx": 16384}


def config_of(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_text(encoding="utf-8"))


def test_a_run_names_its_models_so_that_they_are_found_from_any_folder(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "beside").mkdir(parents=True)
    shutil.copy(tiny_path, home / "m.gguf")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    with Judge.load("~/m.gguf", embedder="../home/beside", classifier=Path("beside"), **SETTINGS) as judge:
        evaluate([TEA], ["faithfulness"], judge, tmp_path / "run", statements="sentences")
    monkeypatch.chdir("/")
    config = config_of(tmp_path / "run")
    assert Path(config["judge"]).samefile(home / "m.gguf")
    assert Path(config["embedder"]).samefile(home / "beside")
    assert Path(config["classifier"]).samefile(home / "beside")
    assert CliRunner().invoke(commands, ["verify", str(tmp_path / "run"), "--share", "1"]).exit_code == 0


def test_catalog_names_stay_names_and_a_link_stays_a_link(tiny_path: Path, tmp_path: Path) -> None:
    """Where links lead may have another name: the name of a part of a split model is all that tells it."""
    link = tmp_path / "link.gguf"
    link.symlink_to(tiny_path)
    with Judge.load(os.fspath(link), embedder="all-minilm-l6-v2", **SETTINGS) as judge:
        assert judge.source == str(link)
        names = {"embedder": "all-minilm-l6-v2", "classifier": "hhem-2.1-open"}
        assert judge.auxiliary_models.sources() == names
    own = SteadyEmbedder()
    own.source = "all-minilm-l6-v2"  # type: ignore[attr-defined]  # an attribute makes no catalog name of it
    with Judge.load(tiny_path, embedder=own, **SETTINGS) as judge:
        assert judge.auxiliary_models.sources()["embedder"] == "<SteadyEmbedder>"


def test_two_embedders_of_ones_own_in_one_folder_are_told_apart(tmp_path: Path) -> None:
    for metric in ("answer_relevance", "faithfulness"):
        evaluate([{**TEA, "user_input": "Tea?"}], [metric], steady_judge(SteadyEngine()), tmp_path)
    assert config_of(tmp_path)["auxiliary_signatures"]["embedder"]["name"] == "steady"
    other = steady_judge(SteadyEngine(), Mock(signature=lambda: {"name": "other", "sha256": "1" * 64}))
    evaluate([{**TEA, "user_input": "Tea?"}], ["faithfulness"], other, tmp_path)
    assert not config_of(tmp_path).get("auxiliary_signatures")


def test_a_judge_that_was_closed_says_so_and_loads_nothing(tiny_path: Path, tmp_path: Path) -> None:
    with Judge.load(tiny_path, **SETTINGS) as judge:
        evaluate([TEA], ["faithfulness"], judge, tmp_path / "run", statements="sentences")
    for use in (lambda *_: judge.score("faithfulness", TEA, statements="sentences"), evaluate, plan):
        assert "this judge was closed" in said(InputError, use, [TEA], ["faithfulness"], judge)
    judge.close()  # a second time does nothing
