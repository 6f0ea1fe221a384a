"""Means of a run that are corrected by labels of some of its samples, drawn at random. Seeded.

For labels 0 and 1: post-stratification by the judge's scores, with an interval from the posterior
distributions under Jeffreys' priors. For graded labels: PPI++ (Angelopoulos, Duchi and Zrnic 2023), with
an interval for what lies between bounds. How often the intervals hold the true mean: scripts/coverage.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localeval.statistics.groups import Values
from localeval.statistics.intervals import mean_interval
from localeval.statistics.rates import jeffreys_draws, tail_points

# A stratum has at least this share of the run.
_MIN_STRATUM = 0.1
# In standard errors: the end of a 95 % interval of the normal distribution.
_NORMAL_END = 1.959964


@dataclass(frozen=True)
class CorrectedMean:
    """A mean that was corrected by labels.

    interval          its 95 % interval
    labels            number of the labels
    effective_labels  number of labels that would be as precise alone, without a judge
    """

    value: float
    interval: tuple[float, float]
    labels: int
    effective_labels: float


def cut_score(run_scores: Sequence[float], share_wrong: float) -> float:
    """Return the score that cuts a run into two strata: as large a share of it is below as people call wrong.

    At least a tenth of the run is on either side. Equal scores are never cut apart. A judge that is too
    strict or too lenient does not move the cut.

    >>> cut_score([0.1, 0.2, 0.6, 0.7, 0.8], share_wrong=0.5)
    0.6
    """
    share = min(max(share_wrong, _MIN_STRATUM), 1 - _MIN_STRATUM)
    scores = np.asarray(run_scores, dtype=np.float64)
    cut = float(np.quantile(scores, share))
    if cut > scores.min():
        return cut
    above = scores[scores > cut]
    return float(above.min()) if len(above) else cut


def post_stratified(
    labels: Sequence[float],
    scores: Sequence[float],
    run_scores: Sequence[float],
    label_effect: float = 1.0,
    run_effect: float = 1.0,
) -> CorrectedMean:
    """Estimate the share of 1 among the samples of a run, of which some, drawn at random, have a label.

    The run is cut into two strata by the judge's scores, and the share of 1 in each is weighted by its size.

    labels        1 or 0
    scores        the judge's scores of the labelled samples, in the same order, 0 to 1
    run_scores    those of all samples of the run, the labelled ones included
    label_effect  how many labelled samples count as one, as those of a group are alike
    run_effect    the same of all samples of the run

    Raises ValueError without labels.

    >>> labels = [1.0] * 30 + [0.0] * 10
    >>> scores = [0.9] * 29 + [0.2] * 11
    >>> share = post_stratified(labels, scores, [0.9] * 300 + [0.2] * 100)
    >>> round(share.value, 3), round(share.effective_labels)
    (0.773, 155)
    """
    if not len(labels):
        raise ValueError("there is no label")
    people = np.asarray(labels, dtype=np.float64)
    cut = cut_score(run_scores, 1 - float(people.mean()))
    is_high = np.asarray(scores) >= cut
    in_run = np.asarray(run_scores) >= cut
    high = _stratum(people[is_high], label_effect, seed=1)
    low = _stratum(people[~is_high], label_effect, seed=2)
    # The share of the run that is in the upper stratum; where all is, there is no other one.
    weight = float(in_run.mean())
    weights: Values | float = 1.0
    if weight < 1:
        weights = jeffreys_draws(float(in_run.sum()) / run_effect, len(in_run) / run_effect, seed=0)
    draws = weights * high.draws + (1 - weights) * low.draws
    value = weight * high.share + (1 - weight) * low.share
    ends = tail_points(draws)
    # At 0 and at 1 the posterior distribution lies within.
    interval = (min(ends[0], value), max(ends[1], value))
    right = float(people.sum()) / label_effect
    alone = _beta_variance(right + 0.5, len(people) / label_effect - right + 0.5)
    return CorrectedMean(value, interval, len(labels), len(labels) * alone / float(draws.var()))


@dataclass(frozen=True)
class _Stratum:
    """The share of 1 in a stratum, and draws of it; of one without labels nothing is known."""

    share: float
    draws: Values


def _stratum(labels: Values, label_effect: float, seed: int) -> _Stratum:
    right = float(labels.sum())
    share = right / len(labels) if len(labels) else 0.5
    return _Stratum(share, jeffreys_draws(right / label_effect, len(labels) / label_effect, seed))


def ppi_mean(
    labels: Sequence[float],
    scores: Sequence[float],
    other_scores: Sequence[float],
    groups: Sequence[int] | None = None,
    run_effect: float = 1.0,
) -> CorrectedMean:
    """Estimate the mean label of the samples of a run, of which some, drawn at random, have a graded label.

    It is the judge's mean of the other samples, weighted by how much its scores tell, and the mean of what
    the labels differ from them. With a weight of 0 it is the mean of the labels. Labels are often crowded at
    1, so that Student's t would hold the mean too seldom: the differences have the interval of
    `mean_interval`, and it is joined with that of the judge's mean (Zou and Donner 2008).

    labels         0 to 1
    scores         the judge's scores of the labelled samples, in the same order
    other_scores   those of the samples without a label
    groups         the number of each label's group; a group counts as one
    run_effect     how many of the other samples count as one, as those of a group are alike

    Raises ValueError for fewer than two labels, or groups.
    """
    people = np.asarray(labels, dtype=np.float64)
    judge = np.asarray(scores, dtype=np.float64)
    others = np.asarray(other_scores, dtype=np.float64)
    alone = mean_interval(labels, groups=groups)
    if alone is None:
        raise ValueError("there are fewer than two labels, or groups")
    weight = ppi_weight(people, judge, others)
    value = min(max(ppi_estimate(people, judge, others, weight), 0.0), 1.0)
    differences = people - weight * judge
    ends = mean_interval(differences.tolist(), -weight, 1.0, groups) or (-1.0, 1.0)
    error = weight * math.sqrt(float(others.var()) / len(others) * run_effect) if len(others) else 0.0
    low = value - math.hypot(float(differences.mean()) - ends[0], _NORMAL_END * error)
    high = value + math.hypot(ends[1] - float(differences.mean()), _NORMAL_END * error)
    interval = (max(0.0, low), min(1.0, high))
    ratio = (alone[1] - alone[0]) / (interval[1] - interval[0])
    return CorrectedMean(value, interval, len(labels), len(labels) * ratio**2)


def ppi_weight(labels: Values, scores: Values, other_scores: Values) -> float:
    """Return the weight of the judge's scores with the least variance, clipped to 0 and 1."""
    everything = np.concatenate([scores, other_scores])
    if not len(other_scores) or np.ptp(everything) == 0:
        return 0.0
    covariance = float(np.cov(labels, scores, ddof=0)[0, 1])
    spread = float(everything.var(ddof=1))
    return min(max(covariance / ((1 + len(labels) / len(other_scores)) * spread), 0.0), 1.0)


def ppi_estimate(labels: Values, scores: Values, other_scores: Values, weight: float) -> float:
    judged = weight * float(other_scores.mean()) if len(other_scores) else 0.0
    return judged + float((labels - weight * scores).mean())


def ppi_variance(labels: Values, scores: Values, other_scores: Values, weight: float) -> float:
    """Return the variance of `ppi_estimate`."""
    judged = weight**2 * float(other_scores.var()) / len(other_scores) if len(other_scores) else 0.0
    return judged + float((labels - weight * scores).var()) / len(labels)


def _beta_variance(a: float, b: float) -> float:
    return a * b / ((a + b) ** 2 * (a + b + 1))
