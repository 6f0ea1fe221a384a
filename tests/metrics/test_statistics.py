"""Intervals cover at least as often as they say, and tests raise few false alarms, from five samples on.

A part of the repeats; LOCALEVAL_TEST_REPEATS=2000 runs as many as `scripts/coverage.py`.
"""

import os
from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from localeval.metrics.statistics import difference_interval, mean_interval, paired_permutation_test

REPEATS = int(os.environ.get("LOCALEVAL_TEST_REPEATS", "200"))
NUMBERS = (5, 8, 12, 20, 50, 200)
Values = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Values]


def shares(generator: np.random.Generator, n: int) -> Values:
    """Of 1 to 9 statements each: discrete, tied, and crowded at 1, as faithfulness is; their mean is 4/5."""
    statements = generator.integers(1, 10, n)
    return np.asarray(generator.binomial(statements, generator.beta(4, 1, n)) / statements)


def zero_or_one(mean: float) -> Draw:
    return lambda generator, n: (generator.random(n) < mean).astype(float)


KINDS: dict[str, tuple[Draw, float]] = {
    "even": (lambda generator, n: generator.random(n), 1 / 2),
    "crowded at 1": (lambda generator, n: generator.beta(8, 1, n), 8 / 9),
    "crowded at 0": (lambda generator, n: generator.beta(0.3, 3, n), 1 / 11),
    "shares": (shares, 4 / 5),
    "0 or 1, half": (zero_or_one(0.5), 0.5),
    "0 or 1, four in five": (zero_or_one(0.8), 0.8),
    "0 or 1, nearly all": (zero_or_one(0.95), 0.95),
}


@pytest.mark.parametrize("n", NUMBERS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_interval_holds_the_mean_at_least_as_often_as_it_says(kind: str, n: int) -> None:
    draw, mean = KINDS[kind]
    hits = 0
    for repeat in range(REPEATS):
        low, high = mean_interval(draw(np.random.default_rng([7, repeat]), n).tolist()) or (1, 0)
        hits += low <= mean <= high
    # By 200 repeats at 95 %, fewer than 92 % come in 2 of 100 cases.
    assert hits / REPEATS >= 0.92


@pytest.mark.parametrize("n", [5, 8, 12, 20, 50])
@pytest.mark.parametrize("kind", ["even", "crowded at 1", "shares", "0 or 1, four in five"])
def test_an_interval_of_a_difference_holds_it_wherever_there_is_one(kind: str, n: int) -> None:
    draw, _ = KINDS[kind]
    intervals = []
    for repeat in range(REPEATS):
        generator = np.random.default_rng([3, repeat])
        intervals.append(difference_interval((draw(generator, n) - draw(generator, n)).tolist()))
    found = [interval for interval in intervals if interval is not None]
    assert sum(low <= 0 <= high for low, high in found) / len(found) >= 0.92


def test_samples_that_share_a_group_count_as_one() -> None:
    """Ten samples of each of eight documents say as much of other documents as eight samples do."""
    hits, misses = 0, 0
    for repeat in range(REPEATS):
        scores = np.repeat(np.random.default_rng([5, repeat]).random(8), 10).tolist()
        low, high = mean_interval(scores, groups=[i // 10 for i in range(80)]) or (1, 0)
        hits += low <= 0.5 <= high
        low, high = mean_interval(scores) or (1, 0)
        misses += not low <= 0.5 <= high
    assert hits / REPEATS >= 0.92
    assert misses / REPEATS > 0.3


def test_groups_of_one_sample_change_nothing_and_one_group_has_no_interval() -> None:
    scores, changes = [0.2, 0.9, 0.4, 1.0, 0.7], [0.1, -0.2, 0.3, 0.2, 0.2, 0.3]
    assert mean_interval(scores, groups=[3, 0, 4, 1, 2]) == pytest.approx(mean_interval(scores))
    assert mean_interval(scores, groups=[1] * 5) is None
    alone = list(range(6))
    assert difference_interval(changes, alone) == pytest.approx(difference_interval(changes))
    assert paired_permutation_test(changes, alone) == paired_permutation_test(changes)
    # Three groups with a sum other than 0: 2 of 2 ** 3 choices of signs are as far from 0.
    assert paired_permutation_test([0.1] * 9, [i // 3 for i in range(9)]) == 2 / 2**3


@pytest.mark.parametrize(
    ("equal", "other"), [(0.8, 0.81), (1.0, 0.99), (0.5, 0.5001), (0.0, 0.01), (0.3, 0.3000001)]
)
def test_equal_values_have_nearly_the_interval_of_nearly_equal_ones(equal: float, other: float) -> None:
    intervals = [mean_interval([equal] * 11 + [last]) for last in (equal, other)]
    assert intervals[0] == pytest.approx(intervals[1], abs=0.01)
    differences = [difference_interval([0.1] * 11 + [last]) for last in (0.1, 0.11)]
    assert differences[0] == pytest.approx(differences[1], abs=0.01)


def test_a_difference_of_which_nothing_is_known_has_no_interval_and_a_small_one_a_narrow_one() -> None:
    assert difference_interval([0.0] * 12) is None
    low, high = difference_interval([0.0] * 11 + [0.01]) or (-1, 1)
    assert -0.01 < low < 0.01 / 12 < high < 0.01


@pytest.mark.parametrize("n", [5, 6, 7, 8, 11, 14, 20, 50])
@pytest.mark.parametrize("kind", ["even", "shares", "0 or 1, half", "0 or 1, four in five"])
def test_two_runs_that_are_equal_but_for_chance_are_seldom_told_apart(kind: str, n: int) -> None:
    draw, _ = KINDS[kind]
    alarms = 0
    for repeat in range(REPEATS):
        generator = np.random.default_rng([3, repeat])
        alarms += paired_permutation_test((draw(generator, n) - draw(generator, n)).tolist()) < 0.05
    # By 200 repeats at 5 %, more than 9 % come in 1 of 100 cases.
    assert alarms / REPEATS <= (0.055 if REPEATS >= 2000 else 0.09)


@pytest.mark.parametrize("n", range(5, 31))
def test_no_number_of_equal_differences_raises_more_than_5_false_alarms_in_100(n: int) -> None:
    """Counted over all choices of signs, by how many of them are positive."""
    alarms, ways = 0.0, 1
    for positive in range(n + 1):
        if paired_permutation_test([1.0] * positive + [-1.0] * (n - positive)) < 0.05:
            alarms += ways / 2**n
        ways = ways * (n - positive) // (positive + 1)
    assert alarms <= 0.05


def test_the_p_value_of_seven_to_one_is_mcnemars() -> None:
    # 1 + 8 of 2 ** 8 choices of signs have at most one of the other sign, on either side.
    assert paired_permutation_test([1.0] * 7 + [-1.0]) == pytest.approx(2 * 9 / 2**8)


def test_the_p_value_of_few_differences_counts_every_choice_of_signs() -> None:
    differences = [0.5, 0.0, 0.25, -0.125, 0.5]  # a difference of 0 has no sign
    sums = [0.5 * a + 0.25 * b - 0.125 * c + 0.5 * d for a, b, c, d in product((1, -1), repeat=4)]
    as_far = sum(abs(s) >= 1.125 for s in sums)
    assert paired_permutation_test(differences) == as_far / 16 == 4 / 16
    even = [0 / 5 - 1 / 5, 6 / 6 - 3 / 6, 4 / 5 - 3 / 5, 1 / 6 - 4 / 6]  # their sum is 0, but not in floats
    assert paired_permutation_test(even) == 1
    assert paired_permutation_test([0.0, 0.0]) == paired_permutation_test([]) == 1.0


def test_the_p_value_of_many_differences_is_that_of_the_normal_distribution() -> None:
    values = np.random.default_rng(1).normal(0, 1, 5000)
    values += 1.96 * values.std() / 5000**0.5 - values.mean()  # 1.96 of its standard errors from 0
    assert paired_permutation_test(values.tolist()) == pytest.approx(0.05, abs=0.01)
    # Four large ones among many tiny ones: 2 of 2 ** 4 choices have them on one side, and in half of these
    # the tiny ones carry the sum further from 0.
    dominated = [1.0] * 4 + [1e-6, -1e-6] * 5000
    assert paired_permutation_test(dominated) == pytest.approx(1 / 16, abs=0.01)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Clopper and Pearson 1934, as in the tables of Beyer 1991: 0, 9 and 10 of 10, and 3 of 5.
        ([0.0] * 10, (0.0, 0.3085)),
        ([1.0] * 9 + [0.0], (0.5550, 0.9975)),
        ([1.0] * 10, (0.6915, 1.0)),
        ([1.0] * 3 + [0.0] * 2, (0.1466, 0.9473)),
        # A share of 0.3085 that was not seen may lie at 0, or at 1.
        ([0.5] * 10, (0.5 - 0.3085 / 2, 0.5 + 0.3085 / 2)),
        ([0.0, 5e-324] * 5, (0.0, 0.3085)),  # they differ in their last bits alone
        ([0.5], None),
        ([], None),
    ],
)
def test_values_at_the_bounds_have_the_exact_interval(
    values: list[float], expected: tuple[float, float] | None
) -> None:
    assert mean_interval(values) == (expected and pytest.approx(expected, abs=1e-4))
