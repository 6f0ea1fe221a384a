"""What the judgements of a run cost is read from its journal."""

import json
from pathlib import Path
from typing import Any

import pytest

from localeval import evaluate
from localeval.errors import InputError
from localeval.judgements.journal import JOURNAL, line_of
from localeval.runs.cost import JudgementCost, judgement_costs
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval, said

TEA: dict[str, Any] = {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
YES: list[Any] = [{"statements": ["Tea grows."]}, {"verdict": 0.75}]


def set_costs(folder: Path, costs: dict[str, tuple[float, int]]) -> None:
    """Give each line of the journal the seconds and tokens of its judgement."""
    journal = folder / JOURNAL
    entries = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    for entry in entries:
        del entry["check"]
        seconds, tokens = costs[entry["judgement"]]
        entry["cost"] = {**entry["cost"], "seconds": seconds, "tokens": tokens}
    journal.write_bytes(b"".join(map(line_of, entries)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Of two samples with one text: statements took 2 s and 300 tokens, support 1.5 s and 200."""
    folder = tmp_path / "run"
    evaluate([TEA, {**TEA, "id": "twin"}], ["faithfulness"], fake_judge(FakeEngine(YES)), folder)
    set_costs(folder, {"statements": (2.0, 300), "support": (1.5, 200)})
    return folder


def test_a_judgement_of_two_samples_counts_once(run: Path) -> None:
    assert judgement_costs(run) == {
        "statements": JudgementCost(number=1, seconds=2.0, tokens=300),
        "support": JudgementCost(number=1, seconds=1.5, tokens=200),
    }


def test_judgements_that_the_results_do_not_name_do_not_count(run: Path) -> None:
    """As of an earlier call with other samples in the same folder."""
    other = {**TEA, "id": "other", "response": "Tea sings."}
    sings: list[Any] = [{"statements": ["Tea sings."]}, {"verdict": 0.25}]
    evaluate([other], ["faithfulness"], fake_judge(FakeEngine(sings)), run)
    assert [cost.number for cost in judgement_costs(run).values()] == [1, 1]
    assert len((run / JOURNAL).read_text("utf-8").splitlines()) == 4


def test_the_command_shows_a_row_for_each_judgement_and_one_for_all_and_writes_nothing(run: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in run.iterdir()}
    done = localeval("report", run, "--cost", cwd=run)
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["statements", "1", "2.0", "300"] in rows
    assert ["support", "1", "1.5", "200"] in rows
    assert ["all", "2", "3.5", "500"] in rows
    assert {path.name: path.stat().st_mtime_ns for path in run.iterdir()} == before


def test_a_run_that_is_not_finished_has_no_cost_yet(run: Path) -> None:
    (run / "results.json").unlink()
    assert "not finished" in said(InputError, judgement_costs, run)
