"""Find the values of a statement, and the other values of the contexts that could stand in their place.

A value is a number, a date, a time, a name, or a cell of a table. "The Basic plan costs 20 dollars" may hold
the price of another plan, which the contexts have, too. No model is needed to list such values; the judge
then tells which of them it finds likelier (`localeval.judgements.bindings`).
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MOST_ALTERNATIVES = 6
CELL = "cell"
# Cells longer than this are texts, not values.
_LONGEST_CELL = 60
# A context with more cells is data rather than a table that somebody asks about.
_MOST_CELLS = 2000

# The second alternative: Han characters are letters, so a number behind one begins within a word.
_NUMBER = re.compile(
    r"(?<![\w.,])[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(?![0-9])|(?<=[㐀-鿿])[0-9]+(?:\.[0-9]+)?"
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\.?"
)
# Each form is a kind of its own: a date is compared with dates that are written alike.
_DATED = {
    "day month": re.compile(rf"\b[0-9]{{1,2}} {_MONTH}(?:,? [0-9]{{4}})?"),
    "month day": re.compile(rf"\b{_MONTH} [0-9]{{1,2}}(?:st|nd|rd|th)?(?![0-9])(?:, [0-9]{{4}})?"),
    "month year": re.compile(rf"\b{_MONTH} [0-9]{{4}}"),
    "iso date": re.compile(r"\b[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\b"),
    "han date": re.compile(r"[0-9]{4}年[0-9]{1,2}月(?:[0-9]{1,2}日)?"),
    "han day": re.compile(r"[0-9]{1,2}月[0-9]{1,2}日"),
    "time": re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b"),
}
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_UNIT = re.compile(r"\s?(%|°[CF]?|[A-Za-z]{1,15}|[㐀-鿿])")
_CURRENCY = "$€£¥￥"
# Small words behind a number are no unit of it.
_NO_UNIT = frozenset(
    (
        *("a", "after", "also", "an", "and", "are", "as", "at", "because", "before", "but", "by", "during"),
        *("each", "for", "from", "has", "in", "is", "it", "of", "on", "or", "per", "so", "than", "that"),
        *("the", "then", "to", "until", "was", "were", "when", "where", "which", "while", "who", "with"),
    )
)
_NAME = re.compile(r"[A-Z][\w'’-]*(?: (?:(?:of|de|la|van|von|der|the) )?[A-Z][\w'’-]*){0,5}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n|>*\"“(-])\s*$")
_PAIR = re.compile(r"\s*(?:[-*•]\s*)?([^:：\n|{}\[\]]{1,40})[:：]\s*([^:：\n{}\[\]]{1,200})$")
_RULE = re.compile(r"[\s:|-]*")


@dataclass(frozen=True)
class Value:
    """A value in a text, and where it stands there.

    kind  "number", "year", `CELL`, "name", or a form of dates; with the unit of a number
    """

    text: str
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Replaceable:
    """A value of a statement that the contexts have, and their other values that could stand in its place."""

    value: Value
    alternatives: tuple[str, ...]


def replaceable_values(statement: str, question: str, contexts: Sequence[str]) -> list[Replaceable]:
    """Return the values of `statement` for which the contexts have alternatives, in order.

    Values of the question are left out: they tell what the statement is about. So are values that the
    contexts do not have: no other value makes them right or wrong.

    >>> table = "| plan | price |\\n|---|---|\\n| Basic | 20 |\\n| Large | 35 |"
    >>> [(r.value.text, r.alternatives) for r in replaceable_values("Basic costs 35 dollars.", "", [table])]
    [('Basic', ('Large',)), ('35', ('20',))]
    >>> replaceable_values("Basic costs 35 dollars.", "What does Basic cost?", [table])[0].value.text
    '35'
    """
    joined = "\n".join(contexts)
    found: list[Replaceable] = []

    def is_free(start: int, end: int) -> bool:
        return all(end <= other.value.start or start >= other.value.end for other in found)

    def add(value: Value, candidates: Sequence[str]) -> None:
        others = dict.fromkeys(text for text in candidates if _differs(text, value.text))
        alternatives = [text for text in others if text not in question or value.kind != "name"]
        if alternatives:
            found.append(Replaceable(value, tuple(alternatives[:MOST_ALTERNATIVES])))

    columns = _columns_by_cell(tuple(contexts))
    for cell in sorted(columns, key=lambda text: (-len(text), text)):
        if cell in question:
            continue
        for start in _occurrences(cell, statement):
            end = start + len(cell)
            if is_free(start, end):
                add(Value(cell, start, end, CELL), columns[cell])
    known = _context_values(tuple(contexts))
    for value in [*_dated_and_numbers(statement), *_names(statement, in_statement=True)]:
        if value.text in question or value.text not in joined or not is_free(value.start, value.end):
            continue
        add(value, _of_kind(value, known))
    return sorted(found, key=lambda item: item.value.start)


def _differs(text: str, other: str) -> bool:
    """Return whether neither of two values says the same as the other, or is a part of it."""
    a, b = text.replace(",", "").casefold(), other.replace(",", "").casefold()
    if a[:1].isdigit() and b[:1].isdigit():
        return a != b
    return a not in b and b not in a


def _of_kind(value: Value, known: Sequence[Value]) -> list[str]:
    """Return the texts of the known values of the same kind.

    A number whose unit no other number has is compared with the numbers that have none, as in tables.
    """
    same = [other.text for other in known if other.kind == value.kind]
    if not value.kind.startswith("number") or any(_differs(text, value.text) for text in same):
        return same
    return [other.text for other in known if other.kind == "number"]


@lru_cache(maxsize=4)  # the statements of a sample have the same contexts
def _context_values(contexts: tuple[str, ...]) -> tuple[Value, ...]:
    return tuple(
        value for text in contexts for value in (*_dated_and_numbers(text), *_names(text, in_statement=False))
    )


def _dated_and_numbers(text: str) -> list[Value]:
    """Return the dates, times, years and other numbers of a text, in order.

    >>> [(v.text, v.kind) for v in _dated_and_numbers("On 12 May 1962 it had 40 rooms, in 1970 $3,000 more.")]
    [('12 May 1962', 'day month'), ('40', 'number rooms'), ('1970', 'year'), ('3,000', 'number $')]
    """
    values: list[Value] = []
    for kind, pattern in _DATED.items():
        for match in pattern.finditer(text):
            if all(match.end() <= value.start or match.start() >= value.end for value in values):
                values.append(Value(match[0], *match.span(), kind))
    dated = [(value.start, value.end) for value in values]
    for match in _NUMBER.finditer(text):
        if all(match.end() <= start or match.start() >= end for start, end in dated):
            values.append(Value(match[0], *match.span(), _kind_of_number(text, match)))
    return sorted(values, key=lambda value: value.start)


def _kind_of_number(text: str, match: re.Match[str]) -> str:
    before = text[match.start() - 1 : match.start()] if match.start() else ""
    following = _UNIT.match(text, match.end())
    unit = following[1].lower() if following else ""
    if unit in _NO_UNIT:
        unit = ""
    if before and before in _CURRENCY:
        unit = before
    if _YEAR.fullmatch(match[0]) and unit in ("", "年"):
        return "year"
    return f"number {unit}".strip()


def _names(text: str, *, in_statement: bool) -> Iterator[Value]:
    """Yield the names of a text: words with a capital, but for a single one where a sentence begins.

    >>> [value.text for value in _names("The mayor is Ann Lee of Arl.", in_statement=True)]
    ['Ann Lee of Arl']
    """
    for match in _NAME.finditer(text):
        begins = _SENTENCE_START.search(text, max(0, match.start() - 8), match.start())
        if begins and " " not in match[0]:
            continue
        # "The Basic" begins a sentence: its first word has its capital from there.
        if begins and in_statement and match[0].partition(" ")[0] in ("The", "A", "An", "In", "On", "At"):
            continue
        yield Value(match[0], *match.span(), "name")


def _occurrences(cell: str, text: str) -> Iterator[int]:
    """Yield where `cell` stands in `text` as whole words."""
    start = text.find(cell)
    while start >= 0:
        end = start + len(cell)
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        if not (_joins(before, cell[0]) or _joins(cell[-1], after)):
            yield start
        start = text.find(cell, end)


def _joins(left: str, right: str) -> bool:
    """Return whether two characters belong to one word or number. Words of Han characters have no ends."""
    both_digits = left.isdigit() and right.isdigit()
    both_ascii = left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
    return both_digits or both_ascii


@lru_cache(maxsize=4)
def _columns_by_cell(contexts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Map each cell of the contexts' tables to the cells of its column."""
    columns: dict[str, list[str]] = {}
    for context in contexts:
        for column in _columns(context):
            cells = [cell for cell in column if cell and len(cell) <= _LONGEST_CELL]
            for cell in cells:
                with_digits = [other for other in cells if _has_digit(other) == _has_digit(cell)]
                columns.setdefault(cell, []).extend(with_digits)
    return {cell: tuple(dict.fromkeys(others)) for cell, others in columns.items()}


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _columns(context: str) -> list[list[str]]:
    """Return the columns of the tables of a context: Markdown, CSV, JSON, or lines of `name: value`."""
    try:
        data = json.loads(context)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict | list):
        return _bounded(_json_columns(data))
    lines = [line.strip() for line in context.splitlines() if line.strip()]
    piped = [line.strip("|").split("|") for line in lines if "|" in line and not _RULE.fullmatch(line)]
    if len(piped) > 1:
        return _bounded(_transposed(piped))
    commas = {line.count(",") for line in lines}
    if len(lines) > 2 and len(commas) == 1 and commas != {0} and not lines[0].endswith("."):
        return _bounded(_transposed(list(csv.reader(lines))))
    by_name: dict[str, list[str]] = {}
    for line in lines:
        for part in re.split("[;；]", line):
            pair = _PAIR.match(part)
            if pair:
                by_name.setdefault(pair[1].strip(), []).append(pair[2].strip(" ,.。，"))
    return _bounded(list(by_name.values()))


def _bounded(columns: list[list[str]]) -> list[list[str]]:
    """Return the columns with two cells or more; none of a table that is too large."""
    if sum(map(len, columns)) > _MOST_CELLS:
        return []
    return [column for column in columns if len(column) > 1]


def _transposed(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the columns of rows that may differ in length, without the header."""
    width = max(map(len, rows))
    return [[row[i].strip() for row in rows[1:] if i < len(row)] for i in range(width)]


def _json_columns(data: Any) -> list[list[str]]:
    """Return the values of each key, wherever it stands, and the keys of objects of objects."""
    by_key: dict[str, list[str]] = {}
    keys: list[str] = []
    pending = [data]
    while pending:
        item = pending.pop(0)
        if isinstance(item, list):
            pending += item
        elif isinstance(item, dict):
            for key, value in item.items():
                if isinstance(value, dict):
                    keys.append(str(key))
                if isinstance(value, dict | list):
                    pending.append(value)
                elif value is not None:
                    by_key.setdefault(str(key), []).append(str(value))
    return [keys, *by_key.values()]
