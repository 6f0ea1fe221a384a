"""Prompt-lookup decoding: a reply mostly copies its prompt, its context, or its own earlier text.

A draft is decoded in one batch with the last token chosen, which costs less than a step for each token.
The model still decides: a draft token is kept only where the model chooses the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from localeval.engine.batching import GROUP

MAX_DRAFT = 6  # tokens of a draft
_MAX_NGRAM = 3
_MIN_ITEMS, _SMALL_CALL = 3, 4
_CALL_SIZES = ((_MIN_ITEMS - 1, _SMALL_CALL), (8, GROUP), (20, 2 * GROUP))  # (most items, tokens)


class NgramIndex:
    """Tokens that may be copied, with the first position of each n-gram of up to three of them."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tuple(tokens)

    @cached_property  # most replies have no free text
    def _ends(self) -> dict[tuple[int, ...], int]:
        ends: dict[tuple[int, ...], int] = {}
        for n in range(1, 1 + _MAX_NGRAM):
            for i in range(len(self._tokens) - n):
                ends.setdefault(self._tokens[i : i + n], i + n)
        return ends

    def after(self, end: tuple[int, ...]) -> tuple[int, ...]:
        """Return the tokens after the first occurrence of `end`; () where there are none."""
        start = self._ends.get(end, len(self._tokens))
        return self._tokens[start : start + MAX_DRAFT]


def draft(written: Sequence[int], prompt: NgramIndex, context: NgramIndex) -> list[int]:
    """Guess what follows the longest final n-gram of `written` (up to three tokens) that occurs elsewhere.

    Looked up in the item's prompt, then in `written` itself (its last occurrence), then in the context.

    >>> prompt, context = NgramIndex([3, 5, 2, 3, 4, 1, 2, 3, 6]), NgramIndex([6, 7])
    >>> [draft(written, prompt, context) for written in ([1, 2, 3], [0, 2, 3], [3], [5, 2, 3, 4], [6], [7])]
    [[6], [4, 1, 2, 3, 6], [5, 2, 3, 4, 1, 2], [1, 2, 3, 6], [7], []]
    >>> draft([9, 0, 9, 8, 9], prompt, context), draft([9, *range(10, 20), 9], prompt, context)
    ([8, 9], [10, 11, 12, 13, 14, 15])
    """
    for n in range(min(_MAX_NGRAM, len(written)), 0, -1):
        end = tuple(written[-n:])
        starts = (i for i in reversed(range(len(written) - n)) if tuple(written[i : i + n]) == end)
        tokens = prompt.after(end)
        if not tokens and (last := next(starts, None)) is not None:
            tokens = tuple(written[last + n : last + n + MAX_DRAFT])
        if tokens := tokens or context.after(end):
            return list(tokens)
    return []


def call_size(items: int, width: int) -> int:
    """Return the number of tokens of a call for this many unfinished items, drafts included.

    llama.cpp's kernels for the usual quantizations compute 4 tokens in little more than the time of 2, and 16
    in the time of 12. In milliseconds, on two cores with AVX-512 after 1,500 tokens: 66 for 1 token, 101 for
    2, 119 for 4, 198 for 7, 259 for 12, 306 for 15, 262 for 16, 450 for 32, 881 for 64. The table is fixed,
    since bits depend on the size of a call.

    >>> [call_size(items, width=32) for items in (2, 3, 8, 9, 20, 21)], call_size(8, width=4)
    ([4, 16, 16, 32, 32, 64], 8)
    """
    return min([2 * width, *(size for most, size in _CALL_SIZES if items <= most)])


def trim_drafts(drafts: Sequence[list[int]], width: int) -> None:
    """Shorten the drafts, one for each unfinished item, until the call has its best size.

    Every draft keeps its first token before any keeps its second.

    >>> def kept(*sizes):
    ...     trim_drafts(drafts := [[0] * size for size in sizes], width=32)
    ...     return [len(draft) for draft in drafts]
    >>> kept(6, 6, 2), kept(6, 5, 0), kept(5, 5, 0)
    ([6, 5, 2], [6, 5, 0], [1, 0, 0])
    >>> kept(2, 3, 0, 0, 0, 0, 0), kept(2, 3, 0, 0, 0, 0, 0, 0)
    ([0, 0, 0, 0, 0, 0, 0], [2, 3, 0, 0, 0, 0, 0, 0])
    """

    def deal(left: int) -> list[int]:
        """Return the number of tokens that each draft keeps if all drafts together keep `left`."""
        sizes = [0] * items
        for position in range(MAX_DRAFT):
            for i, draft in enumerate(drafts):
                if left > 0 and len(draft) > position:
                    sizes[i], left = position + 1, left - 1
        return sizes

    items = len(drafts)
    sizes = deal(call_size(items, width) - items)
    if _MIN_ITEMS <= items < GROUP // 2 and items + sum(sizes) < GROUP - 2:
        # Too few for a group: each token would cost its full time.
        sizes = deal(_SMALL_CALL - items)
    for draft, size in zip(drafts, sizes, strict=True):
        del draft[size:]
