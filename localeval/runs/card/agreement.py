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
ALIKE = 1e-9  # closer figures differ in their last bits alone

Values = npt.NDArray[np.float64]


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
    every draw, once: `place` is -1 for its samples, else the number of the sample's group.

    fewest  in how many groups the label occurs that occurs in the fewest, such groups left out
    """

    def __init__(
        self, labels: Sequence[int], groups: Sequence[Hashable] | None = None, *, number: int = DRAWS
    ) -> None:
        members: dict[Hashable, list[int]] = defaultdict(list)
        for i in range(len(labels)):
            members[i if groups is None else groups[i]].append(i)
        strata: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
        for own in members.values():
            strata[tuple(sorted({labels[i] for i in own}))].append(own)
        generator = np.random.default_rng(0)
        self.counts: Values = np.ones((1 + number, len(labels)))
        self.place = np.full(len(labels), -1)
        for _, alike in sorted(strata.items()):
            drawn = generator.integers(len(alike), size=(number, len(alike)))
            for place, own in enumerate(alike):
                self.counts[1:, own] = (drawn == place).sum(axis=1, keepdims=True)
                self.place[own] = own[0] if len(alike) > 1 else -1
        self.fewest = min(self.groups(np.asarray(labels) == label) for label in set(labels))

    def groups(self, which: npt.NDArray[np.bool_]) -> int:
        """Count the groups of these samples that a draw may leave out."""
        return len(set(self.place[which].tolist()) - {-1})

    def figure(self, found: Values, lowest: float = 0.0, fewest: int | None = None) -> Figure:
        """Make a figure of its values, one a row of `counts`; draws where it is undefined are left out.

        Where every draw gives the same, drawing tells nothing of samples that were not seen: then the
        interval is the exact one of so many equal values as there are groups (see `bootstrap_ci`). There is
        none (nan) where a label has no two groups, or nothing says that a group in every draw is like others.
        """
        value, drawn = float(found[0]), found[1:][~np.isnan(found[1:])]
        ends = None
        if self.fewest > 1 and len(drawn) and not np.isnan(value):
            if (
                np.subtract(*np.percentile(drawn, [97.5, 2.5])) > 1e-9
            ):  # closer ones differ in their last bits
                ends = np.percentile(drawn, [2.5, 97.5]).tolist()
            elif -1 not in self.place:
                ends = bootstrap_ci([value] * (self.fewest if fewest is None else fewest), lowest)
        return Figure(value, *(ends or (np.nan, np.nan)))


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

    def of(scores: Sequence[float]) -> Values:
        values = np.asarray(scores, dtype=float)
        won = counted * (1 + np.sign(values[one][:, None] - values[~one][None, :])) / 2
        with np.errstate(invalid="ignore"):
            found: Values = ((good @ won) * bad).sum(axis=1) / ((good @ counted) * bad).sum(axis=1)
        return found

    return weights.figure(of(scores)) if less is None else weights.figure(of(scores) - of(less), lowest=-1)


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
    good, bad = hit + missed, false + right
    total = good + bad
    with np.errstate(invalid="ignore"):
        chance = (good * (hit + false) + bad * (right + missed)) / total**2
        found = {
            "balanced_accuracy": (hit / good + right / bad) / 2,
            "precision": hit / (hit + false),
            "recall": hit / good,
            "f1": 2 * hit / (good + hit + false),
            "precision_0": right / (right + missed),
            "recall_0": right / bad,
            "f1_0": 2 * right / (bad + right + missed),
            "kappa": ((hit + right) / total - chance) / (1 - chance),
        }
    # By how many groups a figure is known where no draw changes it: recall by those of its label, precision
    # by those that were said. From 0, F1 and kappa may rise nearly twice as far: a hit counts twice in them.
    fewest, count = weights.fewest, weights.groups
    groups = dict.fromkeys(found, fewest) | {"recall": count(one), "recall_0": count(~one)}
    groups |= {"precision": min(fewest, count(yes)), "precision_0": min(fewest, count(~yes))}
    groups |= {name: fewest // 2 for name in ("f1", "f1_0", "kappa") if abs(found[name][0]) < ALIKE}
    return {
        name: weights.figure(values, -1 if name == "kappa" else 0, groups[name])
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
        usual = base * (1 - base)
        skill, worst = 1 - brier / usual, float(1 - 1 / usual[0])
    order = np.argsort(p, kind="stable")
    errors = [
        calibration_error(np.repeat(p[order], times), np.repeat(y[order], times))
        for times in weights.counts[:, order].astype(int)
    ]
    return {
        "brier": weights.figure(brier),
        "skill": weights.figure(skill, worst),
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
    return sum(number * abs(said - share) for said, share, number in bins(shares, labels)) / len(shares)


def mean(values: Sequence[float], groups: Sequence[Hashable] | None = None, lowest: float = 0.0) -> Figure:
    """Give the mean of `values` from `lowest` to 1: of pairs, say, 1 (right), 0.5 (a tie) or 0.

    >>> print(mean([1.0] * 10))
    1.000 (0.692 to 1.000)
    """
    weights = BootstrapWeights([1] * len(values), groups)
    return weights.figure(weights.counts @ np.asarray(values) / weights.counts.sum(axis=1), lowest)


def folds(
    labels: Sequence[int], groups: Sequence[Hashable] | None = None, *, seed: int = 0
) -> list[int] | None:
    """Give the number of each sample's fold, labels balanced over them; a group is never parted.

    There are fewer than `FOLDS` where a label has fewer groups. None where nothing can be fitted outside of
    some fold, for want of a label.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    own = range(len(labels)) if groups is None else groups
    numbers = {group: place for place, group in enumerate(dict.fromkeys(own))}
    places = np.array([numbers[group] for group in own])
    fewest = min(len(set(places[np.asarray(labels) == wanted])) for wanted in (0, 1))
    if fewest < 2:
        return None
    made = StratifiedGroupKFold(min(FOLDS, fewest), shuffle=True, random_state=seed)
    found = np.zeros(len(labels), dtype=int)
    for fold, (_, held) in enumerate(made.split(places, labels, places)):
        found[held] = fold
    return found.tolist() if has_both_labels(labels, found.tolist()) else None


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
) -> list[float]:
    """Give F1 of each row at the threshold with the best mean F1 on the rows of the other folds.

    Of thresholds that are equally good, to the twelfth digit, the lowest. Each is undefined (nan) where all
    rows are of one group.
    """
    names = sorted(set(groups))
    if len(names) < 2:
        return [np.nan] * len(groups)
    random.Random(seed).shuffle(names)  # noqa: S311
    fold = np.array([names.index(name) % FOLDS for name in groups])
    candidates = np.unique(np.concatenate(shares))
    each = np.array([f1(y, p, candidates) for y, p in zip(labels, shares, strict=True)])
    found = np.zeros(len(fold))
    for held in np.unique(fold):
        means = each[fold != held].sum(axis=0) / (fold != held).sum()
        found[fold == held] = each[
            fold == held, np.argmax(means.round(12))
        ]  # equals differ in their last bits
    return [float(x) for x in found]
