"""Intervals cover at least as often as they say, and tests raise few false alarms, from five samples on.

A part of the repeats; LOCALEVAL_TEST_REPEATS=2000 runs as many as `scripts/intervals.py`.
"""

import os
from itertools import product

import numpy as np
import pytest

from localeval.statistics.intervals import difference_interval, mean_interval, paired_permutation_test
from scripts.intervals import KINDS, NUMBERS, coverage, two_runs

REPEATS = int(os.environ.get("LOCALEVAL_TEST_REPEATS", "200"))


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_interval_holds_the_mean_at_least_as_often_as_it_says(kind: str, n: int) -> None:
    # By 200 repeats at 95 %, fewer than 92 % come in 2 of 100 cases.
    assert coverage(KINDS[kind], n, REPEATS) >= 0.92


@pytest.mark.parametrize("n", [5, 6, 7, 8, 11, 12, 14, 20, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_that_are_equal_but_for_chance_are_seldom_told_apart(kind: str, n: int) -> None:
    """The interval of the difference holds it wherever there is one, and the test gives few false alarms."""
    result = two_runs(KINDS[kind], n, REPEATS)
    assert result.coverage >= 0.92
    # By 200 repeats at 5 %, more than 9 % come in 1 of 100 cases.
    assert result.false_alarms <= (0.055 if REPEATS >= 2000 else 0.09)


def test_samples_that_share_a_group_count_as_one() -> None:
    """Ten samples of each of eight documents say as much of other documents as eight samples do."""
    groups = [i // 10 for i in range(80)]
    hits = 0
    misses_without_groups = 0
    for repeat in range(REPEATS):
        scores = np.repeat(np.random.default_rng([5, repeat]).random(8), 10).tolist()
        low, high = mean_interval(scores, groups=groups) or (1, 0)
        hits += low <= 0.5 <= high
        low, high = mean_interval(scores) or (1, 0)
        misses_without_groups += not low <= 0.5 <= high
    assert hits / REPEATS >= 0.92
    assert misses_without_groups / REPEATS > 0.3


def test_groups_of_one_sample_change_no_interval_of_a_mean() -> None:
    scores = [0.2, 0.9, 0.4, 1.0, 0.7]
    assert mean_interval(scores, groups=[3, 0, 4, 1, 2]) == pytest.approx(mean_interval(scores))


def test_one_group_alone_has_no_interval() -> None:
    assert mean_interval([0.2, 0.9, 0.4, 1.0, 0.7], groups=[1] * 5) is None


def test_groups_of_one_pair_change_nothing_of_a_difference() -> None:
    changes = [0.1, -0.2, 0.3, 0.2, 0.2, 0.3]
    alone = list(range(6))
    assert difference_interval(changes, alone) == pytest.approx(difference_interval(changes))
    assert paired_permutation_test(changes, alone) == paired_permutation_test(changes)


def test_the_pairs_of_a_group_change_their_sign_together() -> None:
    # Three groups with a sum other than 0: 2 of 2 ** 3 choices of signs are as far from 0.
    assert paired_permutation_test([0.1] * 9, [i // 3 for i in range(9)]) == 2 / 2**3


@pytest.mark.parametrize(
    ("equal", "other"), [(0.8, 0.81), (1.0, 0.99), (0.5, 0.5001), (0.0, 0.01), (0.3, 0.3000001)]
)
def test_equal_values_have_nearly_the_interval_of_nearly_equal_ones(equal: float, other: float) -> None:
    interval = mean_interval([equal] * 12)
    assert mean_interval([equal] * 11 + [other]) == pytest.approx(interval, abs=0.01)


def test_equal_differences_have_nearly_the_interval_of_nearly_equal_ones() -> None:
    interval = difference_interval([0.1] * 12)
    assert difference_interval([0.1] * 11 + [0.11]) == pytest.approx(interval, abs=0.01)


def test_a_difference_of_which_nothing_is_known_has_no_interval() -> None:
    assert difference_interval([0.0] * 12) is None


def test_a_small_difference_has_a_narrow_interval() -> None:
    low, high = difference_interval([0.0] * 11 + [0.01]) or (-1, 1)
    assert -0.01 < low < 0.01 / 12 < high < 0.01


@pytest.mark.parametrize("n", range(5, 31))
def test_no_number_of_equal_differences_raises_more_than_5_false_alarms_in_100(n: int) -> None:
    """Counted over all choices of signs, by how many of them are positive."""
    alarms = 0.0
    ways = 1
    for positive in range(n + 1):
        if paired_permutation_test([1.0] * positive + [-1.0] * (n - positive)) < 0.05:
            alarms += ways / 2**n
        ways = ways * (n - positive) // (positive + 1)
    assert alarms <= 0.05


def test_the_p_value_of_seven_to_one_is_mcnemars() -> None:
    # 1 + 8 of 2 ** 8 choices of signs have at most one of the other sign, on either side.
    assert paired_permutation_test([1.0] * 7 + [-1.0]) == pytest.approx(2 * 9 / 2**8)


def test_the_p_value_of_few_differences_counts_every_choice_of_signs() -> None:
    # A difference of 0 has no sign.
    differences = [0.5, 0.0, 0.25, -0.125, 0.5]
    sums = [0.5 * a + 0.25 * b - 0.125 * c + 0.5 * d for a, b, c, d in product((1, -1), repeat=4)]
    as_far = sum(abs(s) >= 1.125 for s in sums)
    assert paired_permutation_test(differences) == as_far / 16 == 4 / 16


def test_differences_that_cancel_but_for_rounding_have_the_p_value_1() -> None:
    differences = [0 / 5 - 1 / 5, 6 / 6 - 3 / 6, 4 / 5 - 3 / 5, 1 / 6 - 4 / 6]
    # The sizes of the first and the third differ in their last bits.
    assert abs(differences[0]) != differences[2]
    assert paired_permutation_test(differences) == 1


def test_the_p_value_of_no_difference_is_1() -> None:
    assert paired_permutation_test([0.0, 0.0]) == 1.0
    assert paired_permutation_test([]) == 1.0


def test_the_p_value_of_many_differences_is_near_the_normal_distributions() -> None:
    values = np.random.default_rng(1).normal(0, 1, 5000)
    # The mean is 1.96 of its standard errors from 0.
    values += 1.96 * values.std() / 5000**0.5 - values.mean()
    assert paired_permutation_test(values.tolist()) == pytest.approx(0.05, abs=0.01)


def test_the_p_value_of_a_few_large_differences_among_many_tiny_ones_follows_the_large_ones() -> None:
    # 2 of 2 ** 4 choices have the four large ones on one side, and in half of these the tiny ones carry the
    # sum further from 0.
    dominated = [1.0] * 4 + [1e-6, -1e-6] * 5000
    assert paired_permutation_test(dominated) == pytest.approx(1 / 16, abs=0.01)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        pytest.param([0.0] * 10, 0.0, 0.3085, id="0 of 10"),
        pytest.param([1.0] * 9 + [0.0], 0.5550, 0.9975, id="9 of 10"),
        pytest.param([1.0] * 10, 0.6915, 1.0, id="10 of 10"),
        pytest.param([1.0] * 3 + [0.0] * 2, 0.1466, 0.9473, id="3 of 5"),
    ],
)
def test_values_at_the_bounds_have_clopper_and_pearsons_interval(
    values: list[float], low: float, high: float
) -> None:
    """Clopper and Pearson 1934, as in the tables of Beyer 1991."""
    assert mean_interval(values) == pytest.approx((low, high), abs=1e-4)


def test_of_ten_equal_values_a_share_of_0_3085_may_lie_at_either_bound() -> None:
    expected = (0.5 - 0.3085 / 2, 0.5 + 0.3085 / 2)
    assert mean_interval([0.5] * 10) == pytest.approx(expected, abs=1e-4)


def test_values_that_differ_in_their_last_bits_count_as_equal() -> None:
    assert mean_interval([0.0, 5e-324] * 5) == pytest.approx((0.0, 0.3085), abs=1e-4)


@pytest.mark.parametrize("values", [[], [0.5]], ids=["none", "one"])
def test_fewer_than_two_values_have_no_interval(values: list[float]) -> None:
    assert mean_interval(values) is None
