"""scripts/own_data: rows of invented data, judged, and held against what they say should come out."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

from localeval.testing import FakeEngine, fake_judge
from tests.steady import SteadyEngine, steady_judge

ROOT = Path(__file__).parents[1]
CONTEXTS = ["Tea is green."]
SUPPORTED: dict[str, Any] = {"verdict": 0.9}
UNSUPPORTED: dict[str, Any] = {"verdict": 0.1}


@pytest.fixture
def own_data(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("own_data")


def right(
    own_data: ModuleType, name: str, row: dict[str, Any], answers: list[dict[str, Any]], folder: Path
) -> dict[str, bool]:
    """Figure -> whether it is right, for a row that is judged by these answers; all must be asked for."""
    engine = FakeEngine(answers)
    columns = {
        "id": "r1",
        "lang": "en",
        "user_input": "Which colour has tea?",
        "retrieved_contexts": CONTEXTS,
    }
    findings = own_data.SETS[name].judge([{**columns, **row}], own_data.Run(fake_judge(engine), folder))
    engine.close()
    return {finding.figure: finding.is_right for finding in findings}


def test_every_set_is_judged_and_a_second_call_asks_nothing(
    own_data: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SteadyEngine()
    monkeypatch.setattr(own_data.Judge, "load", lambda *_, **__: steady_judge(engine))
    arguments = [*own_data.SETS, "-o", str(tmp_path), "--limit", "3", "--seed", "1"]
    first = CliRunner().invoke(own_data.main, arguments)
    assert first.exception is None, first.output
    asked = engine.asked
    assert asked > len(own_data.SETS)
    second = CliRunner().invoke(own_data.main, arguments)
    assert second.stdout == first.stdout
    assert engine.asked == asked


def test_rows_are_those_of_a_language_and_a_seed(own_data: ModuleType) -> None:
    def ids(seed: int) -> list[str]:
        rows = own_data.read_rows("preferences", limit=5, seed=seed, lang="zh")
        assert {row["lang"] for row in rows} == {"zh"}
        return [row["id"] for row in rows]

    assert len(ids(0)) == 5
    assert ids(0) == ids(0) != ids(1)


def test_a_false_twin_has_to_be_below_1_and_a_true_one_at_1(own_data: ModuleType, tmp_path: Path) -> None:
    row = {
        "shape": "plain",
        "response_false": "Tea is red.",
        "response_true": "Tea is green.",
        "false_fact": "red",
        "true_fact": "green",
    }
    stated = [{"statements": ["Tea is red."]}, {"statements": ["Tea is green."]}]

    def twins(false: dict[str, Any], true: dict[str, Any], folder: str) -> tuple[bool, bool]:
        answers = [stated[0], false, stated[1], true]
        found = right(own_data, "unseen_facts", row, answers, tmp_path / folder)
        return found["false twin below 1"], found["true twin at 1"]

    assert twins(UNSUPPORTED, SUPPORTED, "a") == (True, True)
    assert twins(SUPPORTED, UNSUPPORTED, "b") == (False, False)


def test_twins_with_a_swapped_value_are_judged_as_those_with_a_false_fact(
    own_data: ModuleType, tmp_path: Path
) -> None:
    row = {
        "place": "after_name",
        "response_false": "Tea is red.",
        "response_true": "Tea is green.",
        "stated_false": "red",
        "stated_true": "green",
    }
    answers = [{"statements": ["Tea is red."]}, UNSUPPORTED, {"statements": ["Tea is green."]}, SUPPORTED]
    found = right(own_data, "swapped_in_answers", row, answers, tmp_path)
    assert found == {"false twin below 1": True, "true twin at 1": True}


@pytest.mark.parametrize(("label", "figure"), [(1, "right kept"), (0, "wrong noticed")])
def test_a_value_is_right_where_the_label_says_so(
    label: int, figure: str, own_data: ModuleType, tmp_path: Path
) -> None:
    columns = {"form": "prose", "wording": "name_first", "kind": "name", "held_out": False, "table": "tea"}
    row = {**columns, "response": "Tea is green.", "stated": "green", "right": "green", "label": label}
    answers = [{"statements": ["Tea is green."]}, SUPPORTED]
    assert right(own_data, "swapped_values", row, answers, tmp_path) == {figure: label == 1}


def test_a_preference_is_told_beside_length_and_order(own_data: ModuleType, tmp_path: Path) -> None:
    row = {"kind": "correct", "good_response": "Tea is green.", "bad_response": "Tea is said to be red."}
    # P(the one that is shown first is better): the good one is first here, the bad one then.
    answers = [{"better": 0.9}, {"better": 0.6}]
    found = right(own_data, "preferences", row, answers, tmp_path)
    assert found == {
        "good one preferred": True,
        "right by length alone": False,
        "decided by order alone": True,
    }


def test_a_bad_one_that_is_preferred_is_wrong(own_data: ModuleType, tmp_path: Path) -> None:
    row = {"kind": "correct", "good_response": "Tea is said to be green.", "bad_response": "Tea is red."}
    found = right(own_data, "preferences", row, [{"better": 0.8}, {"better": 0.1}], tmp_path)
    assert found == {
        "good one preferred": False,
        "right by length alone": True,
        "decided by order alone": False,
    }


@pytest.mark.parametrize("expected", ["refused", "over_refusal"])
def test_a_cell_of_abstention_is_the_expected_one(
    expected: str, own_data: ModuleType, tmp_path: Path
) -> None:
    row = {"response": "The documents do not say which colour tea has.", "expected": expected}
    found = right(own_data, "abstention", row, [{"answer": "none"}], tmp_path)
    assert found == {"cell as expected": expected == "refused"}


def test_citations_may_be_undefined_as_expected(own_data: ModuleType, tmp_path: Path) -> None:
    row = {"response": "Tea is green.", "case": "missing", "expected_recall": 0.0, "expected_precision": None}
    found = right(own_data, "citations", row, [{"statements": ["Tea is green."]}], tmp_path)
    assert found == {"both as expected": True, "recall": True, "precision": True}


def test_citations_are_wrong_where_one_of_both_scores_is(own_data: ModuleType, tmp_path: Path) -> None:
    row = {"response": "Tea is green [1][2].", "case": "out_of_range", "expected_recall": 1.0}
    answers = [{"statements": ["Tea is green."]}, SUPPORTED]
    found = right(own_data, "citations", {**row, "expected_precision": 1.0}, answers, tmp_path)
    assert found == {"both as expected": False, "recall": True, "precision": False}


def test_balanced_accuracy_counts_both_labels_alike_however_many_there_are(own_data: ModuleType) -> None:
    def finding(label: float, is_right: bool) -> Any:
        return own_data.Finding("r", "yes or no", is_right, {"criterion": "kind"}, label=label)

    findings = [*[finding(1.0, True)] * 6, finding(0.0, True), finding(0.0, False)]
    assert own_data.balanced_accuracy(findings).startswith("0.75 (")


def test_an_interval_takes_groups_as_units(own_data: ModuleType) -> None:
    def width(tables: int) -> float:
        findings = [
            own_data.Finding(str(i), "kept", i % tables != 0, {"lang": "en"}, group=f"table {i % tables}")
            for i in range(40)
        ]
        low, high = own_data.interval_of(findings)
        return float(high - low)

    assert width(4) > 2 * width(40)


def test_only_wrong_rows_are_listed_with_what_was_decided(own_data: ModuleType, tmp_path: Path) -> None:
    def finding(name: str, **fields: Any) -> Any:
        return own_data.Finding(name, "kept", slices={"lang": "en"}, seen=(f"seen of {name}",), **fields)

    findings = [
        finding("good", is_right=True),
        finding("bad", is_right=False),
        finding("baseline", is_right=False, is_listed=False),
    ]
    text = "\n".join(own_data.report("abstention", findings))
    assert "seen of bad" in text
    assert "seen of good" not in text
    assert "seen of baseline" not in text
    assert "1 of 3" in text
