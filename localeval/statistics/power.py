"""How many samples show a change, and what a comparison could have seen. Two-sided tests at p < 0.05."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from localeval.statistics.groups import Values, sums_by_group

LEVEL = 0.05
POWER = 0.8
# Points of the normal distribution: 0.975, for the level, and 0.8, for the power.
_Z_LEVEL = 1.959964
_Z_POWER = 0.841621
DETECTABLE = _Z_LEVEL + _Z_POWER
"""The smallest difference that is shown with 80 % power, in standard errors of the mean difference."""

# Of more pairs than this the exact test and the normal distribution need the same number, within 1 %.
_MAX_EXACT = 20_000
# Values within this are equal: they differ by rounding alone.
_EQUAL = 1e-9


def needed_pairs(deviation: float, difference: float) -> int:
    """Return how many pairs show a mean difference with 80 % power.

    deviation   standard deviation of the paired differences
    difference  the true mean difference, above 0

    The last term of the sum stands for Student's t in place of the normal distribution (Guenther 1981).

    >>> needed_pairs(0.3, 0.05), needed_pairs(0.4, 0.05), needed_pairs(0.5, 0.05)
    (285, 505, 787)
    """
    return math.ceil((DETECTABLE * deviation / difference) ** 2 + _Z_LEVEL**2 / 2)


def needed_flips(flips: float, difference: float) -> int:
    """Return how many pairs of scores of 0 and 1 show a mean difference with 80 % power.

    flips       share of the pairs that differ, at least `difference`
    difference  the true mean difference, above 0

    McNemar's exact test (1947), which is what the paired test is for such scores, needs more pairs than
    `needed_pairs` says, as it can reach only few values of p.

    >>> needed_flips(0.05, 0.05), needed_flips(0.2, 0.1)
    (157, 168)
    """
    estimate = needed_pairs(math.sqrt(flips - difference**2), difference)
    if estimate > _MAX_EXACT:
        return estimate
    low = 1
    high = 2 * estimate + 20
    shown = _power_by_differing(high, flips, difference)
    while low < high:
        middle = (low + high) // 2
        if _power_of_flips(middle, flips, shown) >= POWER:
            high = middle
        else:
            low = middle + 1
    return low


def _power_by_differing(most: int, flips: float, difference: float) -> Values:
    """Return the power of McNemar's exact test for 0, 1, ... `most` pairs that differ."""
    from scipy.special import bdtr  # type: ignore[import-untyped]
    from scipy.stats import binom  # type: ignore[import-untyped]

    differing = np.arange(most + 1)
    # Of so many or fewer in one direction p is below the level; `ppf` gives the first count that reaches it.
    critical = binom.ppf(LEVEL / 2, differing, 0.5)
    p_value = 2 * binom.cdf(critical, differing, 0.5)
    critical = np.where(p_value < LEVEL, critical, critical - 1)
    can_show = critical >= 0
    critical = np.maximum(critical, 0)
    in_direction = (flips + difference) / (2 * flips)
    power = bdtr(critical, differing, in_direction) + bdtr(critical, differing, 1 - in_direction)
    return np.asarray(np.where(can_show, power, 0.0), dtype=np.float64)


def _power_of_flips(pairs: int, flips: float, power_by_differing: Values) -> float:
    from scipy.stats import binom

    weights = binom.pmf(np.arange(pairs + 1), pairs, flips)
    return float(weights @ power_by_differing[: pairs + 1])


def paired_deviation(deviation: float, correlation: float) -> float:
    """Return the standard deviation of paired differences of two runs whose scores have this one each.

    >>> round(paired_deviation(0.4, 0.5), 3), round(paired_deviation(0.4, 0.8), 3)
    (0.4, 0.253)
    """
    return deviation * math.sqrt(2 * (1 - correlation))


def deviation_of(values: Sequence[float]) -> float:
    """Return the sample standard deviation of two values or more."""
    return float(np.std(np.asarray(values, dtype=np.float64), ddof=1))


def are_zero_or_one(values: Sequence[float]) -> bool:
    """Return whether each of the values is 0, 1 or -1."""
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    return bool(np.all((sizes < _EQUAL) | (np.abs(sizes - 1) < _EQUAL)))


def standard_error(values: Sequence[float], groups: Sequence[int] | None = None) -> float | None:
    """Return the standard error of the mean of `values`; with groups, of groups that were drawn whole.

    groups  the number of each value's group

    None for fewer than two values, or groups.

    >>> standard_error([0.0, 1.0, 0.0, 1.0]), standard_error([0.0, 0.0, 1.0, 1.0], groups=[0, 0, 1, 1])
    (0.28867513459481287, 0.5)
    """
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        return None
    sums = data - data.mean()
    if groups is not None:
        sums, _ = sums_by_group(sums, groups)
    units = len(sums)
    if units < 2:
        return None
    return math.sqrt(units / (units - 1) * float(sums @ sums)) / len(data)


def design_effect_by_variance(values: Sequence[float], groups: Sequence[int]) -> float:
    """Return by what factor groups raise the variance of the mean of `values`, at least 1.

    groups  the number of each value's group

    It is the variance of the mean of groups drawn whole, divided by that of values drawn one by one: what a
    design effect is by definition (Kish 1965). So many times as many values are needed as if each were a
    group of its own. 1 where it is not defined: for fewer than two groups, and for equal values.
    `rates.design_effect_by_correlation` estimates it for groups whose values are not known.

    >>> round(design_effect_by_variance([0.0, 0.0, 1.0, 1.0], groups=[0, 0, 1, 1]), 9)
    3.0
    """
    alone = standard_error(values)
    clustered = standard_error(values, groups)
    if not alone or clustered is None:
        return 1.0
    return max(1.0, (clustered / alone) ** 2)


def detectable_difference(differences: Sequence[float], groups: Sequence[int] | None = None) -> float | None:
    """Return the smallest mean difference that pairs such as these show with 80 % power.

    None where nothing is known of their spread (fewer than two pairs or groups, or none that differs), and
    where not even a difference of 1 would be shown.

    >>> round(detectable_difference([0.1, -0.1] * 8), 3)
    0.072
    """
    error = standard_error(differences, groups)
    if not error:
        return None
    smallest = DETECTABLE * error
    return smallest if smallest <= 1 else None
