"""Shapes of rows: how other tools arrange a sample, and how such a row becomes one of a sample's columns.

A new shape is one `RowShape`, in a file of its own, given to `register_shape`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from localeval.samples.columns import NAMES, Names, field_columns
from localeval.samples.deepeval import (
    DEEPEVAL_COLUMNS,
    from_deepeval,
    from_deepeval_conversation,
    is_deepeval,
    is_deepeval_conversation,
)
from localeval.samples.langsmith import (
    LANGSMITH_OBJECTS,
    from_flat_langsmith,
    from_langsmith,
    is_flat_langsmith,
    is_langsmith,
)
from localeval.samples.promptfoo import PROMPTFOO_COLUMNS, from_promptfoo, is_promptfoo
from localeval.samples.trulens import TRULENS_COLUMNS, from_trulens, is_trulens

Columns: TypeAlias = Mapping[Any, Any]


@dataclass(frozen=True)
class RowShape:
    """How a tool arranges the columns of a row.

    name           of the tool, for messages
    columns        that it keeps a sample's fields in; the first is named in messages
    recognises     whether a row is of this shape
    to_columns     the row with the columns of a sample; what is no field should be kept under another name.
                   Its second argument says which columns each field is read from
    is_sure        whether a row may also have a column with the name of a field, as `response`
    """

    name: str
    columns: tuple[str, ...]
    recognises: Callable[[Columns], bool]
    to_columns: Callable[[Columns, Names], Columns]
    is_sure: bool = False


_SHAPES = (
    RowShape("LangSmith", LANGSMITH_OBJECTS, is_langsmith, from_langsmith),
    RowShape("LangSmith's table", ("inputs.*",), is_flat_langsmith, from_flat_langsmith),
    RowShape("deepeval", DEEPEVAL_COLUMNS, is_deepeval, from_deepeval),
    RowShape("deepeval's conversations", ("turns",), is_deepeval_conversation, from_deepeval_conversation),
    RowShape("promptfoo", PROMPTFOO_COLUMNS, is_promptfoo, from_promptfoo, is_sure=True),
    RowShape("TruLens", TRULENS_COLUMNS, is_trulens, from_trulens),
)
SHAPES: dict[str, RowShape] = {shape.name: shape for shape in _SHAPES}


def register_shape(shape: RowShape) -> None:
    """Recognise rows of this shape from now on; one that has its name is replaced."""
    SHAPES[shape.name] = shape


def shape_columns() -> set[str]:
    """Return the columns that any shape keeps a sample's fields in."""
    return {*chain.from_iterable(shape.columns for shape in SHAPES.values())}


def sources_of(row: Columns, converted: Columns) -> dict[str, str]:
    """Return for each column that `to_columns` made the place of its value in the row, as "outputs.answer".

    >>> inner = {"answer": "Ann."}
    >>> sources_of({"outputs": inner, "id": 1}, {"response": inner["answer"], "id": 1})
    {'response': 'outputs.answer'}
    """
    places: dict[int, str] = {}
    for name, value in row.items():
        places.setdefault(id(value), str(name))
        if isinstance(value, Mapping):
            for key, item in value.items():
                places.setdefault(id(item), f"{name}.{key}")
    sources: dict[str, str] = {}
    for name, value in converted.items():
        if name in row or value is None:
            continue
        place = places.get(id(value)) or _split_text(value, row, converted)
        if place is not None:
            sources[str(name)] = place
    return sources


def _split_text(value: Any, row: Columns, converted: Columns) -> str | None:
    """Return the column of the row whose text was split into these texts; None for none."""
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        return None
    for name, whole in row.items():
        if name not in converted and isinstance(whole, str) and all(text in whole for text in value):
            return str(name)
    return None


def find_shape(row: Columns, names: Names) -> RowShape | None:
    """Return the shape of a row; None for an unknown one.

    A row that has any column of a sample is of no shape, unless that is sure. A column that the caller named
    for a field does not count: a row of any shape may have it.
    """
    own_names = field_columns(names) & field_columns(NAMES)
    has_fields = any(row.get(name) is not None for name in own_names)
    for shape in SHAPES.values():
        if (shape.is_sure or not has_fields) and shape.recognises(row):
            return shape
    return None
