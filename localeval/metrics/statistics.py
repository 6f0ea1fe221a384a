"""Confidence intervals of means, and tests whether two runs differ. Seeded: same numbers, same results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

DRAWS = 2000
FLIPS = 9999
_BATCH = 1_000_000  # numbers drawn at a time: 8 MB
_TAIL = 0.025
_MIN_BOOTSTRAP = 5  # fewer values are too few for a bootstrap
_EQUAL = 1e-9  # values within this are equal: their differences have no meaningful skew
_NORMAL = NormalDist()
_STUDENT_T = (12.706, 4.303, 3.182)  # for 1 to 3 degrees of freedom, where the expansion is too coarse


def bootstrap_ci(
    values: Sequence[float], lowest: float = 0.0, highest: float = 1.0
) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean of `values`, which lie between `lowest` and `highest`.

    None for fewer than two values; for fewer than five Student's t, cut at the bounds. Else a bootstrap,
    corrected for bias and skew (BCa, Efron 1987), and for few values as Student's t is (Hesterberg 2015). If
    all are equal, a share of 1 - 0.025^(1/n) may lie at either bound: at 0 and 1 Clopper and Pearson (1934).

    >>> low, high = bootstrap_ci([1.0] * 30)
    >>> round(low, 3), high
    (0.884, 1.0)
    """
    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    if n < 2:
        return None
    mean = float(data.mean())
    if np.ptp(data) < _EQUAL:
        unseen = 1 - _TAIL ** (1 / n)
        return mean - unseen * max(0.0, mean - lowest), mean + unseen * max(0.0, highest - mean)
    if n < _MIN_BOOTSTRAP:
        margin = _student_t(n - 1) * float(data.std(ddof=1)) / n**0.5
        return max(lowest, mean - margin), min(highest, mean + margin)
    generator = np.random.default_rng(0)
    means = np.concatenate(
        [
            data[generator.integers(n, size=(rows, n), dtype=np.uint32)].mean(axis=1)
            for rows in _batch_sizes(DRAWS, n)
        ]
    )
    below = float((means < mean).mean() + (means == mean).mean() / 2)
    bias = _NORMAL.inv_cdf(below)
    deviations = data - mean
    skew = float((deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5))
    width = _student_t(n - 1) * (n / (n - 1)) ** 0.5
    low, high = np.quantile(means, [_corrected_level(bias, skew, z) for z in (-width, width)])
    return float(low), float(high)


def paired_permutation_test(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of "the differences lie around 0", by drawing their signs at random.

    It is the share of draws whose sum is further from 0, plus half of those as far, the real one included:
    the mid-p value (Lancaster 1961), since for scores of 0 or 1 many draws have the same sum. With at most 13
    differences other than 0 every choice of signs is counted. 1.0 if all are 0.

    >>> paired_permutation_test([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])  # half of 2 in 2 ** 6 choices
    0.015625
    """
    data = np.asarray(differences, dtype=np.float64)
    data = data[data != 0]  # the sign of 0 changes no sum
    n = len(data)
    if n == 0:
        return 1.0
    if exact := 2**n <= FLIPS:
        sums = data @ (2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1).T - 1)
    else:
        generator, batches = np.random.default_rng(0), []
        for rows in _batch_sizes(FLIPS, n):
            bits = np.frombuffer(generator.bytes(rows * -(-n // 8)), dtype=np.uint8)
            positive = np.unpackbits(bits.reshape(rows, -1), axis=1, count=n)
            batches.append(2 * (positive @ data) - data.sum())
        sums = np.concatenate(batches)
    # Sums of the same numbers in another order differ in their last bits, hence the tolerance.
    observed, sums, tolerance = abs(float(data.sum())), abs(sums), 1e-9 * float(abs(data).sum())
    extreme = float((sums >= observed - tolerance).sum() + (sums > observed + tolerance).sum()) / 2
    return extreme / 2**n if exact else (0.5 + extreme) / (1 + FLIPS)


def _batch_sizes(rows: int, width: int) -> Iterator[int]:
    largest = max(1, _BATCH // width)
    for start in range(0, rows, largest):
        yield min(largest, rows - start)


def _corrected_level(bias: float, skew: float, z: float) -> float:
    """Return the level of the quantile of drawn means that is the interval's end at `z` normal deviations."""
    shifted = bias + z
    return _NORMAL.cdf(bias + shifted / (1 - skew * shifted))  # |skew| < 1/6, |shifted| < 4


def _student_t(freedom: int) -> float:
    """Return the 97.5 % point of Student's t, to 0.01 (Abramowitz and Stegun 1964, 26.7.5).

    >>> round(_student_t(4), 2), round(_student_t(29), 3)
    (2.77, 2.045)
    """
    if freedom <= len(_STUDENT_T):
        return _STUDENT_T[freedom - 1]
    z, d = _NORMAL.inv_cdf(1 - _TAIL), freedom
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * d**2)
    return z + (z**3 + z) / (4 * d) + second + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * d**3)
