"""Group items into chunks, share their common tokens, and cut texts into windows, by tokens alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from localeval.engine.interface import ContextTooLong

GLUE_TOKENS = 64  # maximum tokens of JSON syntax and options that an item's reply has besides its budget
MAX_WINDOWS = 8
GROUP = 16  # tokens that llama.cpp's kernels for the usual quantizations compute together


def chunks(feeds: Sequence[int], budgets: Sequence[int], stem: int, n_ctx: int, width: int) -> list[range]:
    """Split the items, in order, where the width or the context is full; return ranges of their indices.

    Tokens are counted: `feeds` of each item, `budgets` of its reply, `stem` of prefix and context.
    Raises ContextTooLong where a single item does not fit.

    >>> chunks([10, 10, 10], [26, 26, 26], stem=800, n_ctx=1000, width=32)
    [range(0, 2), range(2, 3)]
    >>> chunks([10, 10, 10], [26, 26, 26], stem=800, n_ctx=9000, width=2)
    [range(0, 2), range(2, 3)]
    >>> chunks([10], [26], stem=900, n_ctx=1000, width=2)
    [range(0, 1)]
    >>> chunks([10], [26], stem=901, n_ctx=1000, width=2)
    Traceback (most recent call last):
    localeval.engine.interface.ContextTooLong: 1001 tokens, 1000 possible
    """
    ranges: list[range] = []
    start = 0
    left = n_ctx - stem
    for i, (feed, budget) in enumerate(zip(feeds, budgets, strict=True)):
        need = feed + budget + GLUE_TOKENS
        if stem + need > n_ctx:
            raise ContextTooLong(f"{stem + need} tokens, {n_ctx} possible")
        if need > left or i - start == width:
            ranges.append(range(start, i))
            start = i
            left = n_ctx - stem
        left -= need
    if feeds:
        ranges.append(range(start, len(feeds)))
    return ranges


def even_size(tokens: int, limit: int) -> int:
    """Return the tokens per call when `tokens` are split evenly into calls of at most `limit` tokens.

    Even, as a last call of a few tokens would cost as much as one of many. Rounded up to whole groups.

    >>> even_size(520, 256), even_size(200, 256)
    (176, 208)
    """
    calls = max(1, math.ceil(tokens / limit))
    groups = math.ceil(tokens / (calls * GROUP))
    return min(limit, groups * GROUP)


class BatchToken(NamedTuple):
    """One token to decode: its position, its sequences, and whether its logits are needed."""

    token: int
    position: int
    sequences: tuple[int, ...]
    needs_logits: bool


class Node(NamedTuple):
    """A token that items share: its offset after the context, and the indices of the items, in order."""

    token: int
    place: int
    items: list[int]


def build_tree(feeds: Sequence[Sequence[int]]) -> tuple[list[Node], list[int]]:
    """Merge equal beginnings of feeds; return (the nodes, the index of each feed's last node).

    A node comes after those that it follows, so that they can be decoded in this order.

    >>> nodes, ends = build_tree([[5, 6], [5, 7]])
    >>> [(node.token, node.items) for node in nodes], ends
    ([(5, [0, 1]), (6, [0]), (7, [1])], [1, 2])
    """
    nodes: list[Node] = []
    children: dict[tuple[int, int], int] = {}  # (index of the parent, token) -> index of the node
    ends = []
    for item, feed in enumerate(feeds):
        last = -1
        for offset, token in enumerate(feed):
            index = children.setdefault((last, token), len(nodes))
            if index == len(nodes):
                nodes.append(Node(token, offset, []))
            nodes[index].items.append(item)
            last = index
        ends.append(last)
    return nodes, ends


def count_beyond(nodes: Sequence[Node], asked: Sequence[int]) -> int:
    """Count the nodes that belong to replies: those after the first `asked` tokens of an item.

    >>> count_beyond(build_tree([[5, 6, 9], [5, 7, 9]])[0], asked=[2, 2])
    2
    """
    return sum(node.place >= asked[node.items[0]] for node in nodes)


def shared_length(sequences: Sequence[Sequence[int]]) -> int:
    """Return the length of the longest common beginning of the sequences.

    >>> shared_length([b"not so", b"no"]), shared_length([b"not so", b"nor"])
    (2, 2)
    """
    for i, column in enumerate(zip(*sequences, strict=False)):
        if len(set(column)) > 1:
            return i
    return min(len(sequence) for sequence in sequences)


def split_windows(pieces: Sequence[str], sizes: Sequence[int], room: int) -> list[str]:
    """Join the pieces of a text into windows; each repeats the last piece of the previous one if it fits.

    Tokens are counted: `sizes` of each piece, `room` of a window. White space around a window goes.
    Raises ContextTooLong for no room, a piece longer than a window, or more than MAX_WINDOWS.

    >>> split_windows(["A.\\n", "B. ", "C."], [1, 1, 1], 2)
    ['A.\\nB.', 'B. C.']
    >>> len(split_windows(["A."] * MAX_WINDOWS, [1] * MAX_WINDOWS, 1))
    8
    >>> split_windows(["A. ", "B. ", "C."], [2, 7, 4], 10)
    ['A. B.', 'C.']
    """
    if not room:
        raise ContextTooLong("the rest of the prompt leaves no room for a context")
    windows: list[str] = []
    start = 0
    fits = max(sizes, default=0) <= room
    while fits and start < len(pieces) and len(windows) <= MAX_WINDOWS:
        end = start
        used = 0
        while end < len(pieces) and used + sizes[end] <= room:
            used += sizes[end]
            end += 1
        windows.append("".join(pieces[start:end]).rstrip().lstrip("\r\n"))
        # The next window repeats this one's last piece, unless no other piece would fit.
        overlap = end < len(pieces) and sizes[end - 1] + sizes[end] <= room
        start = end - 1 if overlap else end
    if not windows or len(windows) > MAX_WINDOWS:
        raise ContextTooLong(
            f"{sum(sizes)} tokens of context, {room} fit a window, {MAX_WINDOWS} windows at most"
        )
    return windows


class Difference(NamedTuple):
    """Where a text first differs from a variant: the index of the token, and the token of each there."""

    place: int
    token: int
    other: int


def first_difference(tokens: Sequence[int], others: Sequence[int]) -> Difference:
    """Return the first difference of two texts.

    Raises ValueError where they differ at the first token, or one is the beginning of the other.

    >>> first_difference([5, 6, 7], [5, 8])
    Difference(place=1, token=6, other=8)
    """
    for place, (token, other) in enumerate(zip(tokens, others, strict=False)):
        if token != other and place > 0:
            return Difference(place, token, other)
        if token != other:
            break
    raise ValueError("the texts differ at the first token, or not at all")


def with_few_outputs(tokens: Sequence[BatchToken], size: int, outputs: int) -> list[list[BatchToken]]:
    """Split tokens into batches of at most `size`, in each of which at most `outputs` need logits.

    >>> batch = [BatchToken(0, i, (1,), True) for i in range(5)]
    >>> [len(part) for part in with_few_outputs(batch, size=4, outputs=2)]
    [2, 2, 1]
    """
    parts: list[list[BatchToken]] = []
    left = 0
    for token in tokens:
        if not parts or len(parts[-1]) == size or left < token.needs_logits:
            parts.append([])
            left = outputs
        parts[-1].append(token)
        left -= token.needs_logits
    return parts
