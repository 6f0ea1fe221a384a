"""The bootstrap: samples drawn anew, with replacement, and the interval of a figure over them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from localeval.metrics.statistics import mean_interval

NUMBER = 2000
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


class Draws:
    """How often each sample was drawn: `weights` has a row a draw and a column a sample.

    Row 0 is the samples as they are, each once, so that a figure and its interval come from one formula.
    Samples are drawn within each label, so that no draw changes their balance. Where samples share a group
    (answers to one question, say) whole groups are drawn, within groups of the same labels: what is in one
    group is alike, and counts for less. A group that is the only one of its labels is in every draw, once.

    fewest  in how many groups the label occurs that occurs in the fewest, those without another of the same
            labels left out

    >>> Draws([1, 0], number=3).weights.tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        labels: Sequence[int],
        groups: Sequence[Hashable] | None = None,
        *,
        seed: int = 0,
        number: int = NUMBER,
    ) -> None:
        members: dict[Hashable, list[int]] = {}
        for i in range(len(labels)):
            members.setdefault(groups[i] if groups is not None else i, []).append(i)
        strata: dict[tuple[int, ...], list[list[int]]] = {}
        for own in members.values():
            strata.setdefault(tuple(sorted({labels[i] for i in own})), []).append(own)
        generator = np.random.default_rng(seed)
        self.weights: Values = np.zeros((1 + number, len(labels)))
        self.weights[0] = 1
        self._group = np.full(len(labels), -1)  # the place of its first sample; -1 where there is no other
        for _, alike in sorted(strata.items()):
            chosen = generator.integers(len(alike), size=(number, len(alike)))
            times = np.apply_along_axis(np.bincount, 1, chosen, minlength=len(alike))
            for place, own in enumerate(alike):
                self.weights[1:, own] = times[:, [place]]
                self._group[own] = own[0] if len(alike) > 1 else -1
        every = np.asarray(labels)
        self.fewest = min((self.held(every == label) for label in set(labels)), default=0)

    def held(self, which: Which) -> int:
        """How many groups have one of these samples, those without another of the same labels left out."""
        return len(set(self._group[which].tolist()) - {-1})

    def figure(
        self, found: Values, groups: int | None = None, lowest: float = 0.0, highest: float = 1.0
    ) -> Figure:
        """From one value a row of `weights` to the figure and its interval; undefined draws are left out.

        Where every draw gives the same figure, drawing tells nothing of samples that were not seen: then it
        is the exact interval of as many equal values as there are `groups` (`fewest` unless told), of values
        between `lowest` and `highest` (Clopper and Pearson 1934; see `mean_interval`). There is none (nan)
        where a label has no two groups to draw from.
        """
        value, unknown = float(found[0]), (float("nan"), float("nan"))
        drawn = found[1:][~np.isnan(found[1:])]
        if np.isnan(value) or not len(drawn) or self.fewest < 2:
            return Figure(value, *unknown)
        low, high = (float(end) for end in np.percentile(drawn, [2.5, 97.5]))
        if high - low >= _ALIKE:
            return Figure(value, low, high)
        if -1 in self._group:  # a group that no draw leaves out: nothing says that it is like the others
            return Figure(value, *unknown)
        equal = [value] * (self.fewest if groups is None else groups)
        return Figure(value, *(mean_interval(equal, lowest, highest) or unknown))
