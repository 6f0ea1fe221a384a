"""Give the columns of a tool the names of fields, as most shapes of rows need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localeval.samples.columns import NAMES, Names, all_columns


def rename_columns(row: Mapping[Any, Any], names: Names, keys: Mapping[str, Sequence[str]]) -> dict[Any, Any]:
    """Return the row with the columns of a tool under the names of fields; a field keeps its own column.

    A column that the caller named for a field stays where it is, and so do all for a field that has one so.

    names  the columns that each field is read from
    keys   field -> the tool's columns for it; the first that has a value is taken

    >>> rename_columns({"input": "Who?", "cost": 1}, NAMES, {"user_input": ["input"]})
    {'cost': 1, 'user_input': 'Who?'}
    """
    columns = dict(row)
    taken = all_columns(names)
    for field, candidates in keys.items():
        # `reference_contexts` is no field: it has no names.
        field_names = names.get(field, (field,))
        is_named = field in names and field_names != NAMES[field]
        if is_named or any(columns.get(name) is not None for name in field_names):
            continue
        for key in candidates:
            if key not in taken and columns.get(key) is not None:
                columns[field_names[0]] = columns.pop(key)
                break
    return columns
