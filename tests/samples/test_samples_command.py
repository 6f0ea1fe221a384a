"""`localeval samples` shows what would be read of a file, and `localeval metrics` what can be asked for."""

import json
from pathlib import Path

import pytest

from localeval import METRICS, Metric, Score, register
from tests.commands import localeval
from tests.finished_runs import write_rows

ROWS = [
    {
        "Question": "Who won?",
        "answer": "Ann won.",
        "contexts": ["Ann won the race.", "Bob lost."],
        "split": "dev",
    },
    {"Question": "Who lost?", "answer": "Bob.", "contexts": []},
]


@pytest.fixture
def shown(tmp_path: Path) -> str:
    """What `localeval samples` prints of these rows."""
    write_rows(tmp_path / "data.jsonl", ROWS)
    run = localeval("samples", "data.jsonl", cwd=tmp_path)
    assert run.returncode == 0
    return run.stdout


def row_of(shown: str, first: str) -> list[str]:
    """The cells of the row that begins with this one."""
    return next(line for line in shown.splitlines() if line.startswith(f"{first} ")).split()


def test_the_column_of_each_field_is_shown_with_its_number_of_samples(shown: str) -> None:
    assert row_of(shown, "user_input") == ["user_input", "Question", "2", "of", "2"]
    assert "2 of 2, with 0 to 2 contexts each" in shown
    assert row_of(shown, "reference") == ["reference", "no", "column", "0", "of", "2"]


def test_columns_that_are_no_field_are_listed(shown: str) -> None:
    assert "other columns, kept: split\n" in shown


def test_the_first_sample_is_shown(shown: str) -> None:
    expected = """the first sample, 1:
  user_input: Who won?
  response: Ann won.
  retrieved_contexts: 2 contexts
    1. Ann won the race.
    2. Bob lost.
  reference: missing
"""
    assert expected in shown


def test_each_metric_is_shown_with_the_samples_that_it_can_score_and_why_not_the_others(shown: str) -> None:
    # The second of the two samples has no context, and none has a reference.
    assert row_of(shown, "answer_relevance") == ["answer_relevance", "yes", "2", "of", "2"]
    assert row_of(shown, "faithfulness")[:5] == ["faithfulness", "yes", "1", "of", "2"]
    assert "no_contexts: there is no context to check against (1 sample)" in shown
    assert " ".join(row_of(shown, "context_recall")).startswith(
        "context_recall 0 of 2 no sample has reference"
    )


def test_guesses_and_skipped_rows_are_said_as_by_evaluate(tmp_path: Path) -> None:
    write_rows(tmp_path / "data.jsonl", [*ROWS, {"answer": True}])
    run = localeval("samples", "data.jsonl", "--skip-bad", cwd=tmp_path)
    assert "2 samples in data.jsonl, 1 row skipped" in run.stdout
    assert "read user_input from Question" in run.stderr
    assert "skipped: data.jsonl, line 3: answer is True" in run.stderr


def test_a_file_that_cannot_be_read_is_refused_as_by_evaluate(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("one,two\n1,2\n")
    run = localeval("samples", "data.csv", cwd=tmp_path)
    assert run.returncode == 2
    assert "the header names no column that is known (one, two)" in run.stderr


def test_columns_can_be_named_and_samples_chosen(tmp_path: Path) -> None:
    write_rows(tmp_path / "data.jsonl", ROWS)
    words = ("samples", "data.jsonl", "--columns", "reference=split", "--limit", "1", "--json")
    shown = json.loads(localeval(*words, cwd=tmp_path).stdout)
    assert shown["samples"] == 1
    assert shown["fields"]["reference"] == {"columns": ["split"], "samples": 1}


def test_what_is_shown_can_be_had_as_json(tmp_path: Path) -> None:
    write_rows(tmp_path / "data.jsonl", ROWS)
    shown = json.loads(localeval("samples", "data.jsonl", "--json", cwd=tmp_path).stdout)
    assert shown["fields"]["user_input"] == {"columns": ["Question"], "samples": 2}
    assert shown["other_columns"] == ["split"]
    assert shown["first"]["response"] == "Ann won."
    by_name = {metric["name"]: metric for metric in shown["metrics"]}
    assert by_name["faithfulness"]["scorable"] == 1
    assert by_name["faithfulness"]["why_not"] == {"no_contexts": 1}


def test_all_metrics_are_listed_with_what_they_need(tmp_path: Path) -> None:
    listed = localeval("metrics", cwd=tmp_path).stdout
    needed = "answer_relevance yes user_input, response embedder, judge"
    assert " ".join(row_of(listed, "answer_relevance")) == needed
    for name in METRICS:
        assert row_of(listed, name)
    assert "context_recall (also claim_recall): statements of the reference" in listed


def test_the_metrics_can_be_listed_as_json(tmp_path: Path) -> None:
    rows = json.loads(localeval("metrics", "--json", cwd=tmp_path).stdout)
    by_name = {row["name"]: row for row in rows}
    assert list(by_name) == list(METRICS)
    precision = by_name["context_precision"]
    assert precision["columns"] == ["user_input", "retrieved_contexts"]
    assert precision["either"] == ["reference", "response"]
    assert precision["models"] == ["judge"]
    assert by_name["groundedness"]["models"] == ["head", "judge"]


def test_a_metric_of_ones_own_is_listed(tmp_path: Path) -> None:
    metric = Metric("has_answer", "1", ("response",), (), lambda records, options: Score(1.0), "1, always")
    register(metric)
    try:
        assert " ".join(row_of(localeval("metrics", cwd=tmp_path).stdout, "has_answer")).endswith(
            "response none"
        )
    finally:
        METRICS.pop("has_answer")
