"""How sure a mean is: its interval, and whether two runs differ, by drawing the samples anew.

Pure arithmetic, seeded: the same numbers give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

DRAWS = 2000
FLIPS = 9999
_CELLS = 1_000_000  # numbers that are drawn at a time: 8 MB
_TAIL = 0.025
_FEWEST = 5  # values from which drawing them anew tells how far their mean may be off
_ALIKE = 1e-9  # closer values are equal: of their differences no skew can be told
_NORMAL = NormalDist()
_STUDENT = (12.706, 4.303, 3.182)  # for 1 to 3 degrees of freedom, where the expansion is too coarse


def mean_interval(
    values: Sequence[float], lowest: float = 0.0, highest: float = 1.0, *, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float] | None:
    """The 95 % interval of the mean of `values`, which lie between `lowest` and `highest`.

    None below two values; below five, which say too little of their own spread, Student's t as far as the
    bounds go. Else a bootstrap over the values: as many are drawn anew, with replacement, `draws` times; the
    ends are corrected for bias and skew (BCa, Efron 1987), because scores crowd at 1, and for few
    values as Student's t is (Hesterberg 2015). Where all values are equal, drawing tells nothing: then up
    to 1 - 0.025^(1/n) of what was not seen may lie at either end, which for 0 and 1 is the interval of
    Clopper and Pearson (1934).

    >>> low, high = mean_interval([1.0] * 30)
    >>> round(low, 3), high
    (0.884, 1.0)
    """
    given = np.asarray(values, dtype=np.float64)
    n = len(given)
    if n < 2:
        return None
    mean = float(given.mean())
    apart = given - mean
    if np.ptp(given) < _ALIKE:
        unseen = 1 - _TAIL ** (1 / n)
        return mean - unseen * max(0.0, mean - lowest), mean + unseen * max(0.0, highest - mean)
    if n < _FEWEST:
        beside = _student(n - 1) * float(given.std(ddof=1)) / n**0.5
        return max(lowest, mean - beside), min(highest, mean + beside)
    means = np.concatenate([drawn.mean(axis=1) for drawn in _drawn(given, draws, seed)])
    below = float((means < mean).mean() + (means == mean).mean() / 2)
    bias = _NORMAL.inv_cdf(min(max(below, 1 / draws), 1 - 1 / draws))
    skew = float((apart**3).sum() / (6 * (apart**2).sum() ** 1.5))
    reach = _student(n - 1) * (n / (n - 1)) ** 0.5
    low, high = (_corrected(bias, skew, z) for z in (-reach, reach))
    found = np.quantile(means, [low, high])
    return float(found[0]), float(found[1])


def sign_flip(differences: Sequence[float], *, seed: int = 0, flips: int = FLIPS) -> float:
    """The p-value of "the differences lie around 0": a paired permutation test, two-sided.

    If two runs differ by chance alone, each difference could as well have the other sign. `flips` times the
    signs are drawn anew; the answer is the share of these whose sum lies further from 0, and half of the
    share that lies as far, the real one counted among them. The half (the mid-p value, Lancaster 1961) is
    for scores that are 0 or 1: there many choices of signs give the same sum, and all of these together
    would be too careful. With at most 13 differences other than 0, every choice of signs is counted instead.
    1.0 where there is none.

    >>> sign_flip([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])  # half of 2 in 2 ** 6 choices
    0.015625
    """
    given = np.asarray(differences, dtype=np.float64)
    given = given[given != 0]  # a sign changes nothing about 0
    n = len(given)
    if n == 0:
        return 1.0
    far = abs(float(given.sum()))
    if 2**n <= flips:
        choices = np.arange(2**n)[:, None] >> np.arange(n) & 1
        return _mid_p([given @ (2.0 * choices.T - 1)], far) / len(choices)
    return (0.5 + _mid_p(_flipped(given, flips, seed), far)) / (1 + flips)


def _mid_p(sums: Iterable[Values], far: float) -> float:
    """How many of the sums lie further from 0, and half of those that lie as far."""
    low, high = far * (1 - 1e-9), far * (1 + 1e-9)  # sums of the same numbers differ in their last bits
    return sum(int((abs(some) >= low).sum()) + int((abs(some) > high).sum()) for some in sums) / 2


def _drawn(values: Values, draws: int, seed: int) -> Iterator[Values]:
    """`draws` rows of as many of `values`, drawn with replacement; some rows at a time."""
    generator = np.random.default_rng(seed)
    for rows in _portions(draws, len(values)):
        yield values[generator.integers(len(values), size=(rows, len(values)), dtype=np.uint32)]


def _flipped(values: Values, flips: int, seed: int) -> Iterator[Values]:
    """`flips` sums of the values with signs drawn anew; some at a time."""
    generator = np.random.default_rng(seed)
    for rows in _portions(flips, len(values)):
        bits = np.frombuffer(generator.bytes(rows * -(-len(values) // 8)), dtype=np.uint8)
        positive = np.unpackbits(bits.reshape(rows, -1), axis=1, count=len(values))
        yield 2 * (positive @ values) - values.sum()


def _portions(rows: int, width: int) -> Iterator[int]:
    most = max(1, _CELLS // width)
    for start in range(0, rows, most):
        yield min(most, rows - start)


def _corrected(bias: float, skew: float, z: float) -> float:
    """Which share of the drawn means lies below the end at `z` normal deviations."""
    shifted = bias + z
    below = 1 - skew * shifted
    if below <= 0:  # so skewed that the end lies beyond every draw
        return 0.0 if z < 0 else 1.0
    return _NORMAL.cdf(bias + shifted / below)


def _student(freedom: int) -> float:
    """The 97.5 % point of Student's t, to 0.01 (Abramowitz and Stegun 1964, 26.7.5).

    >>> round(_student(29), 3)
    2.045
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = _NORMAL.inv_cdf(1 - _TAIL)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
