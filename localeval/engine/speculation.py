"""Prompt-lookup decoding: a reply mostly copies its prompt, its context, or its own earlier text.

A draft is decoded in one batch with the last token chosen, which costs less than a step for each token.
The model still decides: a draft token is kept only where the model chooses the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from localeval.engine.batching import GROUP

MAX_DRAFT = 6  # tokens of a draft
_MAX_NGRAM = 3
_SMALL_CALL = 4  # tokens
# For fewer items a small call is best anyway.
_MIN_ITEMS = 3


class _CallSize(NamedTuple):
    """The best number of tokens of a call for up to so many unfinished items."""

    max_items: int
    tokens: int


_CALL_SIZES = (_CallSize(_MIN_ITEMS - 1, _SMALL_CALL), _CallSize(8, GROUP), _CallSize(20, 2 * GROUP))


class NgramIndex:
    """Tokens that may be copied, with the first position of each n-gram of up to three of them."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens = tuple(tokens)

    # Made when first needed: most replies have no free text.
    @cached_property
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

    >>> prompt = NgramIndex([3, 5, 2, 3, 4, 1, 2, 3, 6])
    >>> context = NgramIndex([6, 7])
    >>> draft([1, 2, 3], prompt, context)
    [6]
    >>> draft([0, 2, 3], prompt, context)
    [4, 1, 2, 3, 6]
    >>> draft([5, 2, 3, 4], prompt, context)
    [1, 2, 3, 6]
    >>> draft([6], prompt, context)
    [7]
    >>> draft([7], prompt, context)
    []
    >>> draft([9, 0, 9, 8, 9], prompt, context)
    [8, 9]
    >>> draft([9, *range(10, 20), 9], prompt, context)
    [10, 11, 12, 13, 14, 15]
    """
    for n in range(min(_MAX_NGRAM, len(written)), 0, -1):
        end = tuple(written[-n:])
        tokens = prompt.after(end) or _after_last(written, end) or context.after(end)
        if tokens:
            return list(tokens)
    return []


def _after_last(written: Sequence[int], end: tuple[int, ...]) -> tuple[int, ...]:
    """Return the tokens after the last occurrence of `end` before the end of `written`, () for none."""
    n = len(end)
    for start in reversed(range(len(written) - n)):
        if tuple(written[start : start + n]) == end:
            return tuple(written[start + n : start + n + MAX_DRAFT])
    return ()


def call_size(items: int, width: int) -> int:
    """Return the number of tokens of a call for this many unfinished items, drafts included.

    llama.cpp's kernels for the usual quantizations compute 4 tokens in little more than the time of 2, and 16
    in the time of 12. In milliseconds, on two cores with AVX-512 after 1,500 tokens: 66 for 1 token, 101 for
    2, 119 for 4, 198 for 7, 259 for 12, 306 for 15, 262 for 16, 450 for 32, 881 for 64. The table is fixed,
    since bits depend on the size of a call.

    >>> [call_size(items, width=32) for items in (2, 3, 8, 9, 20, 21)]
    [4, 16, 16, 32, 32, 64]
    >>> call_size(8, width=4)
    8
    """
    fitting = [size.tokens for size in _CALL_SIZES if items <= size.max_items]
    return min([2 * width, *fitting])


def trim_drafts(drafts: Sequence[list[int]], width: int) -> None:
    """Shorten the drafts, one for each unfinished item, until the call has its best size.

    Every draft keeps its first token before any keeps its second.

    >>> drafts = [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [1, 2]]
    >>> trim_drafts(drafts, width=32)  # 3 items and 13 tokens: 16
    >>> [len(draft) for draft in drafts]
    [6, 5, 2]
    >>> drafts = [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], []]
    >>> trim_drafts(drafts, width=32)  # too few for 16: 3 items and 1 token are 4
    >>> [len(draft) for draft in drafts]
    [1, 0, 0]
    >>> drafts = [[1, 2], [1, 2, 3], [], [], [], [], []]
    >>> trim_drafts(drafts, width=32)  # 7 items: 12 would not be enough for 16, and 4 are fewer than 7
    >>> [len(draft) for draft in drafts]
    [0, 0, 0, 0, 0, 0, 0]
    >>> drafts = [[1, 2], [1, 2, 3], [], [], [], [], [], []]
    >>> trim_drafts(drafts, width=32)
    >>> [len(draft) for draft in drafts]
    [2, 3, 0, 0, 0, 0, 0, 0]
    """
    items = len(drafts)
    sizes = _deal(drafts, call_size(items, width) - items)
    # Too few for a group: each token would cost its full time.
    if _MIN_ITEMS <= items < GROUP // 2 and items + sum(sizes) < GROUP - 2:
        sizes = _deal(drafts, _SMALL_CALL - items)
    for draft, size in zip(drafts, sizes, strict=True):
        del draft[size:]


def _deal(drafts: Sequence[Sequence[int]], total: int) -> list[int]:
    """Return the number of tokens that each draft keeps if all drafts together keep at most `total`.

    >>> _deal([[1, 2, 3], [1], [1, 2]], 4)
    [2, 1, 1]
    >>> _deal([[1, 2, 3], [1]], 9)
    [3, 1]
    """
    sizes = [0] * len(drafts)
    for position in range(MAX_DRAFT):
        for i, draft in enumerate(drafts):
            if total > 0 and len(draft) > position:
                sizes[i] = position + 1
                total -= 1
    return sizes
