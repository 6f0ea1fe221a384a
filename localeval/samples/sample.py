"""One row of the data, and what its columns must be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.samples.faults import HUGE, shown, wrong

# The names are ragas'. The aliases are read and never written.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_input": ("question", "query"),
    "response": ("answer",),
    "retrieved_contexts": ("contexts", "docs", "document_list"),
    "reference": ("ground_truth",),
}
# For each field the columns that it is read from.
Names = Mapping[str, tuple[str, ...]]
NAMES: Names = {"id": ("id",), **{field: (field, *aliases) for field, aliases in ALIASES.items()}}
_MAX_DEPTH = 100  # deeper nesting could be read, but not safely be written again
_SURROGATE = re.compile("[\ud800-\udfff]")


class Sample(BaseModel):
    """One row: a question, an answer, what was retrieved for it and what it should have been.

    None means that the column is missing (or null); "" and [] mean that it is there and empty. Columns
    with other names are kept in `model_extra`. `Sample(...)` takes the aliases too, and raises
    `InputError` on a wrong type, on an alias that contradicts its field, on text that is no Unicode
    (a lone surrogate), and on what JSON can't hold. An id that is an int becomes a string; "" stands for
    none.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: list[str] | None = None
    reference: str | None = None

    def __init__(self, /, **columns: Any) -> None:
        super().__init__(**_checked(columns, "Sample", NAMES))

    @classmethod
    def read(cls, columns: Mapping[str, Any], where: str, names: Names = NAMES) -> Sample:
        """`Sample(**columns)`, with `where` ("data.jsonl, line 3") at the head of its errors.

        `names` tells for each field the columns that it is read from.
        """
        sample = cls.__new__(cls)
        BaseModel.__init__(sample, **_checked(columns, where, names))  # ours would check again
        return sample


def check_columns(samples: Sequence[Sample], needed: Sequence[str], metric: str, where: str) -> None:
    """`InputError` if a needed field is None in every sample, so that the metric could score none of them."""
    for field in needed:
        if all(getattr(sample, field, None) is None for sample in samples):
            also = "".join(f" or {name}" for name in ALIASES.get(field, ()))
            need = f"{metric} needs the column {field}{also}, which no sample has"
            raise InputError(f"{where}: {need}; add it, or leave the metric out.")


def _checked(columns: Mapping[str, Any], where: str, names: Names) -> dict[str, Any]:
    """The columns under their own names, aliases resolved, each of its right type."""
    # A field that is read from a column of another name leaves its own names without a meaning, and they are
    # not kept: written and read again, they would be taken for the field.
    read = {*chain.from_iterable(NAMES.values()), *chain.from_iterable(names.values())}
    for name, value in columns.items():
        if not isinstance(name, str):
            raise wrong(where, "columns", "every name to be a string", name, "rename it")
        _check_writable([name, value], where, name, kept=name not in read)
    checked: dict[str, Any] = {"id": _checked_id(columns, where, names["id"][0])}
    for field in ALIASES:
        there = [name for name in names[field] if columns.get(name) is not None]
        values = [_checked_value(columns[name], where, name, field) for name in there]
        for name, value in zip(there, values, strict=True):
            if value != values[0]:
                raise InputError(f"{where}: {there[0]} and {name} are one field but differ; keep one.")
        if values:
            checked[field] = values[0]
    return checked | {name: value for name, value in columns.items() if name not in read}


def _checked_id(columns: Mapping[str, Any], where: str, name: str) -> str:
    value = columns.get(name)
    if value is None:
        return ""
    # bool is an int to Python, and no id to anyone.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < HUGE:
        return str(value)
    if isinstance(value, str):
        return value
    raise wrong(where, name, "a string or an integer", value, "write it as a string")


def _checked_value(value: object, where: str, name: str, field: str) -> str | list[str]:
    if field != "retrieved_contexts":
        if isinstance(value, str):
            return value
        raise wrong(where, name, "a string", value, "write text or null")
    if not isinstance(value, (list, tuple)):
        raise wrong(where, name, "a list of strings", value, "put the text in a list, as [text]")
    for place, item in enumerate(value, 1):
        if not isinstance(item, str):
            raise wrong(where, f"{name}, item {place}", "a string", item, "write text, or drop the item")
    return list(value)


def _check_writable(column: object, where: str, name: str, kept: bool) -> None:
    """Refuse lone surrogates and deep nesting, and in a column that is kept as it is whatever is no JSON.

    None of these could be written again, as a run writes its samples.
    """
    # A stack of our own, because recursion is what deep nesting would break.
    stack = [(column, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > _MAX_DEPTH:
            raise InputError(f"{where}: {shown(name)}: more than {_MAX_DEPTH} levels deep; use fewer.")
        if isinstance(item, str):
            if _SURROGATE.search(item):
                fault = "has half a character (a lone surrogate); remove it"
                raise InputError(f"{where}: {shown(name)}: {fault}.")
        elif isinstance(item, Mapping):
            stack += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, (list, tuple)):
            stack += [(part, depth + 1) for part in item]
        elif kept and not (item is None or isinstance(item, int) or _finite(item)):
            raise wrong(where, name, "what JSON can hold", item, "write text, a number, a list or an object")


def _finite(item: object) -> bool:
    return isinstance(item, float) and math.isfinite(item)
