"""Whether more of a metric is better is told in a run's results, for who has not registered the metric."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localeval import METRICS, Metric, Score, compare, evaluate, register
from localeval.cli import commands
from localeval.testing import FakeEngine, fake_judge

NAME, COUNT, RESULTS = "unheard", 8, "results.json"


def unheard(records: Mapping[str, Any], _: Any) -> Score:
    """The share of the response that is not supported: a fault."""
    wrong = [1 - verdict.probability for verdict in records["support"].verdicts]
    return Score(*2 * [sum(wrong) / len(wrong)])


FAULT = Metric(
    *(NAME, "1", ("response", "retrieved_contexts"), ("support",), unheard, "a fault"), higher_is_better=False
)


def made(folder: Path, probability: float) -> Path:
    """A run of the metric in a process that knows that less is better."""
    register(FAULT)
    try:
        samples = [{"response": f"Tea {i}.", "contexts": ["Tea."]} for i in range(COUNT)]
        judge = fake_judge(FakeEngine([{"verdict": probability}] * COUNT))
        evaluate(samples, [NAME], judge, folder, statements="sentences")
    finally:
        METRICS.pop(NAME)
    return folder


@pytest.fixture
def low(tmp_path: Path) -> Path:
    return made(tmp_path / "low", 0.9)


@pytest.fixture
def high(tmp_path: Path) -> Path:
    return made(tmp_path / "high", 0.2)


def told(run: Path, higher_is_better: bool | None) -> None:
    """Results with another direction, or as an older version wrote them, with none."""
    kept = json.loads((run / RESULTS).read_text("utf-8"))
    kept["summary"][NAME]["higher_is_better"] = higher_is_better
    (run / RESULTS).write_text(json.dumps(kept), encoding="utf-8")


def finding(a: Path, b: Path) -> str:
    return compare(a, b).metrics[NAME].finding


def gate(a: Path, b: Path) -> int:
    return CliRunner().invoke(commands, ["compare", str(a), str(b), "--fail-on-drop"]).exit_code


def test_a_fault_that_rose_is_worse_where_nobody_has_registered_the_metric(low: Path, high: Path) -> None:
    assert json.loads((low / RESULTS).read_text("utf-8"))["summary"][NAME]["higher_is_better"] is False
    assert (finding(low, high), finding(high, low)) == ("worse", "better")
    assert finding(low, low) == "no difference shown"
    assert (gate(low, high), gate(high, low)) == (1, 0)


def test_one_run_that_tells_the_direction_is_enough_and_where_nobody_does_runs_differ(
    low: Path, high: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(low, None)
    assert finding(low, high) == "worse"
    told(high, True)
    assert finding(low, high) == "better"
    told(high, None)
    assert finding(low, high) == finding(high, low) == "differs"
    assert gate(high, low) == 1
    monkeypatch.setitem(METRICS, NAME, FAULT)  # a registered metric needs none told
    assert finding(low, high) == "worse"
