"""What is decoded together, what of it only once, and texts cut into windows: by lengths and tokens alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from localeval.engine.interface import ContextTooLong
from localeval.prompts import join

GLUE_TOKENS = 64  # at most, of glue, options and closings that are fed beside an item's budget
MOST_WINDOWS = 8
GROUP = 16  # tokens that llama.cpp's kernels for the usual quantizations take together


def chunks(feeds: Sequence[int], budgets: Sequence[int], stem: int, n_ctx: int, width: int) -> list[range]:
    """Split the items, in order, where the width or the context is full; give their numbers.

    `feeds` are the tokens of each item and `budgets` those of its reply, `stem` those of prefix and context.
    Raises ContextTooLong where one item is too much.

    >>> chunks([10, 10, 10], [26, 26, 26], stem=800, n_ctx=1000, width=32)
    [range(0, 2), range(2, 3)]
    >>> chunks([10, 10, 10], [26, 26, 26], stem=800, n_ctx=9000, width=2)
    [range(0, 2), range(2, 3)]
    """
    found: list[range] = []
    left = 0
    for i, (feed, budget) in enumerate(zip(feeds, budgets, strict=True)):
        need = feed + budget + GLUE_TOKENS
        if stem + need > n_ctx:
            raise ContextTooLong(f"{stem + need} tokens, {n_ctx} possible")
        if need > left or len(found[-1]) == width:
            found.append(range(i, i))
            left = n_ctx - stem
        found[-1] = range(found[-1].start, i + 1)
        left -= need
    return found


def even_size(tokens: int, most: int) -> int:
    """Size the calls alike when `tokens` need several of at most `most`; give tokens a call.

    A last call of a few tokens would cost as much as one of many. In whole groups.

    >>> even_size(520, 256), even_size(200, 256), even_size(0, 256)
    (176, 208, 0)
    """
    calls = max(1, -(-tokens // most))
    return min(most, -(-tokens // (calls * GROUP)) * GROUP)


class BatchToken(NamedTuple):
    """One token to decode: where it stands, in which sequences, and whether its logits are wanted."""

    token: int
    position: int
    sequences: tuple[int, ...]
    wanted: bool


class Node(NamedTuple):
    """A token that items share: its place behind the context, and the numbers of the items, in order."""

    token: int
    place: int
    items: list[int]


def build_tree(feeds: Sequence[Sequence[int]]) -> tuple[list[Node], list[int]]:
    """Merge equal beginnings of several feeds: (the nodes, the number of each feed's last one).

    A node stands behind those that it follows, so that they can be decoded in this order.

    >>> nodes, ends = build_tree([[5, 6], [5, 7]])
    >>> [(node.token, node.items) for node in nodes], ends
    ([(5, [0, 1]), (6, [0]), (7, [1])], [1, 2])
    """
    nodes: list[Node] = []
    numbers: dict[tuple[int, int], int] = {}  # the node before, and the token -> the node
    ends = []
    for item, feed in enumerate(feeds):
        before = -1
        for place, token in enumerate(feed):
            number = numbers.setdefault((before, token), len(nodes))
            if number == len(nodes):
                nodes.append(Node(token, place, []))
            nodes[number].items.append(item)
            before = number
        ends.append(before)
    return nodes, ends


def count_beyond(nodes: Sequence[Node], asked: Sequence[int]) -> int:
    """Count the nodes that belong to replies: those behind the first `asked` tokens of an item.

    >>> count_beyond(build_tree([[5, 6, 9], [5, 7, 9]])[0], asked=[2, 2])
    2
    """
    return sum(node.place >= asked[node.items[0]] for node in nodes)


def shared_length(sequences: Sequence[Sequence[int]]) -> int:
    """Count the first items that all sequences have alike.

    >>> shared_length([b"not so", b"no"])
    2
    """
    places = enumerate(zip(*sequences, strict=False))
    return next((i for i, items in places if len(set(items)) > 1), min(map(len, sequences)))


def split_windows(sentences: Sequence[str], sizes: Sequence[int], room: int) -> list[str]:
    """Join whole sentences to windows, each with the last sentence of the one before where both fit.

    `sizes` are the tokens of each sentence, `room` a window's.
    Raises ContextTooLong for more than MOST_WINDOWS, or a sentence that no window holds.

    >>> split_windows(["A.", "B.", "C."], [1, 1, 1], 2)
    ['A.\\nB.', 'B.\\nC.']
    >>> split_windows(["A.", "B.", "C."], [5, 5, 6], 10)
    ['A.\\nB.', 'C.']
    """
    found: list[str] = []
    start = 0
    while start < len(sentences) and len(found) <= MOST_WINDOWS and max(sizes) <= room:
        end, used = start, 0
        while end < len(sentences) and used + sizes[end] <= room:
            used += sizes[end]
            end += 1
        found.append(join(sentences[start:end]))
        # The next window begins with this one's last sentence, unless it holds no other one then.
        again = end < len(sentences) and end - 1 > start and sizes[end - 1] + sizes[end] <= room
        start = end - 1 if again else end
    if not found or len(found) > MOST_WINDOWS:
        raise ContextTooLong(
            f"{sum(sizes)} tokens of context, {room} fit a window, {MOST_WINDOWS} windows at most"
        )
    return found
