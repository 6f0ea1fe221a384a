"""Confidence intervals of means, and tests whether two runs differ. Seeded: same numbers, same results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from localeval.statistics.groups import Values, sums_by_group

FLIPS = 9999
# Numbers drawn at a time: 8 MB.
_BATCH = 1_000_000
_TAIL = 0.025
# Numbers within this are equal: they differ by rounding alone.
_EQUAL = 1e-9

# Of more differences than this the signs of the largest ones are drawn. Each of the others is then at most
# 3 % of the spread of the whole sum, so that the sum of the others may be drawn from the normal distribution.
_MAX_DRAWN_SIGNS = 1000


def mean_interval(
    values: Sequence[float],
    lowest: float = 0.0,
    highest: float = 1.0,
    groups: Sequence[int] | None = None,
) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean of `values`, which lie between `lowest` and `highest`.

    The lower end takes one more value, at `lowest`, for what was not seen, and gives all values random
    weights (Learned-Miller and Thomas 2019); it is the 2.5 % point of the weighted mean. The upper end takes
    one at `highest`. For values at the bounds alone this is Clopper and Pearson's (1934), and for equal
    values, which may lie anywhere, a share of 1 - 0.025^(1/n) may lie at either bound.

    groups  the number of each value's group; a group counts as one value, weighted by its size

    None for fewer than two values, or groups.

    >>> low, high = mean_interval([1.0] * 30)
    >>> round(low, 3), high
    (0.884, 1.0)
    """
    data = np.asarray(values, dtype=np.float64)
    sizes = np.ones(len(data))
    if groups is not None:
        sums, sizes = sums_by_group(data, groups)
        data = sums / sizes
    if len(data) < 2:
        return None
    mean = float(data @ sizes / sizes.sum())
    # The ends differ from the mean by rounding alone where all values lie at a bound.
    low = min(mean, lowest + _lower_end(data - lowest, sizes))
    high = max(mean, highest - _lower_end(highest - data, sizes))
    return low, high


def difference_interval(
    differences: Sequence[float], groups: Sequence[int] | None = None
) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean of paired differences, which lie between -1 and 1.

    It is the interval of `mean_interval`, between bounds that follow from the data: a pair that was not seen
    may differ by as much as the largest of the k differences other than 0, and by 1/k of that more (as one
    estimates a largest number from k that were drawn), in either direction.

    None where `mean_interval` has none, and where no pair differs: then nothing is known of their size.

    >>> low, high = difference_interval([0.0] * 8 + [0.5, 0.5])
    >>> round(low, 2), round(high, 2)
    (-0.16, 0.33)
    >>> difference_interval([0.0] * 10)
    """
    data = np.asarray(differences, dtype=np.float64)
    sizes = np.abs(data[np.abs(data) > _EQUAL])
    if not len(sizes):
        return None
    largest = min(1.0, float(sizes.max()) * (1 + 1 / len(sizes)))
    return mean_interval(differences, -largest, largest, groups)


def _lower_end(values: Values, sizes: Values) -> float:
    """Return the 2.5 % point of the weighted mean of `values`, which are 0 or more, and one value 0.

    The weights are Dirichlet's, all ones. The point is a Beta distribution's, from 0 to the largest
    value, with the same mean and variance: exact for values that are all 0 or the largest one.
    """
    from scipy.special import betaincinv  # type: ignore[import-untyped]

    largest = float(values.max())
    if largest <= 0:
        return 0.0
    shares = values / largest
    weights = sizes / sizes.mean()
    number = len(shares)
    mean = float(shares @ weights) / (number + 1)
    spread = float((weights * (shares - mean)) @ (weights * (shares - mean))) + mean**2
    variance = spread / ((number + 1) * (number + 2))
    # Groups of very different sizes may have more variance than a Beta distribution has.
    precision = max(1.0, mean * (1 - mean) / variance - 1)
    return largest * float(betaincinv(mean * precision, (1 - mean) * precision, _TAIL))


def paired_permutation_test(differences: Sequence[float], groups: Sequence[int] | None = None) -> float:
    """Return the two-sided p-value of "the differences lie around 0", by choosing their signs at random.

    It is the share of choices whose sum is as far from 0 as the real one, or further. It is exact for
    differences of one size, where it is McNemar's exact test (1947), and for at most 13 others than 0: every
    choice is counted. For more, 9,999 choices are drawn, and the real one counts as one of them. 1.0 if all
    are 0.

    groups  the number of each difference's group; the differences of a group change their signs together

    >>> paired_permutation_test([0.1, 0.2, 0.1, 0.3, 0.2, 0.1])  # 2 in 2 ** 6 choices
    0.03125
    """
    from scipy.special import bdtr

    data = differing(differences, groups)
    n = len(data)
    if n == 0:
        return 1.0
    sizes = np.abs(data)
    if np.ptp(sizes) < _EQUAL:
        positive = int((data > 0).sum())
        return min(1.0, 2 * float(bdtr(min(positive, n - positive), n, 0.5)))
    # Sums of the same numbers in another order differ in their last bits, hence the tolerance.
    least = abs(float(data.sum())) - _EQUAL * float(sizes.sum())
    if 2**n <= FLIPS:
        signs = 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1) - 1
        return float((np.abs(signs @ data) >= least).mean())
    as_far = int((np.abs(_drawn_sums(sizes)) >= least).sum())
    return (1 + as_far) / (1 + FLIPS)


def differing(differences: Sequence[float], groups: Sequence[int] | None = None) -> Values:
    """Return the differences other than 0, or the sums of groups; a sign changes no sum of 0."""
    data = np.asarray(differences, dtype=np.float64)
    if groups is not None:
        data, _ = sums_by_group(data, groups)
    return data[np.abs(data) > _EQUAL]


def _drawn_sums(sizes: Values) -> Values:
    """Draw the sum of the sizes with random signs, `FLIPS` times."""
    generator = np.random.default_rng(0)
    ordered = np.sort(sizes)[::-1]
    largest = ordered[:_MAX_DRAWN_SIGNS]
    rest = ordered[_MAX_DRAWN_SIGNS:]
    n = len(largest)
    batches = []
    for rows in _batch_sizes(FLIPS, n):
        bits = np.frombuffer(generator.bytes(rows * -(-n // 8)), dtype=np.uint8)
        positive = np.unpackbits(bits.reshape(rows, -1), axis=1, count=n)
        batches.append(2 * (positive @ largest) - largest.sum())
    sums = np.concatenate(batches)
    if len(rest):
        sums = sums + math.sqrt(float(rest @ rest)) * generator.standard_normal(FLIPS)
    return np.asarray(sums, dtype=np.float64)


def _batch_sizes(rows: int, width: int) -> Iterator[int]:
    largest = max(1, _BATCH // width)
    for start in range(0, rows, largest):
        yield min(largest, rows - start)
