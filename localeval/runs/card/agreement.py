"""Agreement of scores with human labels: figures with 95 % intervals, and cross-validation.

A score is any number, a higher one meaning "more likely 1"; a label is 1 (good) or 0 (bad). A figure is
computed for all bootstrap draws at once, from how often each sample was drawn.
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
ALIKE = 1e-9  # figures closer than this differ by rounding alone

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
    """Figures of labelled samples, with intervals from `DRAWS` bootstrap draws (Efron 1979).

    Whole groups are drawn (all answers to one question, say), among groups with the same labels, so that no
    draw changes the balance. A group that is the only one with its labels is in every draw, once.

    counts  how often each sample was drawn: a row per draw, a column per sample; row 0 has each sample once
    place   the group of each sample, as a number; -1 where the group is in every draw
    fewest  the number of groups with the label that has fewer of them; groups in every draw do not count
    """

    def __init__(self, labels: Sequence[int], groups: Sequence[Hashable] | None = None) -> None:
        self.labels = np.asarray(labels)
        members: dict[Hashable, list[int]] = defaultdict(list)
        for i, group in enumerate(range(len(labels)) if groups is None else groups):
            members[group].append(i)
        strata: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
        for indices in members.values():
            strata[tuple(sorted({labels[i] for i in indices}))].append(indices)
        generator = np.random.default_rng(0)
        self.counts: Values = np.ones((1 + DRAWS, len(labels)))
        self.place = np.empty(len(labels), dtype=int)
        for _, stratum in sorted(strata.items()):
            drawn = generator.integers(len(stratum), size=(DRAWS, len(stratum)))
            for number, indices in enumerate(stratum):
                self.counts[1:, indices] = (drawn == number).sum(axis=1, keepdims=True)
                self.place[indices] = indices[0] if len(stratum) > 1 else -1
        self.fewest = min(self._groups(self.labels == label) for label in set(labels))

    def _groups(self, mask: npt.NDArray[np.bool_]) -> int:
        """Count the groups of the samples in `mask` that a draw may leave out."""
        return len(set(self.place[mask].tolist()) - {-1})

    def figure(self, values: Values, lowest: float = 0.0, fewest: int | None = None) -> Figure:
        """Return the figure of its values, one per row of `counts`; draws where it is undefined are left out.

        Draws that all give the same value say nothing about unseen samples: the interval is then the exact
        one of as many equal values as there are groups (see `bootstrap_ci`). It is undefined (nan) where a
        label has fewer than two groups, or where all draws agree and some group is in each of them.
        """
        value, drawn = float(values[0]), values[1:][~np.isnan(values[1:])]
        interval = None
        if self.fewest and not math.isnan(value):
            low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
            if high - low > ALIKE:
                interval = low, high
            elif -1 not in self.place:
                interval = bootstrap_ci([value] * (self.fewest if fewest is None else fewest), lowest)
        return Figure(value, *(interval or (math.nan, math.nan)))

    def auroc(
        self, scores: Sequence[float], folds: Sequence[int] | None = None, less: Sequence[float] | None = None
    ) -> Figure:
        """Return the share of (1, 0) pairs in which the 1 has the higher score, 0 to 1; a tie counts as half.

        Undefined (nan) unless both labels occur. With `folds` only pairs within a fold count: scores of
        different fits cannot be compared. With `less` it is the gain over these other scores, -1 to 1,
        paired: both are computed on the same draws. Source: Hanley and McNeil 1982.

        >>> Bootstrap([1, 1, 0, 0]).auroc([0.9, 0.4, 0.4, 0.1]).value
        0.875
        """
        ones, fold = self.labels == 1, np.zeros(len(scores)) if folds is None else np.asarray(folds)
        good, bad = self.counts[:, ones], self.counts[:, ~ones]
        comparable = (fold[ones][:, None] == fold[~ones]).astype(float)

        def in_order(scores: Sequence[float]) -> Values:
            values = np.asarray(scores, dtype=float)
            wins = comparable * (1 + np.sign(values[ones][:, None] - values[~ones])) / 2
            with np.errstate(invalid="ignore"):
                shares: Values = ((good @ wins) * bad).sum(axis=1) / ((good @ comparable) * bad).sum(axis=1)
            return shares

        if less is None:
            return self.figure(in_order(scores))
        return self.figure(in_order(scores) - in_order(less), lowest=-1)

    def decisions(self, decided: Sequence[int]) -> dict[str, Figure]:
        """Return the figures of yes-or-no decisions (`decided`, 1 or 0): 0 to 1, `kappa` -1 to 1.

        balanced_accuracy        mean of the two recalls
        precision, recall, f1    of label 1; with `_0` the same of label 0 (detection of unfaithful answers)
        kappa                    agreement beyond chance (Cohen 1960)

        Undefined (nan): recall of a label that does not occur, precision of one that is never decided.
        """
        ones, yes = self.labels == 1, np.asarray(decided) == 1
        tp, fn, fp, tn = (
            self.counts @ mask.astype(float) for mask in (ones & yes, ones & ~yes, ~ones & yes, ~ones & ~yes)
        )
        good, bad = tp + fn, fp + tn
        total = good + bad
        with np.errstate(invalid="ignore"):
            chance = (good * (tp + fp) + bad * (tn + fn)) / total**2
            rates = {
                "balanced_accuracy": (tp / good + tn / bad) / 2,
                "precision": tp / (tp + fp),
                "recall": tp / good,
                "f1": 2 * tp / (good + tp + fp),
                "precision_0": tn / (tn + fn),
                "recall_0": tn / bad,
                "f1_0": 2 * tn / (bad + tn + fn),
                "kappa": ((tp + tn) / total - chance) / (1 - chance),
            }
        # The number of groups behind a figure that no draw changes: for recall those with its label, for
        # precision those decided so. From 0, F1 and kappa may rise nearly twice as far, as each counts a hit
        # twice: half as many groups widen their interval.
        groups = {"recall": self._groups(ones), "recall_0": self._groups(~ones)}
        groups |= {"precision": min(self.fewest, self._groups(yes))}
        groups |= {"precision_0": min(self.fewest, self._groups(~yes))}
        groups |= {name: self.fewest // 2 for name in ("f1", "f1_0", "kappa") if abs(rates[name][0]) < ALIKE}
        return {
            name: self.figure(values, -1 if name == "kappa" else 0, groups.get(name))
            for name, values in rates.items()
        }

    def probabilities(self, shares: Sequence[float]) -> dict[str, Figure]:
        """Return the figures of probabilities (`shares`, 0 to 1) of label 1.

        brier              mean squared error, 0 to 1, lower is better (Brier 1950)
        skill              1 - brier / brier of always predicting the share of label 1; 1 best, 0 no better
        calibration_error  see `calibration_error`
        """
        p, y = np.asarray(shares, dtype=float), self.labels.astype(float)
        total = self.counts.sum(axis=1)
        brier, base = self.counts @ (p - y) ** 2 / total, self.counts @ y / total
        with np.errstate(divide="ignore", invalid="ignore"):
            reference = base * (1 - base)
            skill, lowest_skill = 1 - brier / reference, float(1 - 1 / reference[0])
        order = np.argsort(p, kind="stable")
        errors = [
            calibration_error(np.repeat(p[order], times), np.repeat(y[order], times))
            for times in self.counts[:, order].astype(int)
        ]
        return {
            "brier": self.figure(brier),
            "skill": self.figure(skill, lowest_skill),
            "calibration_error": self.figure(np.array(errors)),
        }


def mean(values: Sequence[float], groups: Sequence[Hashable] | None = None, lowest: float = 0.0) -> Figure:
    """Return the mean of `values`, which lie between `lowest` and 1; for pairs 1 (right), 0.5 (a tie) or 0.

    A value that is nan is left out, with its entry in `groups`.

    >>> print(mean([1.0] * 10))
    1.000 (0.692 to 1.000)
    """
    defined = [i for i, value in enumerate(values) if not math.isnan(value)]
    if not defined:
        return Figure(math.nan, math.nan, math.nan)
    draws = Bootstrap([1] * len(defined), groups and [groups[i] for i in defined])
    return draws.figure(draws.counts @ np.asarray(values)[defined] / draws.counts.sum(axis=1), lowest)


def rounded(figures: Mapping[str, Figure]) -> dict[str, tuple[float, float, float]]:
    """Round the figures that have an interval to four digits, as calibrations and heads store them.

    >>> rounded({"auroc": Figure(2 / 3, 1 / 9, 1.0), "f1": Figure(0.5, math.nan, math.nan)})
    {'auroc': (0.6667, 0.1111, 1.0)}
    """
    return {
        name: (round(figure.value, 4), round(figure.low, 4), round(figure.high, 4))
        for name, figure in figures.items()
        if not math.isnan(figure.value + figure.low)
    }


def bins(shares: Sequence[float] | Values, labels: Sequence[int] | Values) -> list[tuple[float, float, int]]:
    """Cut the samples, sorted by probability, into five bins of equal mass; their order has no effect.

    A bin is (mean probability, share of label 1, number of samples). Samples with the same probability each
    count as the share of label 1 among them.

    >>> bins([0.5, 0.5, 0.5, 0.5, 0.8], [0, 0, 1, 1, 1])[3:]
    [(0.5, 0.5, 1), (0.8, 1.0, 1)]
    """
    p = np.asarray(shares, dtype=float)
    _, tie, size = np.unique(p, return_inverse=True, return_counts=True)
    y = (np.bincount(tie, weights=labels) / size)[tie]
    parts = np.array_split(np.argsort(p, kind="stable"), BINS)
    return [(float(p[i].mean()), float(y[i].mean()), len(i)) for i in parts if len(i)]


def calibration_error(shares: Sequence[float] | Values, labels: Sequence[int] | Values) -> float:
    """Return the mean distance of predicted from observed shares, in five bins of equal mass; 0 (best) to 1.

    Chance keeps it above 0: with 30 labels per bin, perfect probabilities have about 0.06. Source: Naeini et
    al. 2015, with bins of equal mass as in Nguyen and O'Connor 2015.
    """
    return sum(n * abs(predicted - y) for predicted, y, n in bins(shares, labels)) / len(shares)


def folds(labels: Sequence[int], groups: Sequence[Hashable], *, seed: int = 0) -> list[int] | None:
    """Return the number of each sample's fold; labels are balanced over the folds, and no group is split.

    There are fewer than `FOLDS` where a label has fewer groups. None where a label is missing outside some
    fold, so that nothing can be fitted there.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    numbered = [numbers[group] for group in groups]
    fewest = min(len({g for g, y in zip(numbered, labels, strict=True) if y == label}) for label in (0, 1))
    if fewest < 2:
        return None
    splitter = StratifiedGroupKFold(min(FOLDS, fewest), shuffle=True, random_state=seed)
    assigned = [0] * len(labels)
    for fold, (_, held_out) in enumerate(splitter.split(numbered, labels, numbered)):
        for i in held_out:
            assigned[i] = fold
    return assigned if has_both_labels(labels, assigned) else None


def has_both_labels(labels: Sequence[int], parts: Sequence[int]) -> bool:
    """Report whether both labels occur outside every fold (`parts`), so that a fit is possible there.

    >>> has_both_labels([1, 0, 1, 0], [0, 0, 1, 1]), has_both_labels([1, 0, 1, 0], [0, 1, 0, 1])
    (True, False)
    """
    pairs = set(zip(parts, labels, strict=True))
    return all(sum(y == label for _, y in pairs) > 1 for label in (0, 1))


def cross_validated_decisions(
    scores: Sequence[float], labels: Sequence[int], parts: Sequence[int]
) -> list[int]:
    """Decide each sample, 1 or 0, at the threshold that is best on the other folds (`parts`).

    That is the one with the best balanced accuracy, midway between two scores; the lowest of equals.
    """
    values, ones, fold = np.asarray(scores, dtype=float), np.asarray(labels) == 1, np.asarray(parts)
    decisions = np.zeros(len(values), dtype=int)
    for part in np.unique(fold):
        train = fold != part
        good, bad, distinct = values[train & ones], values[train & ~ones], np.unique(values[train])
        thresholds = np.concatenate([[distinct[0]], (distinct[1:] + distinct[:-1]) / 2])
        accuracy = [(good >= t).mean() + (bad < t).mean() for t in thresholds]
        # Rounded, as equal accuracies differ in their last bits.
        decisions[~train] = values[~train] >= thresholds[int(np.argmax(np.round(accuracy, 12)))]
    return [int(x) for x in decisions]


def f1(labels: Sequence[int], shares: Sequence[float], thresholds: Sequence[float] | Values) -> Values:
    """Return F1 of a row's sentences at or above each threshold; 1 where none is needed and none selected.

    >>> f1([1, 1, 0], [0.9, 0.2, 0.8], [0.5, 0.95]).tolist()
    [0.5, 0.0]
    >>> f1([0, 0], [0.9, 0.2], [0.5, 0.95]).tolist()
    [0.0, 1.0]
    """
    needed, selected = np.asarray(labels, dtype=float), np.asarray(shares)[:, None] >= np.asarray(thresholds)
    total = needed.sum() + selected.sum(axis=0)
    scores: Values = np.where(total > 0, 2 * (needed @ selected) / np.maximum(total, 1), 1.0)
    return scores


def cross_validated_f1(
    labels: Sequence[Sequence[int]], shares: Sequence[Sequence[float]], groups: Sequence[str], seed: int
) -> list[float]:
    """Return F1 of each row at the threshold with the best mean F1 on the rows of the other folds.

    Of thresholds equal to the twelfth digit it is the lowest. All are undefined (nan) where all rows are of
    one group. Here the rows have 2/3 and 1 at 0.5, and 1 and 2/3 at 1: each gets what is best for the other.

    >>> [cross_validated_f1([[1, 0], [1, 1]], [[1, 0.5]] * 2, ["a", b], seed=0) for b in ("b", "a")]
    [[0.6666666666666666, 0.6666666666666666], [nan, nan]]
    """
    names = sorted(set(groups))
    if len(names) < 2:
        return [math.nan] * len(groups)
    random.Random(seed).shuffle(names)  # noqa: S311
    fold = np.array([names.index(name) % FOLDS for name in groups])
    candidates = np.unique(np.concatenate(shares))
    f1_at = np.array([f1(y, p, candidates) for y, p in zip(labels, shares, strict=True)])
    scores = np.zeros(len(fold))
    for held_out in np.unique(fold):
        means = f1_at[fold != held_out].mean(axis=0)
        scores[fold == held_out] = f1_at[fold == held_out, np.argmax(means.round(12))]
    return [float(x) for x in scores]
