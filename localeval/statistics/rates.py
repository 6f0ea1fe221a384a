"""Rates that were counted, such as a judge's share of right verdicts, and shares that are corrected by them.

Exact bounds (Clopper and Pearson), and the correction of Rogan and Gladen with an interval from the posterior
distributions under Jeffreys' priors. Seeded: same numbers, same results. How often the intervals hold the
true share: scripts/coverage.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from localeval.statistics.groups import Values, numbered

DRAWS = 20_000
# Of the draws, beyond either end of an interval.
TAIL = 0.025
MAX_ERROR = 0.08
"""Standard error above which a share is too uncertain to be corrected by a judge's rates."""


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


@dataclass(frozen=True)
class JudgeCounts:
    """How often a judge was right on labelled samples. Samples that are not independent count as fewer.

    right_of_good  number of the `good` (labelled 1) that the judge called right: sensitivity
    right_of_bad   number of the `bad` (labelled 0) that the judge called wrong: specificity
    """

    right_of_good: float
    good: float
    right_of_bad: float
    bad: float


@dataclass(frozen=True)
class CorrectedShare:
    """A share that was corrected for a judge's errors.

    value      Rogan and Gladen's estimate, clipped to 0 and 1; None where it is not correctable
    interval   95 % interval; (0, 1) where the judge may be no better than chance
    error      standard error of the estimate before it is clipped; None where sensitivity + specificity are
               at most 1
    draws      of the share's posterior distribution
    reason     why there is no value, in words; "" where there is one
    """

    value: float | None
    interval: tuple[float, float]
    error: float | None
    draws: Values
    reason: str = ""


def rogan_gladen(judged: float, sensitivity: float, specificity: float) -> float | None:
    """Return the true share of which a judge with these rates calls the share `judged` right, unclipped.

    (judged + specificity - 1) / (sensitivity + specificity - 1) (Rogan and Gladen 1978). None for a judge
    that is no better than chance.

    >>> round(rogan_gladen(23 / 150, 0.96, 0.89), 3)
    0.051
    """
    gain = sensitivity + specificity - 1
    if gain <= 0:
        return None
    return (judged + specificity - 1) / gain


def rogan_gladen_error(judged_right: float, judged: float, counts: JudgeCounts) -> float | None:
    """Return the standard error of the unclipped estimate, by the delta method; None where there is none.

    Rates are means under Jeffreys' prior, so that a judge without an error among a few labels has some.
    """
    share = _jeffreys_mean(judged_right, judged)
    sensitivity = _jeffreys_mean(counts.right_of_good, counts.good)
    specificity = _jeffreys_mean(counts.right_of_bad, counts.bad)
    estimate = rogan_gladen(share, sensitivity, specificity)
    if estimate is None or not (counts.good and counts.bad):
        return None
    variance = (
        share * (1 - share) / judged
        + estimate**2 * sensitivity * (1 - sensitivity) / counts.good
        + (1 - estimate) ** 2 * specificity * (1 - specificity) / counts.bad
    )
    return math.sqrt(variance) / (sensitivity + specificity - 1)


def corrected_share(judged_right: float, judged: float, counts: JudgeCounts) -> CorrectedShare:
    """Correct the share of a run's samples that a judge calls right, by its counts on labelled samples.

    They are others than the run's. It assumes that the judge errs on the run as often as on them. The
    interval has the 2.5 % and the 97.5 % point of the posterior distribution under Jeffreys' priors.
    Correctable is what has a standard error of at most 0.08: the clipped estimate is then biased by less
    than 0.01.

    >>> corrected = corrected_share(320, 400, JudgeCounts(78, 80, 30, 40))
    >>> round(corrected.value, 4), round(corrected.error, 3)
    (0.7586, 0.042)
    """
    share = jeffreys_draws(judged_right, judged, seed=0)
    sensitivity = jeffreys_draws(counts.right_of_good, counts.good, seed=1)
    specificity = jeffreys_draws(counts.right_of_bad, counts.bad, seed=2)
    gain = sensitivity + specificity - 1
    is_better = gain > 0
    draws = np.clip((share + specificity - 1)[is_better] / gain[is_better], 0, 1)
    error = rogan_gladen_error(judged_right, judged, counts)
    point = None
    if error is not None:
        point = rogan_gladen(
            judged_right / judged, counts.right_of_good / counts.good, counts.right_of_bad / counts.bad
        )
    if point is None or error is None or float(np.mean(~is_better)) > TAIL:
        reason = "the judge may be no better than chance on the labelled samples"
        return CorrectedShare(None, (0.0, 1.0), error, draws, reason)
    interval = tail_points(draws)
    if error > MAX_ERROR:
        reason = f"too uncertain to correct: standard error {error:.2f}, above {MAX_ERROR}"
        return CorrectedShare(None, interval, error, draws, reason)
    return CorrectedShare(min(max(point, 0.0), 1.0), interval, error, draws)


def _jeffreys_mean(successes: float, trials: float) -> float:
    return (successes + 0.5) / (trials + 1)


@lru_cache(maxsize=256)
def jeffreys_draws(successes: float, trials: float, seed: int) -> Values:
    """Draw a share from its posterior distribution under Jeffreys' prior, `DRAWS` times; not to be changed.

    seed  another one for each share of an estimate, as these are independent
    """
    generator = np.random.default_rng(seed)
    draws = generator.beta(successes + 0.5, trials - successes + 0.5, DRAWS)
    draws.setflags(write=False)
    return draws


def tail_points(draws: Values) -> tuple[float, float]:
    """Return the 2.5 % and the 97.5 % point of some draws."""
    low, high = np.quantile(draws, (TAIL, 1 - TAIL))
    return float(low), float(high)


def correlation_within(values: Sequence[float], groups: Sequence[int]) -> float:
    """Return how alike the values of a group are, 0 to 1, by an analysis of variance (Donner 1986).

    0 where all groups have one value, and where there is one group alone.

    >>> correlation_within([1.0, 1.0, 0.0, 0.0], [0, 0, 1, 1])
    1.0
    """
    data = np.asarray(values, dtype=np.float64)
    numbers, sizes = numbered(groups)
    samples = len(data)
    number_of_groups = len(sizes)
    if number_of_groups < 2 or number_of_groups == samples:
        return 0.0
    means = np.bincount(numbers, weights=data) / sizes
    between = float(sizes @ (means - data.mean()) ** 2) / (number_of_groups - 1)
    within = float(((data - means[numbers]) ** 2).sum()) / (samples - number_of_groups)
    typical_size = (samples - float(sizes @ sizes) / samples) / (number_of_groups - 1)
    spread = between + (typical_size - 1) * within
    return max(0.0, (between - within) / spread) if spread > 0 else 0.0


def design_effect_by_correlation(groups: Sequence[int], correlation: float) -> float:
    """Return how many samples count as one, by the sizes of their groups: 1 or more.

    groups       the number of each sample's group
    correlation  how alike the values of a group are, 0 to 1 (`correlation_within`)

    1 + (mean size of a sample's group - 1) x correlation (Kish 1965). All groups have the one correlation,
    which may come from other samples. `power.design_effect_by_variance` needs the values themselves.

    >>> design_effect_by_correlation([0, 0, 1, 1], 0.5)
    1.5
    >>> design_effect_by_correlation([0, 1, 2], 0.5)
    1.0
    """
    _, sizes = numbered(groups)
    # The mean size of a sample's group.
    mean_size = float(sizes @ sizes) / float(sizes.sum())
    return 1 + (mean_size - 1) * correlation
