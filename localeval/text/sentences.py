"""Cut a text into sentences: pysbd, guarded where it hangs, loses text or breaks inside Chinese quotes.

The way of a text: lines (`_lines`), of each line the places where a sentence ends (`_ends`, by pysbd in
windows or by `_plain_ends`), less those that should not have been one (`_outside_quotes`, `_joined`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from localeval.text.language import script

# pysbd is quadratic in places, so it sees a line through windows. Few sentences are longer than one.
_WINDOW = 800
# Characters that pysbd may read in one call of `split_sentences`; the rest goes to `_plain_ends`. The worst
# text known (nothing but abbreviations, each compiling a regex) costs 0.04 ms a character, prose 0.003. Not
# counted in seconds, because the same text has to give the same sentences on every machine.
BUDGET = 40_000
_CALL = 30  # what one call costs beside its text, in characters

# pysbd's numbered-reference regex is exponential in what follows ".[": "..[111 111 111 111 111".
_REFERENCE = re.compile(r"\.\[[\d,\s\[\]-]{14}")
# Each item of an inline list makes it rewrite the whole window: "a) b) a) b)" is cubic.
_LIST_SIGN = re.compile(r"(?:^|[\s(])(?:[a-z]|[ivx]{2,5})[.)]|\d[.)](?=[\s)])")
_MAX_LIST_SIGNS = 16
# The characters that pysbd uses for its own notes: it would read ours as its own, and rewrite them.
_OWN_SIGNS = re.compile("[∯♨☝♬♭☉☈☇☄ȸȹ☏ƪ♟♝∮⎋✂⌬ᓰᓱᓳᓴᓷᓸ]")

_HAN = r"[\u3400-\u9fff]"
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*([A-Za-z0-9+#._{}=-]{0,30})")
_LONE_NUMBER = re.compile(r"\s*\d{1,2}[.)、）]")
# What may stand before the words of a line: quote marks, then bullets or heading signs, then a number.
_MARKER = re.compile(
    r"\s*(?:>\s*)*(?:[-*+–—]\s+|[•●▪◦‣⁃]\s*|\#{1,6}\s+)*"
    rf"(?:\*\*\d{{1,2}}[.)]\*\*\s+|\d{{1,2}}[.)]\s+|[（(]\d{{1,2}}[)）]\s*|\d{{1,2}}[.．、)）]\s*(?={_HAN}))?"
)

_END = re.compile(r"[.!?。．！？]")
# No part of it can fail after a long match, so finding all of them takes linear time.
_TERMINATOR = re.compile(r"[.!?。．！？…]+[\"'”’»」』）)\]]*(?:\[[\d,\s-]*\])*(\s*)")
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef“‘]")
_ABBREVIATION = re.compile(r"\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Drs|Prof|St|No|Nos|vs|Fig|Gen|Gov|Sen|Rep|Lt|pp)$")

# Behind these a number goes on with the sentence, behind the second ones a name does.
_BEFORE_NUMBER = re.compile(
    r"\b(?:approx|ca|c|est|vol|ch|eq|max|min|pop|b|d|r|fig|sec|art|ver)\.$", re.IGNORECASE
)
_BEFORE_NAME = re.compile(r"\b(?:Ft|Pres|Mt|Rev|Hon|Capt|Col|Sgt)\.$")
_URL = re.compile(r"(?:https?://|www\.)\S*$", re.IGNORECASE)
_DIGIT_NEXT = re.compile(r"\s+\d")
_SMALL_WORD = re.compile(r"\s+[a-z]+\b")
_SHORT = re.compile(r"\b[A-Za-z]{1,3}\.$")

_NUMBER_ONLY = re.compile(r"\W*\d{1,2}[.)）]\W*")

_PAIRS = {"”": "“", "」": "「", "』": "『", "》": "《", "）": "（", ")": "(", '"': '"'}
_SHORT_QUOTATION = 120  # a longer quotation is several sentences, not a part of one
_GOES_ON = frozenset("，、；：,;:")
_MORE = frozenset("。．！？!?…")
_BEFORE_SPEECH = _GOES_ON | _MORE | frozenset(" \u3000")


@dataclass(frozen=True)
class Sentence:
    """One sentence and its place: `original[start:end] == text`, with no white space at either end."""

    text: str
    start: int
    end: int


def split_sentences(text: str) -> list[Sentence]:
    """Split `text` into its sentences, in order and apart.

    Every letter and digit of the text is in exactly one sentence, except those of Markdown's own marks: the
    number before a list item and the language after a code fence. A line ends a sentence; a row of a table
    and a line of fenced code is one. What has no letter and no digit is no sentence. Never raises, and time
    grows with the length of the text, whatever it holds.

    >>> [s.text for s in split_sentences("# Result\\n1. Dr. Smith won 3.5% more. He left.\\n2. Nobody knew.")]
    ['Result', 'Dr. Smith won 3.5% more.', 'He left.', 'Nobody knew.']
    >>> split_sentences("他说：“我来了。你呢？”然后走了。")[0].text
    '他说：“我来了。你呢？”'
    """
    written, budget = script(text), BUDGET
    sentences: list[Sentence] = []
    for start, end, prose in _lines(text):
        line = text[start:end]
        ends = [len(line)]
        if prose:
            ends, budget = _ends(line, written, budget)
            if len(ends) > 1:
                ends = _joined(line, ends if written == "latin" else _outside_quotes(line, ends))
        for left, right in pairwise([0, *ends]):
            rest = line[left:right].lstrip()
            if has_words(rest):
                first = start + right - len(rest)
                words = rest.rstrip()
                sentences.append(Sentence(words, first, first + len(words)))
    return sentences


def has_words(text: str) -> bool:
    """Tell whether it has a letter or a digit: without one a text says nothing."""
    return any(map(str.isalnum, text))


def _lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, is it prose?) of each line without list and heading marks; skip fences."""
    fence = ""
    at = 0
    # A line "42." is a list number with its item on the next line, unless nothing follows.
    last = len(text.rstrip())
    for raw in text.splitlines(keepends=True):
        start, at = at, at + len(raw)
        line = raw.rstrip()
        mark = _FENCE.fullmatch(line)
        if fence and not (mark and mark[1].startswith(fence) and not mark[2]):
            yield start, start + len(line), False
        elif mark:
            fence = "" if fence else mark[1]
        elif at >= last or not _LONE_NUMBER.fullmatch(line):
            marker = _MARKER.match(line)
            words = start + (marker.end() if marker else 0)
            yield words, start + len(line), not text.startswith("|", words)


def _ends(line: str, written: str, budget: int) -> tuple[list[int], int]:
    """Find where the sentences of a line end (the last at its length), and what is left of the budget.

    All but the last sentence of a window are taken, and the next window begins where they end: so no window's
    edge cuts a sentence that is shorter than a window.
    """
    ends: list[int] = []
    at = 0
    while at < len(line) or not ends:
        window = line[at : at + _WINDOW]
        whole = at + len(window) == len(line)
        if whole and not _END.search(window, 0, len(window) - 1):
            return [*ends, len(line)], budget
        if budget < len(window) + _CALL:
            return [*ends, *_plain_ends(line, at)], 0
        budget -= len(window) + _CALL
        found = [at + end for end in _pysbd_ends(window, written) or _plain_ends(window, 0)]
        ends += found if whole else found[:-1] or [next(_plain_ends(line, at))]
        at = ends[-1]
    return ends, budget


def _pysbd_ends(window: str, written: str) -> list[int] | None:
    """Ask pysbd where sentences end, the last at the window's length; None if it can't be trusted."""
    lists = len(_LIST_SIGN.findall(window)) > _MAX_LIST_SIGNS
    if lists or _OWN_SIGNS.search(window) or _REFERENCE.search(window):
        return None
    try:
        # Not `segment`: it looks for each sentence from the start of the text, in quadratic time, and
        # drops without a word the ones that it does not find.
        pieces = _segmenter("zh" if written == "han" else "en").processor(window).process()
    except (IndexError, ValueError, re.error):
        return None
    ends = [0]
    for piece in filter(None, map(str.strip, pieces)):
        rest = window[ends[-1] :].lstrip()
        if not rest.startswith(piece):
            return None
        ends.append(len(window) - len(rest) + len(piece))
    if len(ends) == 1 or window[ends[-1] :].strip():
        return None
    return [*ends[1:-1], len(window)]


@lru_cache
def _segmenter(code: str) -> Any:
    """pysbd's segmenter for "zh" or "en", imported on first use."""
    with warnings.catch_warnings():
        # Its source has invalid escapes ("\s" in plain strings), which Python warns of when it compiles it.
        warnings.simplefilter("ignore")
        import pysbd
    return pysbd.Segmenter(language=code, clean=False)


def _plain_ends(text: str, at: int) -> Iterator[int]:
    """Find where sentences end from `at` on, the last at the text's end, by end marks alone; linear time."""
    for mark in _TERMINATOR.finditer(text, at):
        if mark.end() == len(text):
            break
        after = text[mark.end()]
        before = text[max(0, mark.start() - 8) : mark.start()]
        if mark[0][0] in "。．！？":
            ends = True
        elif not mark[1]:  # no space
            ends = bool(_WIDE.match(after))
        else:
            abbreviated = mark[0].rstrip() == "." and _ABBREVIATION.search(before)
            ends = not after.islower() and not abbreviated
        if ends:
            yield mark.start(1)
    yield len(text)


def _joined(line: str, ends: list[int]) -> list[int]:
    """Drop ends within a sentence, behind a lone list number, or between a word and its marks."""
    kept: list[int] = []
    start = 0
    capitals = next((c for c in line if c.isalpha()), "").isupper()
    for end, after in pairwise(ends):
        lone_number = _NUMBER_ONLY.fullmatch(line, start, end)
        lone_marks = not line[end].isspace() and not has_words(line[end:after])
        if not lone_number and not lone_marks and not _goes_on(line, end, capitals):
            kept.append(end)
        start = end
    return [*kept, ends[-1]]


def _goes_on(line: str, end: int, capitals: bool) -> bool:
    """Tell whether the sentence goes on behind its mark: in an address or code, or an abbreviation.

    With `capitals` sentences of the line begin with capitals, so that a small letter goes on with one.

    >>> _goes_on("Who Is Ann? was shot in May.", 11, True), _goes_on("Is it? Yes.", 6, True)
    (True, False)
    """
    before = line[max(0, end - 200) : end]
    if before[-1] not in ".!?":
        return False
    if not line[end].isspace():
        return bool(_URL.search(before)) or (before[-1] != "." and line[end] in "._=/&")
    if _DIGIT_NEXT.match(line, end):
        return bool(_BEFORE_NUMBER.search(before))
    small = capitals and _SMALL_WORD.match(line, end) and (before[-1] != "." or _SHORT.search(before))
    return bool(small or _BEFORE_NAME.search(before))


def _outside_quotes(line: str, ends: list[int]) -> list[int]:
    """Drop ends inside short quotations; closing marks go to the sentence before them.

    A sentence goes on after a quotation that it has no mark before (问了“走吗？”就走), and not after speech
    (他说：“走吧。”就走).
    """
    opening_of: dict[int, int] = {}  # each closing mark's; a stack for each kind keeps it linear
    opened: dict[str, list[int]] = {}
    for place, sign in enumerate(line):
        if opened.get(_PAIRS.get(sign, "")):
            opening_of[place] = opened[_PAIRS[sign]].pop()
        elif sign in _PAIRS.values():
            opened.setdefault(sign, []).append(place)
    inside = bytearray(len(line) + 1)  # of nested pairs the outer one counts
    for close, first in opening_of.items():
        if close - first <= _SHORT_QUOTATION:
            inside[first + 1 : close + 1] = b"\1" * (close - first)
    kept: list[int] = []
    for end in ends[:-1]:
        moved = end
        while moved in opening_of or line[moved : moved + 1] in _MORE:
            moved += 1
        goes_on = inside[moved] or line[moved : moved + 1] in _GOES_ON
        first = opening_of.get(moved - 1, -1)
        if first >= 0:
            embedded = first > 0 and line[first - 1] not in _BEFORE_SPEECH
            goes_on |= line[first] == "《" or (embedded and moved - first <= _SHORT_QUOTATION)
        if not goes_on and moved < len(line) and moved > (kept[-1] if kept else 0):
            kept.append(moved)
    return [*kept, len(line)]
