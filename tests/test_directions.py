"""Whether more of a metric is better is told in a run's results, for who has not registered the metric."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localeval import METRICS, InputError, Metric, Score, compare, evaluate, register
from localeval.cli import commands
from localeval.report.html.order import standing
from localeval.report.html.overview import cards
from localeval.runs.folder import RESULTS, load
from localeval.testing import FakeEngine, fake_judge
from tests.test_readme import block

NAME, COUNT = "unheard", 8


def unheard(records: Mapping[str, Any], _: Any) -> Score:
    """The share of the response that is not supported: a fault."""
    wrong = [1 - verdict.probability for verdict in records["support"].verdicts]
    return Score(*2 * [sum(wrong) / len(wrong)])


def made(folder: Path, probabilities: list[float]) -> Path:
    """A run of the metric, a sample for each probability, in a process that knows that less is better."""
    columns = ("response", "retrieved_contexts")
    register(Metric(NAME, "1", columns, ("support",), unheard, "a fault", higher_is_better=False))
    try:
        answers = [{"verdict": p} for p in probabilities]
        samples = [{"response": f"Tea {i}.", "contexts": ["Tea."]} for i in range(len(probabilities))]
        evaluate(samples, [NAME], fake_judge(FakeEngine(answers)), folder, statements="sentences")
    finally:
        METRICS.pop(NAME)
    return folder


@pytest.fixture
def low(tmp_path: Path) -> Path:
    return made(tmp_path / "low", [0.9] * COUNT)


@pytest.fixture
def high(tmp_path: Path) -> Path:
    return made(tmp_path / "high", [0.2] * COUNT)


@pytest.fixture
def registered() -> Iterator[None]:
    columns = ("response", "retrieved_contexts")
    register(Metric(NAME, "1", columns, ("support",), unheard, "a fault", higher_is_better=False))
    yield
    METRICS.pop(NAME)


def forget(run: Path, told: object = None) -> None:
    """Results as an older version wrote them, or with something else in that place."""
    kept = json.loads((run / RESULTS).read_text("utf-8"))
    del kept["summary"][NAME]["higher_is_better"]
    if told is not None:
        kept["summary"][NAME]["higher_is_better"] = told
    (run / RESULTS).write_text(json.dumps(kept), encoding="utf-8")


def finding(a: Path, b: Path) -> str:
    return compare(a, b).metrics[NAME].finding


def gate(a: Path, b: Path) -> tuple[int, str]:
    outcome = CliRunner().invoke(commands, ["compare", str(a), str(b), "--fail-on-drop"])
    return outcome.exit_code, outcome.output


def test_a_fault_that_rose_is_worse_where_nobody_has_registered_the_metric(low: Path, high: Path) -> None:
    assert finding(low, high) == "worse"
    assert finding(high, low) == "better"
    assert gate(low, high)[0] == 1
    assert gate(high, low)[0] == 0


def test_the_direction_stands_in_the_results_and_is_read_back(low: Path, tmp_path: Path) -> None:
    kept = json.loads((low / RESULTS).read_text("utf-8"))
    assert kept["summary"][NAME]["higher_is_better"] is False
    loaded = load(low)
    assert loaded.higher_is_better == {NAME: False}
    assert json.loads(loaded.to_json())["summary"] == kept["summary"]
    before = (low / RESULTS).read_bytes()
    made(low, [0.9] * COUNT)
    assert (low / RESULTS).read_bytes() == before


def test_where_nobody_tells_the_direction_runs_differ_and_the_gate_is_missed(low: Path, high: Path) -> None:
    for run in (low, high):
        forget(run)
    assert finding(low, high) == finding(high, low) == "differs"
    assert finding(low, low) == "no difference shown"
    code, text = gate(high, low)
    assert code == 1
    assert "differs" in text
    assert f"whether more is better is not known here of: {NAME}; " in text
    assert "is not known here of" not in str(compare(low, low))


def test_one_run_that_tells_the_direction_is_enough_and_two_that_tell_two_are_none(
    low: Path, high: Path
) -> None:
    forget(low)
    assert finding(low, high) == "worse"
    forget(high, told=True)
    assert finding(low, high) == "better"
    made(low, [0.9] * COUNT)
    assert finding(low, high) == "differs"


def test_a_metric_that_is_registered_is_read_as_its_row_says(low: Path, high: Path, registered: None) -> None:
    for run in (low, high):
        forget(run)
    assert finding(low, high) == "worse"
    assert load(low).higher_is_better == {NAME: False}


def test_the_page_shows_the_most_of_a_fault_first(tmp_path: Path) -> None:
    run = load(made(tmp_path / "run", [0.9, 0.1, 0.5]))
    known = standing(run)
    assert known.order == [1, 2, 0]
    assert [card.lower for card in cards(run, known, {})] == [True]


def test_the_readmes_metric_of_a_fault_is_registered_as_one() -> None:
    exec(compile(block("python", "localeval"), "README.md", "exec"), {})  # noqa: S102
    assert METRICS.pop("longest_unsupported").higher_is_better is False


@pytest.mark.parametrize("told", ["false", 0, [False]])
def test_a_direction_of_another_form_is_refused(low: Path, told: object) -> None:
    forget(low, told)
    with pytest.raises(InputError, match=r"results\.json can't be used.*higher_is_better"):
        load(low)
