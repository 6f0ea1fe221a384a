"""Exact bounds of rates, and shares corrected for a judge that errs, against published figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest  # type: ignore[import-untyped]

from localeval.statistics.rates import (
    JudgeCounts,
    clopper_pearson_lower,
    clopper_pearson_upper,
    corrected_share,
    correlation_within,
    design_effect_by_correlation,
    rogan_gladen,
)


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 5), (5, 5), (58, 73), (152, 200)])
def test_the_one_sided_bounds_are_those_of_scipy_s_exact_binomial_test(successes: int, trials: int) -> None:
    # A two-sided interval of 90 % has 5 % at either side.
    exact = binomtest(successes, trials).proportion_ci(0.90, "exact")
    assert clopper_pearson_lower(successes, trials) == pytest.approx(exact.low, abs=1e-9)
    assert clopper_pearson_upper(successes, trials) == pytest.approx(exact.high, abs=1e-9)


def test_a_share_of_rows_that_count_as_fewer_has_a_lower_bound_between_those_of_whole_numbers() -> None:
    few = clopper_pearson_lower(8, 10)
    between = clopper_pearson_lower(8.4, 10.5)
    more = clopper_pearson_lower(16, 20)
    assert few < between < more


@pytest.mark.parametrize(
    ("labels", "needed", "least"),
    [(20, 18, 0.7), (30, 26, 0.7), (50, 41, 0.7), (73, 58, 0.7), (200, 152, 0.7), (100, 87, 0.8)],
)
def test_the_fewest_right_answers_that_clear_a_minimum_are_those_counted_by_hand(
    labels: int, needed: int, least: float
) -> None:
    assert clopper_pearson_lower(needed, labels) >= least
    assert clopper_pearson_lower(needed - 1, labels) < least


def test_the_correction_by_known_rates_is_that_of_epir_s_documentation() -> None:
    assert rogan_gladen(23 / 150, 0.96, 0.89) == pytest.approx(0.051, abs=1e-3)


def test_a_perfect_judge_is_not_corrected() -> None:
    assert rogan_gladen(0.3, 1.0, 1.0) == pytest.approx(0.3)


def test_a_judge_no_better_than_chance_can_t_be_corrected() -> None:
    assert rogan_gladen(0.3, 0.6, 0.4) is None


# (judged right, judged, right of good, good, right of bad, bad), the share and its 95 % interval. The second
# and the third are of published examples; the intervals were computed with 400,000 draws.
PUBLISHED = [
    pytest.param(27, 650, JudgeCounts(50, 100, 199, 200), 0.0738, 0.0293, 0.1147, id="rare"),
    pytest.param(120, 400, JudgeCounts(45, 50, 40, 50), 0.1429, 0.0, 0.2686, id="wide"),
    pytest.param(320, 400, JudgeCounts(78, 80, 30, 40), 0.7586, 0.6703, 0.8412, id="common"),
]


@pytest.mark.parametrize(("right", "judged", "counts", "share", "low", "high"), PUBLISHED)
def test_a_corrected_share_and_its_interval_are_the_known_ones(
    right: int, judged: int, counts: JudgeCounts, share: float, low: float, high: float
) -> None:
    corrected = corrected_share(right, judged, counts)
    assert corrected.value == pytest.approx(share, abs=1e-3)
    # 20,000 draws.
    assert corrected.interval == pytest.approx((low, high), abs=0.003)


def test_a_share_below_what_the_judge_s_false_alarms_explain_is_0() -> None:
    # 6 of 151, sensitivity 0.964, specificity 0.927: more are expected of none.
    corrected = corrected_share(6, 151, JudgeCounts(964, 1000, 927, 1000))
    assert corrected.value == 0.0


def test_a_share_with_a_standard_error_above_0_08_is_not_corrected() -> None:
    corrected = corrected_share(100, 200, JudgeCounts(18, 25, 18, 25))
    assert corrected.value is None
    assert corrected.reason == "too uncertain to correct: standard error 0.17, above 0.08"


def test_a_judge_that_may_be_no_better_than_chance_leaves_the_share_open() -> None:
    corrected = corrected_share(100, 200, JudgeCounts(15, 25, 14, 25))
    assert corrected.value is None
    assert corrected.interval == (0.0, 1.0)
    assert corrected.reason == "the judge may be no better than chance on the labelled samples"


def test_without_a_bad_sample_among_the_labelled_ones_the_share_is_open() -> None:
    assert corrected_share(100, 200, JudgeCounts(45, 50, 0, 0)).value is None


def test_groups_of_equal_values_are_wholly_alike() -> None:
    assert correlation_within([1.0, 1.0, 0.0, 0.0, 1.0, 1.0], [5, 5, 7, 7, 9, 9]) == pytest.approx(1.0)


def test_groups_in_which_values_differ_as_much_as_elsewhere_are_not_alike() -> None:
    values = np.random.default_rng(0).random(3000)
    groups = np.repeat(np.arange(1000), 3)
    assert correlation_within(values.tolist(), groups.tolist()) == pytest.approx(0.0, abs=0.03)


def test_one_group_alone_does_not_tell_how_alike_groups_are() -> None:
    assert correlation_within([1.0, 0.0, 1.0], [1, 1, 1]) == 0.0


def test_two_equal_samples_of_each_group_count_as_one() -> None:
    assert design_effect_by_correlation([5, 5, 7, 7, 9, 9], 1.0) == pytest.approx(2.0)


def test_a_sample_s_group_counts_once_for_each_of_its_samples() -> None:
    # Sizes 3 and 1: the mean size of a sample's group is (3 x 3 + 1 x 1) / 4.
    assert design_effect_by_correlation([0, 0, 0, 1], 0.5) == pytest.approx(1 + 1.5 * 0.5)
