"""A run that localeval 0.1.0 made of the shipped example, with the quick start's models, is still of use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localeval import rescore
from localeval.cli import commands

FROZEN = Path(__file__).parent / "run-0.1.0"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FROZEN, tmp_path / "run"))


def stored(name: str) -> Any:
    return json.loads((FROZEN / name).read_text(encoding="utf-8"))


def test_its_report_shows_every_sample_with_the_stored_scores(run: Path) -> None:
    done = CliRunner().invoke(commands, ["report", str(run)])
    assert done.exit_code == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    for sample in stored("results.json")["samples"]:
        row = next(line.split() for line in done.stdout.splitlines() if line.startswith(sample["id"] + " "))
        score = sample["scores"]["faithfulness"]
        assert row[1] == ("-" if score["value"] is None else f"{score['value']:.3f}")
        assert sample["id"] in page


def test_scored_again_it_has_the_same_scores_means_and_intervals(run: Path) -> None:
    again, before = json.loads(rescore(run).to_json()), stored("results.json")
    assert [sample["scores"] for sample in again["samples"]] == [s["scores"] for s in before["samples"]]
    for name, figures in before["summary"].items():
        assert {key: again["summary"][name][key] for key in figures} == figures
