"""Split a text into sentences: pysbd, guarded where it hangs, loses text or breaks inside Chinese quotes.

A text is split into lines (`_lines`), those of a wrapped paragraph are joined (`_unwrap`), and each is split
at the ends of its sentences: those of `_sentence_ends` (by pysbd in windows or by `_rule_based_ends`) and of
`missed_ends`, without false ends (`_drop_quoted_ends`, `_drop_false_ends`).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from localeval.text.breaks import (
    after_notes,
    begins_with_answer,
    begins_with_note,
    is_ordinal,
    item_starts,
    missed_ends,
    protected_spans,
    without_bullet,
)
from localeval.text.script import UNIFIED_HAN, script

# pysbd is quadratic in places, so it reads a line in windows. Few sentences are longer than one.
_WINDOW = 800
# Characters that pysbd may read in one call of `split_sentences`; the rest goes to `_rule_based_ends`. The
# worst known text (nothing but abbreviations, each compiling a regex) costs 0.04 ms a character, prose 0.003.
# Not a time limit, because the same text must give the same sentences on every machine.
BUDGET = 40_000
_CALL_COST = 30  # the overhead of one call, in characters

# pysbd's numbered-reference regex is exponential in what follows ".[": "..[111 111 111 111 111".
_REFERENCE = re.compile(r"\.\[[\d,\s\[\]-]{14}")
# For each item of an inline list pysbd rewrites the whole window: "a) b) a) b)" is cubic.
_LIST_MARK = re.compile(r"(?:^|[\s(])(?:[a-z]|[ivx]{2,5})[.)]|\d[.)](?=[\s)])")
_MAX_LIST_MARKS = 16
# The characters that pysbd uses as internal markers: it would rewrite those of the text.
_PYSBD_MARKERS = re.compile("[∯♨☝♬♭☉☈☇☄ȸȹ☏ƪ♟♝∮⎋✂⌬ᓰᓱᓳᓴᓷᓸ]")

_HAN = f"[{UNIFIED_HAN}]"
_FENCE = re.compile(r"\s*(`{3,}|~{3,})[ \t]*([A-Za-z0-9+#._{}=-]{0,30})")
_LONG_NUMBER = re.compile(r"\s*(\d{3})[.)]\s+(?=\S)")  # of a long list, if the number before it is above
_LIST_NUMBER = re.compile(r"\d{1,3}")
_LONE_NUMBER = re.compile(r"\s*\d{1,2}[.)、）]")
# What may precede the words of a line: quote marks, then bullets or heading signs, then a number.
_MARKER = re.compile(
    r"\s*(?:>\s*)*(?:[-*+–—]\s+|[•●▪◦‣⁃]\s*|\#{1,6}\s+)*"
    rf"(?:\*\*\d{{1,2}}[.)]\*\*\s+|\d{{1,2}}[.)]\s+|[（(]\d{{1,2}}[)）]\s*|\d{{1,2}}[.．、)）]\s*(?={_HAN}))?"
)

_BULLET_BEFORE = re.compile(r"[•●▪◦‣■]\s*$")
# A table's rule, and a row of a table without one, whose cells stand apart.
_TABLE_RULE = re.compile(r"\|?(?::?-+:?\|)+(?::?-+:?)?")  # without its spaces
_CELL_MARK = re.compile(r"\s\|\s")

# Widths of a page in letters: shorter lines are a list or a poem, longer ones a paragraph each.
_WIDTHS, _HAN_WIDTHS = range(40, 131), range(20, 66)
_FULL = 0.9  # share of the paragraph's width from which a line is full; letters are not equally wide
_OPEN_END = re.compile(r"[^\s:;：；|>{}(\[\]=\\][\"'”’»*_)）」』]*$")  # not of a list's head, a table or code
_SMALL = re.compile(r"[a-z]+[,;.!?)’'\"-]*(?=\s)(?! [=:])")  # no key of a setting, no cell of a table
_INNER_END = re.compile(r"[a-z]{2}[.!?] +[A-Z]|[。！？]")
_FIRST_WORD = re.compile(rf"{_HAN}|[^\s{UNIFIED_HAN}]+")
_LINE_BREAK = re.compile(r"[\n-\r\x1c-\x1e\x85\u2028\u2029]")

_END = re.compile(r"[.!?。．！？]")
# No part of it can fail after a long match, so finding all matches takes linear time.
_TERMINATOR = re.compile(r"[.!?。．！？…]+[\"'”’»」』）)\]]*(?:\[[\d,\s-]*\])*(\s*)")
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef“‘]")
_ABBREVIATION = re.compile(r"\b(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Drs|Prof|St|No|Nos|vs|Fig|Gen|Gov|Sen|Rep|Lt|pp)$")

# After these a number continues the sentence; after the second ones a name does.
_BEFORE_NUMBER = re.compile(
    r"\b(?:approx|ca|c|est|vol|ch|eqs?|max|min|pop|b|d|r|figs?|refs?|sec|art|ver|para|app|tel)\.$",
    re.IGNORECASE,
)
_BEFORE_ZONE = re.compile(r"\b[ap]\.?m\.$", re.IGNORECASE)
_ZONE = re.compile(
    r"\s+(?:[A-Z]{2,4}T\b|(?:Eastern|Central|Mountain|Pacific)\b|\(?(?:Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day)"
)
_NAME_DOT = re.compile(rf"(?:^|[\s/~]|{_HAN})[\"'`“‘(*]*\.$")  # of .NET, .env and ./run
_NAME = re.compile(r"[a-z0-9./]|[A-Z]{2}")
_CLOSING = re.compile(r"[*_]+(?=\s)")  # of bold text
_BEFORE_NAME = re.compile(r"\b(?:Ft|Pres|Mt|Rev|Hon|Capt|Col|Sgt)\.$")
_URL = re.compile(r"(?:https?://|www\.)\S*$", re.IGNORECASE)
_DIGIT_NEXT = re.compile(r"\s+[$€£(]?\d")
_SMALL_WORD = re.compile(r"\s+[a-z]+\b")
_SHORT = re.compile(r"\b[A-Za-z]{1,3}\.$")

_NO_SENTENCE = re.compile(r"\W*\d{1,2}[.)）]\W*|\s*[A-Za-z]+\s*")  # a list number, or the word before it

_FIRST_NUMBER = re.compile(r"\s*\d{3}[.)]\s*")  # at a line's start, of a list that began before the text

_PAIRS = {"”": "“", "」": "「", "』": "『", "》": "《", "）": "（", ")": "(", '"': '"'}
_MAX_QUOTATION = 120  # a longer quotation is several sentences, not part of one
_CONTINUATION_MARKS = frozenset("，、；：,;:")
_END_MARKS = frozenset("。．！？!?…")
_BEFORE_SPEECH = _CONTINUATION_MARKS | _END_MARKS | frozenset(" \u3000")


@dataclass(frozen=True)
class Sentence:
    """One sentence and its offsets: `original[start:end] == text`, with no white space at either end."""

    text: str
    start: int
    end: int


def split_sentences(text: str) -> list[Sentence]:
    """Split `text` into its sentences, in order and without overlap.

    Every letter and digit of the text is in exactly one sentence, except those of Markdown's own marks: the
    number of a list item and the language of a code fence. The end of a line ends a sentence, unless the line
    was wrapped there; a table row and a line of fenced code are one each. Text without letters and digits is
    no sentence. Never raises; the time is linear in the length of any text.

    >>> [s.text for s in split_sentences("# Result\\n1. Dr. Smith won 3.5% more. He left.\\n2. Nobody knew.")]
    ['Result', 'Dr. Smith won 3.5% more.', 'He left.', 'Nobody knew.']
    >>> split_sentences("他说：“我来了。你呢？”然后走了。")[0].text
    '他说：“我来了。你呢？”'
    """
    script_name, budget = script(text), BUDGET
    sentences: list[Sentence] = []
    for start, end, prose in _unwrap(text, _lines(text), script_name):
        line = _LINE_BREAK.sub(" ", text[start:end])
        ends = [len(line)]
        if prose:
            ends, budget = _sentence_ends(line, script_name, budget)
            ends = sorted({*ends, *missed_ends(line, script_name)})
            if len(ends) > 1:
                ends = ends if script_name == "latin" else _drop_quoted_ends(line, ends)
                ends = _drop_false_ends(line, _with_notes(line, ends))
            has_bullet = bool(_BULLET_BEFORE.search(text, max(0, start - 4), start))
            ends = sorted({*ends, *item_starts(line, has_bullet)})
        for left, right in pairwise([0, *ends]):
            stripped = without_bullet(line[left:right]) if prose else line[left:right].lstrip()
            if has_words(stripped):
                offset = start + right - len(stripped)
                end_of_words = offset + len(stripped.rstrip())
                sentences.append(Sentence(text[offset:end_of_words], offset, end_of_words))
    return sentences


def has_words(text: str) -> bool:
    """Return whether `text` has a letter or a digit: without one it says nothing."""
    return any(map(str.isalnum, text))


def _lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, is prose) of each line, without list and heading marks; skip fences."""
    fence, position, number = "", 0, 0
    # A line "42." is a list number with its item on the next line, unless nothing follows.
    last = len(text.rstrip())
    raws = text.splitlines(keepends=True)
    ruled, rows = _table_rows(raws) if "|" in text else (set[int](), set[int]())
    for i, raw in enumerate(raws):
        start, position = position, position + len(raw)
        line = raw.rstrip()
        mark = _FENCE.fullmatch(line)
        if fence and not (mark and mark[1].startswith(fence) and not mark[2]):
            yield start, start + len(line), False
        elif mark:
            fence = "" if fence else mark[1]
        elif i in ruled:
            yield start + len(line) - len(line.lstrip()), start + len(line), False
        elif position >= last or not _LONE_NUMBER.fullmatch(line):
            marker = _MARKER.match(line)
            long_number = _LONG_NUMBER.match(line)
            if long_number and int(long_number[1]) == number + 1:
                marker = long_number
            if marker and (digits := _LIST_NUMBER.search(marker[0])):
                number = int(digits[0])
            words = start + (marker.end() if marker else 0)
            yield words, start + len(line), i not in rows and not text.startswith("|", words)


def _table_rows(lines: list[str]) -> tuple[set[int], set[int]]:
    """Return the indices of the lines of tables that have a rule, and of rows of tables that have none.

    A table without a rule is at least two lines with as many cells, which marks with spaces set apart.

    >>> _table_rows(["Name | Wings", "---|---", "Bob. Lee | 3", "Tea grows."])
    ({0, 1, 2}, set())
    >>> _table_rows(["Bob. Lee | 3", "Ann. Low | 4", "Tea grows."])
    (set(), {0, 1})
    """
    ruled, rows = set[int](), set[int]()
    cells = [len(_CELL_MARK.findall(line)) for line in lines]
    for i, line in enumerate(lines):
        is_rule = "|" in line and bool(_TABLE_RULE.fullmatch("".join(line.split())))
        if is_rule and i and "|" in lines[i - 1]:
            ruled.update((i - 1, i))
        elif i - 1 in ruled and "|" in line:
            ruled.add(i)
        if i and cells[i] and cells[i] == cells[i - 1]:
            rows.update((i - 1, i))
    return ruled, rows - ruled


def _unwrap(
    text: str, lines: Iterable[tuple[int, int, bool]], script_name: str
) -> Iterator[tuple[int, int, bool]]:
    """Join the lines of paragraphs that were wrapped at a width; yield all lines as `_lines` does.

    >>> text = "The bridge was opened in May 1932, and is\\nstill in use. It is long.\\nTolls: none"
    >>> [text[start:end] for start, end, _ in _unwrap(text, _lines(text), "latin")]
    ['The bridge was opened in May 1932, and is\\nstill in use. It is long.', 'Tolls: none']
    """
    paragraph: list[tuple[int, int]] = []
    previous = 0
    for start, end, prose in lines:
        mark = text[previous:start].strip()
        words = prose and start < end
        if mark or not words:
            yield from _joined(text, paragraph, script_name)
            paragraph = []
        if words and "#" not in mark:
            paragraph.append((start, end))
        else:
            yield start, end, prose
        previous = end
    yield from _joined(text, paragraph, script_name)


def _joined(text: str, lines: list[tuple[int, int]], script_name: str) -> Iterator[tuple[int, int, bool]]:
    """Join each line of a paragraph with the next one that continues it, if the paragraph is wrapped.

    A line continues on the next one if that one's first word did not fit into the width, that of the longest
    line, unless a colon or a sign of code ends it. The paragraph is wrapped if a sentence ends within one of
    its lines, or if one continues with a small word.
    """
    width = max((end - start for start, end in lines), default=0)
    is_han = script_name == "han"
    continued = [False] * len(lines)
    if len(lines) > 1 and width in (_HAN_WIDTHS if is_han else _WIDTHS):
        for i, ((start, end), (following, _)) in enumerate(pairwise(lines)):
            word = _FIRST_WORD.match(text, following)
            is_full = word and end - start + len(word[0]) + (not is_han) > _FULL * width
            continued[i] = bool(is_full and _OPEN_END.search(text, max(start, end - 9), end))
        small = (_SMALL.match(text, lines[i + 1][0]) for i, continues in enumerate(continued) if continues)
        if not (_INNER_END.search(text, lines[0][0], lines[-1][1]) or (not is_han and any(small))):
            continued = [False] * len(lines)
    first = 0
    for i, (_, end) in enumerate(lines):
        if not continued[i]:
            yield lines[first][0], end, True
            first = i + 1


def _sentence_ends(line: str, script_name: str, budget: int) -> tuple[list[int], int]:
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
        ends += window_ends if is_last else window_ends[:-1] or [next(_rule_based_ends(line, position))]
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
    """Return pysbd's segmenter for "zh" or "en", imported on first use."""
    with warnings.catch_warnings():
        # Its source has invalid escapes ("\s" in plain strings), of which Python warns when compiling it.
        warnings.simplefilter("ignore")
        import pysbd
    return pysbd.Segmenter(language=code, clean=False)


def _rule_based_ends(text: str, start: int) -> Iterator[int]:
    """Yield where sentences end from `start` on, the last at the text's end, by end marks; linear time."""
    for mark in _TERMINATOR.finditer(text, start):
        if mark.end() == len(text):
            break
        after = text[mark.end()]
        before = text[max(0, mark.start() - 8) : mark.start()]
        if mark[0][0] in "。．！？":
            is_end = True
        elif not mark[1]:  # no space
            is_end = bool(_WIDE.match(after))
        else:
            abbreviated = mark[0].rstrip() == "." and _ABBREVIATION.search(before)
            is_end = not after.islower() and not abbreviated
        if is_end:
            yield mark.start(1)
    yield len(text)


def _drop_false_ends(line: str, ends: list[int]) -> list[int]:
    """Drop ends within a sentence or code, after a lone word or list number, or before marks of a word."""
    true_ends, start = list[int](), 0
    whole = bytearray(len(line) + 1)  # 1 within code and math
    for first, last in protected_spans(line):
        whole[first + 1 : last] = b"\1" * (last - first - 1)
    capitals = next((c for c in line if c.isalpha()), "").isupper()
    for mark, after in pairwise(ends):
        closing = _CLOSING.match(line, mark)
        end = closing.end() if closing else mark
        no_sentence = _NO_SENTENCE.fullmatch(line, start, end) or _FIRST_NUMBER.fullmatch(line, 0, end)
        lone_marks = not line[end].isspace() and not has_words(line[end:after])
        within = whole[end] or lone_marks
        if not no_sentence and not within and not _continues(line, end, capitals):
            true_ends.append(end)
        start = end
    return [*true_ends, ends[-1]]


def _continues(line: str, end: int, capitals: bool) -> bool:
    """Return whether the sentence continues after its mark: in a URL or code, or after an abbreviation.

    With `capitals`, sentences of the line begin with a capital, so a lower-case word continues one.

    >>> _continues("Who Is Ann? was shot in May.", 11, True), _continues("Is it? Yes.", 6, True)
    (True, False)
    """
    before = line[max(0, end - 200) : end].rstrip("*_")
    if not before.endswith((".", "!", "?")) or begins_with_answer(line[end : end + 20]):
        return False
    if not line[end].isspace():
        if before[-1] == "." and _NAME_DOT.search(before):
            return bool(_NAME.match(line, end))
        in_code = before[-1] != "." and line[end] in "._=/&"
        return in_code or line[end] in _CONTINUATION_MARKS or bool(_URL.search(before))
    if _DIGIT_NEXT.match(line, end):
        return bool(_BEFORE_NUMBER.search(before))
    if _BEFORE_ZONE.search(before) and _ZONE.match(line, end):
        return True
    if before[-1] == "." and before[-2:-1].isdigit() and is_ordinal(before[-30:], line[end : end + 30]):
        return True
    small = capitals and _SMALL_WORD.match(line, end) and (before[-1] != "." or _SHORT.search(before))
    return bool(small or _BEFORE_NAME.search(before))


def _with_notes(line: str, ends: list[int]) -> list[int]:
    """Move each end behind the marks of footnotes that follow it."""
    leads = begins_with_note(line)
    moved = list[int]()
    for end in ends[:-1]:
        after = after_notes(line, end, leads)
        if after < len(line) and line[after:].strip() and after > (moved[-1] if moved else 0):
            moved.append(after)
    return [*moved, ends[-1]]


def _drop_quoted_ends(line: str, ends: list[int]) -> list[int]:
    """Drop ends inside short quotations; closing marks belong to the sentence before them.

    A sentence continues after a quotation with no mark before it (问了“走吗？”就走), but not after speech
    (他说：“走吧。”就走).
    """
    opening_of: dict[int, int] = {}  # by closing mark; one stack per kind keeps it linear
    opened: dict[str, list[int]] = {}
    for position, character in enumerate(line):
        if opened.get(_PAIRS.get(character, "")):
            opening_of[position] = opened[_PAIRS[character]].pop()
        elif character in _PAIRS.values():
            opened.setdefault(character, []).append(position)
    inside = bytearray(len(line) + 1)  # nested pairs count as the outer one
    for close, first in opening_of.items():
        if close - first <= _MAX_QUOTATION:
            inside[first + 1 : close + 1] = b"\1" * (close - first)
    outer_ends: list[int] = []
    for end in ends[:-1]:
        shifted = end
        while shifted in opening_of or line[shifted : shifted + 1] in _END_MARKS:
            shifted += 1
        continues = inside[shifted] or line[shifted : shifted + 1] in _CONTINUATION_MARKS
        first = opening_of.get(shifted - 1, -1)
        if first >= 0:
            embedded = first > 0 and line[first - 1] not in _BEFORE_SPEECH
            continues |= line[first] == "《" or (embedded and shifted - first <= _MAX_QUOTATION)
        if not continues and shifted < len(line) and shifted > (outer_ends[-1] if outer_ends else 0):
            outer_ends.append(shifted)
    return [*outer_ends, len(line)]
