"""Drop places that look like the end of a sentence: within code, a name, a quotation, or behind a number."""

from __future__ import annotations

import re
from itertools import pairwise

from localeval.text.breaks import (
    after_notes,
    begins_with_answer,
    begins_with_note,
    is_ordinal,
    protected_spans,
)
from localeval.text.letters import has_words
from localeval.text.script import UNIFIED_HAN

# After these a number continues the sentence; after the second ones a name does.
_BEFORE_NUMBER = re.compile(
    r"\b(?:approx|ca|c|est|vol|ch|eqs?|max|min|pop|b|d|r|figs?|refs?|sec|art|ver|para|app|tel)\.$",
    re.IGNORECASE,
)
_BEFORE_ZONE = re.compile(r"\b[ap]\.?m\.$", re.IGNORECASE)
_ZONE = re.compile(
    r"\s+(?:[A-Z]{2,4}T\b|(?:Eastern|Central|Mountain|Pacific)\b|\(?(?:Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day)"
)
_NAME_DOT = re.compile(rf"(?:^|[\s/~]|[{UNIFIED_HAN}])[\"'`“‘(*]*\.$")  # of .NET, .env and ./run
_NAME = re.compile(r"[a-z0-9./]|[A-Z]{2}")
_CLOSING = re.compile(r"[*_]+(?=\s)")  # of bold text
_BEFORE_NAME = re.compile(r"\b(?:Ft|Pres|Mt|Rev|Hon|Capt|Col|Sgt)\.$")
_URL = re.compile(r"(?:https?://|www\.)\S*$", re.IGNORECASE)
_DIGIT_NEXT = re.compile(r"\s+[$€£(]?\d")
_SMALL_WORD = re.compile(r"\s+[a-z]+\b")
_SHORT = re.compile(r"\b[A-Za-z]{1,3}\.$")
_NO_SENTENCE = re.compile(r"\W*\d{1,2}[.)）]\W*|\s*[A-Za-z]+\s*")  # a list number, or the word before it
_FIRST_NUMBER = re.compile(r"\s*\d{3}[.)]\s*")  # at a line's start, of a list that began before the text
_CODE_MARKS = "._=/&"
_MAX_BEFORE = 200  # characters before an end that are looked at
_MAX_ORDINAL = 30  # characters on either side of a dot that may make a number ordinal
_MAX_ANSWER = 20  # characters behind an end in which a one-word answer is looked for

_PAIRS = {"”": "“", "」": "「", "』": "『", "》": "《", "）": "（", ")": "(", '"': '"'}
_MAX_QUOTATION = 120  # a longer quotation is several sentences, not part of one
_CONTINUATION_MARKS = frozenset("，、；：,;:")
_END_MARKS = frozenset("。．！？!?…")
_BEFORE_SPEECH = _CONTINUATION_MARKS | _END_MARKS | frozenset(" \u3000")


def drop_false_ends(line: str, ends: list[int], script_name: str) -> list[int]:
    """Return the true ends among `ends`, each behind its closing marks and footnotes.

    ends  in order, the last at the line's length, which stays
    """
    if script_name != "latin":
        ends = _drop_quoted_ends(line, ends)
    return _drop_inner_ends(line, _with_notes(line, ends))


def _drop_inner_ends(line: str, ends: list[int]) -> list[int]:
    """Drop ends within a sentence or code, after a lone word or list number, or before marks of a word."""
    is_protected = _protected(line)
    # Sentences of the line begin with a capital if its first letter is one.
    first_letter = next((character for character in line if character.isalpha()), "")
    capitals = first_letter.isupper()
    true_ends: list[int] = []
    start = 0
    for mark, after in pairwise(ends):
        closing = _CLOSING.match(line, mark)
        end = closing.end() if closing else mark
        before_marks = not line[end].isspace() and not has_words(line[end:after])
        is_inner = is_protected[end] or before_marks or _continues(line, end, capitals)
        if not is_inner and not _is_no_sentence(line, start, end):
            true_ends.append(end)
        start = end
    return [*true_ends, ends[-1]]


def _protected(line: str) -> bytearray:
    """Return 1 for each place within code and math, else 0."""
    protected = bytearray(len(line) + 1)
    for first, last in protected_spans(line):
        protected[first + 1 : last] = b"\1" * (last - first - 1)
    return protected


def _is_no_sentence(line: str, start: int, end: int) -> bool:
    """Return whether a part of a line is a list number or a lone word, or the line's first number."""
    return bool(_NO_SENTENCE.fullmatch(line, start, end) or _FIRST_NUMBER.fullmatch(line, 0, end))


def _continues(line: str, end: int, capitals: bool) -> bool:
    """Return whether the sentence continues after its mark: in a URL or code, or after an abbreviation.

    With `capitals`, sentences of the line begin with a capital, so a lower-case word continues one.

    >>> _continues("Who Is Ann? was shot in May.", 11, True), _continues("Is it? Yes.", 6, True)
    (True, False)
    """
    before = line[max(0, end - _MAX_BEFORE) : end].rstrip("*_")
    if not before.endswith((".", "!", "?")) or begins_with_answer(line[end : end + _MAX_ANSWER]):
        return False
    if not line[end].isspace():
        return _continues_without_space(line, end, before)
    if _DIGIT_NEXT.match(line, end):
        return bool(_BEFORE_NUMBER.search(before))
    if _BEFORE_ZONE.search(before) and _ZONE.match(line, end):
        return True
    is_dot = before[-1] == "."
    has_number = is_dot and before[-2:-1].isdigit()
    if has_number and is_ordinal(before[-_MAX_ORDINAL:], line[end : end + _MAX_ORDINAL]):
        return True
    if capitals and _SMALL_WORD.match(line, end) and (not is_dot or _SHORT.search(before)):
        return True
    return bool(_BEFORE_NAME.search(before))


def _continues_without_space(line: str, end: int, before: str) -> bool:
    """Return whether a word, URL or code goes on behind a mark with no space after it."""
    is_dot = before[-1] == "."
    if is_dot and _NAME_DOT.search(before):
        return bool(_NAME.match(line, end))
    is_in_code = not is_dot and line[end] in _CODE_MARKS
    return is_in_code or line[end] in _CONTINUATION_MARKS or bool(_URL.search(before))


def _with_notes(line: str, ends: list[int]) -> list[int]:
    """Move each end behind the marks of footnotes that follow it."""
    leads = begins_with_note(line)
    moved: list[int] = []
    last = 0
    for end in ends[:-1]:
        end_of_notes = after_notes(line, end, leads)
        if line[end_of_notes:].strip() and end_of_notes > last:
            moved.append(end_of_notes)
            last = end_of_notes
    return [*moved, ends[-1]]


def _drop_quoted_ends(line: str, ends: list[int]) -> list[int]:
    """Drop ends inside short quotations; closing marks belong to the sentence before them.

    A sentence continues after a quotation with no mark before it (问了“走吗？”就走), but not after speech
    (他说：“走吧。”就走).
    """
    opening_of = _opening_marks(line)
    is_inside = _inside_quotations(line, opening_of)
    outer_ends: list[int] = []
    last = 0
    for end in ends[:-1]:
        shifted = end
        while shifted in opening_of or line[shifted : shifted + 1] in _END_MARKS:
            shifted += 1
        if shifted == len(line) or shifted <= last or is_inside[shifted]:
            continue
        if line[shifted] in _CONTINUATION_MARKS or _closes_embedded(line, shifted, opening_of):
            continue
        outer_ends.append(shifted)
        last = shifted
    return [*outer_ends, len(line)]


def _opening_marks(line: str) -> dict[int, int]:
    """Map the place of each closing mark of a pair to the place of its opening mark."""
    opening_of: dict[int, int] = {}
    # One stack for each kind keeps the time linear.
    opened: dict[str, list[int]] = {}
    opening_marks = frozenset(_PAIRS.values())
    for position, character in enumerate(line):
        stack = opened.get(_PAIRS.get(character, ""))
        if stack:
            opening_of[position] = stack.pop()
        elif character in opening_marks:
            opened.setdefault(character, []).append(position)
    return opening_of


def _inside_quotations(line: str, opening_of: dict[int, int]) -> bytearray:
    """Return 1 for each place inside a short quotation, else 0; nested pairs count as the outer one."""
    inside = bytearray(len(line) + 1)
    for closing, opening in opening_of.items():
        if closing - opening <= _MAX_QUOTATION:
            inside[opening + 1 : closing + 1] = b"\1" * (closing - opening)
    return inside


def _closes_embedded(line: str, end: int, opening_of: dict[int, int]) -> bool:
    """Return whether a title, or a short quotation within its sentence, closes right before `end`."""
    opening = opening_of.get(end - 1)
    if opening is None:
        return False
    if line[opening] == "《":
        return True
    is_embedded = opening > 0 and line[opening - 1] not in _BEFORE_SPEECH
    return is_embedded and end - opening <= _MAX_QUOTATION
