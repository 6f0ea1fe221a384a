"""Find where the sentences of a line end.

pysbd finds them, guarded where it hangs or loses text; end marks tell them where it can't be used.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

# pysbd is quadratic in places, so it reads a line in windows. Few sentences are longer than one.
_WINDOW = 800
_CALL_COST = 30  # the overhead of one call, in characters

# pysbd's numbered-reference regex is exponential in what follows ".[": "..[111 111 111 111 111".
_REFERENCE = re.compile(r"\.\[[\d,\s\[\]-]{14}")
# For each item of an inline list pysbd rewrites the whole window: "a) b) a) b)" is cubic.
_LIST_MARK = re.compile(r"(?:^|[\s(])(?:[a-z]|[ivx]{2,5})[.)]|\d[.)](?=[\s)])")
_MAX_LIST_MARKS = 16
# The characters that pysbd uses as internal markers: it would rewrite such characters of the text.
_PYSBD_MARKERS = re.compile("[∯♨☝♬♭☉☈☇☄ȸȹ☏ƪ♟♝∮⎋✂⌬ᓰᓱᓳᓴᓷᓸ]")

_END = re.compile(r"[.!?。．！？]")
# No part of it can fail after a long match, so finding all matches takes linear time.
_TERMINATOR = re.compile(r"[.!?。．！？…]+[\"'”’»」』）)\]]*(?:\[[\d,\s-]*\])*(\s*)")
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef“‘]")
_ABBREVIATION = re.compile(r"\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Drs|Prof|St|No|Nos|vs|Fig|Gen|Gov|Sen|Rep|Lt|pp)$")
_MAX_ABBREVIATION = 8  # characters before an end mark that are looked at


def sentence_ends(line: str, script_name: str, budget: int) -> tuple[list[int], int]:
    """Return where the sentences of a line end (the last at its length), and the remaining budget.

    The last sentence of a window is left to the next one, which begins there, so that no window's edge cuts a
    sentence that is shorter than a window.
    """
    ends: list[int] = []
    position = 0
    while position < len(line) or not ends:
        window = line[position : position + _WINDOW]
        is_last = position + len(window) == len(line)
        if is_last and not _END.search(window, 0, len(window) - 1):
            return [*ends, len(line)], budget
        if budget < len(window) + _CALL_COST:
            return [*ends, *_rule_based_ends(line, position)], 0
        budget -= len(window) + _CALL_COST
        offsets = _pysbd_ends(window, script_name) or _rule_based_ends(window, 0)
        window_ends = [position + offset for offset in offsets]
        if is_last:
            ends += window_ends
        elif len(window_ends) > 1:
            ends += window_ends[:-1]
        else:
            # A sentence that is longer than the window.
            ends.append(next(_rule_based_ends(line, position)))
        position = ends[-1]
    return ends, budget


def _pysbd_ends(window: str, script_name: str) -> list[int] | None:
    """Return where sentences end by pysbd, the last at the window's length; None if it can't be trusted."""
    too_many_marks = len(_LIST_MARK.findall(window)) > _MAX_LIST_MARKS
    if too_many_marks or _PYSBD_MARKERS.search(window) or _REFERENCE.search(window):
        return None
    try:
        # Not `segment`: it searches for each sentence from the start of the text, in quadratic time, and
        # silently drops those that it does not find.
        pieces = _segmenter("zh" if script_name == "han" else "en").processor(window).process()
    except (IndexError, ValueError, re.error):
        return None
    ends: list[int] = []
    position = 0
    for piece in filter(None, map(str.strip, pieces)):
        rest = window[position:].lstrip()
        if not rest.startswith(piece):
            return None
        position = len(window) - len(rest) + len(piece)
        ends.append(position)
    if not ends or window[position:].strip():
        return None
    return [*ends[:-1], len(window)]


@lru_cache
def _segmenter(code: str) -> Any:
    """Return pysbd's segmenter for "zh" or "en", imported on first use."""
    with warnings.catch_warnings():
        # Its source has invalid escapes ("\s" in plain strings), of which Python warns when compiling it.
        warnings.simplefilter("ignore")
        import pysbd
    return pysbd.Segmenter(language=code, clean=False)


def _rule_based_ends(text: str, start: int) -> Iterator[int]:
    """Yield where sentences end from `start` on, the last at the text's end, by end marks; linear time."""
    for mark in _TERMINATOR.finditer(text, start):
        if mark.end() < len(text) and _ends_sentence(text, mark):
            yield mark.start(1)
    yield len(text)


def _ends_sentence(text: str, mark: re.Match[str]) -> bool:
    """Return whether a match of `_TERMINATOR`, before the end of the text, ends a sentence."""
    after = text[mark.end()]
    if mark[0][0] in "。．！？":
        return True
    has_space = bool(mark[1])
    if not has_space:
        return bool(_WIDE.match(after))
    before = text[max(0, mark.start() - _MAX_ABBREVIATION) : mark.start()]
    is_abbreviation = mark[0].rstrip() == "." and _ABBREVIATION.search(before)
    return not after.islower() and not is_abbreviation
