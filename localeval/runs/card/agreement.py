"""How far scores agree with people's labels: figures with 95 % intervals, and cross-validation.

Scores are any numbers where more means "rather 1"; labels are 1 (good) and 0 (bad). A figure is computed for
all bootstrap draws at once, from how often each sample was drawn.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
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


class Bootstrap:
    """Gives figures of labelled samples, with intervals from drawing them `DRAWS` times (Efron 1979).

    Whole groups are drawn (answers to one question, say), within groups of the same labels, so that no draw
    changes the balance. A group that is the only one of its labels is in every draw, once.

    counts  how often each sample was drawn: a row a draw, a column a sample; row 0 is the samples as they are
    place   the number of the sample's group; -1 where it is in every draw
    fewest  in how many groups the label occurs that occurs in the fewest, those in every draw left out
    """

    def __init__(self, labels: Sequence[int], groups: Sequence[Hashable] | None = None) -> None:
        self.labels = np.asarray(labels)
        members: dict[Hashable, list[int]] = defaultdict(list)
        for i, group in enumerate(range(len(labels)) if groups is None else groups):
            members[group].append(i)
        strata: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
        for own in members.values():
            strata[tuple(sorted({labels[i] for i in own}))].append(own)
        generator = np.random.default_rng(0)
        self.counts: Values = np.ones((1 + DRAWS, len(labels)))
        self.place = np.full(len(labels), -1)
        for _, alike in sorted(strata.items()):
            drawn = generator.integers(len(alike), size=(DRAWS, len(alike)))
            for place, own in enumerate(alike):
                self.counts[1:, own] = (drawn == place).sum(axis=1, keepdims=True)
                self.place[own] = own[0] if len(alike) > 1 else -1
        self.fewest = min(self._groups(self.labels == label) for label in set(labels))

    def _groups(self, which: npt.NDArray[np.bool_]) -> int:
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
        if self.fewest > 1 and len(drawn) and not math.isnan(value):
            low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
            if high - low > ALIKE:
                ends = low, high
            elif -1 not in self.place:
                ends = bootstrap_ci([value] * (self.fewest if fewest is None else fewest), lowest)
        return Figure(value, *(ends or (math.nan, math.nan)))

    def auroc(
        self, scores: Sequence[float], folds: Sequence[int] | None = None, less: Sequence[float] | None = None
    ) -> Figure:
        """Give the share of (1, 0) pairs in which the 1 has the higher score, a tie counted as half; 0 to 1.

        Undefined (nan) unless both labels occur. With `folds` only pairs of one fold count: scores of
        different folds came from different fits and have no order. With `less` it is the gain over these
        other scores, -1 to 1, paired: both see the same draws. Source: Hanley and McNeil 1982.

        >>> Bootstrap([1, 1, 0, 0]).auroc([0.9, 0.4, 0.4, 0.1]).value
        0.875
        """
        one, fold = self.labels == 1, np.zeros(len(scores)) if folds is None else np.asarray(folds)
        good, bad = self.counts[:, one], self.counts[:, ~one]
        counted = (fold[one][:, None] == fold[~one]).astype(float)

        def in_order(scores: Sequence[float]) -> Values:
            values = np.asarray(scores, dtype=float)
            won = counted * (1 + np.sign(values[one][:, None] - values[~one])) / 2
            with np.errstate(invalid="ignore"):
                found: Values = ((good @ won) * bad).sum(axis=1) / ((good @ counted) * bad).sum(axis=1)
            return found

        if less is None:
            return self.figure(in_order(scores))
        return self.figure(in_order(scores) - in_order(less), lowest=-1)

    def decisions(self, said: Sequence[int]) -> dict[str, Figure]:
        """Give the figures of yes-or-no decisions, `said` being 1 or 0; 0 to 1, `kappa` -1 to 1.

        balanced_accuracy        mean of the two recalls
        precision, recall, f1    of label 1; the same with `_0` of label 0 (an unfaithful answer, found)
        kappa                    agreement beyond chance (Cohen 1960)

        Undefined (nan): recall of a label that does not occur, precision of one that is never said.
        """
        one, yes = self.labels == 1, np.asarray(said) == 1
        hit, missed, false, right = (
            self.counts @ which.astype(float) for which in (one & yes, one & ~yes, ~one & yes, ~one & ~yes)
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
        # By how many groups a figure is known where no draw changes it: recall by those of its label,
        # precision by those that were said. From 0, F1 and kappa may rise nearly twice as far: a hit counts
        # twice in them.
        known = {"recall": self._groups(one), "recall_0": self._groups(~one)}
        known |= {"precision": min(self.fewest, self._groups(yes))}
        known |= {"precision_0": min(self.fewest, self._groups(~yes))}
        known |= {name: self.fewest // 2 for name in ("f1", "f1_0", "kappa") if abs(found[name][0]) < ALIKE}
        return {
            name: self.figure(values, -1 if name == "kappa" else 0, known.get(name))
            for name, values in found.items()
        }

    def probabilities(self, shares: Sequence[float]) -> dict[str, Figure]:
        """Give the figures of probabilities (0 to 1) of label 1.

        brier              mean squared error, 0 to 1, lower is better (Brier 1950)
        skill              1 - brier / that of always saying the share of label 1; 1 best, 0 no better
        calibration_error  see `calibration_error`
        """
        p, y = np.asarray(shares, dtype=float), self.labels.astype(float)
        total = self.counts.sum(axis=1)
        brier, base = self.counts @ (p - y) ** 2 / total, self.counts @ y / total
        with np.errstate(divide="ignore", invalid="ignore"):
            usual = base * (1 - base)
            skill, worst = 1 - brier / usual, float(1 - 1 / usual[0])
        order = np.argsort(p, kind="stable")
        errors = [
            calibration_error(np.repeat(p[order], times), np.repeat(y[order], times))
            for times in self.counts[:, order].astype(int)
        ]
        return {
            "brier": self.figure(brier),
            "skill": self.figure(skill, worst),
            "calibration_error": self.figure(np.array(errors)),
        }


def mean(values: Sequence[float], groups: Sequence[Hashable] | None = None, lowest: float = 0.0) -> Figure:
    """Give the mean of `values` from `lowest` to 1: of pairs, say, 1 (right), 0.5 (a tie) or 0.

    A value that is nan is left out, with its group.

    >>> print(mean([1.0] * 10))
    1.000 (0.692 to 1.000)
    """
    kept = [i for i, value in enumerate(values) if not math.isnan(value)]
    if not kept:
        return Figure(math.nan, math.nan, math.nan)
    draws = Bootstrap([1] * len(kept), groups and [groups[i] for i in kept])
    return draws.figure(draws.counts @ np.asarray(values)[kept] / draws.counts.sum(axis=1), lowest)


def rounded(figures: Mapping[str, Figure]) -> dict[str, tuple[float, float, float]]:
    """Give those that have an interval, to four digits, as calibrations and heads keep them."""
    return {
        name: (round(one.value, 4), round(one.low, 4), round(one.high, 4))
        for name, one in figures.items()
        if not math.isnan(one.value + one.low)
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


def folds(labels: Sequence[int], groups: Sequence[Hashable], *, seed: int = 0) -> list[int] | None:
    """Give the number of each sample's fold, labels balanced over them; a group is never parted.

    There are fewer than `FOLDS` where a label has fewer groups. None where nothing can be fitted outside of
    some fold, for want of a label.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    places = [numbers[group] for group in groups]
    fewest = min(len({x for x, y in zip(places, labels, strict=True) if y == wanted}) for wanted in (0, 1))
    if fewest < 2:
        return None
    made = StratifiedGroupKFold(min(FOLDS, fewest), shuffle=True, random_state=seed)
    found = [0] * len(labels)
    for fold, (_, held) in enumerate(made.split(places, labels, places)):
        for i in held:
            found[i] = fold
    return found if has_both_labels(labels, found) else None


def has_both_labels(labels: Sequence[int], parts: Sequence[int]) -> bool:
    """Tell whether outside of every fold (`parts`) both labels occur, so that there is something to fit to.

    >>> has_both_labels([1, 0, 1, 0], [0, 0, 1, 1]), has_both_labels([1, 0, 1, 0], [0, 1, 0, 1])
    (True, False)
    """
    pairs = set(zip(parts, labels, strict=True))
    return all(sum(label == wanted for _, label in pairs) > 1 for wanted in (0, 1))


def cross_validated_decisions(
    scores: Sequence[float], labels: Sequence[int], parts: Sequence[int]
) -> list[int]:
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
        # Equal accuracies differ in their last bits.
        said[held] = values[held] >= thresholds[int(np.argmax(np.round(accuracy, 12)))]
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


def cross_validated_f1(
    labels: Sequence[Sequence[int]], shares: Sequence[Sequence[float]], groups: Sequence[str], seed: int
) -> list[float]:
    """Give F1 of each row at the threshold with the best mean F1 on the rows of the other folds.

    Of thresholds that are equally good, to the twelfth digit, the lowest. Each is undefined (nan) where all
    rows are of one group.
    """
    names = sorted(set(groups))
    if len(names) < 2:
        return [math.nan] * len(groups)
    random.Random(seed).shuffle(names)  # noqa: S311
    fold = np.array([names.index(name) % FOLDS for name in groups])
    candidates = np.unique(np.concatenate(shares))
    each = np.array([f1(y, p, candidates) for y, p in zip(labels, shares, strict=True)])
    found = np.zeros(len(fold))
    for held in np.unique(fold):
        means = each[fold != held].mean(axis=0)
        found[fold == held] = each[fold == held, np.argmax(means.round(12))]
    return [float(x) for x in found]
