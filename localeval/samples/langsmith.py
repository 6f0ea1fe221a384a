"""Rows of LangSmith, which holds inputs, outputs and reference outputs as objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from localeval.samples.columns import Names, all_columns
from localeval.samples.contexts import list_in_python
from localeval.samples.messages import read_message

LANGSMITH_OBJECTS = ("inputs", "outputs", "reference_outputs")
# The name that LangSmith's own examples give each field, and the objects that may hold it, in order.
_LANGSMITH_KEYS = {
    "user_input": ("input", "messages"),
    "response": ("output", "messages"),
    "retrieved_contexts": ("documents",),
    "reference": ("output", "messages"),
}
_OBJECTS_OF_FIELD = {
    "user_input": ("inputs",),
    "response": ("outputs",),
    "retrieved_contexts": ("outputs", "inputs"),
    "reference": ("reference_outputs",),
}
# The beginnings of columns where each value has one, and the objects that they stand for.
_FLAT_PREFIXES = {
    "inputs": "inputs",
    "input": "inputs",
    "outputs": "outputs",
    "output": "outputs",
    "reference": "reference_outputs",
    "reference_outputs": "reference_outputs",
}


def is_langsmith(row: Mapping[Any, Any]) -> bool:
    return _object_of(row.get("inputs")) is not None


def is_flat_langsmith(row: Mapping[Any, Any]) -> bool:
    """Return whether a row has a column for each value, as "inputs.question"."""
    return any(isinstance(name, str) and name.startswith(("inputs.", "input.")) for name in row)


def from_flat_langsmith(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Return a row that has a column for each value, as "outputs.answer", with the columns of a sample.

    >>> from localeval.samples.columns import NAMES
    >>> from_flat_langsmith({"inputs.question": "Who?", "reference.answer": "Ann."}, NAMES)
    {'question': 'Who?', 'reference': 'Ann.'}
    """
    objects: dict[str, dict[str, Any]] = {}
    columns: dict[Any, Any] = {}
    taken = all_columns(names)
    for name, value in row.items():
        prefix, dot, key = str(name).partition(".")
        if dot and prefix in _FLAT_PREFIXES and name not in taken:
            objects.setdefault(_FLAT_PREFIXES[prefix], {})[key] = value
        else:
            columns[name] = value
    return from_langsmith({**columns, **objects}, names)


def from_langsmith(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Return a LangSmith row with the columns of a sample.

    A field is found by its names in its object, or as the only value there, if a text; the rest is kept. Two
    of its names stay two, so that reading them refuses values that differ.

    >>> from localeval.samples.columns import NAMES
    >>> from_langsmith({"inputs": {"input": "Who?"}, "outputs": {"answer": "Ann.", "cost": 1}}, NAMES)
    {'outputs.cost': 1, 'user_input': 'Who?', 'answer': 'Ann.'}
    """
    given = {name: _object_of(row.get(name)) for name in LANGSMITH_OBJECTS}
    objects = {name: _of_chat_model(members) for name, members in given.items() if members is not None}
    columns = {column: value for column, value in row.items() if column not in objects}
    for name, members in objects.items():
        for key, value in members.items():
            if value is not None:
                columns[f"{name}.{key}"] = value
    for field in _OBJECTS_OF_FIELD:
        if all(columns.get(alias) is None for alias in names[field]):
            _rename_field(field, objects, columns, names)
    return columns


def _rename_field(
    field: str, objects: Mapping[str, Mapping[Any, Any]], columns: dict[Any, Any], names: Names
) -> None:
    """Give the columns of the first object that holds a field the names of the field."""
    for object_name in _OBJECTS_OF_FIELD[field]:
        found = _find_field(field, object_name, objects.get(object_name, {}), columns, names)
        for member in found:
            key = member.removeprefix(f"{object_name}.")
            column = key if key in names[field] else names[field][0]
            columns[column] = columns.pop(member)
        if found:
            return


def _object_of(value: Any) -> Mapping[Any, Any] | None:
    """Return an object, also one that a cell of CSV holds as JSON or as Python writes it; None for another.

    >>> _object_of('{"question": "Who?"}'), _object_of("{'question': 'Who?'}"), _object_of("Who?")
    ({'question': 'Who?'}, {'question': 'Who?'}, None)
    """
    if isinstance(value, Mapping):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if text[:1] + text[-1:] != "{}":
        return None
    found: Any = None
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
    if found is None:
        found = next(iter(list_in_python(f"[{text}]") or ()), None)
    return found if isinstance(found, Mapping) else None


def _of_chat_model(members: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the inputs or outputs of a chat model with its messages where a chain has them.

    Of several choices, or generations, the first is taken, as LangSmith shows it.

    >>> _of_chat_model({"choices": [{"message": {"role": "assistant", "content": "Ann."}}], "model": "m"})
    {'model': 'm', 'output': {'role': 'assistant', 'content': 'Ann.'}}
    """
    if read_message(members) is not None:
        return {"output": members}
    columns = dict(members)
    batch = columns.get("messages")
    if isinstance(batch, list | tuple) and batch and isinstance(batch[0], list | tuple):
        columns["messages"] = batch[0]
    for name in ("choices", "generations"):
        answer = columns.get(name)
        while isinstance(answer, list | tuple) and answer:
            answer = answer[0]
        message = answer.get("message") if isinstance(answer, Mapping) else None
        if read_message(message) is not None and "output" not in columns:
            del columns[name]
            columns["output"] = message
    return columns


def _find_field(
    field: str, object_name: str, members: Mapping[Any, Any], columns: Mapping[Any, Any], names: Names
) -> Sequence[str]:
    """Return the columns of an object, as "outputs.answer", that hold a field: each by a name of the field.

    Without one it is the column of LangSmith's own name. The only value of an object is the field, if a text.

    members  of the object, by their keys
    columns  of the row, where the object's have its name before them
    """
    prefix = f"{object_name}."
    # A column that the caller named, as "outputs.answer", belongs to the field that it was named for.
    taken = all_columns(names)
    free = [column for column in columns if str(column).startswith(prefix) and column not in taken]
    values = [value for value in members.values() if value is not None]
    is_only_text = len(free) == len(values) == 1 and isinstance(values[0], str)
    if is_only_text and field != "retrieved_contexts":
        return free
    by_name = [prefix + key for key in names[field] if prefix + key in free]
    if by_name:
        return by_name
    other_keys = [*_LANGSMITH_KEYS[field]]
    if field == "reference":
        other_keys += names["response"]
    for key in other_keys:
        if prefix + key in free:
            return [prefix + key]
    return []
