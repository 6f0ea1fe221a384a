"""What is left out, guessed or missing is said, with the columns that are there."""

import csv
import logging
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, evaluate, rescore
from localeval.cli import main
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval, refused, said
from tests.finished_runs import judged, write_rows
from tests.steady import SteadyEngine, steady_judge

ANSWER = {"response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def left_out(rows: Any, caplog: pytest.LogCaptureFixture) -> str:
    """What a run of the default metrics logs, and the metrics that it computes."""
    with caplog.at_level(logging.WARNING):
        result = evaluate(rows, judge=steady_judge(SteadyEngine()))
    return "\n".join([*caplog.messages, f"computed: {' '.join(result.metrics)}"])


@pytest.mark.parametrize(
    "column",
    ["context", "The contexts", "contexts_1", "document-lists"],
)
def test_default_metrics_without_their_column_are_named_with_the_nearest_one(
    column: str, caplog: pytest.LogCaptureFixture
) -> None:
    lines = left_out([{"question": "Tea?", "answer": "Tea grows.", column: ["Tea."], "note": 1}], caplog)
    for part in (
        "faithfulness, full_support and context_relevance are left out",
        f"--columns retrieved_contexts={column}",
    ):
        assert part in lines
    assert lines.endswith("computed: answer_relevance")


def test_a_column_that_looks_like_no_field_is_only_listed(caplog: pytest.LogCaptureFixture) -> None:
    lines = left_out([{"answer": "Tea grows.", "contexts": ["Tea."], "x": 1}], caplog)
    for part in ("answer_relevance", "user_input=NAME", "answer, contexts, x"):
        assert part in lines


def test_nothing_is_said_where_nothing_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    lines = left_out([{**ANSWER, "user_input": "Tea?"}], caplog)
    assert lines == "computed: faithfulness full_support answer_relevance context_relevance"


@pytest.mark.parametrize("options", ["", "-m faithfulness", "-m context_recall", "-m answer_relevance"])
def test_every_refusal_about_columns_lists_those_that_are_there_and_how_one_is_named(options: str) -> None:
    write_rows(Path("data.jsonl"), [{"Questions": "Tea?", "Answers": "Tea grows.", "context": ["Tea."]}])
    message = refused("evaluate", "data.jsonl", *options.split())
    for part in ("Questions, Answers, context", "--columns "):
        assert part in message
    if not options:
        nearest = ("user_input=Questions", "response=Answers", "retrieved_contexts=context")
        assert all(pair in message for pair in nearest)


def test_a_single_sample_that_no_metric_can_score_is_told_what_each_needs() -> None:
    message = refused("score", "--context", "Tea.")
    for need in ("faithfulness needs response", "answer_relevance needs user_input and response"):
        assert need in message
    assert "--columns" not in message  # which `score` does not have


@pytest.mark.usefixtures("steady")
def test_names_that_were_guessed_are_said_and_canonical_ones_are_not() -> None:
    write_rows(Path("a.jsonl"), [{"answer": "Tea grows.", "docs": ["Tea."]}])
    write_rows(Path("b.jsonl"), [ANSWER])
    words = ("-m", "faithfulness", "--statements", "sentences", "-q")
    told = localeval("evaluate", "a.jsonl", *words, cwd=Path.cwd()).stderr
    assert "a.jsonl: read response from answer, retrieved_contexts from docs" in told
    assert "b.jsonl:" not in localeval("evaluate", "b.jsonl", *words, cwd=Path.cwd()).stderr


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("name", ["Answer, short", 'The "answer", short', "a=b, c", "Antwort"])
def test_a_column_of_any_name_can_be_named(name: str) -> None:
    with Path("data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["ctx", name], ["Tea.", "Tea grows."]])
    written = '"' + name.replace('"', '""') + '"'
    columns = ("--columns", f"contexts=ctx,response={written}")
    main(["evaluate", "data.csv", *columns, "-m", "faithfulness", "--statements", "sentences", "-q"])
    assert '"response": "Tea grows."' in Path("runs/data/samples.jsonl").read_text()


def test_the_name_that_a_message_offers_is_one_that_the_option_takes() -> None:
    write_rows(Path("data.jsonl"), [{"response": "Tea.", "Contexts, all": ["Tea."]}])
    message = refused("evaluate", "data.jsonl", "-m", "faithfulness")
    offered = message.partition("--columns ")[2].partition(", add it")[0]
    assert offered == 'retrieved_contexts="Contexts, all"'


def test_a_metric_whose_column_no_sample_has_is_refused_by_rescore_as_by_evaluate() -> None:
    folder = judged(Path("run"), [0.9])
    by_rescore = said(InputError, rescore, folder, ["hallucination"])
    judge = fake_judge(FakeEngine([]))
    by_evaluate = said(InputError, evaluate, folder / "samples.jsonl", ["hallucination"], judge)
    assert by_rescore == by_evaluate
    assert refused("rescore", "run", "-m", "hallucination")
