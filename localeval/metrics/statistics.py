"""How sure a mean is, and whether two runs differ. Seeded: the same numbers give the same answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

DRAWS = 2000
FLIPS = 9999
_CELLS = 1_000_000  # numbers that are drawn at a time: 8 MB
_TAIL = 0.025
_FEWEST = 5  # values from which a bootstrap tells how far their mean may be off
_ALIKE = 1e-9  # closer values are equal: of their differences no skew can be told
_NORMAL = NormalDist()
_STUDENT = (12.706, 4.303, 3.182)  # for 1 to 3 degrees of freedom, where the expansion is too coarse


def bootstrap_ci(
    values: Sequence[float], lowest: float = 0.0, highest: float = 1.0
) -> tuple[float, float] | None:
    """Give the 95 % interval of the mean of `values`, which lie between `lowest` and `highest`.

    None below two values; below five Student's t, cut at the bounds. Else a bootstrap, corrected for bias and
    skew (BCa, Efron 1987) and for few values as Student's t is (Hesterberg 2015). Where all values are equal,
    1 - 0.025^(1/n) of what was not seen may lie at either end: for 0 and 1 Clopper and Pearson (1934).

    >>> low, high = bootstrap_ci([1.0] * 30)
    >>> round(low, 3), high
    (0.884, 1.0)
    """
    given = np.asarray(values, dtype=np.float64)
    n = len(given)
    if n < 2:
        return None
    mean = float(given.mean())
    if np.ptp(given) < _ALIKE:
        unseen = 1 - _TAIL ** (1 / n)
        return mean - unseen * max(0.0, mean - lowest), mean + unseen * max(0.0, highest - mean)
    if n < _FEWEST:
        margin = _student(n - 1) * float(given.std(ddof=1)) / n**0.5
        return max(lowest, mean - margin), min(highest, mean + margin)
    generator = np.random.default_rng(0)
    means = np.concatenate(
        [
            given[generator.integers(n, size=(rows, n), dtype=np.uint32)].mean(axis=1)
            for rows in _portions(DRAWS, n)
        ]
    )
    below = float((means < mean).mean() + (means == mean).mean() / 2)
    bias = _NORMAL.inv_cdf(min(max(below, 1 / DRAWS), 1 - 1 / DRAWS))
    apart = given - mean
    skew = float((apart**3).sum() / (6 * (apart**2).sum() ** 1.5))
    reach = _student(n - 1) * (n / (n - 1)) ** 0.5
    low, high = np.quantile(means, [_corrected(bias, skew, z) for z in (-reach, reach)])
    return float(low), float(high)


def paired_permutation_test(differences: Sequence[float]) -> float:
    """Give the two-sided p-value of "the differences lie around 0", by drawing their signs anew.

    It is the share of draws whose sum lies further from 0, and half of those as far, the real one among them:
    the mid-p value (Lancaster 1961), as many signs of scores that are 0 or 1 give one sum. With at most 13
    differences other than 0 every choice of signs is counted. 1.0 where there is none.

    >>> paired_permutation_test([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])  # half of 2 in 2 ** 6 choices
    0.015625
    """
    given = np.asarray(differences, dtype=np.float64)
    given = given[given != 0]  # a sign changes nothing about 0
    n = len(given)
    if n == 0:
        return 1.0
    if exact := 2**n <= FLIPS:
        sums = given @ (2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1).T - 1)
    else:
        generator, parts = np.random.default_rng(0), []
        for rows in _portions(FLIPS, n):
            bits = np.frombuffer(generator.bytes(rows * -(-n // 8)), dtype=np.uint8)
            positive = np.unpackbits(bits.reshape(rows, -1), axis=1, count=n)
            parts.append(2 * (positive @ given) - given.sum())
        sums = np.concatenate(parts)
    # Those further from 0, and half of those as far; sums of the same numbers differ in their last bits.
    far, sums, slack = abs(float(given.sum())), abs(sums), 1e-9 * float(abs(given).sum())
    further = float((sums >= far - slack).sum() + (sums > far + slack).sum()) / 2
    return further / 2**n if exact else (0.5 + further) / (1 + FLIPS)


def _portions(rows: int, width: int) -> Iterator[int]:
    most = max(1, _CELLS // width)
    for start in range(0, rows, most):
        yield min(most, rows - start)


def _corrected(bias: float, skew: float, z: float) -> float:
    """Give the share of the drawn means below the end at `z` normal deviations."""
    shifted = bias + z
    below = 1 - skew * shifted
    if below <= 0:  # so skewed that the end lies beyond every draw
        return 0.0 if z < 0 else 1.0
    return _NORMAL.cdf(bias + shifted / below)


def _student(freedom: int) -> float:
    """Give the 97.5 % point of Student's t, to 0.01 (Abramowitz and Stegun 1964, 26.7.5).

    >>> round(_student(29), 3)
    2.045
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z, d = _NORMAL.inv_cdf(1 - _TAIL), freedom
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * d**2)
    return z + (z**3 + z) / (4 * d) + second + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * d**3)
