"""Gates: missed where a number is not reached or can't be said, and told in JUnit's XML."""

from xml.etree import ElementTree

import pytest

from localeval import InputError, Result, Score
from localeval.runs.gates import Bound, Outcome, as_junit, gates_against
from tests.runs import result, scored

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


def missed_drops(now: Result, before: Result) -> list[bool]:
    return [outcome.missed for outcome in gates_against(now, before, "base")[0]]


def test_a_drop_counts_only_where_it_is_more_than_chance() -> None:
    before = result(scored([1.0] * 8))
    assert missed_drops(result(scored([0.0] * 5 + [1.0] * 3)), before) == [True]  # p = 1 / 2 ** 5
    assert missed_drops(result(scored([0.0] * 4 + [1.0] * 4)), before) == [False]  # p = 1 / 2 ** 4
    assert missed_drops(before, result(scored([0.0] * 8))) == [False]  # a rise
    low, high = (result(scored([rate] * 8), "hallucination") for rate in (0.0, 0.5))
    assert (missed_drops(high, low), missed_drops(low, high)) == ([True], [False])


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
