"""Bounds of a judge's rates: known answers, and how often a judge below the minimum would be certified."""

import numpy as np
import numpy.typing as npt
import pytest

from localeval.statistics.certification import (
    bound_rate,
    effective_labels,
    further_labels,
    level_of_test,
)
from localeval.statistics.rates import clopper_pearson_lower

DRAWS = 10_000
SIZES = (20, 30, 50, 100, 200)


def fewest_right(labels: int, minimum: float) -> int:
    """Of how many independent labels at least so many must be right."""
    return next(k for k in range(labels + 1) if clopper_pearson_lower(k, labels) >= minimum)


@pytest.mark.parametrize(
    ("minimum", "fewest"), [(0.7, [18, 26, 41, 78, 152]), (0.8, [20, 28, 45, 87, 170])], ids=["0.7", "0.8"]
)
def test_the_fewest_right_answers_are_those_of_clopper_and_pearson(minimum: float, fewest: list[int]) -> None:
    """`scipy.stats.binomtest(k, n).proportion_ci(0.90, "exact").low` is at least the minimum from k on."""
    assert [fewest_right(size, minimum) for size in SIZES] == fewest


@pytest.mark.parametrize("minimum", [0.7, 0.8])
@pytest.mark.parametrize("size", SIZES)
def test_a_judge_below_the_minimum_is_certified_in_at_most_one_of_twenty_draws(
    size: int, minimum: float
) -> None:
    """Sensitivity just below the minimum, and specificity perfect, which is the worst case."""
    fewest = fewest_right(size, minimum)
    right = np.random.default_rng(0).binomial(size, minimum - 1e-6, DRAWS)
    assert np.mean(right >= fewest) <= 0.05


@pytest.mark.parametrize("minimum", [0.7, 0.8])
@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3, 1.0])
def test_groups_of_answers_certify_no_more_often(correlation: float, minimum: float) -> None:
    """25 groups of four answers: with a correlation of 1 a group is all right or all wrong."""
    generator = np.random.default_rng(1)
    groups, size, draws = 25, 4, 2_000
    rates = _rates_of_groups(generator, minimum - 1e-6, correlation, (draws, groups))
    right = generator.binomial(size, rates)
    certified = [bound_rate(row, [size] * groups).at_least >= minimum for row in right.tolist()]
    # Twice the standard error of 2,000 draws is 0.01.
    assert np.mean(certified) <= 0.05 + 0.01


def _rates_of_groups(
    generator: np.random.Generator, mean: float, correlation: float, shape: tuple[int, int]
) -> npt.NDArray[np.float64]:
    """Draw a rate for each group, so that two answers of a group have this correlation."""
    if correlation == 0:
        return np.full(shape, mean)
    if correlation == 1:
        return (generator.random(shape) < mean).astype(np.float64)
    total = (1 - correlation) / correlation
    return generator.beta(mean * total, (1 - mean) * total, shape)


def test_answers_that_stand_and_fall_by_group_count_as_their_groups() -> None:
    right = [5, 5, 5, 5, 5, 5, 5, 5, 0, 0]
    assert effective_labels(right, [5] * 10) == 10
    in_groups = bound_rate(right, [5] * 10)
    alone = bound_rate([1] * 8 + [0] * 2, [1] * 10)
    assert in_groups.at_least == pytest.approx(alone.at_least)


def test_one_wrong_answer_never_raises_the_bound_above_that_of_none() -> None:
    """Without a wrong answer nothing is known of how alike a group is, and each counts once."""
    none_wrong = bound_rate([5] * 10, [5] * 10).at_least
    assert none_wrong == pytest.approx(0.05 ** (1 / 10))
    assert bound_rate([5] * 9 + [4], [5] * 10).at_least <= none_wrong


def test_the_number_of_further_labels_is_the_least_that_would_do() -> None:
    """56 of 73 are right, 0.767; with 65 more, 105.9 of 138 would be."""
    rate = bound_rate([1] * 56 + [0] * 17, [1] * 73)
    assert rate.at_least == pytest.approx(0.6714, abs=1e-4)
    more = further_labels(rate, 0.7)
    assert more == 65
    share = 56 / 73
    assert clopper_pearson_lower(share * 138, 138) >= 0.7 > clopper_pearson_lower(share * 137, 137)


def test_no_number_of_labels_would_do_where_the_rate_itself_is_too_low() -> None:
    assert further_labels(bound_rate([1] * 14 + [0] * 6, [1] * 20), 0.7) is None


def test_the_second_judge_has_its_bounds_at_a_higher_level() -> None:
    assert [level_of_test(number) for number in (1, 2, 5)] == pytest.approx([0.95, 0.975, 0.99])
    right, sizes = [1] * 41 + [0] * 9, [1] * 50
    assert bound_rate(right, sizes, level_of_test(1)).at_least >= 0.7
    assert bound_rate(right, sizes, level_of_test(2)).at_least < 0.7


def test_a_class_without_a_label_has_the_bound_0() -> None:
    assert bound_rate([], []).at_least == 0
