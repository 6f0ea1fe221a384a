"""Rates that were counted, such as a judge's share of right verdicts: exact bounds."""

from __future__ import annotations


def clopper_pearson_lower(successes: float, trials: float, level: float = 0.95) -> float:
    """Return the one-sided lower bound of a share of which `successes` of `trials` were counted.

    The share lies at or above it with at least `level` (Clopper and Pearson 1934). Neither number needs to be
    whole: rows that are not independent count as fewer.

    >>> round(clopper_pearson_lower(58, 73), 4)
    0.7014
    """
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    if successes <= 0:
        return 0.0
    return float(betaincinv(successes, trials - successes + 1, 1 - level))


def clopper_pearson_upper(successes: float, trials: float, level: float = 0.95) -> float:
    """Return the one-sided upper bound of a share of which `successes` of `trials` were counted.

    >>> clopper_pearson_upper(20, 20)
    1.0
    """
    return 1.0 - clopper_pearson_lower(trials - successes, trials, level)


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> tuple[float, float]:
    """Return the two-sided interval of a share of which `successes` of `trials` were counted.

    >>> low, high = clopper_pearson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4439, 0.9748)
    """
    one_sided = (1 + level) / 2
    low = clopper_pearson_lower(successes, trials, one_sided)
    return low, clopper_pearson_upper(successes, trials, one_sided)
