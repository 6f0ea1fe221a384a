"""Gates: missed where a number is not reached or can't be said, and told in JUnit's XML."""

from xml.etree import ElementTree

import pytest

from localeval import InputError, Result, Score
from localeval.analysis.gates import Bound, Drop, Limits, Outcome, as_junit, gates_against
from localeval.samples import Skipped
from tests.commands import said
from tests.finished_runs import result, scored

# Means: value 0.5, soft 0.375.
HALF = scored([0.0, 1.0, 0.5, 0.5], [0.25, 0.75, 0.25, 0.25])
# A mean of 0.8, but for its last bits.
EIGHTY = scored([0.7, 0.8, 0.9])


@pytest.mark.parametrize(
    ("gate", "missed"),
    [
        ("faithfulness=0.5", False),
        ("faithfulness=0.51", True),
        ("faithfulness:soft=0.4", True),
        ("faithfulness:lower=0.5", True),
        ("faithfulness:lower=0", False),
        ("faithfulness:soft:lower=0.375", True),
    ],
)
def test_a_bound_is_held_against_the_mean_or_the_lower_end_of_its_interval(gate: str, missed: bool) -> None:
    assert Bound.read(gate).check(result(HALF)).missed is missed


@pytest.mark.parametrize(
    ("gate", "missed"),
    [("hallucination=0.5", False), ("hallucination=0.49", True), ("hallucination:upper=0.5", True)],
)
def test_of_a_rate_of_a_fault_the_bound_lies_above(gate: str, missed: bool) -> None:
    assert Bound.read(gate, over=True).check(result(HALF, "hallucination")).missed is missed


@pytest.mark.parametrize(
    ("gate", "described"),
    [
        ("faithfulness=0.5", "faithfulness: mean at least 0.5"),
        ("faithfulness:soft=0.4", "faithfulness: soft mean at least 0.4"),
        ("faithfulness:lower=0", "faithfulness: lower end of the 95 % interval of the mean at least 0"),
        (
            "faithfulness:soft:lower=0.3",
            "faithfulness: lower end of the 95 % interval of the soft mean at least 0.3",
        ),
    ],
)
def test_an_outcome_describes_its_bound(gate: str, described: str) -> None:
    assert Bound.read(gate).check(result(HALF)).gate == described


def test_a_mean_that_is_the_bound_but_for_its_last_bits_meets_it() -> None:
    assert not Bound.read("faithfulness=0.8").check(result(EIGHTY)).missed


def test_a_bound_on_an_interval_is_missed_by_one_score_which_has_none() -> None:
    assert Bound.read("faithfulness:lower=0").check(result(scored([1.0]))).missed


def test_a_bound_is_missed_where_nothing_was_scored_and_says_so() -> None:
    unscored = result({"a": Score.undefined("no_statements"), "b": Score.failed("timeout")})
    outcome = Bound.read("faithfulness=0").check(unscored)
    assert outcome.missed
    assert "0 scored, 1 undefined, 1 failed" in outcome.found


@pytest.mark.parametrize(
    "gate",
    ["faithfulness", "faithfulness=0.5x", "faithfulness=80", "faithfulness=nan", "faithfulness:upper=0.5"],
)
def test_a_gate_of_another_form_is_refused(gate: str) -> None:
    assert "from 0 to 1" in said(InputError, Bound.read, gate)


def test_a_gate_on_the_better_side_is_refused() -> None:
    assert "use --fail-over" in said(InputError, Bound.read, "hallucination=0.1")
    assert "use --fail-under" in said(InputError, Bound.read, "faithfulness=0.1", over=True)


def test_a_gate_on_an_unknown_metric_is_refused() -> None:
    assert "no metric" in said(InputError, Bound.read, "x\x1b=1")


def mostly_failed(samples: int, failed: int) -> Result:
    """A run whose scored samples all have 1."""
    scores = {str(i): Score.failed("engine_error") if i < failed else Score(1, 1) for i in range(samples)}
    return result(scores)


def test_a_bound_is_missed_where_nearly_every_sample_failed_and_names_the_counts() -> None:
    outcome = Bound.read("faithfulness=0.8").check(mostly_failed(40, 39))
    assert outcome.missed
    assert "1 scored, 0 undefined, 39 failed, 0 skipped" in outcome.found
    assert "39 failed" in as_junit([outcome], "x")


def test_a_bound_is_met_where_5_percent_failed_and_names_the_counts() -> None:
    met = Bound.read("faithfulness=0.8").check(mostly_failed(40, 2))
    assert not met.missed
    assert "2 failed" in as_junit([met], "x")


def test_rows_that_were_skipped_count_as_failed() -> None:
    run = mostly_failed(40, 2)
    run.skipped = [Skipped("line 3", "it is no JSON")]
    assert Bound.read("faithfulness=0.8").check(run).missed
    assert not Bound.read("faithfulness=0.8").check(run, Limits.read(max_failed="3")).missed
    assert not Bound.read("faithfulness=0.8").check(run, Limits.read(max_failed="10%")).missed


def some_undefined(count: int) -> Result:
    """A run of twelve samples, so many of them undefined; the others have 1."""
    scores = {str(i): Score.undefined("no_statements") if i < count else Score(1, 1) for i in range(12)}
    return result(scores)


def test_a_bound_is_missed_where_more_than_half_of_the_samples_are_undefined() -> None:
    bound = Bound.read("faithfulness=0.8")
    assert not bound.check(some_undefined(6)).missed
    assert bound.check(some_undefined(7)).missed


def test_the_share_of_undefined_samples_that_a_bound_takes_can_be_set() -> None:
    bound = Bound.read("faithfulness=0.8")
    limits = Limits.read(max_undefined="0.25")
    assert not bound.check(some_undefined(3), limits).missed
    assert bound.check(some_undefined(4), limits).missed


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "101%", "nan", "0.05x"])
def test_a_limit_that_is_neither_a_share_nor_a_number_is_refused(text: str) -> None:
    assert "write a share" in said(InputError, Limits.read, text)


def missed_drops(now: Result, before: Result) -> list[bool]:
    outcomes, _ = gates_against(now, before, "base")
    return [outcome.missed for outcome in outcomes]


def test_a_drop_of_six_samples_is_more_than_chance() -> None:
    before = result(scored([1.0] * 20))
    # p = 2 / 2 ** 6
    now = result(scored([0.9] * 6 + [1.0] * 14))
    assert missed_drops(now, before) == [True]
    assert missed_drops(now=before, before=now) == [False]


def test_noise_is_no_drop() -> None:
    before = result(scored([0.9, 1.0] * 10))
    assert missed_drops(result(scored([1.0, 0.9] * 10)), before) == [False]


def test_a_rise_of_a_rate_of_a_fault_is_a_drop() -> None:
    low = result(scored([0.0] * 8), "hallucination")
    high = result(scored([0.5] * 8), "hallucination")
    assert missed_drops(now=high, before=low) == [True]
    assert missed_drops(now=low, before=high) == [False]


@pytest.mark.parametrize(("before", "now"), [([1.0] * 4, [0.0] * 4), ([1.0] * 8, [0.0] * 4 + [1.0] * 4)])
def test_a_fall_that_too_few_samples_can_show_is_never_met(before: list[float], now: list[float]) -> None:
    outcome = gates_against(result(scored(now)), result(scored(before)), "base")[0][0]
    assert outcome.missed
    assert "a drop can't be shown, as 4 samples differ, and 6 must" in outcome.found


def test_a_small_fall_of_a_few_samples_is_neither_met_nor_missed() -> None:
    outcome = gates_against(result(scored([0.5] + [1.0] * 39)), result(scored([1.0] * 40)), "base")[0][0]
    assert str(outcome).startswith("gate not shown: faithfulness: no drop from base")
    assert not outcome.missed
    assert 'skipped="1"' in as_junit([outcome], "x")


def test_a_fall_that_may_be_chance_is_not_called_met() -> None:
    before, now = [1.0] * 6 + [0.0], [0.0] * 6 + [1.0]  # p = 2 (1 + 7) / 2 ** 7
    outcome = gates_against(result(scored(now)), result(scored(before)), "base")[0][0]
    assert (outcome.missed, outcome.shown) == (False, False)


def test_a_system_that_stops_answering_is_told_and_missed() -> None:
    before = result(scored([0.0] * 5 + [1.0] * 4 + [0.0] * 3))
    scores = scored([0.0] * 5 + [1.0] * 4 + [0.0] * 3)
    scores |= {str(i): Score.undefined("no_statements") for i in range(5)}
    outcomes, warnings = gates_against(result(scores), before, "base")
    assert outcomes[0].missed
    assert "5 that were scored are undefined now" in outcomes[0].found
    assert any("scored in that run and undefined in this one: 5" in warning for warning in warnings)
    allowed = gates_against(result(scores), before, "base", limits=Limits.read(max_undefined="5"))[0][0]
    assert not allowed.missed


def test_no_drop_is_shown_by_two_runs_in_which_nearly_everything_failed() -> None:
    both = mostly_failed(40, 39)
    assert missed_drops(both, both) == [True]
    assert missed_drops(mostly_failed(40, 0), both) == [True]
    assert missed_drops(mostly_failed(40, 1), mostly_failed(40, 0)) == [False]


@pytest.mark.parametrize(("limit", "missed"), [("0.05", False), ("0.049", True), ("0", True)])
def test_a_bound_on_the_drop_takes_the_place_of_the_test(limit: str, missed: bool) -> None:
    before = result(scored([1.0] * 40))
    # 0.05 lower, p < 0.05
    now = result(scored([0.9] * 20 + [1.0] * 20))
    drop = Drop.read(f"faithfulness:drop={limit}")
    [outcome], _ = gates_against(now, before, "base", [drop])
    assert outcome.missed is missed


def test_a_bound_on_the_drop_of_a_rate_of_a_fault_holds_its_rise() -> None:
    low = result(scored([0.2] * 8), "hallucination")
    high = result(scored([0.3] * 8), "hallucination")
    drop = Drop.read("hallucination:drop=0.05")
    [rise], _ = gates_against(high, low, "base", [drop])
    [fall], _ = gates_against(low, high, "base", [drop])
    assert rise.missed
    assert not fall.missed


def test_a_bound_on_the_drop_of_another_form_or_metric_is_refused() -> None:
    assert "from 0 to 1" in said(InputError, Drop.read, "faithfulness:drop=2")
    assert "no metric" in said(InputError, Drop.read, "x:drop=0.1")


@pytest.mark.parametrize(
    ("same", "failed", "missed"),
    [
        pytest.param(200, 197, True, id="nearly all failed"),
        pytest.param(99, 0, True, id="fewer than half are the same samples"),
        pytest.param(100, 0, False, id="half are the same samples"),
        pytest.param(200, 1, False, id="one failed"),
    ],
)
def test_a_drop_counts_its_samples_and_is_missed_below_half(same: int, failed: int, missed: bool) -> None:
    ids = [str(i) if i < same else f"new{i}" for i in range(200)]
    now = {name: Score.failed("timeout") if i < failed else Score(1, 1) for i, name in enumerate(ids)}
    [outcome], warnings = gates_against(result(now), result(scored([1.0] * 200)), "base")
    assert outcome.missed is missed
    assert f"over {same - failed} of 200 samples" in outcome.found
    assert len(warnings) == int(same < 200) + int(failed > 0)


def test_a_baseline_of_another_judge_is_a_missed_gate_that_names_the_field() -> None:
    now = result(scored([1.0]), judge={"name": "x", "sha256": "1" * 64})
    [outcome], _ = gates_against(now, result(scored([1.0])), "base")
    assert outcome.missed
    assert "judge.sha256" in outcome.found


def test_a_baseline_of_other_samples_is_a_missed_gate() -> None:
    now = result(scored([1.0]))
    assert missed_drops(now, result({"other": Score(1, 1)})) == [True]


def test_a_run_in_which_everything_failed_is_a_missed_gate() -> None:
    assert missed_drops(result({"0": Score.failed("timeout")}), result(scored([1.0]))) == [True]


def test_a_metric_that_is_not_computed_any_more_is_a_missed_gate() -> None:
    """Its model is not here now."""
    before = result(scored([1.0]))
    before.metrics.append("answer_relevance")
    assert missed_drops(result(scored([1.0])), before) == [False, True]


def test_junit_has_a_case_for_each_gate_and_a_failure_for_each_missed_one() -> None:
    outcomes = [Outcome("missed one", 'found "1"', missed=True), Outcome("met one", "0.9", missed=False)]
    suite = ElementTree.fromstring(as_junit(outcomes, "suite").encode())[0]  # noqa: S314
    assert suite.get("tests") == "2"
    assert suite.get("failures") == "1"
    missed, met = suite
    assert missed.get("name") == "missed one"
    assert met.get("name") == "met one"
    assert missed[0].tag == "failure"
    assert 'found "1"' in str(missed[0].get("message"))
    assert met.find("failure") is None


def test_junit_is_xml_whatever_a_gate_is_named() -> None:
    evil = Outcome("a<b>&\x00\x1b\ud800\ufffe", "found", missed=True)
    suite = ElementTree.fromstring(as_junit([evil], "茶\x07").encode())[0]  # noqa: S314
    assert str(suite[0].get("name")).strip() == "a<b>&"


def test_a_bound_on_the_corrected_number_says_so() -> None:
    bound = Bound.read("faithfulness:corrected:lower=0.75")
    assert (bound.corrected, bound.end, bound.soft) == (True, True, False)
    assert "corrected number" in str(bound)


def test_a_corrected_number_has_no_soft_one() -> None:
    with pytest.raises(InputError, match="corrected:lower=NUMBER"):
        Bound.read("faithfulness:soft:corrected=0.75")
