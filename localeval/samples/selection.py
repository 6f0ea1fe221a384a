"""Choose samples by their ids, or some of them at random."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha256

from localeval.errors import InputError
from localeval.text.display import shorten, suggested


def check_ids(required: Collection[str], ids: Sequence[str], limit: int | None, source: str) -> None:
    """Raise InputError if a required id is missing; nothing is checked where there is no sample.

    limit   the number of samples after which no more were read, if one was set
    source  the name of the data, which begins the message
    """
    missing = sorted(set(required).difference(ids))
    if not missing or not ids:
        return
    scope = ""
    remedy = shorten(suggested(missing[0], list(ids)))
    if len(ids) == limit:
        # The id may be in a row after the limit.
        scope = f" among the first {limit}"
        remedy = "raise the limit, or leave the id out."
    raise InputError(f"{source}: no sample{scope} has the id {shorten(missing[0])}; {remedy}")


def draw(indices: Sequence[int], ids: Sequence[str], number: int, seed: int) -> list[int]:
    """Return `number` of the indices, in order, drawn by the seed and the ids of the samples.

    A larger draw holds the smaller ones, and the same ids are drawn whatever the order of the file.

    >>> draw([0, 1, 2, 3], ["a", "b", "c", "d"], 2, seed=1)
    [0, 3]
    """
    shuffled = sorted(indices, key=lambda index: draw_key(ids[index], seed))
    return sorted(shuffled[:number])


def draw_key(name: str, seed: int) -> bytes:
    """Return what sorts names into a random order that is the same on every machine."""
    return sha256(f"{seed}/{name}".encode()).digest()
