"""Cut a text into lines of prose, rows of tables and code, and join the lines of wrapped paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from localeval.text.script import UNIFIED_HAN

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
# A table's rule, and a row of a table without one, whose cells stand apart.
_TABLE_RULE = re.compile(r"\|?(?::?-+:?\|)+(?::?-+:?)?")  # without its spaces
_CELL_MARK = re.compile(r"\s\|\s")

# Widths of a page in letters: shorter lines are a list or a poem, longer ones a paragraph each.
_WIDTHS = range(40, 131)
_HAN_WIDTHS = range(20, 66)
# Share of the paragraph's width from which a line is full; letters are not equally wide.
_MIN_FULL_SHARE = 0.9
_OPEN_END = re.compile(r"[^\s:;：；|>{}(\[\]=\\][\"'”’»*_)）」』]*$")  # not of a list's head, a table or code
_SMALL = re.compile(r"[a-z]+[,;.!?)’'\"-]*(?=\s)(?! [=:])")  # no key of a setting, no cell of a table
_INNER_END = re.compile(r"[a-z]{2}[.!?] +[A-Z]|[。！？]")
_FIRST_WORD = re.compile(rf"{_HAN}|[^\s{UNIFIED_HAN}]+")
_MAX_LINE_END = 9  # characters at a line's end that are looked at


class Line(NamedTuple):
    """Where a line begins and ends in the text, without the marks of lists and headings, and its kind.

    is_prose  whether it may have several sentences; a row of a table and a line of code is one
    """

    start: int
    end: int
    is_prose: bool


def find_lines(text: str) -> Iterator[Line]:
    """Yield each line, and skip the fences of code."""
    raw_lines = text.splitlines(keepends=True)
    has_tables = "|" in text
    ruled, rows = _table_rows(raw_lines) if has_tables else (set[int](), set[int]())
    # A line "42." is a list number with its item on the next line, unless nothing follows.
    last = len(text.rstrip())
    fence = ""
    position = 0
    list_number = 0
    for i, raw in enumerate(raw_lines):
        start = position
        position += len(raw)
        line = raw.rstrip()
        end = start + len(line)
        mark = _FENCE.fullmatch(line)
        closes = mark and mark[1].startswith(fence) and not mark[2]
        if fence and not closes:
            yield Line(start, end, is_prose=False)
        elif mark:
            fence = "" if fence else mark[1]
        elif i in ruled:
            yield Line(end - len(line.lstrip()), end, is_prose=False)
        elif position >= last or not _LONE_NUMBER.fullmatch(line):
            marker = _marker(line, list_number)
            number = _LIST_NUMBER.search(marker)
            list_number = int(number[0]) if number else list_number
            words = start + len(marker)
            is_row = i in rows or text.startswith("|", words)
            yield Line(words, end, is_prose=not is_row)


def _marker(line: str, list_number: int) -> str:
    """Return the marks before the words of a line, behind the list's number `list_number`.

    >>> _marker("> ## 2. Tea", 0), _marker("100. Tea", 99), _marker("100. Tea", 0)
    ('> ## 2. ', '100. ', '')
    """
    long_number = _LONG_NUMBER.match(line)
    if long_number and int(long_number[1]) == list_number + 1:
        return long_number[0]
    marker = _MARKER.match(line)
    return marker[0] if marker else ""


def _table_rows(lines: list[str]) -> tuple[set[int], set[int]]:
    """Return the indices of the lines of tables that have a rule, and of rows of tables that have none.

    A table without a rule is at least two lines with as many cells, which marks with spaces set apart.

    >>> _table_rows(["Name | Wings", "---|---", "Bob. Lee | 3", "Tea grows."])
    ({0, 1, 2}, set())
    >>> _table_rows(["Bob. Lee | 3", "Ann. Low | 4", "Tea grows."])
    (set(), {0, 1})
    """
    ruled: set[int] = set()
    rows: set[int] = set()
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


def unwrap(text: str, lines: Iterable[Line], is_han: bool) -> Iterator[Line]:
    """Join the lines of paragraphs that were wrapped at a width; yield all other lines as they are.

    >>> text = "The bridge was opened in May 1932, and is\\nstill in use. It is long.\\nTolls: none"
    >>> [text[line.start : line.end] for line in unwrap(text, find_lines(text), is_han=False)]
    ['The bridge was opened in May 1932, and is\\nstill in use. It is long.', 'Tolls: none']
    """
    paragraph: list[Line] = []
    previous_end = 0
    for line in lines:
        mark = text[previous_end : line.start].strip()
        has_prose = line.is_prose and line.start < line.end
        if mark or not has_prose:
            yield from _joined(text, paragraph, is_han)
            paragraph = []
        if has_prose and "#" not in mark:
            paragraph.append(line)
        else:
            yield line
        previous_end = line.end
    yield from _joined(text, paragraph, is_han)


def _joined(text: str, lines: Sequence[Line], is_han: bool) -> Iterator[Line]:
    """Join each line of a paragraph with the next one that continues it, if the paragraph is wrapped."""
    continued = _continued(text, lines, is_han)
    first = 0
    for i, line in enumerate(lines):
        if not continued[i]:
            yield Line(lines[first].start, line.end, is_prose=True)
            first = i + 1


def _continued(text: str, lines: Sequence[Line], is_han: bool) -> list[bool]:
    """Return for each line of a paragraph whether the next one continues it.

    It does if its first word did not fit into the width, which the longest line has, unless a colon or a sign
    of code ends the line. The paragraph is wrapped if a sentence ends within one of its lines, or if one
    continues with a small word.
    """
    width = max((line.end - line.start for line in lines), default=0)
    widths = _HAN_WIDTHS if is_han else _WIDTHS
    continued = [False] * len(lines)
    if len(lines) < 2 or width not in widths:
        return continued
    for i, (line, following) in enumerate(pairwise(lines)):
        continued[i] = _is_full(text, line, following, width, is_han) and _is_open(text, line)
    if _INNER_END.search(text, lines[0].start, lines[-1].end):
        return continued
    is_wrapped = not is_han and any(
        continues and _SMALL.match(text, lines[i + 1].start) for i, continues in enumerate(continued)
    )
    return continued if is_wrapped else [False] * len(lines)


def _is_full(text: str, line: Line, following: Line, width: int, is_han: bool) -> bool:
    """Return whether the first word of the following line did not fit into the width of this one."""
    word = _FIRST_WORD.match(text, following.start)
    if not word:
        return False
    space = 0 if is_han else 1
    return line.end - line.start + space + len(word[0]) > _MIN_FULL_SHARE * width


def _is_open(text: str, line: Line) -> bool:
    return bool(_OPEN_END.search(text, max(line.start, line.end - _MAX_LINE_END), line.end))
