"""A metric of one's own: one registration, and it is everywhere where a built-in one is."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localeval import METRICS, InputError, Metric, Result, Score, compare, evaluate, register
from localeval.analysis.gates import Bound, gates_against
from localeval.metrics import default_metrics
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval, said

DEFINITION = "statements of the response that are longer than 15 characters / all of them"


def wordiness(records: Any, options: Any) -> Score:
    """Count long statements, without asking whether they are supported."""
    statements = [verdict.statement for verdict in records["support"].verdicts]
    if not statements:
        return Score.undefined("nothing_said")
    return Score(sum(len(statement) > 15 for statement in statements) / len(statements))


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register(
        Metric(
            "wordiness",
            "1",
            ("response", "retrieved_contexts"),
            ("support",),
            wordiness,
            DEFINITION,
            higher_is_better=False,
            aliases=("verbosity",),
        )
    )
    yield
    METRICS.pop("wordiness")


SHORT = "Tea is green. It grows. It is old."
LONG = "Tea is green in the spring. It grows on high hills. It is older than coffee."


def judged(folder: Path, response: str, metric: str = "wordiness") -> Result:
    """A run of eight samples with this response; each of its three sentences is judged."""
    samples = [
        {"id": f"s{i}", "response": f"{response} (Tea {i}.)", "retrieved_contexts": ["Tea is green."]}
        for i in range(8)
    ]
    judge = fake_judge(FakeEngine([{"verdict": 0.9}] * 40))
    return evaluate(samples, [metric], judge, folder, statements="sentences")


def test_it_is_in_the_table_the_csv_the_page_and_the_signature(tmp_path: Path) -> None:
    result = judged(tmp_path / "run", SHORT)
    assert "wordiness: 8 scored, 0 undefined, 0 failed" in str(result)
    with (tmp_path / "run" / "scores.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["wordiness"]) for row in rows] == [0.0] * 8
    assert DEFINITION in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert str(result.signature).startswith("wordiness.1|")


def test_runs_are_compared_by_it_in_its_own_direction(tmp_path: Path) -> None:
    short = judged(tmp_path / "short", SHORT)
    long = judged(tmp_path / "long", LONG)
    assert compare(short, long).metrics["wordiness"].finding == "worse"
    assert compare(long, short).metrics["wordiness"].finding == "better"


def test_gates_hold_it_and_know_that_lower_is_better(tmp_path: Path) -> None:
    short = judged(tmp_path / "short", SHORT)
    long = judged(tmp_path / "long", LONG)
    bound = Bound.read("wordiness=0.5", over=True)
    assert not bound.check(short).missed
    assert bound.check(long).missed
    assert "use --fail-over" in said(InputError, Bound.read, "wordiness=0.5")
    [drop], _ = gates_against(long, short, "before")
    assert drop.missed


def test_it_is_found_by_its_alias_and_scored_under_its_name(tmp_path: Path) -> None:
    assert judged(tmp_path / "run", SHORT, metric="verbosity").metrics == ["wordiness"]
    done = localeval("rescore", "run", "-m", "verbosity", cwd=tmp_path)
    assert "wordiness: 8 scored" in done.stdout


def test_it_is_no_default_unless_it_says_so() -> None:
    names = [metric.name for metric in default_metrics()]
    assert names == ["faithfulness", "full_support", "answer_relevance", "context_relevance"]


def test_the_name_of_ragchecker_for_context_recall_is_taken() -> None:
    sample = {"response": "Tea.", "reference": "---", "retrieved_contexts": ["Tea grows."]}
    result = evaluate([sample], ["claim_recall"], fake_judge(FakeEngine([])))
    assert result.scores[0]["context_recall"] == Score.undefined("no_reference_statements")
