"""The rows of Markdown tables, each with the names of its columns: a cell alone says little."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from localeval.text.content_words import known_words, news, words_of
from localeval.text.script import UNIFIED_HAN
from localeval.text.sentences import has_words

_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)?")  # below the header of a table
_DIGIT = re.compile(r"\d")
_HAN = re.compile(f"[{UNIFIED_HAN}]")
_CELL_MARKS = "*_` \t"
_MAX_NAME_WORDS = 5  # words of a column's name; a Han character counts a half


@dataclass(frozen=True)
class Row:
    """One row of a table: its place in the text, and the row in words.

    is_header  its cells are names of columns, which stand in the words of each row below
    """

    start: int
    end: int
    words: str
    is_header: bool = False


def find_rows(text: str, question: str = "") -> list[Row]:
    """Return the rows with words of all tables of `text`, in order. A table has a rule below its first row.

    >>> [row.words for row in find_rows("| Plan | Price |\\n|---|---|\\n| Basic | 20 |")]
    ['Plan; Price', 'Plan: Basic; Price: 20']
    >>> [row.words for row in find_rows("| Built | 1820 |\\n|---|---|\\n| Material | oak |")]
    ['Built: 1820', 'Material: oak']
    """
    if "|" not in text:
        return []
    rows: list[Row] = []
    lines: list[tuple[int, str]] = []
    position = 0
    for line in text.split("\n"):
        lines.append((position, line))
        position += len(line) + 1
    i = 0
    while i + 1 < len(lines):
        header = lines[i][1]
        rule = lines[i + 1][1]
        if "|" in header and "|" in rule and _RULE.fullmatch(rule.rstrip()) and has_words(header):
            end = i + 2
            while end < len(lines) and "|" in lines[end][1]:
                end += 1
            rows += _rows_of([lines[i], *lines[i + 2 : end]], question)
            i = end
        else:
            i += 1
    return rows


def _rows_of(lines: Sequence[tuple[int, str]], question: str) -> list[Row]:
    cells = [_cells(line) for _, line in lines]
    filled = [row for row in cells[1:] if any(map(has_words, row))]
    has_header = bool(filled) and _names_columns(cells[0], filled, question)
    rows = []
    for i, (start, line) in enumerate(lines):
        if not has_words(line):
            continue
        if i == 0 and has_header:
            words = "; ".join(filter(None, cells[0]))
        elif has_header:
            words = _with_names(cells[0], cells[i])
        else:
            words = _without_names(cells[i])
        stripped = line.strip()
        offset = start + line.index(stripped)
        rows.append(Row(offset, offset + len(stripped), words, is_header=has_header and i == 0))
    return rows


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [" ".join(cell.strip(_CELL_MARKS).split()) for cell in inner.split("|")]


def _names_columns(header: Sequence[str], rows: Sequence[Sequence[str]], question: str) -> bool:
    """Return whether the cells of the first row name columns, by their content.

    They do if one has a word that commonly names columns or stands in the question, or lacks the digits that
    all cells below it have. In a table of two columns this must hold for the second one: in a list of keys
    and values the first row is data.
    """
    known = known_words(question)
    places = range(1, len(header)) if len(header) == 2 else range(len(header))
    return any(_names_column(header, place, rows, known) for place in places)


def _names_column(
    header: Sequence[str], place: int, rows: Sequence[Sequence[str]], known: frozenset[str]
) -> bool:
    name = header[place]
    if not has_words(name) or _length(name) > _MAX_NAME_WORDS:
        return False
    has_digit = bool(_DIGIT.search(name))
    is_wide = len(header) > 2
    if name.lower() in words_of("columns") or not news(name, known, "function", "frames", "columns"):
        return is_wide or not has_digit
    begins_like_first = name[:1].isupper() == header[0][:1].isupper()
    if not is_wide or has_digit or not begins_like_first:
        return False
    below = [row[place] for row in rows if place < len(row) and has_words(row[place])]
    return bool(below) and all(_DIGIT.search(cell) for cell in below)


def _length(name: str) -> float:
    return len(name.split()) + len(_HAN.findall(name)) / 2


def _with_names(header: Sequence[str], cells: Sequence[str]) -> str:
    parts = []
    for i, cell in enumerate(cells):
        name = header[i] if i < len(header) else ""
        if cell and has_words(name):
            parts.append(f"{name}: {cell}")
        elif has_words(cell):
            parts.append(cell)
    return "; ".join(parts)


def _without_names(cells: Sequence[str]) -> str:
    filled = [cell for cell in cells if has_words(cell)]
    return ": ".join(filled) if len(filled) == 2 else "; ".join(filled)
