"""Two runs are compared sample by sample, and only where their numbers mean the same."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from click.testing import Result as ClickResult

from localeval import Comparison, InputError, NotComparable, Result, Sample, Score, compare
from localeval.analysis.gates import gates_against
from localeval.cli import commands
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.signature import differences
from tests.commands import said
from tests.finished_runs import judged, result, scored, signature


def test_a_known_drop_has_its_size_and_interval_and_is_a_rise_the_other_way_round() -> None:
    generator = np.random.default_rng(0)
    before = generator.beta(4, 2, 200)
    after = np.clip(before - 0.05 + generator.normal(0, 0.05, 200), 0, 1)
    runs = [result(scored(values.tolist())) for values in (before, after)]
    drop, rise = (compare(*pair).metrics["faithfulness"] for pair in (runs, runs[::-1]))
    assert (drop.finding, rise.finding) == ("worse", "better")
    change: Any = drop.value
    assert change.difference == pytest.approx((after - before).mean())
    assert change.interval[0] < change.difference < change.interval[1] < 0
    assert change.p < 0.001


def test_of_a_rate_of_a_fault_a_higher_one_is_worse() -> None:
    low, high = (result(scored([rate] * 10), "hallucination") for rate in (0.1, 0.4))
    assert compare(low, high).worse() == ["hallucination"]


def test_of_a_rate_of_a_fault_a_lower_one_is_better() -> None:
    low, high = (result(scored([rate] * 10), "hallucination") for rate in (0.1, 0.4))
    change: Any = compare(high, low).metrics["hallucination"]
    # Ten alike: 0.3085 of what is not seen (Clopper and Pearson 1934) may lie as far from 0 as the largest of
    # ten, 0.3, and a tenth more, on either side.
    interval = (-0.3 - 0.3085 * 0.03, -0.3 + 0.3085 * 0.63)
    assert (change.finding, change.value.interval) == ("better", pytest.approx(interval, abs=1e-4))


def test_a_run_does_not_differ_from_itself() -> None:
    run = result(scored([0.1] * 10), "hallucination")
    same = compare(run, run).metrics["hallucination"]
    assert (same.finding, same.moved, same.value and same.value.p) == ("no difference shown", (), 1.0)


def two_of_four_scored_by_both() -> Comparison:
    """Compare runs with four samples in common, of which both scored two; the first has a fifth."""
    before = {**scored([0.5, 1.0, 1.0]), "only a": Score(0.0, 0.0), "f": Score.failed("timeout")}
    after = {"1": Score(0.5, 0.5), "0": Score(0.5, 0.5), "2": Score.undefined("x"), "f": Score(1, 1)}
    return compare(result(before), result(after))


def test_only_samples_that_both_runs_scored_enter() -> None:
    metric = two_of_four_scored_by_both().metrics["faithfulness"]
    assert metric.value is not None
    assert metric.pairs == 2
    assert (metric.value.a, metric.value.b, metric.value.difference) == (0.75, 0.5, -0.25)


def test_samples_that_one_run_lacks_or_did_not_score_are_counted() -> None:
    comparison = two_of_four_scored_by_both()
    assert (comparison.paired, comparison.only_a, comparison.only_b) == (4, 1, 0)
    metric = comparison.metrics["faithfulness"]
    assert (metric.undefined, metric.failed) == ((0, 1), (1, 0))


def grouped(run: Result, size: int) -> Result:
    """The same run, with the column `group`: so many samples in a row share one."""
    for i, item in enumerate(run.samples):
        columns = {**item.sample.model_dump(), "group": f"document {i // size}"}
        run.samples[i] = SampleResult(Sample(**columns), item.scores, {})  # type: ignore[index]
    return run


def test_samples_of_one_group_change_together() -> None:
    before, after = result(scored([1.0] * 12)), result(scored([0.0] * 12))
    assert compare(before, after).metrics["faithfulness"].finding == "worse"
    metric = compare(grouped(before, 3), after).metrics["faithfulness"]
    # Four groups that all fall: 2 of 2 ** 4 choices of signs are as far from 0.
    assert metric.value is not None
    assert (metric.groups, metric.finding, metric.value.p) == (4, "no difference shown", 1 / 8)


def test_a_table_says_how_many_groups_stand_for_the_samples() -> None:
    before, after = result(scored([1.0] * 12)), result(scored([0.0] * 12))
    assert "4 groups of the column group" in str(compare(grouped(before, 3), after))


def test_a_table_says_where_too_few_samples_differ_to_show_a_difference() -> None:
    text = str(compare(result(scored([1.0] * 8)), result(scored([0.0] * 4 + [1.0] * 4))))
    assert "4 of the pairs differ; a difference can be shown from 6 on" in text


def test_without_a_pair_that_differs_there_is_no_interval() -> None:
    same = compare(result(scored([1.0] * 8)), result(scored([1.0] * 8)))
    assert "no pair differs, so there is no interval" in str(same)
    assert same.to_dict()["metrics"]["faithfulness"]["value"]["interval"] is None


def test_runs_in_another_order_and_with_others_between_are_paired_by_id() -> None:
    values = {str(i): Score(i / 40, i / 40) for i in range(40)}
    names = [*values]
    np.random.default_rng(0).shuffle(names)
    shuffled = {name: values[name] for name in names[:30]} | {"new": Score(1, 1)}
    comparison = compare(result(values), result(shuffled))
    assert (comparison.paired, comparison.only_a, comparison.only_b) == (30, 10, 1)
    metric = comparison.metrics["faithfulness"]
    assert (metric.pairs, metric.scored, metric.moved) == (30, (40, 31), ())


def test_the_samples_that_moved_most_come_first_and_those_that_did_not_are_left_out() -> None:
    after = result(scored([0.5] * 8, [0.5, 0.6, 0.4, 0.9, 0.45, 0.5, 0.8, 0.2]))
    moved = compare(result(scored([0.5] * 8)), after).metrics["faithfulness"].moved
    assert [sample.id for sample in moved] == ["3", "6", "7", "1", "2"]


def test_a_table_shows_value_and_soft_of_a_sample_that_moved() -> None:
    text = str(compare(result(scored([1.0, 0.0], [0.9, 0.1])), result(scored([0.0, 0.0], [0.2, 0.1]))))
    rows = [line.split()[1:] for line in text.splitlines() if "-0.700" in line]
    assert rows == [["0", "1.000", "0.000", "0.900", "0.200", "-0.700"]]


def changed(part: str, **fields: Any) -> dict[str, Any]:
    return {part: {**getattr(signature(), part), **fields}}


DIFFERENCES = pytest.mark.parametrize(
    ("fields", "name"),
    [
        pytest.param(
            changed("judge", sha256="1" * 64), "judge.sha256 (00000000 and 11111111)", id="another judge"
        ),
        pytest.param(
            changed("prompts", **{"support/en": "2" * 64}), "prompts.support/en", id="another prompt"
        ),
        pytest.param(
            changed("metrics", faithfulness="9"), "metrics.faithfulness (1 and 9)", id="another formula"
        ),
        pytest.param(
            changed("options", threshold=0.7), "options.threshold (0.5 and 0.7)", id="another threshold"
        ),
        pytest.param(changed("engine", n_ctx=4096), "engine.n_ctx", id="another context"),
    ],
)


@DIFFERENCES
def test_runs_that_differ_are_refused_by_name_of_the_field(fields: dict[str, Any], name: str) -> None:
    message = said(NotComparable, compare, result(scored([0.5, 0.5])), result(scored([0.5, 0.5]), **fields))
    assert name in message
    assert "--force" in message


@DIFFERENCES
def test_runs_that_differ_are_compared_by_force_with_the_name_of_the_field(
    fields: dict[str, Any], name: str
) -> None:
    other = result(scored([0.5, 0.5]), **fields)
    assert name in str(compare(result(scored([0.5, 0.5])), other, force=True))


MODELS = {name: {"sha256": "3" * 64, "device": "cpu"} for name in ("embedder", "classifier")}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(changed("engine", n_threads=64), id="threads"),
        pytest.param(changed("engine", mmap=False), id="mapped file"),
        pytest.param({"embedder": {**MODELS["embedder"], "device": "cuda"}}, id="embedder on a GPU"),
        pytest.param({"classifier": {**MODELS["classifier"], "device": "cuda"}}, id="classifier on a GPU"),
        pytest.param(changed("packages", numpy="0.1"), id="package"),
        pytest.param({"machine": "Plan 9"}, id="machine"),
    ],
)
def test_threads_machine_and_versions_of_packages_only_warn(fields: dict[str, Any]) -> None:
    before, after = (result(scored([0.5, 0.5]), **{**MODELS, **of_run}) for of_run in ({}, fields))
    comparison = compare(before, after)
    assert (comparison.forced, "surroundings" in comparison.warnings[0]) == ((), True)


def test_a_model_that_one_run_used_alone_has_no_part_in_the_comparison() -> None:
    alone = {"embedder": {"name": "x", "sha256": "3" * 64}}
    assert differences(signature(), signature().model_copy(update=alone)) == ([], [])


def test_the_name_of_a_model_has_no_part_in_the_comparison() -> None:
    renamed = changed("judge", name="other")
    assert differences(signature(), signature().model_copy(update=renamed)) == ([], [])


def runs_that_share_little() -> tuple[Result, Result]:
    """Two runs of three samples, one of which asks another question; the second has one more metric."""
    before, after = result(scored([0.5] * 3)), result(scored([0.5] * 3))
    after.samples[1].sample.__dict__["user_input"] = "Coffee?"
    after.metrics = ["faithfulness", "full_support"]
    return before, after


def test_what_two_runs_do_not_share_is_told() -> None:
    assert compare(*runs_that_share_little()).warnings == (
        "metrics that are not compared: only in B: full_support",
        "1 of 3 samples with the same id ask another question in each run: 1",
    )


def test_the_same_words_after_other_messages_are_another_question() -> None:
    before = result(scored([0.5]))
    [alone] = before.samples
    sample = Sample(id="0", user_input="Tea?", history=[{"role": "user", "content": "What is wine?"}])
    after = Result([SampleResult(sample, alone.scores, {})], before.metrics, before.signature)
    assert compare(before, after).warnings == (
        "1 of 1 samples with the same id ask another question in each run: 0",
    )


def test_a_gate_against_a_run_without_the_metric_is_missed() -> None:
    before, after = runs_that_share_little()
    assert "full_support" in gates_against(after, before, "before")[1][0]


def test_runs_without_a_metric_in_common_are_refused() -> None:
    one = result(scored([1.0]))
    assert "no metric in common" in said(InputError, compare, one, result(scored([1.0]), "hallucination"))


def test_runs_without_a_sample_in_common_are_refused() -> None:
    one = result(scored([1.0]))
    assert "no sample in common" in said(InputError, compare, one, result({"b": Score(1, 1)}))


def test_runs_of_which_no_sample_is_scored_by_both_have_nothing_to_compare() -> None:
    undefined = result({"0": Score.undefined("no_statements")})
    assert "nothing to compare" in str(compare(undefined, result(scored([1.0]))))


def test_no_name_reaches_the_terminal_with_control_characters() -> None:
    evil = "x\x1b[2J\x9by[bold]"
    named = signature().model_copy(update={**changed("judge", name=evil), "metrics": {evil: "1"}})
    samples = [SampleResult(Sample(id=evil), {evil: Score(share, share)}, {}) for share in (0, 1)]
    for text in (str(compare(*(Result([sample], [evil], named) for sample in samples))), str(named)):
        assert text.replace("\n", "").isprintable()
        assert "x [2J y[bold]" in text


@pytest.fixture
def falling(tmp_path: Path) -> tuple[str, str]:
    """Two runs of eight samples, seven of which fall."""
    before = judged(tmp_path / "before", [0.9] * 8)
    after = judged(tmp_path / "after", [0.9, *[0.1] * 7])
    return str(before), str(after)


def invoke(*words: str) -> ClickResult:
    return CliRunner().invoke(commands, words)


def test_the_command_shows_a_table(falling: tuple[str, str]) -> None:
    table = invoke("compare", *falling)
    assert table.exit_code == 0
    # 7 equal differences: 2 of 2 ** 7 choices of signs are as far from 0
    row = next(line.split() for line in table.output.splitlines() if line.startswith("faithfulness "))
    assert row[:4] + row[-2:] == ["faithfulness", "1.000", "0.125", "-0.875", "0.0156", "worse"]


def test_the_command_prints_json_as_python_has_it(falling: tuple[str, str]) -> None:
    comparison = json.loads(invoke("compare", *falling, "--json").output)
    assert comparison["metrics"]["faithfulness"]["value"]["p"] == 2 / 2**7
    assert comparison == json.loads(json.dumps(compare(*falling).to_dict()))


def test_a_drop_is_exit_1(falling: tuple[str, str]) -> None:
    drop = invoke("compare", *falling, "--fail-on-drop")
    assert (drop.exit_code, "gate missed" in drop.output) == (1, True)


def test_a_rise_is_no_drop(falling: tuple[str, str]) -> None:
    assert invoke("compare", *falling[::-1], "--fail-on-drop").exit_code == 0


def test_a_metric_that_the_later_run_lacks_is_a_drop(falling: tuple[str, str]) -> None:
    before, after = falling
    both = ["-m", "faithfulness,full_support", "-o", f"{after}/results.json"]
    assert invoke("rescore", after, *both).exit_code == 0
    lost = invoke("compare", after, before, "--fail-on-drop")
    assert (lost.exit_code, "full_support: no drop" in lost.output) == (1, True)


@pytest.fixture
def unheard(tmp_path: Path) -> tuple[Path, Path]:
    """Runs with 0.1 and 0.8 of a metric that nobody registered; the first one tells that lower is better."""
    low, high = (judged(tmp_path / name, [share] * 8) for name, share in (("low", 0.1), ("high", 0.8)))
    for path, higher_is_better in ((low / "results.json", False), (high / "results.json", None)):
        content = json.loads(path.read_text("utf-8").replace('"faithfulness"', '"unheard"'))
        content["summary"]["unheard"]["higher_is_better"] = higher_is_better
        path.write_text(json.dumps(content), encoding="utf-8")
    return low, high


def test_a_metric_that_nobody_registered_has_the_direction_that_a_run_tells(
    unheard: tuple[Path, Path],
) -> None:
    assert compare(*unheard).metrics["unheard"].finding == "worse"


def test_a_metric_of_which_no_run_tells_the_direction_is_compared(unheard: tuple[Path, Path]) -> None:
    _, high = unheard
    assert compare(high, high).metrics["unheard"].finding == "no difference shown"


def test_without_a_finding_a_line_says_what_difference_could_have_been_seen() -> None:
    # Eight pairs rise by 0.2, eight fall by 0.2: 2.8016 standard errors are 2.8016 * 0.2 * sqrt(16 / 15) / 4.
    runs = result(scored([0.5] * 16)), result(scored([0.3, 0.7] * 8))
    comparison = compare(*runs)
    assert comparison.metrics["faithfulness"].detectable == pytest.approx(0.144676, abs=1e-5)
    line = "faithfulness: could have seen a difference of 0.145 or more, with 80 % power"
    assert line in str(comparison).splitlines()


def test_what_could_have_been_seen_takes_groups_as_units() -> None:
    # Each group of two rises by 0.2 or falls by 0.2 as a whole: eight units instead of sixteen.
    before, after = result(scored([0.5] * 16)), result(scored([0.3, 0.3, 0.7, 0.7] * 4))
    metric = compare(grouped(before, 2), after).metrics["faithfulness"]
    assert metric.detectable == pytest.approx(2.801585 * 0.2 / 7**0.5, abs=1e-5)


def test_a_finding_has_no_line_on_what_could_have_been_seen() -> None:
    text = str(compare(result(scored([0.9, 1.0] * 6)), result(scored([0.1, 0.3] * 6))))
    assert "worse" in text
    assert "could have seen" not in text


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([1.0] * 8, id="no pair differs"),
        pytest.param([0.0] * 3 + [1.0] * 5, id="three of eight differ, and six must"),
    ],
)
def test_what_could_have_been_seen_is_not_said_where_too_few_pairs_differ(after: list[float]) -> None:
    assert (
        compare(result(scored([1.0] * 8)), result(scored(after))).metrics["faithfulness"].detectable is None
    )


def test_what_could_have_been_seen_is_not_said_where_not_even_1_could() -> None:
    # Three of six rise by 1, three fall by 1: 2.8016 * sqrt(6 / 5) / sqrt(6) is 1.25.
    runs = result(scored([0.0, 1.0] * 3)), result(scored([1.0, 0.0] * 3))
    assert compare(*runs).metrics["faithfulness"].detectable is None
