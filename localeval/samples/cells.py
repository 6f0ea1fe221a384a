"""Read the cells of tables: CSV, Parquet and DataFrames have types that JSON lacks, or no types at all."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

from localeval.errors import InputError
from localeval.samples.columns import LISTS, Names, field_columns
from localeval.samples.rows import Row
from localeval.samples.sample import is_missing_number
from localeval.samples.shapes import shape_columns
from localeval.text.display import shorten

_ONE_CONTEXT = "without a list, each read as one context"
_LIST_OF_PYTHON = "with a list in Python's form"

_LIKE_A_LIST = re.compile(r"[\[(]\s*(?:['\"\])]|None\b|nan\b)")
# A text in quotes as Python's repr writes it. Between two of them there is a comma, or in the form of numpy
# only space; Python itself would read the latter two as one text.
_ESCAPED = r"""\\(?:['"\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_QUOTED = re.compile(rf"""'(?:[^'\\\n]|{_ESCAPED})*'|"(?:[^"\\\n]|{_ESCAPED})*\"""")
_BETWEEN = re.compile(r"\s*,\s*|\s+")


def row_of_cells(number: int, place: str, cells: Mapping[str, Any], names: Names) -> Row:
    """Return the row with the columns that are not empty; its value is an InputError if a cell is unreadable.

    number, place  see `Row`
    cells          column -> cell, of any type that a table has
    """
    # Fields, and the columns that rows of other tools keep them in, are checked later, as they are.
    checked_later = field_columns(names) | shape_columns()
    columns: dict[str, Any] = {}
    for name, cell in cells.items():
        value = _to_json_type(cell, keep_others=name in checked_later)
        if value is not None:
            columns[name] = value
    guesses: list[tuple[str, str]] = []
    for name in chain.from_iterable(names[field] for field in LISTS):
        text = columns.get(name)
        if not isinstance(text, str):
            continue
        try:
            columns[name], guess = _contexts_of_cell(text)
        except ValueError:
            remedy = 'write the list in JSON, as ["first text", "second text"]'
            fault = InputError(f"{name} is {shorten(repr(text), 60)}; {remedy}")
            return Row(number, place, fault)
        if guess:
            guesses.append((name, guess))
    id_column = names["id"][0]
    row_id = columns.get(id_column)
    if isinstance(row_id, float) and row_id.is_integer():
        # A column with a missing cell holds 7 as 7.0.
        columns[id_column] = int(row_id)
    return Row(number, place, columns, guesses)


def _to_json_type(value: Any, keep_others: bool) -> Any:
    """Convert a value to JSON's types: numpy's to Python's, nan and infinity to None, UTF-8 to text.

    keep_others  leave other objects as they are, so that the check of the sample refuses them; else they
                 become text (dates, decimals), and bytes that are no UTF-8 become None
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if is_missing_number(value):
        return None
    if isinstance(value, list | tuple):
        return [_to_json_type(item, keep_others) for item in value]
    if isinstance(value, Mapping):
        return {name: _to_json_type(item, keep_others) for name, item in value.items()}
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value if keep_others else None
    if value is None or isinstance(value, str | int | float) or keep_others:
        return value
    return str(value)


def _contexts_of_cell(text: str) -> tuple[Any, str]:
    """Return the contexts in the text of a cell, and what was done if it is no list in JSON.

    The text may be a list in JSON or in Python's form, as pandas writes it; another text is one context.
    Raises ValueError for a text that begins like a list and is none.

    >>> _contexts_of_cell('["b", "c"]'), _contexts_of_cell("['b', 'c']")[0], _contexts_of_cell("Tea.")[0]
    ((['b', 'c'], ''), ['b', 'c'], ['Tea.'])
    """
    stripped = text.strip()
    if stripped in ("", "null"):
        return None, ""
    if stripped[0] in '[{"':
        with suppress(ValueError, RecursionError):
            value = json.loads(stripped)
            if isinstance(value, str):
                return [value], _ONE_CONTEXT
            return value, ""
    texts = _texts_in_python(stripped)
    if texts is not None:
        return texts, _LIST_OF_PYTHON
    if _LIKE_A_LIST.match(stripped):
        raise ValueError("it begins like a list, and is none")
    return [text], _ONE_CONTEXT


def _texts_in_python(text: str) -> list[str] | None:
    """Return the texts of a list or tuple as Python or numpy prints it; None for anything else.

    >>> _texts_in_python("['b', 'c']"), _texts_in_python("['b' 'c']"), _texts_in_python("['b', None]")
    (['b', 'c'], ['b', 'c'], None)
    """
    if text[:1] + text[-1:] not in ("[]", "()"):
        return None
    items = text[1:-1].strip()
    texts: list[str] = []
    position = 0
    while position < len(items):
        quoted = _QUOTED.match(items, position)
        if quoted is None:
            return None
        try:
            texts.append(ast.literal_eval(quoted[0]))
        except (ValueError, SyntaxError):  # an escape beyond the last character
            return None
        position = quoted.end()
        if position < len(items):
            between = _BETWEEN.match(items, position)
            if between is None:
                return None
            position = between.end()
    return texts
