"""Prompt-lookup speculation: an item mostly copies its prompt, its context, or what it wrote before.

A draft is decoded together with the last token chosen, as one batch, which costs less than a step for each.
The model still decides: a drafted token is kept only where it is what the model chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from localeval.engine.batching import GROUP

LONGEST = 6
_LONGEST_END = 3
_FEWEST_ITEMS, _FEW = 3, 4
_GOOD_SIZES = ((_FEWEST_ITEMS - 1, _FEW), (8, GROUP), (20, 2 * GROUP))


class NgramIndex:
    """Tokens that may be copied, and where each run of up to three of them stands first."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tuple(tokens)

    @cached_property  # most items write no free text
    def _ends(self) -> dict[tuple[int, ...], int]:
        places: dict[tuple[int, ...], int] = {}
        for n in range(1, 1 + _LONGEST_END):
            for i in range(len(self._tokens) - n):
                places.setdefault(self._tokens[i : i + n], i + n)
        return places

    def after(self, end: tuple[int, ...]) -> tuple[int, ...]:
        """Give what follows these tokens; nothing where they do not occur or nothing follows."""
        place = self._ends.get(end, len(self._tokens))
        return self._tokens[place : place + LONGEST]


def draft(written: Sequence[int], prompt: NgramIndex, context: NgramIndex) -> list[int]:
    """Guess what follows the longest end of `written`, up to three tokens, where it stood before.

    First in the item's prompt, then in `written` itself, there the last time, then in the context.

    >>> prompt, context = NgramIndex([1, 2, 3, 4, 5, 6]), NgramIndex([6, 7])
    >>> [draft(written, prompt, context) for written in ([9, 2, 3], [9, 8, 9], [6], [7])]
    [[4, 5, 6], [8, 9], [7], []]
    """
    for n in range(min(_LONGEST_END, len(written)), 0, -1):
        end = tuple(written[-n:])
        places = (i for i in reversed(range(len(written) - n)) if tuple(written[i : i + n]) == end)
        found = prompt.after(end)
        if not found and (last := next(places, None)) is not None:
            found = tuple(written[last + n : last + n + LONGEST])
        if found := found or context.after(end):
            return list(found)
    return []


def call_size(items: int, width: int) -> int:
    """Choose how many tokens a call for this many growing items has, drafts included.

    llama.cpp's kernels for the usual quantizations take 4 tokens in little more than the time of 2, and 16 in
    the time of 12. In milliseconds, on two cores with AVX-512 behind 1,500 tokens: 66 for 1 token, 101 for 2,
    119 for 4, 198 for 7, 259 for 12, 306 for 15, 262 for 16, 450 for 32, 881 for 64. A fixed table, since
    bits depend on the size of a call.

    >>> [call_size(items, width=32) for items in (1, 5, 10, 32)]
    [4, 16, 32, 64]
    """
    return min(next((size for most, size in _GOOD_SIZES if items <= most), 2 * width), 2 * width)


def trim_drafts(drafts: Sequence[list[int]], width: int) -> None:
    """Shorten the drafts, one for each growing item, until the call has its best size.

    Every draft keeps its first token before any keeps its second.

    >>> drafts = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [1, 2]]
    >>> trim_drafts(drafts, width=32); [len(draft) for draft in drafts]
    [6, 5, 2]
    """

    def dealt(left: int) -> list[int]:
        """Count the tokens of each draft that are kept if there is room for `left` of them."""
        kept = [0] * items
        for place in range(LONGEST):
            for i, draft in enumerate(drafts):
                if left > 0 and len(draft) > place:
                    kept[i], left = place + 1, left - 1
        return kept

    items = len(drafts)
    kept = dealt(call_size(items, width) - items)
    if _FEWEST_ITEMS <= items < GROUP // 2 and items + sum(kept) < GROUP - 2:
        # too few for a group: each would cost its full price
        kept = dealt(_FEW - items)
    for draft, number in zip(drafts, kept, strict=True):
        del draft[number:]
