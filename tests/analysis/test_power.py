"""How many samples show a change, from one run or two."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from localeval import InputError, NotComparable, Result, Sample
from localeval.analysis.power import needed_samples
from localeval.cli import commands
from localeval.metrics.corrected import JudgeRates
from localeval.metrics.sample_result import SampleResult
from localeval.runs.correct import CardRates
from tests.commands import said
from tests.finished_runs import judged, result, scored, signature

# Their standard deviation is 0.4 * sqrt(20 / 19).
SPREAD = [0.1, 0.9] * 10


def samples_needed(run: Result, **choices: Any) -> list[int]:
    """The numbers of the run's only metric."""
    [metric] = needed_samples(run, **choices).metrics
    return [case.samples for case in metric.cases]


def grouped(run: Result, size: int) -> Result:
    """The same run with the column `group`: so many samples in a row share one."""
    samples = []
    for i, item in enumerate(run.samples):
        columns = {**item.sample.model_dump(), "group": i // size}
        samples.append(SampleResult(Sample(**columns), item.scores, {}))
    return Result(samples, run.metrics, run.signature)


def card_of(metric: str, right_of_good: int, right_of_bad: int, **fields: Any) -> CardRates:
    """A card of 100 good and 100 bad samples, of which the judge has so many right."""
    rates = JudgeRates(right_of_good=right_of_good, good=100, right_of_bad=right_of_bad, bad=100)
    of_run = signature([metric]).model_copy(update=fields)
    return CardRates(metric=metric, dataset="labels", signature=of_run, rates=[rates])


def test_one_run_gives_a_span_by_how_alike_another_run_may_be() -> None:
    # Of differences whose spread is 0.4104 and 0.2596 (2.8016^2 spread^2 / 0.05^2 + 1.92).
    assert samples_needed(result(scored(SPREAD))) == [531, 214]


def test_scores_of_0_and_1_have_a_best_case_in_which_all_flips_go_one_way() -> None:
    run = result(scored([0.0, 1.0] * 10), "full_support")
    cases = needed_samples(run).metrics[0].cases
    assert cases[-1].assumption == "differs in one direction alone (best case)"
    # Each of 157 pairs flips by 5 %: six or more flip in 80 % of draws.
    assert cases[-1].samples == 157


def test_a_larger_change_needs_fewer_samples() -> None:
    run = result(scored(SPREAD))
    assert samples_needed(run, difference=0.1) == [135, 55]


def test_two_runs_give_one_number_by_the_measured_spread() -> None:
    after = result(scored([0.2, 0.9, 0.0, 0.8] * 5))
    # The differences are 0.1, 0, -0.1, -0.1, five times: their deviation is 0.08507.
    assert samples_needed(result(scored(SPREAD)), paired_with=after) == [25]


def test_groups_raise_the_number_by_how_alike_their_samples_are() -> None:
    alone = result(scored([0.1, 0.1, 0.9, 0.9] * 5))
    [metric] = needed_samples(grouped(alone, 2)).metrics
    # Ten groups of two equal scores: 19 / 9 times the variance of twenty scores.
    assert metric.design_effect == pytest.approx(19 / 9)
    assert [case.samples for case in metric.cases] == [1121, 452]
    assert [case.groups for case in metric.cases] == [561, 226]
    assert "2.1 times as many are needed" in str(needed_samples(grouped(alone, 2)))


def test_a_sentence_says_how_many_samples_show_the_change_and_how_many_there_are() -> None:
    text = str(needed_samples(result(scored(SPREAD))))
    assert "faithfulness: 214 to 531 samples show a change of 0.05 with 80 % power" in text
    assert "this run has 20" in text


def test_of_equal_scores_nothing_is_known_and_a_sentence_says_so() -> None:
    [metric] = needed_samples(result(scored([0.5] * 8))).metrics
    assert metric.cases == ()
    assert "all samples have the same score" in metric.note


def test_of_one_scored_sample_nothing_is_known_and_a_sentence_says_so() -> None:
    [metric] = needed_samples(result(scored([0.5]))).metrics
    assert metric.cases == ()
    assert "fewer than two samples are scored" in metric.note


def test_of_two_runs_without_a_difference_nothing_is_known() -> None:
    run = result(scored(SPREAD))
    [metric] = needed_samples(run, paired_with=run).metrics
    assert metric.cases == ()
    assert "nothing is known of their spread" in metric.note


def test_a_number_from_few_differing_pairs_is_called_rough() -> None:
    after = result(scored([0.3, *SPREAD[1:]]))
    [metric] = needed_samples(result(scored(SPREAD)), paired_with=after).metrics
    assert "only 1 of 20 pairs differ" in metric.note


def test_runs_that_were_made_differently_are_refused() -> None:
    other = result(scored(SPREAD), options={**signature().options, "threshold": 0.7})
    assert "options.threshold" in said(
        NotComparable, needed_samples, result(scored(SPREAD)), paired_with=other
    )


def test_an_unknown_metric_is_refused_with_those_of_the_run() -> None:
    message = said(InputError, needed_samples, result(scored(SPREAD)), metrics=["tea"])
    assert message == "a run has no metric 'tea'; it has: faithfulness."


def test_a_card_tells_what_a_true_change_shows_as() -> None:
    run = result(scored([0.0, 1.0] * 10), "full_support")
    card = card_of("full_support", 90, 70)
    text = str(needed_samples(run, card=card))
    # 0.9 + 0.7 - 1 = 0.6; 0.05 * 0.6, 0.05 / 0.6, 1 / 0.6^2
    assert "a true change of 0.05 shows as 0.030, and one of 0.083 shows as 0.05" in text
    assert "multiply the number of samples by 2.8" in text


def test_by_a_judge_no_better_than_chance_no_true_change_shows() -> None:
    run = result(scored([0.0, 1.0] * 10), "full_support")
    card = card_of("full_support", 60, 40)
    assert "no true change shows" in str(needed_samples(run, card=card))


def test_a_card_is_not_used_for_scores_between_0_and_1() -> None:
    card = card_of("faithfulness", 90, 70)
    [metric] = needed_samples(result(scored(SPREAD)), card=card).metrics
    assert metric.accuracy is None
    assert "the card is not used" in metric.note


def test_a_card_of_another_judge_is_refused() -> None:
    other = {**signature().judge, "sha256": "1" * 64}
    card = card_of("faithfulness", 90, 70, judge=other)
    assert "judge.sha256" in said(InputError, needed_samples, result(scored(SPREAD)), card=card)


def test_a_card_of_another_metric_is_refused() -> None:
    card = card_of("full_support", 90, 70)
    assert "the card is of full_support" in said(
        InputError, needed_samples, result(scored(SPREAD)), card=card
    )


def test_a_file_that_is_no_card_is_refused(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.1] * 8)
    (tmp_path / "card.json").write_text("{}", encoding="utf-8")
    refused = CliRunner().invoke(commands, ["power", str(run), "--card", str(tmp_path / "card.json")])
    assert isinstance(refused.exception, InputError)
    assert "this is no card" in str(refused.exception)


def test_the_command_prints_a_table_or_json(tmp_path: Path) -> None:
    run = str(judged(tmp_path / "run", [0.9, 0.1] * 8))
    other = str(judged(tmp_path / "other", [0.9, 0.1, 0.1, 0.9] * 4))
    table = CliRunner().invoke(commands, ["power", run])
    assert table.exit_code == 0
    assert "differs in one direction alone" in table.output
    printed = CliRunner().invoke(commands, ["power", run, "--paired-with", other, "--json"]).output
    found = json.loads(printed)
    assert (found["difference"], found["paired"]) == (0.05, True)
    assert found["metrics"][0]["samples"] == 16
