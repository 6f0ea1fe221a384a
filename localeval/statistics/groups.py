"""Groups of values, such as answers to one question: numbers without gaps, sizes and sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


def numbered(groups: Sequence[int]) -> tuple[npt.NDArray[np.intp], Values]:
    """Number the groups from 0 without gaps; return the number of each value's group, and the sizes.

    >>> numbers, sizes = numbered([7, 3, 7])
    >>> numbers.tolist(), sizes.tolist()
    ([1, 0, 1], [1.0, 2.0])
    """
    _, numbers = np.unique(np.asarray(groups, dtype=np.int64), return_inverse=True)
    return numbers, np.bincount(numbers).astype(np.float64)


def sums_by_group(data: Values, groups: Sequence[int]) -> tuple[Values, Values]:
    """Return the sum and the number of values of each group.

    >>> [part.tolist() for part in sums_by_group(np.asarray([1.0, 5.0, 2.0]), [7, 3, 7])]
    [[5.0, 3.0], [1.0, 2.0]]
    """
    numbers, sizes = numbered(groups)
    return np.asarray(np.bincount(numbers, weights=data), dtype=np.float64), sizes
