"""As many samples as are told show a change in 80 of 100 comparisons.

A part of the repeats; LOCALEVAL_TEST_REPEATS=2000 runs as many as `scripts/power.py`.
"""

import os

import pytest

from localeval.statistics.holm import holm
from localeval.statistics.power import (
    DETECTABLE,
    are_zero_or_one,
    design_effect_by_variance,
    detectable_difference,
    needed_flips,
    needed_pairs,
    paired_deviation,
    standard_error,
)
from scripts.power import KINDS, simulated_power

REPEATS = int(os.environ.get("LOCALEVAL_TEST_REPEATS", "200"))


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_samples_as_are_told_show_the_change_in_80_of_100_comparisons(kind: str) -> None:
    # Of 200 repeats the share is off by more than 8.5 points in 3 of 1,000 cases.
    tolerance = 0.03 if REPEATS >= 2000 else 0.085
    assert simulated_power(KINDS[kind](), REPEATS) == pytest.approx(0.8, abs=tolerance)


@pytest.mark.parametrize(("deviation", "pairs"), [(0.3, 285), (0.4, 505), (0.5, 787)])
def test_the_number_of_pairs_for_a_change_of_0_05_is_the_known_one(deviation: float, pairs: int) -> None:
    """(1.95996 + 0.84162)^2 deviation^2 / 0.05^2 + 1.95996^2 / 2, rounded up."""
    assert needed_pairs(deviation, 0.05) == pairs


@pytest.mark.parametrize(("deviation", "samples"), [(0.3, 568), (0.4, 1007), (0.5, 1572)])
def test_runs_that_do_not_correlate_need_the_known_number_of_unpaired_samples(
    deviation: float, samples: int
) -> None:
    assert needed_pairs(paired_deviation(deviation, correlation=0), 0.05) == samples


@pytest.mark.parametrize(("difference", "pairs"), [(0.1, 152), (0.15, 64)])
def test_by_the_normal_distribution_flips_need_the_known_number_of_pairs(
    difference: float, pairs: int
) -> None:
    # A fifth of the pairs flips: the variance is 0.2 - difference^2.
    assert needed_pairs((0.2 - difference**2) ** 0.5, difference) == pairs


def test_of_flips_in_one_direction_six_are_needed_for_80_of_100_comparisons() -> None:
    # Of 25 pairs, each of which flips by 30 %, six or more flip in 80.7 % of draws; of 24 in 77.1 %.
    assert needed_flips(0.3, 0.3) == 25


def test_the_exact_test_needs_more_pairs_than_the_normal_distribution_says() -> None:
    assert needed_flips(0.2, 0.1) > needed_pairs(0.19**0.5, 0.1)


def test_of_very_many_pairs_the_normal_distribution_is_taken() -> None:
    flips = 0.5
    assert needed_flips(flips, 0.01) == needed_pairs((flips - 0.01**2) ** 0.5, 0.01)


def test_groups_of_one_sample_change_no_standard_error() -> None:
    values = [0.2, 0.9, 0.4, 1.0]
    assert standard_error(values, groups=[3, 1, 0, 2]) == pytest.approx(standard_error(values))


def test_the_samples_of_a_group_that_are_all_alike_count_once() -> None:
    values = [0.2, 0.9, 0.4, 1.0]
    repeated = [value for value in values for _ in range(3)]
    groups = [i // 3 for i in range(12)]
    assert standard_error(repeated, groups) == pytest.approx(standard_error(values))


@pytest.mark.parametrize("groups", [None, [0]])
def test_one_value_has_no_standard_error(groups: list[int] | None) -> None:
    assert standard_error([0.5], groups) is None


def test_no_value_has_no_standard_error() -> None:
    assert standard_error([]) is None


def test_one_group_has_no_standard_error() -> None:
    assert standard_error([0.2, 0.4, 0.9], groups=[7, 7, 7]) is None


def test_groups_never_lower_the_number_of_samples_that_are_needed() -> None:
    # Within a group one is high and one low, so that the groups differ less than samples do.
    assert design_effect_by_variance([0.0, 1.0, 0.1, 0.9], groups=[0, 0, 1, 1]) == 1


def test_values_that_are_all_the_same_have_no_design_effect() -> None:
    assert design_effect_by_variance([0.5] * 4, groups=[0, 0, 1, 1]) == 1


def test_the_smallest_difference_that_is_seen_is_2_8016_standard_errors() -> None:
    differences = [0.3, -0.1, 0.2, 0.0, 0.1]
    error = standard_error(differences)
    assert error is not None
    assert detectable_difference(differences) == pytest.approx(2.8016 * error, abs=1e-4)
    assert pytest.approx(2.8016, abs=1e-4) == DETECTABLE


def test_nothing_is_said_of_pairs_that_do_not_differ() -> None:
    assert detectable_difference([0.0] * 10) is None


def test_differences_of_0_1_and_minus_1_are_those_of_scores_of_0_and_1() -> None:
    assert are_zero_or_one([0.0, 1.0, -1.0])
    assert not are_zero_or_one([0.0, 0.5])


def test_holms_correction_multiplies_the_smallest_p_by_the_number_of_tests() -> None:
    # Sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 * 1, each at least the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_a_corrected_p_is_at_most_1_and_no_test_has_none() -> None:
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
