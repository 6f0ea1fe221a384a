"""Cross-validation: what is fitted on some samples is measured on others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

FOLDS = 5


def folds(
    labels: Sequence[int],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    number: int = FOLDS,
) -> list[int] | None:
    """The number of each sample's fold, labels balanced over them; a group is never parted.

    There are fewer folds where a label has fewer samples (or groups) than that. None where what lies outside
    of some fold would lack a label: nothing can be fitted there.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    own = list(groups) if groups is not None else list(range(len(labels)))
    numbers = {group: place for place, group in enumerate(dict.fromkeys(own))}
    places = np.array([numbers[group] for group in own])
    fewest = min(len(set(places[np.asarray(labels) == wanted])) for wanted in (0, 1))
    if fewest < 2:
        return None
    made = StratifiedGroupKFold(min(number, fewest), shuffle=True, random_state=seed)
    found = np.zeros(len(labels), dtype=int)
    for fold, (_, held) in enumerate(made.split(places, labels, places)):
        found[held] = fold
    return [int(fold) for fold in found] if both_outside(labels, found.tolist()) else None


def both_outside(labels: Sequence[int], parts: Sequence[int]) -> bool:
    """Whether outside of every fold (`parts`) both labels occur, so that there is something to fit to.

    >>> both_outside([1, 0, 1, 0], [0, 0, 1, 1]), both_outside([1, 0, 1, 0], [0, 1, 0, 1])
    (True, False)
    """
    pairs = set(zip(parts, labels, strict=True))
    return all(sum(label == wanted for _, label in pairs) > 1 for wanted in (0, 1))


def best_threshold(scores: Sequence[float], labels: Sequence[int]) -> float:
    """The threshold with the best balanced accuracy, in the middle between two scores; the lowest of equals.

    Raises ValueError unless both labels occur.

    >>> best_threshold([0.1, 0.4, 0.8, 0.9], [0, 0, 1, 1])
    0.6000000000000001
    """
    values, one = np.asarray(scores, dtype=float), np.asarray(labels) == 1
    if one.all() or not one.any():
        raise ValueError("a threshold needs both labels")
    seen = np.unique(values)
    between = np.concatenate([[seen[0]], (seen[1:] + seen[:-1]) / 2])
    found = [(values[one] >= t).mean() + (values[~one] < t).mean() for t in between]
    return float(between[int(np.argmax(found))])


def decided_across(scores: Sequence[float], labels: Sequence[int], parts: Sequence[int]) -> list[int]:
    """1 or 0 for each sample, at the threshold that was best on the other folds (`parts`).

    Raises ValueError unless there are `both_outside`.
    """
    values, own, fold = np.asarray(scores, dtype=float), np.asarray(labels), np.asarray(parts)
    said = np.zeros(len(values), dtype=int)
    for part in np.unique(fold):
        held = fold == part
        said[held] = values[held] >= best_threshold(values[~held].tolist(), own[~held].tolist())
    return [int(x) for x in said]
