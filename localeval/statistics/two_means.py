"""The interval of the mean of two independent means, such as the recalls of two classes."""

from __future__ import annotations

import math

Interval = tuple[float, float]


def mean_of_two_interval(a: float, interval_a: Interval, b: float, interval_b: Interval) -> Interval:
    """Return the interval of (a + b) / 2 from the two means and their intervals of the same level.

    Distances to the ends are added as squares, as Newcombe (1998) does for differences.

    >>> low, high = mean_of_two_interval(0.5, (0.2, 0.8), 0.5, (0.1, 0.9))
    >>> round(low, 6), round(high, 6)
    (0.25, 0.75)
    """
    low = math.hypot(a - interval_a[0], b - interval_b[0]) / 2
    high = math.hypot(interval_a[1] - a, interval_b[1] - b) / 2
    mean = (a + b) / 2
    return mean - low, mean + high
