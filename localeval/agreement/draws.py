"""The bootstrap: samples drawn anew, with replacement, and the interval of a figure over them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

NUMBER = 2000

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


class Draws:
    """How often each sample was drawn: `weights` has a row a draw and a column a sample.

    Row 0 is the samples as they are, each once, so that a figure and its interval come from one formula.
    Samples are drawn within each label, so that no draw changes their balance. Where samples share a group
    (answers to one question, say) whole groups are drawn, within groups of the same labels: what is in one
    group is alike, and counts for less.

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
        for _, alike in sorted(strata.items()):
            chosen = generator.integers(len(alike), size=(number, len(alike)))
            times = np.apply_along_axis(np.bincount, 1, chosen, minlength=len(alike))
            for place, own in enumerate(alike):
                self.weights[1:, own] = times[:, [place]]

    def figure(self, found: Values) -> Figure:
        """From one value a row of `weights` to the figure and its interval; undefined draws are left out."""
        drawn = found[1:][~np.isnan(found[1:])]
        if np.isnan(found[0]) or not len(drawn):
            return Figure(float(found[0]), float("nan"), float("nan"))
        low, high = np.percentile(drawn, [2.5, 97.5])
        return Figure(float(found[0]), float(low), float(high))
