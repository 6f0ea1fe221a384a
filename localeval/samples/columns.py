"""The fields of a sample, and the columns of the data that each is read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from localeval.errors import InputError
from localeval.text.display import shorten, suggested

# The field names are ragas' names. Aliases are read, and never written.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_input": ("question", "query"),
    "response": ("answer",),
    "retrieved_contexts": ("contexts", "docs", "document_list"),
    "reference": ("ground_truth",),
    "reference_contexts": (),
    "retrieved_ids": ("retrieved_context_ids",),
    "reference_ids": ("reference_context_ids",),
}
# Each field, and the columns that it is read from.
Names = Mapping[str, tuple[str, ...]]
NAMES: Names = {"id": ("id",), **{field: (field, *aliases) for field, aliases in ALIASES.items()}}


def choose_names(columns: Mapping[str, str]) -> Names:
    """Return the columns that each field is read from: `NAMES`, but for the fields named in `columns`.

    columns  maps a field, or an alias of one, to the only column that it is read from

    >>> choose_names({"question": "q"})["user_input"], choose_names({})["response"]
    (('q',), ('response', 'answer'))
    """
    names = dict(NAMES)
    for name, column in columns.items():
        field = _field_of(name)
        if field is None:
            remedy = suggested(name, list(NAMES))
            raise InputError(f"columns: {shorten(name)} is no field of a sample; {remedy}")
        if names[field] != NAMES[field]:
            raise InputError(f"columns: {field} is named twice; keep one.")
        names[field] = (column,)
    return names


def _field_of(name: str) -> str | None:
    for field, aliases in NAMES.items():
        if name in aliases:
            return field
    return None


def check_named_columns(names: Names, seen: Iterable[str], source: str) -> None:
    """Raise InputError for a column that the caller named, and that no row has.

    seen    all columns of the data; nothing is checked where there are none
    source  the name of the data, which begins the message
    """
    columns = list(map(str, seen))
    if not columns:
        return
    for field, aliases in names.items():
        column = aliases[0]
        if aliases != NAMES[field] and column not in columns:
            raise InputError(
                f"{source}: no sample has the column {shorten(column)}, which was named for {field} "
                f"with --columns; the columns are: {shorten(', '.join(columns))}."
            )


def field_columns(names: Names) -> set[str]:
    """Return the columns that any field but the id is read from."""
    return {*chain.from_iterable(aliases for field, aliases in names.items() if field != "id")}


def all_columns(names: Names) -> set[str]:
    """Return the columns that any field is read from."""
    return {*chain.from_iterable(names.values())}
