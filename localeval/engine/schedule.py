"""Which leaves are decoded together, and what of them only once: decided by lengths and tokens alone."""

from __future__ import annotations

from collections.abc import Sequence

from localeval.engine.interface import ContextTooLong

GLUE_TOKENS = 64
"""Glue, options and closings are fed beside a leaf's budget: what they take is small and bounded."""


def chunks(feeds: Sequence[int], budgets: Sequence[int], stem: int, n_ctx: int, width: int) -> list[range]:
    """The numbers of the leaves, in order, cut where the width or the context is full.

    `feeds` are the tokens of each leaf and `budgets` those of its reply, `stem` those of trunk and branch.
    Raises ContextTooLong where one leaf is too much.

    >>> chunks([10, 10, 10], [26, 26, 26], stem=800, n_ctx=1000, width=32)
    [range(0, 2), range(2, 3)]
    """
    room = n_ctx - stem
    found: list[range] = []
    left = 0
    for i, (feed, budget) in enumerate(zip(feeds, budgets, strict=True)):
        need = feed + budget + GLUE_TOKENS
        if need > room:
            raise ContextTooLong(f"{stem + need} tokens, {n_ctx} possible")
        if not found or need > left or len(found[-1]) == width:
            found.append(range(i, i))
            left = room
        found[-1] = range(found[-1].start, i + 1)
        left -= need
    return found


def shared(feeds: Sequence[Sequence[int]]) -> int:
    """How many tokens all of several feeds begin with; each keeps one of its own, whose logits are wanted.

    >>> shared([[1, 2, 3], [1, 2, 4]]), shared([[1, 2], [1, 2]]), shared([[1, 2]])
    (2, 1, 0)
    """
    if len(feeds) < 2:
        return 0
    most = min(map(len, feeds)) - 1
    return next((i for i in range(most) if len({feed[i] for feed in feeds}) > 1), most)
