"""A row of a table as columns: what is missing, what is a list, what is none of JSON's types."""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from localeval.errors import InputError
from localeval.samples.faults import wrong
from localeval.samples.sample import Names

_AS_TEXT = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, uuid.UUID)


def columns_of(
    cells: Iterable[tuple[str, object]], where: str, names: Names
) -> dict[str, object] | InputError:
    """The columns that are there, by name, or why a cell can't be read.

    None and nan are missing columns; a text for retrieved_contexts is a list in JSON; numpy's arrays are
    lists and its numbers plain ones; dates, decimals and bytes in UTF-8 are text. A whole number that a
    table holds as 7.0, as it must where a cell of the column is missing, is an id.
    """
    try:
        plain = {name: value for name, cell in cells if (value := _plain(cell)) is not None}
        for name in names["retrieved_contexts"]:
            if isinstance(text := plain.get(name), str):
                plain[name] = _listed(text, name, where)
    except InputError as error:
        return error
    name = names["id"][0]
    if isinstance(number := plain.get(name), float) and number.is_integer():
        plain[name] = int(number)
    return plain


def _plain(value: Any) -> Any:
    """The value in JSON's types, as far as it has a plain form there."""
    if isinstance(value, str):
        return value
    if callable(unpacked := getattr(value, "tolist", None)):
        value = unpacked()
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, bytes):
        return _decoded(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _decoded(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def _listed(text: str, name: str, where: str) -> list[object] | None:
    """The list that the cell holds as JSON; None where the cell is blank."""
    if not text.strip():
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        return value
    remedy = 'write the list so: ["first text", "second text"]'
    raise wrong(where, name, "a list of strings in JSON", text, remedy)
