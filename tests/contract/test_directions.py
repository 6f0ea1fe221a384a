"""Whether more of a metric is better is told in a run's results, for who has not registered the metric."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from localeval import METRICS, Metric, Score, compare, evaluate, register
from localeval.cli import commands
from localeval.testing import FakeEngine, fake_judge

NAME, RESULTS = "unheard", "results.json"


def fault(share: float) -> Metric:
    """One that finds the same share of a fault in every sample."""
    score = Score(share, share)
    return Metric(NAME, "1", ("response",), (), lambda *_: score, "a fault", higher_is_better=False)


def made(folder: Path, share: float) -> Path:
    """A run of the metric in a process that knows that less is better."""
    register(fault(share))
    try:
        evaluate([{"response": f"Tea {i}."} for i in range(8)], [NAME], fake_judge(FakeEngine([])), folder)
    finally:
        METRICS.pop(NAME)
    return folder


def told(run: Path, higher_is_better: bool | None) -> None:
    """Results with another direction, or as an older version wrote them, with none."""
    kept = json.loads((run / RESULTS).read_text("utf-8"))
    kept["summary"][NAME]["higher_is_better"] = higher_is_better
    (run / RESULTS).write_text(json.dumps(kept), encoding="utf-8")


def test_the_direction_is_that_of_either_run_or_of_the_registered_metric_and_else_runs_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    low, high = made(tmp_path / "low", 0.1), made(tmp_path / "high", 0.8)

    def finding(a: Path, b: Path) -> tuple[str, int]:
        """And the exit code of the gate."""
        command = ["compare", str(a), str(b), "--fail-on-drop"]
        return compare(a, b).metrics[NAME].finding, CliRunner().invoke(commands, command).exit_code

    assert (finding(low, high), finding(high, low)) == (("worse", 1), ("better", 0))
    told(low, None)
    assert finding(low, high) == ("worse", 1)
    told(high, True)
    assert finding(low, high) == ("better", 0)
    told(high, None)
    assert finding(low, high) == finding(high, low) == ("differs", 1)
    monkeypatch.setitem(METRICS, NAME, fault(0.5))
    assert finding(low, high) == ("worse", 1)
