"""Rows of data that is kept as one list for each column: `Dataset.to_dict()`, `DataFrame.to_json()`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from localeval.samples.columns import Names, all_columns
from localeval.samples.guessed_names import guess_columns


def columns_of_lists(data: Any, names: Names) -> dict[str, Sequence[Any]] | None:
    """Return the columns of data with one list, or one object by row, for each; None for other data.

    All columns are of one length, and one of them at least is named after a field.

    >>> from localeval.samples.columns import NAMES
    >>> columns_of_lists({"answer": {"0": "A.", "1": "B."}}, NAMES)
    {'answer': ['A.', 'B.']}
    >>> columns_of_lists({"columns": ["answer"], "index": [0, 1], "data": [["A."], ["B."]]}, NAMES)
    {'answer': ['A.', 'B.']}
    >>> columns_of_lists({"answer": ["A."], "docs": []}, NAMES)
    """
    if not isinstance(data, Mapping) or not data:
        return None
    split = _split_columns(data)
    columns = split if split is not None else _listed_columns(data)
    if columns is None or len({len(values) for values in columns.values()}) != 1:
        return None
    is_named = all_columns(names).intersection(columns) or guess_columns(columns, names).columns
    return columns if is_named else None


def rows_of_columns(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of columns of one length."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _listed_columns(data: Mapping[Any, Any]) -> dict[str, Sequence[Any]] | None:
    """Return the columns where each value is a list, or each an object with the same keys."""
    values = list(data.values())
    if all(isinstance(value, list | tuple) for value in values):
        return {str(name): value for name, value in data.items()}
    if not all(isinstance(value, Mapping) and value for value in values):
        return None
    keys = list(values[0])
    if any(list(value) != keys for value in values):
        return None
    return {str(name): list(value.values()) for name, value in data.items()}


def _split_columns(data: Mapping[Any, Any]) -> dict[str, Sequence[Any]] | None:
    """Return the columns of pandas' orientation "split"."""
    header = data.get("columns")
    rows = data.get("data")
    if not isinstance(header, list) or not isinstance(rows, list) or not rows:
        return None
    if any(not isinstance(row, list) or len(row) != len(header) for row in rows):
        return None
    return {str(name): [row[index] for row in rows] for index, name in enumerate(header)}
