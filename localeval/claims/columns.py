"""Read the columns of the tables in a context: Markdown, CSV, JSON, or lines of `name: value`.

`localeval.text.tables` reads the tables of a response, in Markdown only, as sentences. Contexts come in more
forms, and here the cells of one column are compared.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

# Characters: longer cells are texts, not values.
_MAX_CELL = 60
# A context with more cells is data rather than a table that somebody asks about.
_MAX_CELLS = 2000
_PAIR = re.compile(r"\s*(?:[-*•]\s*)?([^:：\n|{}\[\]]{1,40})[:：]\s*([^:：\n{}\[\]]{1,200})$")
_RULE = re.compile(r"[\s:|-]*")


@lru_cache(maxsize=4)  # the statements of a sample have the same contexts
def columns_by_cell(contexts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Map each cell of the contexts' tables to the cells of its column that have digits as it has, or none.

    >>> columns_by_cell(("| plan | price |\\n|---|---|\\n| Basic | 20 |\\n| Large | 35 |",))["20"]
    ('20', '35')
    """
    columns: dict[str, list[str]] = {}
    for context in contexts:
        for column in _columns(context):
            cells = [cell for cell in column if cell and len(cell) <= _MAX_CELL]
            for cell in cells:
                alike = [other for other in cells if _has_digit(other) == _has_digit(cell)]
                columns.setdefault(cell, []).extend(alike)
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
    rows = list(csv.reader(lines))
    are_pairs = all(map(_PAIR.match, lines))
    if _are_table(rows) and not are_pairs and not lines[0].endswith("."):
        return _bounded(_transposed(rows))
    return _bounded(_values_by_name(lines))


def _are_table(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether there are three rows or more, all with the same number of cells, at least two."""
    lengths = {*map(len, rows)}
    return len(rows) > 2 and len(lengths) == 1 and lengths != {1}


def _values_by_name(lines: Sequence[str]) -> list[list[str]]:
    """Return the values of each name in lines of `name: value`, or of `thing, name: value`."""
    by_name: dict[str, list[str]] = {}
    for line in lines:
        for part in re.split("[;；]", line):
            pair = _PAIR.match(part)
            if pair:
                _, _, name = pair[1].rpartition(",")
                by_name.setdefault(name.strip(), []).append(pair[2].strip(" ,.。，"))
    return list(by_name.values())


def _bounded(columns: list[list[str]]) -> list[list[str]]:
    """Return the columns with two cells or more; none of a table that is too large."""
    if sum(map(len, columns)) > _MAX_CELLS:
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
