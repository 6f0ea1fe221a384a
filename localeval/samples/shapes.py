"""Shapes of rows: how other tools arrange a sample, and how such a row becomes one of a sample's columns.

A new shape is one `RowShape`, in a file of its own, given to `register_shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from localeval.samples.columns import Names, field_columns
from localeval.samples.langsmith import LANGSMITH_OBJECTS, from_langsmith, is_langsmith

Columns: TypeAlias = Mapping[Any, Any]


@dataclass(frozen=True)
class RowShape:
    """How a tool arranges the columns of a row.

    name           of the tool, for messages
    columns        that it keeps a sample's fields in; the first is named in messages
    recognises     whether a row is of this shape
    to_columns     the row with the columns of a sample; what is no field should be kept under another name.
                   Its second argument says which columns each field is read from
    """

    name: str
    columns: tuple[str, ...]
    recognises: Callable[[Columns], bool]
    to_columns: Callable[[Columns, Names], Columns]


LANGSMITH = RowShape("LangSmith", LANGSMITH_OBJECTS, is_langsmith, from_langsmith)
SHAPES: dict[str, RowShape] = {LANGSMITH.name: LANGSMITH}


def register_shape(shape: RowShape) -> None:
    """Recognise rows of this shape from now on; one that has its name is replaced."""
    SHAPES[shape.name] = shape


def shape_columns() -> set[str]:
    """Return the columns that any shape keeps a sample's fields in."""
    return {*chain.from_iterable(shape.columns for shape in SHAPES.values())}


def find_shape(row: Columns, names: Names) -> RowShape | None:
    """Return the shape of a row; None for a row that has any column of a sample, and for an unknown one."""
    if any(row.get(name) is not None for name in field_columns(names)):
        return None
    for shape in SHAPES.values():
        if shape.recognises(row):
            return shape
    return None
