"""Exact bounds of rates, and shares corrected for a judge that errs, against published figures."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest  # type: ignore[import-untyped]

from localeval.statistics.rates import clopper_pearson, clopper_pearson_lower, clopper_pearson_upper


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 5), (5, 5), (58, 73), (152, 200)])
def test_the_one_sided_bounds_are_those_of_scipy_s_exact_binomial_test(successes: int, trials: int) -> None:
    # A two-sided interval of 90 % has 5 % at either side.
    exact = binomtest(successes, trials).proportion_ci(0.90, "exact")
    assert clopper_pearson_lower(successes, trials) == pytest.approx(exact.low, abs=1e-9)
    assert clopper_pearson_upper(successes, trials) == pytest.approx(exact.high, abs=1e-9)


@pytest.mark.parametrize(("successes", "trials"), [(0, 5), (3, 5), (5, 5), (58, 73)])
def test_the_two_sided_interval_is_that_of_scipy_s_exact_binomial_test(successes: int, trials: int) -> None:
    exact = binomtest(successes, trials).proportion_ci(0.95, "exact")
    assert clopper_pearson(successes, trials) == pytest.approx((exact.low, exact.high), abs=1e-9)


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
