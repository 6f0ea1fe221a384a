"""How far scores agree with people's labels: arithmetic on (score, label) pairs, nothing else.

Scores are any numbers where more means "rather 1"; labels are 1 (good) and 0 (bad).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

DRAWS = 2000


def auroc(scores: Sequence[float], labels: Sequence[int]) -> float:
    """The share of (1, 0) pairs in which the 1 has the higher score, a tie counted as half; 0 to 1.

    0.5 is chance. Undefined (nan) unless both labels occur. Source: Hanley and McNeil 1982.

    >>> auroc([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0])
    0.875
    """
    good, bad = _halves(scores, labels)
    return _auroc(good, bad)


def auroc_interval(
    scores: Sequence[float], labels: Sequence[int], *, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float]:
    """The middle 95 % of `auroc` over samples drawn anew, with replacement, within each label."""
    good, bad = _halves(scores, labels)
    generator = np.random.default_rng(seed)
    found = [_auroc(_again(generator, good), _again(generator, bad)) for _ in range(draws)]
    return _middle(found)


def auroc_difference(
    scores: Sequence[float],
    others: Sequence[float],
    labels: Sequence[int],
    *,
    seed: int = 0,
    draws: int = DRAWS,
) -> tuple[float, float, float]:
    """(auroc of `scores` less that of `others`, and its 95 % interval), paired: both see the same draws.

    >>> auroc_difference([0.9, 0.1], [0.1, 0.9], [1, 0])
    (1.0, 1.0, 1.0)
    """
    pairs = np.stack([np.asarray(scores, dtype=float), np.asarray(others, dtype=float)])
    chosen = np.asarray(labels) == 1
    good, bad = pairs[:, chosen], pairs[:, ~chosen]
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        i = generator.integers(good.shape[1], size=good.shape[1])
        j = generator.integers(bad.shape[1], size=bad.shape[1])
        found.append(_auroc(good[0, i], bad[0, j]) - _auroc(good[1, i], bad[1, j]))
    return _auroc(good[0], bad[0]) - _auroc(good[1], bad[1]), *_middle(found)


def mean_interval(values: Sequence[float], *, seed: int = 0, draws: int = DRAWS) -> tuple[float, float]:
    """The middle 95 % of the mean of `values` over as many values drawn anew, with replacement.

    >>> mean_interval([1.0, 1.0])
    (1.0, 1.0)
    """
    given = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    return _middle([float(_again(generator, given).mean()) for _ in range(draws)])


Values = npt.NDArray[np.float64]


def _halves(scores: Sequence[float], labels: Sequence[int]) -> tuple[Values, Values]:
    values, chosen = np.asarray(scores, dtype=np.float64), np.asarray(labels) == 1
    return values[chosen], values[~chosen]


def _auroc(good: Values, bad: Values) -> float:
    if not len(good) or not len(bad):
        return float("nan")
    gaps = good[:, None] - bad[None, :]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


def _again(generator: np.random.Generator, values: Values) -> Values:
    return generator.choice(values, len(values)) if len(values) else values


def _middle(found: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
