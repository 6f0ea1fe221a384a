"""One threshold for the sentences of many rows: chosen on some of the rows, tried on the others."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from localeval.runs.card.agreement.folds import FOLDS
from localeval.runs.card.groups import FEWEST_GROUPS

Cuts = Sequence[tuple[float, float]]


def f1(labels: Sequence[int], shares: Sequence[float], threshold: float) -> float:
    """F1 of the sentences at or above the threshold; 1 where none is needed and none is said to be.

    >>> f1([1, 1, 0], [0.9, 0.2, 0.8], 0.5)
    0.5
    """
    hit = sum(label and share >= threshold for label, share in zip(labels, shares, strict=True))
    named = sum(labels) + sum(share >= threshold for share in shares)
    return 2 * hit / named if named else 1.0


def f1_across(
    labels: Sequence[list[int]], shares: Sequence[list[float]], groups: Sequence[str], seed: int
) -> list[float] | None:
    """The F1 of each row at the threshold that has the best mean F1 on the rows of the other folds.

    None where all rows are of one group, so that there are no others.
    """
    names = sorted(set(groups))
    if len(names) < FEWEST_GROUPS:
        return None
    random.Random(seed).shuffle(names)  # noqa: S311
    places = {name: place % FOLDS for place, name in enumerate(names)}
    fold = [places[name] for name in groups]
    candidates = sorted({share for own in shares for share in own})
    cuts = [_cuts(*row) for row in zip(labels, shares, strict=True)]
    best = {
        held: _best(candidates, [own for own, of in zip(cuts, fold, strict=True) if of != held])
        for held in set(fold)
    }
    return [f1(own, given, best[held]) for own, given, held in zip(labels, shares, fold, strict=True)]


def _cuts(labels: Sequence[int], shares: Sequence[float]) -> Cuts:
    """A row's shares, rising, with `f1` at each: up to there it is the same from the share before on.

    The last is infinite: at a threshold above all shares no sentence is said to be needed.

    >>> _cuts([1, 1, 0], [0.9, 0.2, 0.8])
    [(0.2, 0.8), (0.8, 0.5), (0.9, 0.6666666666666666), (inf, 0.0)]
    """
    found, hit, needed = {math.inf: f1(labels, shares, math.inf)}, 0, sum(labels)
    for said, (share, label) in enumerate(sorted(zip(shares, labels, strict=True), reverse=True), 1):
        hit += label
        found[share] = 2 * hit / (needed + said)  # of equal shares the last one stays
    return sorted(found.items())


def _best(candidates: Sequence[float], rows: Sequence[Cuts]) -> float:
    """The lowest of the rising candidates at which the rows' `_cuts` have the best mean F1.

    The sum moves from candidate to candidate, and only by the rows that have a share between the two; as a
    fraction it is exact, so that the mean is that of adding up every row anew.
    """
    moves: dict[float, Fraction] = defaultdict(Fraction)
    for cuts in rows:
        for (share, before), (_, behind) in pairwise(cuts):
            moves[share] += Fraction(behind) - Fraction(before)
    total = sum((Fraction(cuts[0][1]) for cuts in rows), Fraction())
    best, highest = candidates[0], -1.0
    for candidate in candidates:
        if (mean_f1 := float(total) / len(rows)) > highest:
            best, highest = candidate, mean_f1
        total += moves[candidate]
    return best
