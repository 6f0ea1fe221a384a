"""Cut contexts that are longer than the engine's context into windows, each a part of the text as it is.

A window has the list numbers, headings and marks of code of its part: "the second step" can be judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from localeval.claims.evidence import context_sentences
from localeval.engine.batching import MAX_WINDOWS, split_windows
from localeval.prompts import join

# A sentence that is longer than a window is cut into parts of one eighth of a window: so small that windows
# are well filled, though each repeats a part of the one before it.
_PARTS_OF_WINDOW = 8
_MAX_WORD = 40  # characters
_SPACE = re.compile(r"\s(?=\S)")
_CLAUSE_MARK = re.compile("[；;，,、।。.!?！？]")
_CUTTING_MARK = re.compile(f"{_SPACE.pattern}|{_CLAUSE_MARK.pattern}")


def text_windows(contexts: Sequence[str], count: Callable[[str], int], room: int) -> list[str]:
    """Cut the joined contexts into windows of whole sentences; each repeats the last one of the previous.

    Only a sentence that is longer than a window is cut: at white space, else at a mark between clauses, else
    at a character.

    count  counts the tokens of a part of the text
    room   tokens that fit a window

    Raises ContextTooLong for no room, a character of more tokens, or more than MAX_WINDOWS windows.

    >>> text_windows(["1. Stop the mill.", "2. Clean it.\\n3. Oil it."], len, 34)
    ['1. Stop the mill.\\n2. Clean it.', '2. Clean it.\\n3. Oil it.']
    >>> text_windows(["tea " * 8], len, 20)
    ['tea tea tea tea tea', 'tea tea tea tea']
    """
    pieces = sentence_pieces(contexts)
    sizes = [count(piece) for piece in pieces]
    # Else it is refused, and need not be cut.
    if sum(sizes) <= MAX_WINDOWS * room:
        parts = list[str]()
        for piece, size in zip(pieces, sizes, strict=True):
            parts += cut(piece, count, room) if size > room else [piece]
        pieces = parts
        sizes = [count(piece) for piece in pieces]
    return split_windows(pieces, sizes, room)


def sentence_pieces(contexts: Sequence[str]) -> list[str]:
    """Cut the joined contexts into their sentences, each with what stands before it; nothing is left out.

    What stands behind a sentence on its line belongs to it, and not to the next one.

    >>> sentence_pieces(["# Mill\\n1. Stop it. Wait.", "2. Clean it."])
    ['# Mill\\n', '1. Stop it.', ' Wait.\\n', '2. Clean it.']
    """
    text = join(contexts)
    # A line break joins two contexts.
    offsets = [0, *accumulate(len(context) + 1 for context in contexts)]
    places = []
    for sentence in context_sentences(contexts):
        offset = offsets[sentence.context]
        places.append((offset + sentence.start, offset + sentence.end))
    starts = [0]
    for (_, end), (following, _) in pairwise(places):
        line_break = text.find("\n", end, following)
        starts.append(end if line_break < 0 else line_break + 1)
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


def cut(text: str, count: Callable[[str], int], room: int) -> list[str]:
    """Halve `text` until each part is a small share of a window, or a word that fits it, or a character.

    >>> cut("the wheel of the mill", len, 12), cut("甲乙，丙丁", len, 4)
    (['the ', 'wheel ', 'of ', 'the ', 'mill'], ['甲乙，', '丙丁'])
    """
    parts = list[str]()
    remaining = [text]
    while remaining:
        part = remaining.pop()
        tokens = count(part)
        is_word = len(part) <= _MAX_WORD and not _CUTTING_MARK.search(part, 1, len(part) - 1)
        max_tokens = room if is_word else room // _PARTS_OF_WINDOW
        if tokens <= max_tokens or len(part) < 2:
            parts.append(part)
            continue
        place = _cutting_place(part)
        remaining += [part[place:], part[:place]]
    return parts


def _cutting_place(text: str) -> int:
    """Return where to cut: near the middle, so that halving ends soon, and not before a combining mark."""
    middle = len(text) // 2
    margin = len(text) // 4 if len(text) > 2 * _MAX_WORD else 0
    first = max(1, margin)
    last = len(text) - first
    for mark in (_SPACE, _CLAUSE_MARK):
        places = [found.end() for found in mark.finditer(text, first - 1, last)]
        if places:
            return min(places, key=lambda place: abs(place - middle))
    place = middle
    while place < last and unicodedata.category(text[place])[0] == "M":
        place += 1
    return place
