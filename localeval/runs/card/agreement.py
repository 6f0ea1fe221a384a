"""How far scores agree with people's labels: figures with 95 % intervals, and cross-validation.

Scores are any numbers where more means "rather 1"; labels are 1 (good) and 0 (bad). A figure is computed for
all bootstrap draws at once, from how often each sample was drawn.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localeval.metrics.statistics import DRAWS, bootstrap_ci

BINS, FOLDS = 5, 5
_ALIKE = 1e-9  # closer figures differ in their last bits alone

Values = npt.NDArray[np.float64]
Which = npt.NDArray[np.bool_]


class Figure(NamedTuple):
    """A figure and the ends of its 95 % interval; nan where it is not defined.

    >>> print(Figure(0.5, 0.25, 0.75))
    0.500 (0.250 to 0.750)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


class BootstrapWeights:
    """How often each sample was drawn: `counts` has a row a draw and a column a sample.

    Row 0 is the samples as they are. Whole groups are drawn (answers to one question, say), within groups of
    the same labels, so that no draw changes the balance. A group that is the only one of its labels is in
    every draw, once.

    fewest  in how many groups the label occurs that occurs in the fewest, those without another of the same
            labels left out
    """

    def __init__(
        self, labels: Sequence[int], groups: Sequence[Hashable] | None = None, *, number: int = DRAWS
    ) -> None:
        members: dict[Hashable, list[int]] = defaultdict(list)
        for i in range(len(labels)):
            members[groups[i] if groups is not None else i].append(i)
        strata: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
        for own in members.values():
            strata[tuple(sorted({labels[i] for i in own}))].append(own)
        generator = np.random.default_rng(0)
        self.counts: Values = np.ones((1 + number, len(labels)))
        self._group = np.full(len(labels), -1)  # the place of its first sample; -1 where there is no other
        for _, alike in sorted(strata.items()):
            chosen = generator.integers(len(alike), size=(number, len(alike)))
            times = np.apply_along_axis(np.bincount, 1, chosen, minlength=len(alike))
            for place, own in enumerate(alike):
                self.counts[1:, own] = times[:, [place]]
                self._group[own] = own[0] if len(alike) > 1 else -1
        every = np.asarray(labels)
        self.fewest = min((self.groups(every == label) for label in set(labels)), default=0)

    def groups(self, which: Which) -> int:
        """Count the groups of these samples, those without another of the same labels left out."""
        return len(set(self._group[which].tolist()) - {-1})

    def figure(self, found: Values, groups: int | None = None, lowest: float = 0.0) -> Figure:
        """Make a figure of its values, one a row of `counts`; draws where it is undefined are left out.

        Where every draw gives the same, drawing tells nothing of samples that were not seen: then the
        interval is the exact one of as many equal values as there are `groups` (`fewest` unless told; see
        `bootstrap_ci`). There is none (nan) where a label has no two groups to draw from.
        """
        value, unknown = float(found[0]), (float("nan"), float("nan"))
        drawn = found[1:][~np.isnan(found[1:])]
        if np.isnan(value) or not len(drawn) or self.fewest < 2:
            return Figure(value, *unknown)
        low, high = np.percentile(drawn, [2.5, 97.5])
        if high - low >= _ALIKE:
            return Figure(value, float(low), float(high))
        if -1 in self._group:  # a group that no draw leaves out: nothing says that it is like the others
            return Figure(value, *unknown)
        equal = [value] * (self.fewest if groups is None else groups)
        return Figure(value, *(bootstrap_ci(equal, lowest) or unknown))


def auroc(
    scores: Sequence[float],
    labels: Sequence[int],
    weights: BootstrapWeights | None = None,
    folds: Sequence[int] | None = None,
    less: Sequence[float] | None = None,
) -> Figure:
    """Give the share of (1, 0) pairs in which the 1 has the higher score, a tie counted as half; 0 to 1.

    Undefined (nan) unless both labels occur. With `folds` only pairs of one fold count: scores of different
    folds came from different fits and have no order. With `less` it is the gain over these other scores, -1
    to 1, paired: both see the same draws. Source: Hanley and McNeil 1982.

    >>> auroc([0.9, 0.4, 0.4, 0.1], [1, 1, 0, 0]).value
    0.875
    """
    weights = weights or BootstrapWeights(labels)
    one, fold = np.asarray(labels) == 1, np.zeros(len(labels)) if folds is None else np.asarray(folds)
    good, bad = weights.counts[:, one], weights.counts[:, ~one]
    counted = (fold[one][:, None] == fold[~one][None, :]).astype(float)

    def of(values: Values) -> Values:
        gaps = values[one][:, None] - values[~one][None, :]
        won = counted * ((gaps > 0) + 0.5 * (gaps == 0))
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Values = ((good @ won) * bad).sum(axis=1) / ((good @ counted) * bad).sum(axis=1)
        return found

    found = of(np.asarray(scores, dtype=float))
    if less is None:
        return weights.figure(found)
    return weights.figure(found - of(np.asarray(less, dtype=float)), lowest=-1)


def decisions(
    said: Sequence[int], labels: Sequence[int], weights: BootstrapWeights | None = None
) -> dict[str, Figure]:
    """Give the figures of yes-or-no decisions, `said` being 1 or 0; 0 to 1, `kappa` -1 to 1.

    balanced_accuracy        mean of the two recalls
    precision, recall, f1    of label 1; the same with `_0` of label 0 (an unfaithful answer, found)
    kappa                    agreement beyond chance (Cohen 1960)

    Undefined (nan): recall of a label that does not occur, precision of one that is never said.
    """
    weights = weights or BootstrapWeights(labels)
    one, yes = np.asarray(labels) == 1, np.asarray(said) == 1
    hit, missed, false, right = (
        weights.counts @ which.astype(float) for which in (one & yes, one & ~yes, ~one & yes, ~one & ~yes)
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
    # By how many groups a figure is known where no draw changes it: recall by those of its label, precision
    # by those that were said. From 0, F1 and kappa may rise nearly twice as far: a hit counts twice in them.
    fewest, count = weights.fewest, weights.groups
    groups = dict.fromkeys(found, fewest) | {"recall": count(one), "recall_0": count(~one)}
    groups |= {"precision": min(fewest, count(yes)), "precision_0": min(fewest, count(~yes))}
    groups |= {name: fewest // 2 for name in ("f1", "f1_0", "kappa") if abs(found[name][0]) < _ALIKE}
    return {
        name: weights.figure(values, groups[name], lowest=-1 if name == "kappa" else 0)
        for name, values in found.items()
    }


def probabilities(
    shares: Sequence[float], labels: Sequence[int], weights: BootstrapWeights | None = None
) -> dict[str, Figure]:
    """Give the figures of probabilities (0 to 1) of label 1.

    brier              mean squared error, 0 to 1, lower is better (Brier 1950)
    skill              1 - brier / that of always saying the share of label 1; 1 best, 0 no better than that
    calibration_error  see `calibration_error`
    """
    weights = weights or BootstrapWeights(labels)
    p, y = np.asarray(shares, dtype=float), np.asarray(labels, dtype=float)
    total = weights.counts.sum(axis=1)
    brier, base = weights.counts @ (p - y) ** 2 / total, weights.counts @ y / total
    with np.errstate(divide="ignore", invalid="ignore"):
        skill = 1 - brier / (base * (1 - base))
        worst = 1 - 1 / (base * (1 - base))[0]
    order = np.argsort(p, kind="stable")
    errors = [
        calibration_error(np.repeat(p[order], times), np.repeat(y[order], times))
        for times in weights.counts[:, order].astype(int)
    ]
    return {
        "brier": weights.figure(brier),
        "skill": weights.figure(skill, lowest=float(worst)),
        "calibration_error": weights.figure(np.array(errors)),
    }


def bins(shares: Sequence[float] | Values, labels: Sequence[int] | Values) -> list[tuple[float, float, int]]:
    """Cut the samples, by rising probability, into five bins of equal mass, whatever order they come in.

    A bin is (mean probability, share of label 1, number of samples). Of samples of one probability each
    counts for the share of label 1 among all of them.

    >>> bins([0.5, 0.5, 0.5, 0.5, 0.8], [0, 0, 1, 1, 1])[3:]
    [(0.5, 0.5, 1), (0.8, 1.0, 1)]
    """
    p = np.asarray(shares, dtype=float)
    _, tie, size = np.unique(p, return_inverse=True, return_counts=True)
    y = (np.bincount(tie, weights=labels) / size)[tie]
    parts = np.array_split(np.argsort(p, kind="stable"), BINS)
    return [(float(p[i].mean()), float(y[i].mean()), len(i)) for i in parts if len(i)]


def calibration_error(shares: Sequence[float] | Values, labels: Sequence[int] | Values) -> float:
    """Give the mean distance between what was said and found, over five bins of equal mass; 0 (best) to 1.

    It is never 0 by chance: with 30 labels a bin, perfect probabilities have about 0.06. Source: Naeini et
    al. 2015, with bins of equal mass as in Nguyen and O'Connor 2015.
    """
    found = bins(shares, labels)
    return sum(number * abs(said - share) for said, share, number in found) / len(shares)


def mean(values: Sequence[float], groups: Sequence[Hashable] | None = None, lowest: float = 0.0) -> Figure:
    """Give the mean of `values` from `lowest` to 1: of pairs, say, 1 (right), 0.5 (a tie) or 0.

    >>> print(mean([1.0] * 10))
    1.000 (0.692 to 1.000)
    """
    weights = BootstrapWeights([1] * len(values), groups)
    found = weights.counts @ np.asarray(values, dtype=float) / weights.counts.sum(axis=1)
    return weights.figure(found, lowest=lowest)


def folds(
    labels: Sequence[int], groups: Sequence[Hashable] | None = None, *, seed: int = 0
) -> list[int] | None:
    """Give the number of each sample's fold, labels balanced over them; a group is never parted.

    There are fewer than `FOLDS` where a label has fewer groups. None where nothing can be fitted outside of
    some fold, for want of a label.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    own = list(groups) if groups is not None else list(range(len(labels)))
    numbers = {group: place for place, group in enumerate(dict.fromkeys(own))}
    places = np.array([numbers[group] for group in own])
    fewest = min(len(set(places[np.asarray(labels) == wanted])) for wanted in (0, 1))
    if fewest < 2:
        return None
    made = StratifiedGroupKFold(min(FOLDS, fewest), shuffle=True, random_state=seed)
    found = np.zeros(len(labels), dtype=int)
    for fold, (_, held) in enumerate(made.split(places, labels, places)):
        found[held] = fold
    return [int(fold) for fold in found] if has_both_labels(labels, found.tolist()) else None


def has_both_labels(labels: Sequence[int], parts: Sequence[int]) -> bool:
    """Tell whether outside of every fold (`parts`) both labels occur, so that there is something to fit to.

    >>> has_both_labels([1, 0, 1, 0], [0, 0, 1, 1]), has_both_labels([1, 0, 1, 0], [0, 1, 0, 1])
    (True, False)
    """
    pairs = set(zip(parts, labels, strict=True))
    return all(sum(label == wanted for _, label in pairs) > 1 for wanted in (0, 1))


def decided_across(scores: Sequence[float], labels: Sequence[int], parts: Sequence[int]) -> list[int]:
    """Decide each sample, 1 or 0, at the threshold that was best on the other folds (`parts`).

    That is the one with the best balanced accuracy, midway between two scores; of equals the lowest.
    """
    values, one, fold = np.asarray(scores, dtype=float), np.asarray(labels) == 1, np.asarray(parts)
    said = np.zeros(len(values), dtype=int)
    for part in np.unique(fold):
        held = fold == part
        good, bad, seen = values[~held & one], values[~held & ~one], np.unique(values[~held])
        thresholds = np.concatenate([[seen[0]], (seen[1:] + seen[:-1]) / 2])
        accuracy = [(good >= t).mean() + (bad < t).mean() for t in thresholds]
        said[held] = values[held] >= thresholds[int(np.argmax(accuracy))]
    return [int(x) for x in said]


def f1(labels: Sequence[int], shares: Sequence[float], thresholds: Sequence[float] | Values) -> Values:
    """Give F1 of a row's sentences at or above each threshold; 1 where none is needed and none is said to be.

    >>> f1([1, 1, 0], [0.9, 0.2, 0.8], [0.5, 0.95]).tolist()
    [0.5, 0.0]
    """
    needed, said = np.asarray(labels, dtype=float), np.asarray(shares)[:, None] >= np.asarray(thresholds)
    named = needed.sum() + said.sum(axis=0)
    found: Values = np.where(named > 0, 2 * (needed @ said) / np.maximum(named, 1), 1.0)
    return found


def f1_across(
    labels: Sequence[Sequence[int]], shares: Sequence[Sequence[float]], groups: Sequence[str], seed: int
) -> list[float] | None:
    """Give F1 of each row at the threshold with the best mean F1 on the rows of the other folds.

    Of thresholds that are equally good the lowest. None where all rows are of one group.
    """
    names = sorted(set(groups))
    if len(names) < 2:
        return None
    random.Random(seed).shuffle(names)  # noqa: S311
    places = {name: place % FOLDS for place, name in enumerate(names)}
    fold = np.array([places[name] for name in groups])
    candidates = np.unique(np.concatenate([np.asarray(row) for row in shares]))
    sums = np.zeros((FOLDS, len(candidates)))
    for row_labels, row_shares, held in zip(labels, shares, fold, strict=True):
        sums[held] += f1(row_labels, row_shares, candidates)
    best = {}
    for held in np.unique(fold):
        others = np.delete(sums, held, axis=0).sum(axis=0) / (fold != held).sum()
        best[held] = candidates[np.argmax(others.round(12))]  # equal ones differ in their last bits
    return [float(f1(y, p, [best[held]])[0]) for y, p, held in zip(labels, shares, fold, strict=True)]
