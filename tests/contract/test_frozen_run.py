"""A run that localeval 0.1.0 made of the shipped example, with the quick start's models, is still of use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localeval import compare, rescore
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
    for now, then in zip(again["samples"], before["samples"], strict=True):
        assert now["scores"] == then["scores"]
    for name, then in before["summary"].items():
        assert {key: again["summary"][name][key] for key in then} == then


def test_at_another_threshold_its_values_are_counted_from_its_probabilities(run: Path) -> None:
    """Chinese ones are calibrated; of what was read, or is short and English, they stand as they are."""
    lines = map(json.loads, (FROZEN / "journal.jsonl").read_text(encoding="utf-8").splitlines())
    asked = {line["sample"]: line["record"]["verdicts"] for line in lines if line["judgement"] == "support"}
    for one in rescore(run, threshold=0.9).samples:
        verdicts = asked.get(one.sample.id, [])
        if verdicts and one.sample.id.startswith("en") and not any(v["unknown_numbers"] for v in verdicts):
            sure = [v["probability"] >= 0.9 for v in verdicts]
            assert one.scores["faithfulness"].value == sum(sure) / len(sure), one.sample.id


def test_compared_with_itself_at_another_threshold_only_values_move(run: Path) -> None:
    other = rescore(run, threshold=0.9)
    moved = compare(rescore(run), other, force=True).metrics["faithfulness"]
    assert moved.pairs == sum(
        s["scores"]["faithfulness"]["value"] is not None for s in stored("results.json")["samples"]
    )
    assert moved.value is not None
    assert moved.soft is not None
    assert moved.value.difference < 0
    assert moved.soft.difference == 0
