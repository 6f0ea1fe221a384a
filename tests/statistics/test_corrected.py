"""Means that are corrected by labels, against known answers and limits."""

from __future__ import annotations

import numpy as np
import pytest

from localeval.statistics.corrected import (
    cut_score,
    post_stratified,
    ppi_estimate,
    ppi_mean,
    ppi_variance,
    ppi_weight,
)
from localeval.statistics.intervals import mean_interval
from localeval.statistics.rates import jeffreys_draws, tail_points

# Of ppi_py's formulas, computed apart.
LABELS = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 1], dtype=float)
SCORES = np.array([1, 0, 1, 0, 0, 1, 1, 0, 1, 1], dtype=float)
OTHERS = np.array([int(digit) for digit in "1100101101101001110110010110101101011001"], dtype=float)
NORMAL_END = 1.959964


def ends(weight: float) -> tuple[float, float]:
    estimate = ppi_estimate(LABELS, SCORES, OTHERS, weight)
    half = NORMAL_END * ppi_variance(LABELS, SCORES, OTHERS, weight) ** 0.5
    return estimate - half, estimate + half


def test_the_weight_the_estimate_and_its_error_are_those_of_ppi_py() -> None:
    weight = ppi_weight(LABELS, SCORES, OTHERS)
    assert weight == pytest.approx(0.450575, abs=1e-6)
    assert ppi_estimate(LABELS, SCORES, OTHERS, weight) == pytest.approx(0.588736, abs=1e-6)
    assert ppi_variance(LABELS, SCORES, OTHERS, weight) ** 0.5 == pytest.approx(0.132275, abs=1e-6)
    assert ends(weight) == pytest.approx((0.329482, 0.847990), abs=1e-6)


def test_a_weight_of_0_gives_the_labels_alone_and_of_1_the_plain_estimate() -> None:
    assert ends(0.0) == pytest.approx((0.296364, 0.903636), abs=1e-6)
    assert ends(1.0) == pytest.approx((0.258301, 0.891699), abs=1e-6)


def test_a_judge_that_is_always_2_too_high_is_corrected_by_2() -> None:
    labels = np.array([0.2, 0.4, 0.9])
    # ppi_py's own test.
    assert ppi_estimate(labels, labels + 2, np.full(50, 2.0), 1.0) == pytest.approx(0.0)


def test_a_judge_without_a_relation_to_the_labels_changes_nothing() -> None:
    labels = [0.2, 0.4, 0.9, 0.3, 0.8]
    corrected = ppi_mean(labels, [0.5] * 5, [0.5] * 100)
    assert corrected.value == pytest.approx(np.mean(labels))
    assert corrected.interval == pytest.approx(mean_interval(labels))
    assert corrected.effective_labels == pytest.approx(5)


def test_a_good_judge_of_graded_answers_is_worth_many_labels() -> None:
    generator = np.random.default_rng(0)
    labels = generator.random(100)
    scores = np.clip(labels + generator.normal(0, 0.05, 100), 0, 1)
    others = generator.random(2000)
    assert ppi_mean(labels.tolist(), scores.tolist(), others.tolist()).effective_labels > 300


def test_one_label_alone_tells_no_graded_mean() -> None:
    with pytest.raises(ValueError, match="fewer than two"):
        ppi_mean([0.5], [0.5], [0.5])


def test_a_judge_that_says_the_same_of_all_samples_leaves_the_labels_alone() -> None:
    labels = [1.0] * 30 + [0.0] * 10
    corrected = post_stratified(labels, [0.9] * 40, [0.9] * 400)
    assert corrected.value == pytest.approx(0.75)
    alone = tail_points(jeffreys_draws(30, 40, seed=1))
    assert corrected.interval == pytest.approx(alone, abs=0.003)
    assert corrected.effective_labels == pytest.approx(40, rel=0.03)


def test_strata_are_weighted_by_the_run_and_not_by_the_labels() -> None:
    # Of the labelled samples half are judged wrong, of the run a fifth.
    labels = [1.0] * 20 + [0.0] * 20
    scores = [0.9] * 20 + [0.1] * 20
    corrected = post_stratified(labels, scores, [0.9] * 320 + [0.1] * 80)
    assert corrected.value == pytest.approx(0.8)


def test_labels_that_are_all_1_leave_room_below_1_alone() -> None:
    corrected = post_stratified([1.0] * 50, [0.9] * 50, [0.9] * 500)
    assert corrected.value == 1.0
    assert corrected.interval[1] == 1.0
    assert 0.9 < corrected.interval[0] < 0.97


def test_samples_of_groups_that_are_alike_make_the_interval_wider() -> None:
    labels = [1.0, 0.0] * 25
    scores = [0.9, 0.1] * 25
    run = scores * 10
    width = np.ptp(post_stratified(labels, scores, run).interval)
    assert (
        np.ptp(post_stratified(labels, scores, run, label_effect=2.0, run_effect=2.0).interval) > 1.2 * width
    )


def test_the_run_is_cut_so_that_as_much_is_below_as_people_call_wrong() -> None:
    scores = np.linspace(0.0, 1.0, 101).tolist()
    assert cut_score(scores, share_wrong=0.3) == pytest.approx(0.3)


def test_a_stratum_has_a_tenth_of_the_run_at_least() -> None:
    scores = np.linspace(0.0, 1.0, 101).tolist()
    assert cut_score(scores, share_wrong=0.0) == pytest.approx(0.1)
    assert cut_score(scores, share_wrong=1.0) == pytest.approx(0.9)


def test_equal_scores_are_not_cut_apart() -> None:
    # Of the judge's verdicts 0 and 1, nine of ten are 0.
    assert cut_score([0.0] * 90 + [1.0] * 10, share_wrong=0.2) == 1.0
    assert cut_score([0.0] * 5 + [1.0] * 95, share_wrong=0.2) == 1.0


def test_the_same_labels_give_the_same_numbers() -> None:
    labels = [1.0] * 30 + [0.0] * 10
    scores = [0.8] * 25 + [0.3] * 15
    run = [0.8] * 300 + [0.3] * 100
    assert post_stratified(labels, scores, run) == post_stratified(labels, scores, run)


def test_without_labels_there_is_nothing_to_correct_by() -> None:
    with pytest.raises(ValueError, match="no label"):
        post_stratified([], [], [0.5])
