"""Certification of a judge: lower bounds of its sensitivity and specificity, and how many labels they need.

Both bounds are one-sided, at 95 %, and both must reach the minimum. A judge one of whose true rates is below
the minimum is then certified with a probability of 5 % at most, without a correction for two bounds (an
intersection-union test, Berger 1982).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localeval.statistics.rates import clopper_pearson_lower

LEVEL = 0.95
# The design effect of groups is estimated, so its upper end at this level counts.
_DESIGN_LEVEL = 0.9


@dataclass(frozen=True)
class BoundedRate:
    """A counted rate and its lower bound.

    right      number of labels that the judge's decision agrees with
    labels     number of labels, all of one value
    effective  how many independent labels they are worth; fewer where several are of one group
    groups     how many groups of equal size they are worth; `labels` where each is a group of its own
    at_least   the one-sided lower bound of the rate, 0 to 1; 0 without a label
    """

    right: int
    labels: int
    effective: float
    groups: float
    at_least: float

    @property
    def rate(self) -> float:
        """The share of right decisions; 0 without a label."""
        return self.right / self.labels if self.labels else 0.0


def level_of_test(number: int) -> float:
    """Return the level of the bounds of the `number`-th judge, from 1 on, that is tried on the same labels.

    >>> level_of_test(1), level_of_test(2)
    (0.95, 0.975)
    """
    return 1 - (1 - LEVEL) / number


def bound_rate(right: Sequence[int], sizes: Sequence[int], level: float = LEVEL) -> BoundedRate:
    """Count a rate, and bound it from below (Clopper and Pearson 1934).

    right  number of right decisions in each group
    sizes  number of labels in each group

    Groups of one label each give the exact bound. Else it is the bound of as many independent labels as
    `effective_labels` says, and at most what as many groups could show if all of them were right.

    >>> round(bound_rate([1] * 58 + [0] * 15, [1] * 73).at_least, 3)
    0.701
    >>> round(bound_rate([5] * 11 + [0] * 3 + [3], [5] * 14 + [3]).at_least, 3)
    0.553
    """
    labels = sum(sizes)
    if not labels:
        return BoundedRate(0, 0, 0.0, 0.0, 0.0)
    groups = _effective_groups(sizes)
    effective = effective_labels(right, sizes)
    share = sum(right) / labels
    bound = clopper_pearson_lower(share * effective, effective, level)
    all_groups_right = (1 - level) ** (1 / groups)
    return BoundedRate(sum(right), labels, effective, groups, min(bound, all_groups_right))


def effective_labels(right: Sequence[int], sizes: Sequence[int]) -> float:
    """Return how many independent labels these groups are worth: from the number of groups to that of labels.

    It is labels / design effect (Kish 1965): the variance of the rate with groups as units, over the variance
    of as many independent labels. The upper end of the estimate counts, by a chi-square distribution with one
    degree of freedom fewer than groups. Where all decisions agree there is no estimate: a group counts once.

    >>> effective_labels([1, 0, 1], [1, 1, 1])
    3.0
    >>> effective_labels([5, 5, 5], [5, 5, 5])
    3.0
    >>> round(effective_labels([3, 4, 3, 4, 4, 3, 4, 3, 4, 4], [5] * 10), 1)
    50.0
    """
    from scipy.special import chdtri  # type: ignore[import-untyped]

    labels = sum(sizes)
    groups = _effective_groups(sizes)
    share = sum(right) / labels
    if groups == labels:
        return float(labels)
    if share in (0, 1) or groups <= 1:
        return groups
    residuals = np.asarray(right) - share * np.asarray(sizes)
    number = len(sizes)
    variance = number / (number - 1) * float(residuals @ residuals) / labels**2
    design_effect = variance / (share * (1 - share) / labels)
    freedom = groups - 1
    upper = design_effect * freedom / float(chdtri(freedom, _DESIGN_LEVEL))
    return float(min(max(labels / max(upper, 1.0), groups), labels))


def _effective_groups(sizes: Sequence[int]) -> float:
    """Return how many groups of equal size these are worth (Kish 1965)."""
    return sum(sizes) ** 2 / sum(size * size for size in sizes)


def further_labels(rate: BoundedRate, minimum: float, level: float = LEVEL) -> int | None:
    """Return how many more labels would lift the bound to the minimum, if the rate and the groups stay alike.

    None where no number would: the rate itself is not above the minimum; 0 where the bound is there.

    >>> further_labels(bound_rate([1] * 56 + [0] * 17, [1] * 73), 0.7)
    65
    >>> further_labels(bound_rate([1] * 50 + [0] * 23, [1] * 73), 0.7) is None
    True
    """
    if rate.rate <= minimum:
        return None

    def reaches(effective: float) -> bool:
        return clopper_pearson_lower(rate.rate * effective, effective, level) >= minimum

    low = 0.0
    high = max(rate.effective, 1.0)
    while not reaches(high):
        low = high
        high *= 2
    while high - low > 0.01:
        middle = (low + high) / 2
        if reaches(middle):
            high = middle
        else:
            low = middle
    if reaches(rate.effective):
        high = min(high, rate.effective)
    groups_needed = math.log(1 - level) / math.log(minimum)
    growth = max(high / rate.effective, groups_needed / rate.groups)
    return max(0, math.ceil(round(rate.labels * (growth - 1), 6)))
