"""Gates: missed where a number is not reached or can't be said, named on stderr and in JUnit's XML."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from localeval import InputError, Result, Score
from localeval.runs.gates import Bound, Outcome, as_junit, drops
from tests.commands import fault, localeval
from tests.runs import judged, result, scored

HALF = scored([0.0, 1.0, 0.5, 0.5], [0.25, 0.75, 0.25, 0.25])
EIGHTH = scored([0.7, 0.8, 0.9])  # a mean of 0.8, but for its last bits


@pytest.mark.parametrize(
    ("scores", "gate", "missed"),
    [
        (HALF, "faithfulness=0.5", False),
        (HALF, "faithfulness=0.51", True),
        (HALF, "faithfulness:soft=0.375", False),
        (HALF, "faithfulness:soft=0.4", True),
        (HALF, "faithfulness:lower=0.5", True),
        (HALF, "faithfulness:lower=0", False),
        (HALF, "faithfulness:soft:lower=0.375", True),
        (EIGHTH, "faithfulness=0.8", False),
        (HALF, "context_recall=0", True),  # not computed
        (scored([1.0]), "faithfulness:lower=0", True),  # one score has no interval
        # Of a rate of a fault the bound lies above.
        (HALF, "hallucination=0.5", False),
        (HALF, "hallucination=0.49", True),
        (HALF, "hallucination:upper=0.5", True),
        (HALF, "hallucination:upper=1", False),
        (scored([0.1, 0.2, 0.3]), "hallucination=0.2", False),
    ],
)
def test_a_bound_is_held_against_the_mean_or_the_worse_end_of_its_interval(
    scores: dict[str, Score], gate: str, missed: bool
) -> None:
    over = gate.startswith("hallucination")
    run = result(scores, "hallucination" if over else "faithfulness")
    assert Bound.read(gate, over=over).check(run).missed is missed


def test_a_gate_is_missed_where_nothing_was_scored() -> None:
    none = result({"a": Score.undefined("no_statements"), "b": Score.failed("timeout")})
    outcome = Bound.read("faithfulness=0").check(none)
    assert outcome.missed
    assert "0 scored, 1 undefined, 1 failed" in outcome.found


@pytest.mark.parametrize(
    ("gate", "over", "said"),
    [
        ("hallucination=0.1", False, "use --fail-over"),
        ("faithfulness=0.1", True, "use --fail-under"),
        *((gate, False, "from 0 to 1") for gate in ("", "=0.5x", "faithfulness", "faithfulness=80")),
        *((f"faithfulness{end}", False, "from 0 to 1") for end in ("=nan", ":upper=0.5", ":lower:soft=0.5")),
        ("x\x1b=1", False, "no metric"),
    ],
)
def test_a_gate_of_another_form_or_side_is_refused(gate: str, over: bool, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        Bound.read(gate, over=over)
    assert "\x1b" not in str(caught.value)


def test_the_numbers_shown_are_on_the_side_of_the_limit_that_decided() -> None:
    below = Bound.read("faithfulness=0.8").check(result(scored([0.79996] * 5)))
    assert (below.missed, "0.79996" in below.found) == (True, True)
    assert "at least 0.12345678" in Bound.read("faithfulness=0.12345678").check(result(HALF)).gate
    assert Bound.read("faithfulness=0.8").check(result(EIGHTH)).found == "0.8000"


def missed_drops(now: Result, before: Result) -> list[bool]:
    return [outcome.missed for outcome in drops(now, before, "base")[0]]


def test_a_drop_counts_only_where_it_is_more_than_chance() -> None:
    before = result(scored([1.0] * 8))
    assert missed_drops(result(scored([0.0] * 5 + [1.0] * 3)), before) == [True]  # p = 1 / 2 ** 5
    assert missed_drops(result(scored([0.0] * 4 + [1.0] * 4)), before) == [False]  # p = 1 / 2 ** 4
    assert missed_drops(before, result(scored([0.0] * 8))) == [False]  # a rise
    low, high = (result(scored([rate] * 8), "hallucination") for rate in (0.0, 0.5))
    assert missed_drops(high, low) == [True]
    assert missed_drops(low, high) == [False]


@pytest.mark.parametrize(
    ("same", "failed", "missed"),
    [(1, 0, True), (200, 197, True), (99, 0, True), (100, 0, False), (200, 1, False)],
)
def test_a_drop_is_told_with_its_samples_and_missed_below_half_of_them(
    same: int, failed: int, missed: bool
) -> None:
    now = {str(i) if i < same else f"new{i}": Score(1, 1) for i in range(200)}
    now |= dict.fromkeys(list(now)[:failed], Score.failed("timeout"))
    outcomes, warnings = drops(result(now), result(scored([1.0] * 200)), "base")
    assert [outcome.missed for outcome in outcomes] == [missed]
    assert f"over {same - failed} of 200 samples" in outcomes[0].found
    assert ("fewer than half of the samples were scored again" in outcomes[0].found) is missed
    alone = f"in that run alone: {200 - same}, in this one alone: {200 - same}"
    assert any(alone in one for one in warnings) is (same < 200)
    assert any(f"failed in that run: 0, in this one: {failed}" in one for one in warnings) is (failed > 0)


def test_a_baseline_that_cannot_be_compared_is_a_missed_gate() -> None:
    before, now = result(scored([1.0])), result(scored([1.0]), judge={"name": "x", "sha256": "1" * 64})
    outcomes, _ = drops(now, before, "base")
    assert [outcome.missed for outcome in outcomes] == [True]
    assert "judge.sha256" in outcomes[0].found
    assert missed_drops(now, result({"other": Score(1, 1)}, judge=now.signature.judge)) == [True]
    assert missed_drops(result({"0": Score.failed("timeout")}), before) == [True]


def test_junit_has_a_case_for_each_gate_and_a_failure_for_each_missed_one() -> None:
    evil = Outcome("a<b>&\x00\x1b\ud800\ufffe", 'found "1"', missed=True)
    tree = ElementTree.fromstring(as_junit([evil, Outcome("c", "0.9", missed=False)], "茶\x07").encode())  # noqa: S314
    suite = tree.find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    cases = suite.findall("testcase")
    assert [str(case.get("name")).strip() for case in cases] == ["a<b>&", "c"]
    failure = cases[0].find("failure")
    assert failure is not None
    assert 'found "1"' in str(failure.get("message"))
    assert cases[1].find("failure") is None


# The same from the command line.


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    sample = {"response": "Tea grows. It sings.", "retrieved_contexts": ["Tea grows."]}
    path.write_text("".join(json.dumps({"id": f"s{i}", **sample}) + "\n" for i in range(3)))
    return path


def test_a_missed_gate_is_exit_1_with_the_run_kept_and_named_on_stderr_and_in_junit(
    tiny_path: Path, data: Path
) -> None:
    gates = ("--fail-under", "faithfulness:soft=1", "--fail-under", "faithfulness=0", "--junit", "out.xml")
    run = localeval("evaluate", data, "--judge", tiny_path, "-o", "run", *gates, cwd=data.parent)
    assert run.returncode == 1
    assert "gate missed: faithfulness: soft mean at least 1: 0." in run.stderr
    assert "gate met: faithfulness: mean at least 0" in run.stderr
    assert "faithfulness: 3 scored" in run.stdout
    cases = ElementTree.parse(data.parent / "out.xml").findall(".//testcase")  # noqa: S314
    assert [case.find("failure") is not None for case in cases] == [True, False]
    again = ("evaluate", data, "--judge", tiny_path, "-o", "run", "--fail-on-drop", "run")
    assert localeval(*again, cwd=data.parent).returncode == 0


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        (("--fail-under", "faithfull=0.8"), "did you mean faithfulness?"),
        (("--fail-under", "context_recall=0.8"), "context_recall, which is not computed here (faithfulness)"),
        (("--fail-on-drop", "nowhere"), "nowhere"),
        (("--junit", "out.xml"), "--fail-under"),
        (("--junit", "none/out.xml", "--fail-under", "faithfulness=0"), "none/out.xml"),
        (("--junit", ".", "--fail-under", "faithfulness=0"), "is a directory"),
    ],
)
def test_what_is_wrong_with_a_gate_is_exit_2_before_anything_is_judged(
    tiny_path: Path, data: Path, gates: tuple[str, ...], said: str
) -> None:
    run = localeval("evaluate", data, "--judge", tiny_path, "-o", "run", *gates, cwd=data.parent)
    assert run.returncode == 2
    assert said in fault(run)
    assert not (data.parent / "run").exists()


def test_compare_refuses_with_exit_1_and_bad_folders_with_exit_2(tmp_path: Path) -> None:
    before = judged(tmp_path / "before", [0.9, 0.8])
    other = judged(tmp_path / "other", [0.9, 0.8], threshold=0.7)
    run = localeval("compare", before, other, cwd=tmp_path)
    assert run.returncode == 1
    assert "options.threshold (0.5 and 0.7)" in fault(run)
    assert fault(run) in (Path(__file__).parents[2] / "localeval/runs/README.md").read_text("utf-8")
    assert localeval("compare", before, other, "--force", cwd=tmp_path).returncode == 0
    run = localeval("compare", before, tmp_path, cwd=tmp_path)
    assert run.returncode == 2
    assert "evaluate -o" in fault(run)


def test_a_finished_run_is_held_against_gates_with_no_model(tmp_path: Path) -> None:
    before = judged(tmp_path / "before", [0.9] * 8)
    now = judged(tmp_path / "now", [0.9] * 2 + [0.1] * 6)
    run = localeval("rescore", now, "--fail-on-drop", before, "--junit", "out.xml", cwd=tmp_path)
    assert run.returncode == 1
    # 6 equal differences: 2 of 2 ** 6 choices of signs are as far from 0, none is further
    found = "worse over 8 of 8 samples (1.0000 before, 0.2500 now, p = 0.0156)"
    assert f"gate missed: faithfulness: no drop from {before}: {found}" in run.stderr
    assert 'failures="1"' in (tmp_path / "out.xml").read_text("utf-8")
    assert localeval("rescore", before, "--fail-on-drop", now, cwd=tmp_path).returncode == 0
