"""The tables of a run hold what the result holds, and no cell of them is calculated by a spreadsheet."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import pytest

from localeval import Result, Sample, Score, evaluate
from localeval.engine.interface import EngineError
from localeval.errors import InputError
from localeval.report.tables import SCORES, STATEMENTS, cell
from localeval.runs.result import SampleResult
from localeval.testing import FakeEngine, fake_judge
from tests.runs import signature

EVIL = "=HYPERLINK(1)"
SAMPLES: list[dict[str, Any]] = [
    {
        "id": "茶",
        "response": "Tea grows. It has 7 or 1,900 songs.",
        "retrieved_contexts": ["Tea grows."],
        "more": 1,
    },
    {"id": EVIL, "response": "@Tea sings.", "retrieved_contexts": ["=Tea sings."]},
    {"id": "c", "response": "", "retrieved_contexts": ["Tea grows."]},
    {"id": "d", "response": "Tea rests.", "retrieved_contexts": ["Tea grows."]},
]
ANSWERS: list[Any] = [
    *({"verdict": share} for share in (0.75, 0.5)),
    *({"reason": text} for text in ("It says so.", "-It may.")),
    {"verdict": 0.25},
    {"reason": "+Nothing."},
    EngineError("broken"),
]


@pytest.fixture
def result(tmp_path: Path) -> Result:
    judge = fake_judge(FakeEngine(ANSWERS))
    return evaluate(SAMPLES, ["faithfulness"], judge, tmp_path, statements="sentences", explain=True)


def rows(path: Path) -> list[list[str]]:
    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def test_scores_csv_has_a_row_a_sample(result: Result, tmp_path: Path) -> None:
    assert rows(tmp_path / SCORES) == [
        ["id", *("faithfulness" + part for part in ("", "_soft", "_status", "_reason"))],
        ["茶", "1.0", "0.625", "scored", ""],
        [f"'{EVIL}", "0.0", "0.25", "scored", ""],
        ["c", "", "", "undefined", "no_statements"],
        ["d", "", "", "failed", "engine_error"],
    ]


def test_statements_csv_has_a_row_a_statement(result: Result, tmp_path: Path) -> None:
    tea, songs, sings = "Tea grows.", "It has 7 or 1,900 songs.", "'@Tea sings."
    assert rows(tmp_path / STATEMENTS)[1:] == [
        ["茶", "support", tea, tea, "0.75", "1", tea, "0", "", "It says so."],
        ["茶", "support", songs, songs, "0.5", "1", "", "", "7 1900", "'-It may."],
        [f"'{EVIL}", "support", sings, sings, "0.25", "0", "'=Tea sings.", "0", "", "'+Nothing."],
    ]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d"])
def test_text_that_a_spreadsheet_would_calculate_has_an_apostrophe_before_it(sign: str) -> None:
    for before in ("", " ", "\t", "\r", "\n"):
        assert str(cell(f"{before}{sign}cmd|' /C calc'!A0")).startswith("'")
    for before in ("a;", "a\t", "a; ", "a\n", 'a;"', "=b;"):  # where some spreadsheets begin a cell
        assert str(cell(f"{before}{sign}1+1")).removeprefix("'") == f"{before}'{sign}1+1"


def test_other_text_and_numbers_stay_as_they_are_but_for_control_characters() -> None:
    for content in ("a=b", "2-1", "", "茶\n\t", -0.5, None):
        assert cell(content) == content
    assert cell("a\x00b\x1b[31m\r\nc") == "a b [31m\nc"


def test_a_data_frame_has_samples_and_scores(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = result.to_pandas()
    assert list(frame.columns) == [
        *("id", "response", "retrieved_contexts", "more"),
        *("faithfulness", "faithfulness_soft", "faithfulness_status", "faithfulness_reason"),
    ]
    assert frame["faithfulness"].mean() == result["faithfulness"].value
    assert frame["faithfulness_reason"].tolist() == ["", "", "no_statements", "engine_error"]
    # A sample's own column with the name of a score is kept beside it.
    own = Sample.model_validate({"id": "a", "faithfulness": 0, "faithfulness_soft": "mine"})
    made = Result([SampleResult(own, {"faithfulness": Score(1.0, 0.9)}, {})], ["faithfulness"], signature())
    row = made.to_pandas().iloc[0].to_dict()
    assert (row["faithfulness"], row["faithfulness_soft"]) == (1.0, 0.9)
    assert (row["sample_faithfulness"], row["sample_faithfulness_soft"]) == (0, "mine")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install"):
        result.to_pandas()
