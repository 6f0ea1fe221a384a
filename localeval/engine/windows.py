"""Texts cut into windows of whole sentences."""

from __future__ import annotations

from collections.abc import Sequence

from localeval.engine.interface import ContextTooLong
from localeval.prompts import join

MOST_WINDOWS = 8


def cut(sentences: Sequence[str], sizes: Sequence[int], room: int) -> list[str]:
    """Windows of whole sentences, joined, each with the last sentence of the one before it.

    `sizes` are the tokens of each sentence, `room` a window's. Raises ContextTooLong as `windows` does.

    >>> cut(["A.", "B.", "C."], [1, 1, 1], 2)
    ['A.\\nB.', 'B.\\nC.']
    """
    if not sentences:
        raise ContextTooLong(f"text without a sentence to cut at, {room} tokens fit a window")
    if sum(sizes) > room * MOST_WINDOWS or max(sizes) > room:
        raise ContextTooLong(
            f"{sum(sizes)} tokens of context, {room} fit a window, {MOST_WINDOWS} windows at most"
        )
    found: list[str] = []
    start = 0
    while start < len(sentences):
        end, used = start, 0
        while end < len(sentences) and used + sizes[end] <= room:
            used += sizes[end]
            end += 1
        found.append(join(sentences[start:end]))
        # The next window begins with this one's last sentence, unless that would not move on.
        start = end if end == len(sentences) or end - 1 <= start else end - 1
    if len(found) > MOST_WINDOWS:
        raise ContextTooLong(f"{len(found)} windows of {room} tokens, {MOST_WINDOWS} at most")
    return found
