"""Shares of two sides that mirror each other bit for bit: what one side has is exactly 1 minus the other's.

A share is a multiple of 2^-40. Such numbers between 0 and 1 are exact, and so is 1 minus each of them; the
rounding is far below anything that a judge can tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

_GRID = 2**40


def share_from_half(distance: float) -> float:
    """Return 0.5 plus `distance`, -0.5 to 0.5, as a multiple of 2^-40.

    >>> share_from_half(0.1) == 1 - share_from_half(-0.1)
    True
    """
    # Python rounds halves to even, which is the same on both sides of 0.
    return 0.5 + round(distance * _GRID) / _GRID


def share_from_log_odds(log_odds: float) -> float:
    """Return the probability of the first of two sides by the logarithm of its odds.

    >>> share_from_log_odds(0.0), share_from_log_odds(2.0) == 1 - share_from_log_odds(-2.0)
    (0.5, True)
    """
    distance = math.tanh(abs(log_odds) / 2) / 2
    return share_from_half(math.copysign(distance, log_odds))


def mean_share(shares: Sequence[float]) -> float:
    """Return the mean of shares, at least one, as a multiple of 2^-40. Their order has no effect.

    >>> shares = [share_from_half(0.1), 0.5, 1.0]
    >>> mean_share(shares) == 1 - mean_share([1 - share for share in shares])
    True
    """
    return share_from_half(math.fsum(share - 0.5 for share in shares) / len(shares))


def mean_share_interval(
    shares: Sequence[float], groups: Sequence[int] | None = None
) -> tuple[float, float] | None:
    """Return the interval of `mean_interval`, as multiples of 2^-40; None where that has none.

    The upper end is 1 minus the lower end of the other side.

    >>> low, high = mean_share_interval([1.0, 1.0, 0.0])
    >>> mean_share_interval([0.0, 0.0, 1.0]) == (1 - high, 1 - low)
    True
    """
    # numpy is imported where an interval is computed, and not where a command starts.
    from localeval.statistics.intervals import mean_interval

    own = mean_interval(shares, groups=groups)
    others = mean_interval([1 - share for share in shares], groups=groups)
    if own is None or others is None:
        return None
    return share_from_half(own[0] - 0.5), 1 - share_from_half(others[0] - 0.5)
