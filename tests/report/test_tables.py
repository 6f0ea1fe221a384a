"""scores.csv, statements.csv and the DataFrame: each score and each decision has a row, and text is text."""

import csv
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Result, evaluate
from localeval.engine.interface import EngineError
from localeval.report.tables import cell, scores_csv, statements_csv
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said

FORMULA = "=HYPERLINK(1)"
SCORE_COLUMNS = ["faithfulness", "faithfulness_soft", "faithfulness_status", "faithfulness_reason"]


def sample(name: str, response: str, context: str = "Tea grows.", **columns: Any) -> dict[str, Any]:
    return {"id": name, "response": response, "retrieved_contexts": [context], **columns}


def judged(samples: list[dict[str, Any]], answers: list[Any], **options: Any) -> Result:
    """The result of these samples, whose sentences are their statements."""
    judge = fake_judge(FakeEngine(answers))
    return evaluate(samples, ["faithfulness"], judge, statements="sentences", **options)


def rows(make_csv: Callable[[Result], Any], result: Result) -> list[dict[str, str]]:
    text = "".join(make_csv(result)).removeprefix("\ufeff")
    return list(csv.DictReader(io.StringIO(text)))


def test_scores_csv_has_value_soft_status_and_reason_of_each_sample() -> None:
    samples = [sample("茶", "Tea grows. It sings."), sample("empty", ""), sample("broken", "Tea rests.")]
    result = judged(samples, [{"verdict": 0.75}, {"verdict": 0.5}, EngineError("out of cells")])
    assert [list(row.values()) for row in rows(scores_csv, result)] == [
        ["茶", "1.0", "0.625", "scored", ""],
        ["empty", "", "", "undefined", "no_statements"],
        ["broken", "", "", "failed", "engine_error"],
    ]


def test_statements_csv_has_each_statement_with_its_decision_evidence_and_reason() -> None:
    answers = [{"verdict": 0.75}, {"reason": "It says so."}]
    [row] = rows(statements_csv, judged([sample("a", "Tea grows.")], answers, explain=True))
    assert row == {
        "id": "a",
        "judgement": "support",
        "sentence": "Tea grows.",
        "statement": "Tea grows.",
        "probability": "0.75",
        "verdict": "1",
        "evidence": "Tea grows.",
        "context": "0",
        "unknown_numbers": "",
        "likelier_value": "",
        "reason": "It says so.",
        "unjudged": "",
    }


def test_statements_csv_names_the_numbers_that_the_contexts_lack() -> None:
    [row] = rows(statements_csv, judged([sample("a", "It has 7 or 1,900 songs.")], [{"verdict": 0.5}]))
    assert row["unknown_numbers"] == "7 1900"
    assert (row["evidence"], row["context"]) == ("", "")


def test_statements_csv_has_no_row_for_a_sample_that_failed() -> None:
    result = judged([sample("broken", "Tea rests.")], [EngineError("out of cells")])
    assert rows(statements_csv, result) == []


def test_statements_csv_lists_what_is_not_judged_after_the_statements() -> None:
    response = "Sure! Tea grows. The price is not mentioned in the passages."
    result = judged([sample("a", response)], [{"verdict": 0.75}])
    assert [(row["sentence"], row["statement"], row["unjudged"]) for row in rows(statements_csv, result)] == [
        ("Tea grows.", "Tea grows.", ""),
        ("Sure!", "", "courtesy"),
        ("The price is not mentioned in the passages.", "", "refusal"),
    ]


def test_statements_csv_has_the_probability_of_each_context_that_is_judged_useful_or_not() -> None:
    contexts = ["Tea grows in China.", "When does tea grow?", "It rains."]
    one = {
        "id": "a",
        "user_input": "When does tea grow?",
        "response": "In spring.",
        "retrieved_contexts": contexts,
    }
    judge = fake_judge(FakeEngine([{"verdict": 0.9}, {"verdict": 0.2}]))
    result = evaluate([one], ["context_usefulness"], judge)
    columns = ("judgement", "statement", "probability", "verdict", "context", "unjudged")
    assert [tuple(row[column] for column in columns) for row in rows(statements_csv, result)] == [
        ("useful", "Tea grows in China.", "0.9", "1", "0", ""),
        ("useful", "When does tea grow?", "0.0", "0", "1", "repeats"),
        ("useful", "It rains.", "0.2", "0", "2", ""),
    ]


def test_results_json_counts_what_is_not_judged() -> None:
    response = "Sure! Tea grows. The price is not mentioned in the passages."
    result = judged([sample("a", response)], [{"verdict": 0.75}])
    assert result.to_dict()["samples"][0]["unjudged"] == {"courtesy": 1, "refusal": 1}


def test_text_of_samples_and_models_is_no_formula_in_the_tables() -> None:
    answers = [{"verdict": 0.25}, {"reason": "+Nothing."}]
    result = judged([sample(FORMULA, "@Tea sings.", "=Tea sings.")], answers, explain=True)
    [score_row] = rows(scores_csv, result)
    [row] = rows(statements_csv, result)
    assert score_row["id"] == row["id"] == f"'{FORMULA}"
    assert row["statement"] == "'@Tea sings."
    assert row["evidence"] == "'=Tea sings."
    assert row["reason"] == "'+Nothing."


def test_the_files_in_a_runs_folder_begin_with_the_mark_that_spreadsheets_look_for(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine([{"verdict": 0.75}]))
    evaluate([sample("a", "Tea grows.")], ["faithfulness"], judge, tmp_path, statements="sentences")
    for name in ("scores.csv", "statements.csv"):
        assert (tmp_path / name).read_bytes().startswith(b"\xef\xbb\xbfid,")


def test_a_frame_has_the_samples_columns_and_the_scores() -> None:
    result = judged(
        [sample("a", "Tea grows. It sings."), sample("b", "")], [{"verdict": 0.75}, {"verdict": 0.5}]
    )
    frame = result.to_pandas()
    assert list(frame.columns) == ["id", "response", "retrieved_contexts", *SCORE_COLUMNS]
    assert frame["faithfulness_soft"].tolist()[0] == 0.625
    assert frame["faithfulness_reason"].tolist() == ["", "no_statements"]


def test_a_frame_keeps_a_samples_own_column_with_the_name_of_a_score() -> None:
    frame = judged([sample("a", "Tea grows.", faithfulness="mine")], [{"verdict": 0.75}]).to_pandas()
    assert frame["sample_faithfulness"].tolist() == ["mine"]
    assert frame["faithfulness"].tolist() == [1.0]


def test_a_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    result = judged([sample("a", "Tea grows.")], [{"verdict": 0.75}])
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pip install" in said(InputError, result.to_pandas)


SIGNS = pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d"])


@SIGNS
@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n"])
def test_a_cell_that_begins_like_a_formula_has_an_apostrophe_before_it(sign: str, before: str) -> None:
    assert str(cell(f"{before}{sign}cmd|' /C calc'!A0")).startswith("'")


@SIGNS
@pytest.mark.parametrize("before", ["a;", "a\t", "a; ", "a\n", 'a;"', "=b;"])
def test_what_begins_like_a_formula_within_a_cell_has_an_apostrophe_before_it(sign: str, before: str) -> None:
    """Some spreadsheets begin a cell there."""
    assert str(cell(f"{before}{sign}1+1")).removeprefix("'") == f"{before}'{sign}1+1"


@SIGNS
def test_a_sign_within_a_text_stays_as_it_is(sign: str) -> None:
    assert cell(f"a{sign}b") == f"a{sign}b"
    assert cell(f"2{sign}1") == f"2{sign}1"


@pytest.mark.parametrize("content", ["", "茶\n\t", -0.5, None])
def test_other_text_and_numbers_stay_as_they_are(content: Any) -> None:
    assert cell(content) == content


def test_a_control_character_in_a_cell_becomes_a_space() -> None:
    assert cell("a\x00b\x1b[31m\r\nc") == "a b [31m\nc"
