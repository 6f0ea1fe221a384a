"""Agreement of scores with human labels: figures with 95 % intervals, and cross-validation.

A score is any number, a higher one meaning "more likely 1"; a label is 1 (good) or 0 (bad). A figure is
computed for all bootstrap draws at once, from how often each sample was drawn.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localeval.statistics.groups import Values
from localeval.statistics.intervals import mean_interval

BINS = 5
FOLDS = 5
DRAWS = 2000
# Numbers that are computed at a time: 8 MB.
_BLOCK = 1_000_000
# Figures closer than this differ by rounding alone.
_EQUAL = 1e-9


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
        self.counts: Values = np.ones((1 + DRAWS, len(labels)))
        self.place = np.empty(len(labels), dtype=int)
        generator = np.random.default_rng(0)
        for stratum in _strata(labels, range(len(labels)) if groups is None else groups):
            self._draw(stratum, generator)
        self._shares_in_order: dict[tuple[bytes, bytes], Values] = {}
        self.fewest = min(self._groups(self.labels == label) for label in set(labels))

    def _draw(self, stratum: Sequence[Sequence[int]], generator: np.random.Generator) -> None:
        """Draw groups of one stratum, each as the indices of its samples, in all draws."""
        number = len(stratum)
        samples = np.concatenate([np.asarray(indices) for indices in stratum])
        group_of_sample = np.repeat(np.arange(number), [len(indices) for indices in stratum])
        for rows in _blocks(1, 1 + DRAWS, number):
            drawn = generator.integers(number, size=(rows.stop - rows.start, number))
            times = np.array([np.bincount(draw, minlength=number) for draw in drawn])
            self.counts[rows, samples] = times[:, group_of_sample]
        for indices in stratum:
            self.place[indices] = indices[0] if number > 1 else -1

    def _groups(self, mask: npt.NDArray[np.bool_]) -> int:
        """Count the groups of the samples in `mask` that a draw may leave out."""
        return len(set(self.place[mask].tolist()) - {-1})

    def figure(self, values: Values, lowest: float = 0.0, fewest: int | None = None) -> Figure:
        """Return the figure of its values, one per row of `counts`; draws where it is undefined are left out.

        Draws that all give the same value say nothing about unseen samples: the interval is then the exact
        one of as many equal values as there are groups (see `mean_interval`). It is undefined (nan) where a
        label has fewer than two groups, or where all draws agree and some group is in each of them.
        """
        value = float(values[0])
        interval = None
        if self.fewest and not math.isnan(value):
            drawn = values[1:][~np.isnan(values[1:])]
            low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
            if high - low > _EQUAL:
                interval = (low, high)
            elif -1 not in self.place:
                groups = self.fewest if fewest is None else fewest
                interval = mean_interval([value] * groups, lowest)
        if interval is None:
            return Figure(value, math.nan, math.nan)
        return Figure(value, *interval)

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
        if less is None:
            return self.figure(self._in_order(scores, folds))
        return self.figure(self._in_order(scores, folds) - self._in_order(less, folds), lowest=-1)

    def _in_order(self, scores: Sequence[float], folds: Sequence[int] | None) -> Values:
        """Return the share of pairs in order, for each row of `counts`; sums of whole numbers, so exact.

        Kept, as a gain needs them again.
        """
        values = np.asarray(scores, dtype=float)
        fold = np.zeros(len(values), dtype=int) if folds is None else np.asarray(folds)
        key = (values.tobytes(), fold.tobytes())
        if key not in self._shares_in_order:
            wins = np.zeros(len(self.counts))
            pairs = np.zeros(len(self.counts))
            for part in np.unique(fold):
                self._add_pairs(values, fold == part, wins, pairs)
            with np.errstate(invalid="ignore"):
                self._shares_in_order[key] = wins / pairs
        return self._shares_in_order[key]

    def _add_pairs(self, values: Values, members: npt.NDArray[np.bool_], wins: Values, pairs: Values) -> None:
        """Add to each row's `pairs` the pairs among these samples, and to its `wins` those in order."""
        good = np.flatnonzero(members & (self.labels == 1))
        bad = np.flatnonzero(members & (self.labels != 1))
        good = good[np.argsort(values[good], kind="stable")]
        # How many good ones, in order, are below each bad one, and how many are not above it.
        below = np.searchsorted(values[good], values[bad], side="left")
        not_above = np.searchsorted(values[good], values[bad], side="right")
        for rows in _blocks(0, len(self.counts), len(values)):
            counts_of_good = self.counts[rows][:, good]
            counts_of_bad = self.counts[rows][:, bad]
            summed = np.zeros((len(counts_of_good), len(good) + 1))
            np.cumsum(counts_of_good, axis=1, out=summed[:, 1:])
            total = summed[:, -1] * counts_of_bad.sum(axis=1)
            lost = np.einsum("ij,ij->i", counts_of_bad, summed[:, below] + summed[:, not_above]) / 2
            wins[rows] += total - lost
            pairs[rows] += total

    def decisions(self, decided: Sequence[int]) -> dict[str, Figure]:
        """Return the figures of yes-or-no decisions (`decided`, 1 or 0): 0 to 1, `kappa` -1 to 1.

        balanced_accuracy        mean of the two recalls
        precision, recall, f1    of label 1; with `_0` the same of label 0 (detection of unfaithful answers)
        kappa                    agreement beyond chance (Cohen 1960)

        Undefined (nan): recall of a label that does not occur, precision of one that is never decided.
        """
        ones = self.labels == 1
        yes = np.asarray(decided) == 1
        tp = self.counts @ (ones & yes).astype(float)
        fn = self.counts @ (ones & ~yes).astype(float)
        fp = self.counts @ (~ones & yes).astype(float)
        tn = self.counts @ (~ones & ~yes).astype(float)
        good = tp + fn
        bad = fp + tn
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
        groups = self._groups_behind(rates, ones, yes)
        return {
            name: self.figure(values, -1 if name == "kappa" else 0, groups.get(name))
            for name, values in rates.items()
        }

    def _groups_behind(
        self, rates: Mapping[str, Values], ones: npt.NDArray[np.bool_], yes: npt.NDArray[np.bool_]
    ) -> dict[str, int]:
        """Return the number of groups behind a figure that no draw changes, where it is not `fewest`.

        For recall it is the groups with its label, for precision the groups that are decided so. From 0, F1
        and kappa may rise nearly twice as far, as each counts a hit twice: half as many groups widen their
        interval.
        """
        groups = {
            "recall": self._groups(ones),
            "recall_0": self._groups(~ones),
            "precision": min(self.fewest, self._groups(yes)),
            "precision_0": min(self.fewest, self._groups(~yes)),
        }
        for name in ("f1", "f1_0", "kappa"):
            if abs(rates[name][0]) < _EQUAL:
                groups[name] = self.fewest // 2
        return groups

    def probabilities(self, shares: Sequence[float]) -> dict[str, Figure]:
        """Return the figures of probabilities (`shares`, 0 to 1) of label 1.

        brier              mean squared error, 0 to 1, lower is better (Brier 1950)
        skill              1 - brier / brier of always predicting the share of label 1; 1 best, 0 no better
        calibration_error  mean distance of predicted from observed shares in `bins`, 0 (best) to 1 (Naeini et
                           al. 2015, with bins of equal mass as in Nguyen and O'Connor 2015). Chance keeps it
                           above 0: with 30 labels per bin, perfect probabilities have about 0.06
        """
        p = np.asarray(shares, dtype=float)
        y = self.labels.astype(float)
        total = self.counts.sum(axis=1)
        brier = self.counts @ (p - y) ** 2 / total
        base = self.counts @ y / total
        with np.errstate(divide="ignore", invalid="ignore"):
            reference = base * (1 - base)
            skill = 1 - brier / reference
            lowest_skill = float(1 - 1 / reference[0])
        errors = np.concatenate(
            [_calibration_errors(p, y, self.counts[rows]) for rows in _blocks(0, len(self.counts), len(p))]
        )
        return {
            "brier": self.figure(brier),
            "skill": self.figure(skill, lowest_skill),
            "calibration_error": self.figure(errors),
        }


def _strata(labels: Sequence[int], groups: Sequence[Hashable]) -> list[list[list[int]]]:
    """Return the groups with the same labels together; a group is the indices of its samples."""
    members: dict[Hashable, list[int]] = defaultdict(list)
    for i, group in enumerate(groups):
        members[group].append(i)
    strata: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
    for indices in members.values():
        strata[tuple(sorted({labels[i] for i in indices}))].append(indices)
    return [stratum for _, stratum in sorted(strata.items())]


def _blocks(start: int, stop: int, width: int) -> Iterator[slice]:
    """Cut rows into blocks of about a million numbers, so that what is computed from them stays small."""
    height = max(1, _BLOCK // width)
    for first in range(start, stop, height):
        yield slice(first, min(stop, first + height))


def _starts(ordered: Values) -> npt.NDArray[np.intp]:
    """Return where each distinct value begins in ordered values."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


def _calibration_errors(p: Values, y: Values, counts: Values) -> Values:
    """Return the calibration error for each row of counts, in which a sample occurs so many times.

    The samples with one probability are a block, in which each counts as the block's share of label 1. The
    sums up to the end of a bin, which may lie in a block, follow from the sums up to the end of that block.
    """
    order = np.argsort(p, kind="stable")
    starts = _starts(p[order])
    distinct = p[order][starts]
    errors = np.empty(len(counts))
    sizes = np.add.reduceat(counts[:, order], starts, axis=1)
    goods = np.add.reduceat(counts[:, order] * y[order], starts, axis=1)
    for row, (size, good) in enumerate(zip(sizes, goods, strict=True)):
        ends = np.cumsum(size)
        number = int(ends[-1])
        bin_ends = np.cumsum([number // BINS + (i < number % BINS) for i in range(BINS)])
        # The first block that reaches so far, so it is not empty.
        block = np.searchsorted(ends, bin_ends)
        beyond = ends[block] - bin_ends
        predicted = np.cumsum(size * distinct)[block] - beyond * distinct[block]
        observed = np.cumsum(good)[block] - beyond * good[block] / size[block]
        differences = np.diff(predicted - observed, prepend=0.0)
        errors[row] = np.abs(differences).sum() / number
    return errors


def mean(values: Sequence[float], groups: Sequence[Hashable] | None = None, lowest: float = 0.0) -> Figure:
    """Return the mean of `values`, which lie between `lowest` and 1; for pairs 1 (right), 0.5 (a tie) or 0.

    A value that is nan is left out, with its entry in `groups`.

    >>> print(mean([1.0] * 10))
    1.000 (0.692 to 1.000)
    """
    defined = [i for i, value in enumerate(values) if not math.isnan(value)]
    if not defined:
        return Figure(math.nan, math.nan, math.nan)
    defined_groups = None if groups is None else [groups[i] for i in defined]
    draws = Bootstrap([1] * len(defined), defined_groups)
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


def folds(labels: Sequence[int], groups: Sequence[Hashable], *, seed: int = 0) -> list[int] | None:
    """Return the number of each sample's fold; labels are balanced over the folds, and no group is split.

    There are fewer than `FOLDS` where a label has fewer groups. None where a label is missing outside some
    fold, so that nothing can be fitted there. The folds come from scikit-learn's StratifiedGroupKFold,
    which takes minutes for 20,000 groups.
    """
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    numbered = [numbers[group] for group in groups]
    groups_of_label = [
        {number for number, y in zip(numbered, labels, strict=True) if y == label} for label in (0, 1)
    ]
    fewest = min(map(len, groups_of_label))
    if fewest < 2:
        return None
    # The samples of each group with label 0, and with label 1.
    sizes = np.zeros((len(numbers), 2))
    np.add.at(sizes, (numbered, [int(y == 1) for y in labels]), 1)
    shuffled = np.arange(len(numbers))
    np.random.RandomState(seed).shuffle(shuffled)
    # The most uneven groups first: the others even out what these leave.
    order = shuffled[np.argsort(-np.std(sizes[shuffled], axis=1), kind="stable")]
    fold_of_group = _balanced_folds(sizes[order].tolist(), min(FOLDS, fewest))
    fold_of = dict(zip(order.tolist(), fold_of_group, strict=True))
    assigned = [fold_of[number] for number in numbered]
    return assigned if has_both_labels(labels, assigned) else None


def _balanced_folds(sizes: Sequence[tuple[float, float]], number: int) -> list[int]:
    """Assign groups, with so many samples of either label, to folds, one after the other.

    Each goes where it leaves the labels spread most evenly over the folds; of equal folds, to the smallest.
    """
    totals = [sum(of_label) for of_label in zip(*sizes, strict=True)]
    folds_so_far = [[0.0, 0.0] for _ in range(number)]
    assigned = []
    for group_sizes in sizes:
        best = _best_fold(group_sizes, folds_so_far, totals)
        for label_of_fold, size in enumerate(group_sizes):
            folds_so_far[best][label_of_fold] += size
        assigned.append(best)
    return assigned


def _best_fold(
    group_sizes: Sequence[float], folds_so_far: Sequence[Sequence[float]], totals: Sequence[float]
) -> int:
    """Return the number of the fold that a group with so many samples of either label goes to."""
    best = 0
    best_unevenness = math.inf
    fewest_samples = math.inf
    for i, fold in enumerate(folds_so_far):
        unevenness = 0.0
        for label_of_fold, size in enumerate(group_sizes):
            shares = [other[label_of_fold] / totals[label_of_fold] for other in folds_so_far]
            shares[i] = (fold[label_of_fold] + size) / totals[label_of_fold]
            unevenness += _deviation(shares)
        unevenness /= 2
        samples = fold[0] + fold[1]
        alike = abs(unevenness - best_unevenness) <= 1e-8 + 1e-5 * best_unevenness < math.inf
        if unevenness < best_unevenness or (alike and samples < fewest_samples):
            best = i
            best_unevenness = unevenness
            fewest_samples = samples
    return best


def _deviation(numbers: Sequence[float]) -> float:
    """Return the standard deviation of a few numbers, summed in their order, as numpy does."""
    total = 0.0
    for number in numbers:
        total += number
    center = total / len(numbers)
    squares = 0.0
    for number in numbers:
        squares += (number - center) * (number - center)
    return math.sqrt(squares / len(numbers))


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

    The best threshold has the best balanced accuracy, midway between two scores; the lowest of equals.
    """
    values = np.asarray(scores, dtype=float)
    ones = np.asarray(labels) == 1
    fold = np.asarray(parts)
    decisions = np.zeros(len(values), dtype=int)
    for part in np.unique(fold):
        train = fold != part
        good = np.sort(values[train & ones])
        bad = np.sort(values[train & ~ones])
        distinct = np.unique(values[train])
        thresholds = np.concatenate([[distinct[0]], (distinct[1:] + distinct[:-1]) / 2])
        reached = (len(good) - np.searchsorted(good, thresholds)) / len(good)
        accuracy = reached + np.searchsorted(bad, thresholds) / len(bad)
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
    needed = np.asarray(labels, dtype=float)
    selected = np.asarray(shares)[:, None] >= np.asarray(thresholds)
    total = needed.sum() + selected.sum(axis=0)
    scores: Values = np.where(total > 0, 2 * (needed @ selected) / np.maximum(total, 1), 1.0)
    return scores


def cross_validated_f1(
    labels: Sequence[Sequence[int]], shares: Sequence[Sequence[float]], groups: Sequence[str], seed: int
) -> list[float]:
    """Return F1 of each row at the threshold with the best mean F1 on the rows of the other folds.

    Of thresholds equal to the tenth digit it is the lowest. All are undefined (nan) where all rows are of
    one group. Here the rows have 2/3 and 1 at 0.5, and 1 and 2/3 at 1: each gets what is best for the other.

    >>> [cross_validated_f1([[1, 0], [1, 1]], [[1, 0.5]] * 2, ["a", b], seed=0) for b in ("b", "a")]
    [[0.6666666666666666, 0.6666666666666666], [nan, nan]]
    """
    names = sorted(set(groups))
    if len(names) < 2:
        return [math.nan] * len(groups)
    random.Random(seed).shuffle(names)  # noqa: S311
    places_of_names = {name: place for place, name in enumerate(names)}
    fold = np.array([places_of_names[name] % FOLDS for name in groups])
    candidates = np.unique(np.concatenate(shares))
    # The sum of F1 over the rows of a fold, at each candidate.
    sums = np.zeros((FOLDS, len(candidates) + 1))
    for part, y, p in zip(fold, labels, shares, strict=True):
        # F1 of a row changes only behind a probability of its own.
        own = np.unique(p)
        places = np.concatenate([[0], np.searchsorted(candidates, own) + 1])
        steps = np.diff(f1(y, p, np.append(own, math.inf)), prepend=0.0)
        sums[part, places] += steps
    sums = np.cumsum(sums, axis=1)[:, :-1]
    scores = np.zeros(len(fold))
    for held_out in np.unique(fold):
        others = (sums.sum(axis=0) - sums[held_out]) / (fold != held_out).sum()
        threshold = candidates[np.argmax(others.round(10))]
        for row in np.flatnonzero(fold == held_out).tolist():
            scores[row] = f1(labels[row], shares[row], [threshold])[0]
    return [float(x) for x in scores]
