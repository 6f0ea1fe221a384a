"""What is decoded together, and what of it only once: decided by lengths and tokens alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from localeval.engine.interface import ContextTooLong

GLUE_TOKENS = 64
"""Glue, options and closings are fed beside a leaf's budget: what they take is small and bounded."""

GROUP = 16
"""Rows that llama.cpp's kernels for the usual quantizations take together."""


def chunks(feeds: Sequence[int], budgets: Sequence[int], stem: int, n_ctx: int, width: int) -> list[range]:
    """Split the leaves, in order, where the width or the context is full; give their numbers.

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


def even(rows: int, most: int) -> int:
    """How many rows each call has when `rows` need several of at most `most`: all about as many.

    A last call of a few rows would cost as much as one of many. In whole groups.

    >>> even(520, 256), even(200, 256), even(0, 256)
    (176, 208, 0)
    """
    calls = max(1, -(-rows // most))
    return min(most, -(-rows // (calls * GROUP)) * GROUP)


class Row(NamedTuple):
    """One token to decode: where it stands, in which sequences, and whether its logits are wanted."""

    token: int
    position: int
    sequences: tuple[int, ...]
    wanted: bool


class Node(NamedTuple):
    """A token that leaves share: its place behind the branch, and the numbers of the leaves, in order."""

    token: int
    place: int
    leaves: list[int]

    def row(self, end: int, wanted: bool) -> Row:
        """The token's row behind a branch that ends at `end`; leaf i is sequence 1 + i."""
        return Row(self.token, end + self.place, tuple(1 + leaf for leaf in self.leaves), wanted)


def tree(feeds: Sequence[Sequence[int]]) -> tuple[list[Node], list[int]]:
    """Merge equal beginnings of several feeds: (the nodes, the number of each feed's last one).

    A node stands behind those that it follows, so that they can be decoded in this order.

    >>> nodes, ends = tree([[5, 6], [5, 7]])
    >>> [(node.token, node.leaves) for node in nodes], ends
    ([(5, [0, 1]), (6, [0]), (7, [1])], [1, 2])
    """
    nodes: list[Node] = []
    numbers: dict[tuple[int, int], int] = {}  # the node before, and the token -> the node
    ends = []
    for leaf, feed in enumerate(feeds):
        before = -1
        for place, token in enumerate(feed):
            number = numbers.setdefault((before, token), len(nodes))
            if number == len(nodes):
                nodes.append(Node(token, place, []))
            nodes[number].leaves.append(leaf)
            before = number
        ends.append(before)
    return nodes, ends


def beyond(nodes: Sequence[Node], asked: Sequence[int]) -> int:
    """Count the nodes that belong to replies: those behind the first `asked` tokens of a leaf.

    >>> beyond(tree([[5, 6, 9], [5, 7, 9]])[0], asked=[2, 2])
    2
    """
    return sum(node.place >= asked[node.leaves[0]] for node in nodes)
