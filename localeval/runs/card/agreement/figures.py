"""The figures. Each is computed for all draws at once, from how often each sample was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from localeval.runs.card.agreement.draws import Draws, Figure, Values, Which

BINS = 5


def auroc(
    scores: Sequence[float],
    labels: Sequence[int],
    draws: Draws | None = None,
    folds: Sequence[int] | None = None,
) -> Figure:
    """The share of (1, 0) pairs in which the 1 has the higher score, a tie counted as half; 0 to 1.

    0.5 is chance. Undefined (nan) unless both labels occur. With `folds` only pairs of one fold count: scores
    of different folds came from different fits and have no order. Source: Hanley and McNeil 1982. Where all
    pairs stand alike, the interval is that of as many as have no group in common with one another.

    >>> auroc([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0]).value
    0.875
    """
    draws = draws or Draws(labels)
    return draws.figure(_auroc(scores, labels, draws, folds), _apart(labels, draws, folds))


def auroc_gain(
    scores: Sequence[float],
    others: Sequence[float],
    labels: Sequence[int],
    draws: Draws | None = None,
    folds: Sequence[int] | None = None,
) -> Figure:
    """auroc of `scores` less that of `others`, paired: both see the same draws.

    >>> auroc_gain([0.9, 0.1], [0.1, 0.9], [1, 0]).value
    1.0
    """
    draws = draws or Draws(labels)
    gain = _auroc(scores, labels, draws, folds) - _auroc(others, labels, draws, folds)
    return draws.figure(gain, _apart(labels, draws, folds), lowest=-1)


def decisions(said: Sequence[int], labels: Sequence[int], draws: Draws | None = None) -> dict[str, Figure]:
    """Figures of yes-or-no decisions, `said` being 1 or 0; 0 to 1, chance-corrected `kappa` -1 to 1.

    balanced_accuracy        mean of the two recalls
    precision, recall, f1    of label 1; the same with `_0` of label 0 (an unfaithful answer, found)
    kappa                    agreement beyond chance (Cohen 1960)

    Undefined (nan): recall of a label that does not occur, precision of one that is never said.

    >>> found = decisions([1, 0, 0, 0], [1, 1, 0, 0])
    >>> found["balanced_accuracy"].value, found["recall"].value, found["precision_0"].value
    (0.75, 0.5, 0.6666666666666666)
    """
    draws = draws or Draws(labels)
    one, yes = np.asarray(labels) == 1, np.asarray(said) == 1
    hit, missed, false, right = (
        draws.weights @ which.astype(float) for which in (one & yes, one & ~yes, ~one & yes, ~one & ~yes)
    )
    total = hit + missed + false + right
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "balanced_accuracy": (hit / (hit + missed) + right / (right + false)) / 2,
            "precision": hit / (hit + false),
            "recall": hit / (hit + missed),
            "f1": 2 * hit / (2 * hit + false + missed),
            "precision_0": right / (right + missed),
            "recall_0": right / (right + false),
            "f1_0": 2 * right / (2 * right + false + missed),
        }
        chance = ((hit + missed) * (hit + false) + (right + false) * (right + missed)) / total**2
        found["kappa"] = ((hit + right) / total - chance) / (1 - chance)
    return {
        name: draws.figure(
            values, _alike(name, values[0], one, yes, draws), lowest=-1 if name == "kappa" else 0
        )
        for name, values in found.items()
    }


def _alike(name: str, value: float, one: Which, yes: Which, draws: Draws) -> int:
    """How many groups a figure of `decisions` is known by, where no draw changes it."""
    if name.startswith("recall"):
        return draws.held(one if name == "recall" else ~one)
    if name.startswith("precision"):
        return min(draws.fewest, draws.held(yes if name == "precision" else ~yes))
    if name in ("f1", "f1_0", "kappa") and abs(value) < 1e-9:
        return draws.fewest // 2  # a hit counts twice in these, so from 0 they may rise nearly twice as far
    return draws.fewest


def probabilities(
    shares: Sequence[float], labels: Sequence[int], draws: Draws | None = None
) -> dict[str, Figure]:
    """Figures of probabilities (0 to 1) of label 1.

    brier              mean squared error, 0 to 1, lower is better (Brier 1950)
    skill              1 - brier / that of always saying the share of label 1; 1 best, 0 no better than that
    calibration_error  see `calibration_error`

    >>> found = probabilities([0.9, 0.7, 0.3, 0.1], [1, 1, 0, 0])
    >>> round(found["brier"].value, 3), round(found["skill"].value, 3)
    (0.05, 0.8)
    """
    draws = draws or Draws(labels)
    p, y = np.asarray(shares, dtype=float), np.asarray(labels, dtype=float)
    total = draws.weights.sum(axis=1)
    brier, base = draws.weights @ (p - y) ** 2 / total, draws.weights @ y / total
    with np.errstate(divide="ignore", invalid="ignore"):
        skill = 1 - brier / (base * (1 - base))
        worst = 1 - 1 / (base * (1 - base))[0]
    order = np.argsort(p, kind="stable")
    errors = [
        calibration_error(np.repeat(p[order], times), np.repeat(y[order], times))
        for times in draws.weights[:, order].astype(int)
    ]
    return {
        "brier": draws.figure(brier),
        "skill": draws.figure(skill, lowest=float(worst)),
        "calibration_error": draws.figure(np.array(errors)),
    }


class Bin(NamedTuple):
    """A fifth of the samples: their mean probability, the share of label 1 among them, how many they are.

    Of samples with one probability none is in one bin sooner than in the next: each counts for the share of
    label 1 among all of them.
    """

    said: float
    found: float
    number: int


def bins(shares: Sequence[float] | Values, labels: Sequence[int] | Values, number: int = BINS) -> list[Bin]:
    """The samples by rising probability, in `number` bins of equal mass, whatever order they come in.

    >>> bins([0.2, 0.9, 0.4, 0.7], [0, 1, 1, 0], 2)
    [Bin(said=0.30000000000000004, found=0.5, number=2), Bin(said=0.8, found=0.5, number=2)]
    >>> bins([0.5, 0.5, 0.5, 0.5], [0, 0, 1, 1], 2)
    [Bin(said=0.5, found=0.5, number=2), Bin(said=0.5, found=0.5, number=2)]
    """
    p = np.asarray(shares, dtype=float)
    _, tie, size = np.unique(p, return_inverse=True, return_counts=True)
    y = (np.bincount(tie, weights=labels) / size)[tie]
    parts = np.array_split(np.argsort(p, kind="stable"), number)
    return [Bin(float(p[i].mean()), float(y[i].mean()), len(i)) for i in parts if len(i)]


def calibration_error(shares: Sequence[float] | Values, labels: Sequence[int] | Values) -> float:
    """Mean distance between what was said and what was found, over five bins of equal mass; 0 (best) to 1.

    It is never 0 by chance: with 30 labels a bin, perfect probabilities have about 0.06. Source: Naeini et
    al. 2015, with bins of equal mass as in Nguyen and O'Connor 2015.
    """
    found = bins(shares, labels)
    return sum(b.number * abs(b.said - b.found) for b in found) / sum(b.number for b in found)


def mean(values: Sequence[float], draws: Draws | None = None, lowest: float = 0.0) -> Figure:
    """The mean of `values`: pair accuracy, where each is 1 (right), 0.5 (a tie) or 0.

    lowest  what a value may be at least; at most it is 1

    >>> print(mean([1.0] * 10))
    1.000 (0.692 to 1.000)
    """
    draws = draws or Draws([0] * len(values))
    found = draws.weights @ np.asarray(values, dtype=float) / draws.weights.sum(axis=1)
    return draws.figure(found, lowest=lowest)


def _apart(labels: Sequence[int], draws: Draws, folds: Sequence[int] | None) -> int:
    """How many pairs of a 1 and a 0 of one fold there can be of which no two have a group in common."""
    one, own = np.asarray(labels) == 1, np.zeros(len(labels)) if folds is None else np.asarray(folds)
    return sum(
        min(draws.held(one & (own == fold)), draws.held(~one & (own == fold))) for fold in np.unique(own)
    )


def _auroc(
    scores: Sequence[float], labels: Sequence[int], draws: Draws, folds: Sequence[int] | None
) -> Values:
    values, one = np.asarray(scores, dtype=float), np.asarray(labels) == 1
    gaps = values[one][:, None] - values[~one][None, :]
    counted = np.ones_like(gaps)
    if folds is not None:
        own = np.asarray(folds)
        counted = (own[one][:, None] == own[~one][None, :]).astype(float)
    won = counted * ((gaps > 0) + 0.5 * (gaps == 0))
    good, bad = draws.weights[:, one], draws.weights[:, ~one]
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Values = ((good @ won) * bad).sum(axis=1) / ((good @ counted) * bad).sum(axis=1)
    return found
