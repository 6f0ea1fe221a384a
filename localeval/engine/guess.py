"""Guessing what a leaf writes next: mostly it copies its prompt.

Tokens that are guessed are decoded together with the last one chosen, as one batch, which costs less than a
step for each. The model still decides: a guess is kept only where it is what the model chooses.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 6
FEWEST_LEAVES = 3

_GROUP = 16
_GOOD_SIZES = ((8, _GROUP), (20, 2 * _GROUP))


def room(leaves: int, width: int) -> int:
    """Rows that a call for this many growing leaves should have, guesses included.

    llama.cpp's kernels for the usual quantizations take 16 rows in the time of 9, and the more rows a call
    has, the less each one costs; but up to 7 rows each costs its full price. Measured on two cores with
    AVX-512: 38 ms for 1 row, 206 for 7, 295 for 10, 275 for 16, 480 for 32, 900 for 64. A fixed table, since
    bits depend on the size of a call.

    >>> room(1, width=32), room(5, width=32), room(10, width=32), room(32, width=32)
    (1, 16, 32, 64)
    """
    if leaves < FEWEST_LEAVES:
        return leaves
    return min(next((rows for most, rows in _GOOD_SIZES if leaves <= most), 2 * width), 2 * width)


def cut(guesses: Sequence[list[int]], width: int) -> None:
    """Shorten the guesses, one for each growing leaf, evenly, until the call has its best size."""
    leaves = len(guesses)
    left = room(leaves, width) - leaves
    most = 0
    while most < LONGEST and sum(min(len(g), most + 1) for g in guesses) <= left:
        most += 1
    total = leaves + sum(min(len(g), most) for g in guesses)
    if leaves < _GROUP // 2 and total < _GROUP - 2:
        most = 0  # too few for a group: each would cost its full price
    for guess in guesses:
        del guess[most:]


class Copy:
    """Guesses from the tokens of a leaf's prompt."""

    def __init__(self, source: Sequence[int]) -> None:
        self._source = tuple(source)

    def guess(self, written: Sequence[int]) -> list[int]:
        """What follows the longest end of `written`, up to three tokens, that stands in the source.

        >>> Copy([1, 2, 3, 4, 5, 6]).guess([9, 2, 3])
        [4, 5, 6]
        >>> Copy([1, 2, 3]).guess([9])
        []
        """
        for n in (3, 2, 1):
            end = tuple(written[-n:])
            if len(end) < n:
                continue
            for i in range(len(self._source) - n):
                if self._source[i : i + n] == end:
                    return list(self._source[i + n : i + n + LONGEST])
        return []
