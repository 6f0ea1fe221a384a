"""Guessing what a leaf writes next: mostly it copies its prompt or its branch, or what it wrote before.

Tokens that are guessed are decoded together with the last one chosen, as one batch, which costs less than a
step for each. The model still decides: a guess is kept only where it is what the model chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from localeval.engine.schedule import GROUP

LONGEST = 6
_LONGEST_END = 3
_FEWEST_LEAVES = 3

_FEW = 4
_GOOD_SIZES = ((8, GROUP), (20, 2 * GROUP))


def room(leaves: int, width: int) -> int:
    """Rows that a call for this many growing leaves should have, guesses included.

    llama.cpp's kernels for the usual quantizations take 4 rows in little more than the time of 2, and 16 in
    the time of 12; the more rows a call has, the less each one costs. In milliseconds, on two cores with
    AVX-512 behind 1,500 tokens: 66 for 1 row, 101 for 2, 119 for 4, 198 for 7, 259 for 12, 306 for 15, 262
    for 16, 450 for 32, 881 for 64. A fixed table, since bits depend on the size of a call.

    >>> room(1, width=32), room(5, width=32), room(10, width=32), room(32, width=32)
    (4, 16, 32, 64)
    """
    if leaves < _FEWEST_LEAVES:
        return min(_FEW, 2 * width)
    return min(next((rows for most, rows in _GOOD_SIZES if leaves <= most), 2 * width), 2 * width)


def cut(guesses: Sequence[list[int]], width: int) -> None:
    """Shorten the guesses, one for each growing leaf, until the call has its best size.

    Of each leaf the first token stays before the second of any.

    >>> guesses = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [1, 2]]
    >>> cut(guesses, width=32); [len(guess) for guess in guesses]
    [6, 5, 2]
    """
    leaves = len(guesses)
    kept = _dealt(guesses, room(leaves, width) - leaves)
    if _FEWEST_LEAVES <= leaves < GROUP // 2 and leaves + sum(kept) < GROUP - 2:
        # too few for a group: each would cost its full price
        kept = _dealt(guesses, _FEW - leaves)
    for guess, number in zip(guesses, kept, strict=True):
        del guess[number:]


def _dealt(guesses: Sequence[list[int]], left: int) -> list[int]:
    """How many tokens of each guess are kept if there is room for `left` of them."""
    kept = [0] * len(guesses)
    for place in range(LONGEST):
        for i, guess in enumerate(guesses):
            if left > 0 and len(guess) > place:
                kept[i], left = place + 1, left - 1
    return kept


class Source:
    """A text that may be copied, as tokens; where each run of up to three of them stands first."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tuple(tokens)

    @cached_property  # most leaves write no free text
    def _behind(self) -> dict[tuple[int, ...], int]:
        places: dict[tuple[int, ...], int] = {}
        for n in range(1, 1 + _LONGEST_END):
            for i in range(len(self._tokens) - n):
                places.setdefault(self._tokens[i : i + n], i + n)
        return places

    def behind(self, end: tuple[int, ...]) -> tuple[int, ...]:
        """What follows these tokens; nothing where they do not stand or nothing follows."""
        place = self._behind.get(end, len(self._tokens))
        return self._tokens[place : place + LONGEST]


class Copy:
    """Guesses from the tokens of a leaf's prompt and of its branch, and from those that it wrote before."""

    def __init__(self, prompt: Source, branch: Source) -> None:
        self._prompt, self._branch = prompt, branch

    def guess(self, written: Sequence[int]) -> list[int]:
        """What follows the longest end of `written`, up to three tokens, where it stood before.

        First in the leaf's prompt, then in `written` itself, there the last time, then in the branch.

        >>> copy = Copy(Source([1, 2, 3, 4, 5, 6]), Source([6, 7]))
        >>> copy.guess([9, 2, 3]), copy.guess([9, 8, 9]), copy.guess([6]), copy.guess([7])
        ([4, 5, 6], [8, 9], [7], [])
        """
        for n in range(min(_LONGEST_END, len(written)), 0, -1):
            end = tuple(written[-n:])
            found = self._prompt.behind(end) or _behind_last(written, end) or self._branch.behind(end)
            if found:
                return list(found)
        return []


def _behind_last(written: Sequence[int], end: tuple[int, ...]) -> Sequence[int]:
    """What follows these tokens, the end of `written`, where they stood in it the last time before."""
    n = len(end)
    for i in reversed(range(len(written) - n)):
        if tuple(written[i : i + n]) == end:
            return written[i + n : i + n + LONGEST]
    return ()
