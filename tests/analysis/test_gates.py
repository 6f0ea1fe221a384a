"""Gates: missed where a number is not reached or can't be said, and told in JUnit's XML."""

from xml.etree import ElementTree

import pytest

from localeval import InputError, Result, Score
from localeval.analysis.gates import Bound, Drop, Limits, Outcome, as_junit, gates_against
from localeval.samples import Skipped
from tests.commands import said
from tests.finished_runs import result, scored

HALF = scored([0.0, 1.0, 0.5, 0.5], [0.25, 0.75, 0.25, 0.25])
EIGHTH = scored([0.7, 0.8, 0.9])  # a mean of 0.8, but for its last bits


def test_a_bound_is_held_against_the_mean_or_the_worse_end_of_its_interval_and_missed_without_one() -> None:
    for scores, gate, missed in (
        (HALF, "faithfulness=0.5", False),
        (HALF, "faithfulness=0.51", True),
        (HALF, "faithfulness:soft=0.4", True),
        (HALF, "faithfulness:lower=0.5", True),
        (HALF, "faithfulness:lower=0", False),
        (HALF, "faithfulness:soft:lower=0.375", True),
        (EIGHTH, "faithfulness=0.8", False),
        (scored([1.0]), "faithfulness:lower=0", True),  # one score has no interval
        # Of a rate of a fault the bound lies above.
        (HALF, "hallucination=0.5", False),
        (HALF, "hallucination=0.49", True),
        (HALF, "hallucination:upper=0.5", True),
    ):
        over = gate.startswith("hallucination")
        run = result(scores, "hallucination" if over else "faithfulness")
        outcome, names = Bound.read(gate, over=over).check(run), gate.partition("=")[0].split(":")[1:]
        named = {word for word in ("lower", "upper", "soft") if word in outcome.gate}
        assert (outcome.missed, named) == (missed, set(names)), gate
    unscored = result({"a": Score.undefined("no_statements"), "b": Score.failed("timeout")})
    outcome = Bound.read("faithfulness=0").check(unscored)
    assert (outcome.missed, "0 scored, 1 undefined, 1 failed" in outcome.found) == (True, True)


def test_a_gate_of_another_form_or_side_is_refused() -> None:
    for gate, over, message in (
        ("hallucination=0.1", False, "use --fail-over"),
        ("faithfulness=0.1", True, "use --fail-under"),
        *((f"faithfulness{end}", False, "from 0 to 1") for end in ("", "=0.5x", "=80", "=nan", ":upper=0.5")),
        ("x\x1b=1", False, "no metric"),
    ):
        with pytest.raises(InputError, match=message):
            Bound.read(gate, over=over)


def mostly_failed(samples: int, failed: int) -> Result:
    """A run whose scored samples all have 1."""
    scores = {str(i): Score.failed("engine_error") if i < failed else Score(1, 1) for i in range(samples)}
    return result(scores)


def test_a_bound_is_missed_where_nearly_every_sample_failed_and_names_the_counts() -> None:
    outcome = Bound.read("faithfulness=0.8").check(mostly_failed(40, 39))
    assert outcome.missed
    assert "1 scored, 0 undefined, 39 failed, 0 skipped" in outcome.found
    assert "39 failed" in as_junit([outcome], "x")
    met = Bound.read("faithfulness=0.8").check(mostly_failed(40, 2))  # 5 %
    assert (met.missed, "2 failed" in as_junit([met], "x")) == (False, True)


def test_rows_that_were_skipped_count_as_failed() -> None:
    run = mostly_failed(40, 2)
    run.skipped = [Skipped("line 3", "it is no JSON")]
    assert Bound.read("faithfulness=0.8").check(run).missed
    assert not Bound.read("faithfulness=0.8").check(run, Limits.read(max_failed="3")).missed
    assert not Bound.read("faithfulness=0.8").check(run, Limits.read(max_failed="10%")).missed


def test_a_bound_is_missed_where_more_than_half_are_undefined_or_more_than_one_says() -> None:
    def undefined(count: int) -> Result:
        scores = {str(i): Score.undefined("no_statements") if i < count else Score(1, 1) for i in range(12)}
        return result(scores)

    bound = Bound.read("faithfulness=0.8")
    assert [bound.check(undefined(count)).missed for count in (6, 7)] == [False, True]
    limits = Limits.read(max_undefined="0.25")
    assert [bound.check(undefined(count), limits).missed for count in (3, 4)] == [False, True]


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "101%", "nan", "0.05x"])
def test_a_limit_that_is_neither_a_share_nor_a_number_is_refused(text: str) -> None:
    assert "write a share" in said(InputError, Limits.read, text)


def missed_drops(now: Result, before: Result) -> list[bool]:
    return [outcome.missed for outcome in gates_against(now, before, "base")[0]]


def test_a_drop_counts_only_where_it_is_more_than_chance() -> None:
    before = result(scored([1.0] * 20))
    now = result(scored([0.9] * 6 + [1.0] * 14))
    assert missed_drops(now, before) == [True]  # p = 2 / 2 ** 6
    assert missed_drops(before, now) == [False]  # a rise
    noise = result(scored([0.9, 1.0] * 10))
    assert missed_drops(result(scored([1.0, 0.9] * 10)), noise) == [False]
    low, high = (result(scored([rate] * 8), "hallucination") for rate in (0.0, 0.5))
    assert (missed_drops(high, low), missed_drops(low, high)) == ([True], [False])


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


def test_a_bound_on_the_drop_takes_the_place_of_the_test() -> None:
    before = result(scored([1.0] * 40))
    now = result(scored([0.9] * 20 + [1.0] * 20))  # 0.05 lower, p < 0.05
    for limit, missed in (("0.05", False), ("0.049", True), ("0", True)):
        drop = Drop.read(f"faithfulness:drop={limit}")
        assert [o.missed for o in gates_against(now, before, "base", [drop])[0]] == [missed], limit
    fault, less = (result(scored([rate] * 8), "hallucination") for rate in (0.3, 0.2))
    drop = Drop.read("hallucination:drop=0.05")
    assert gates_against(fault, less, "base", [drop])[0][0].missed  # more of a fault is worse
    assert not gates_against(less, fault, "base", [drop])[0][0].missed
    assert "from 0 to 1" in said(InputError, Drop.read, "faithfulness:drop=2")
    assert "no metric" in said(InputError, Drop.read, "x:drop=0.1")


@pytest.mark.parametrize(
    ("same", "failed", "missed"), [(200, 197, True), (99, 0, True), (100, 0, False), (200, 1, False)]
)
def test_a_drop_counts_its_samples_and_is_missed_below_half(same: int, failed: int, missed: bool) -> None:
    now = {str(i) if i < same else f"new{i}": Score(1, 1) for i in range(200)}
    now |= dict.fromkeys(list(now)[:failed], Score.failed("timeout"))
    outcomes, warnings = gates_against(result(now), result(scored([1.0] * 200)), "base")
    assert [outcome.missed for outcome in outcomes] == [missed]
    assert f"over {same - failed} of 200 samples" in outcomes[0].found
    assert len(warnings) == (same < 200) + (failed > 0)


def test_a_baseline_that_cannot_be_compared_is_a_missed_gate() -> None:
    before, now = result(scored([1.0])), result(scored([1.0]), judge={"name": "x", "sha256": "1" * 64})
    outcomes, _ = gates_against(now, before, "base")
    assert [outcome.missed for outcome in outcomes] == [True]
    assert "judge.sha256" in outcomes[0].found
    assert missed_drops(now, result({"other": Score(1, 1)}, judge=now.signature.judge)) == [True]
    assert missed_drops(result({"0": Score.failed("timeout")}), before) == [True]
    before.metrics.append("answer_relevance")  # its model is not here now
    assert missed_drops(result(scored([1.0])), before) == [False, True]


def test_junit_has_a_case_for_each_gate_and_a_failure_for_each_missed_one() -> None:
    evil = Outcome("a<b>&\x00\x1b\ud800\ufffe", 'found "1"', missed=True)
    suite = ElementTree.fromstring(as_junit([evil, Outcome("c", "0.9", missed=False)], "茶\x07").encode())[0]  # noqa: S314
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    first, second = suite
    assert (str(first.get("name")).strip(), second.get("name")) == ("a<b>&", "c")
    assert 'found "1"' in str(first[0].get("message"))
    assert (first[0].tag, second.find("failure")) == ("failure", None)
