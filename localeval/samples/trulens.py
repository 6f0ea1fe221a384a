"""Rows of TruLens: the records that `get_records_and_feedback` returns, as a table or written to a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from localeval.samples.columns import NAMES, Names
from localeval.samples.contexts import list_in_python
from localeval.samples.renaming import rename_columns

TRULENS_COLUMNS = ("input", "output")
_KEYS = {"user_input": ("input",), "response": ("output",)}
# The column of the calls of a feedback function, and the arguments that hold contexts there.
_CALLS = "_calls"
_CONTEXT_ARGUMENTS = ("context", "source")


def is_trulens(row: Mapping[Any, Any]) -> bool:
    return "record_id" in row and "input" in row and "output" in row


def from_trulens(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Return a record with the columns of a sample; the rest is kept.

    A record has no column of contexts. They are the arguments of the feedback functions that were called with
    one, as context relevance; without such a column the row has none.

    >>> calls = [{"args": {"question": "Who?", "context": "Ann won."}, "ret": 1.0}]
    >>> row = {"record_id": "r1", "input": "Who?", "output": "Ann.", "Context Relevance_calls": calls}
    >>> from_trulens(row, NAMES)["retrieved_contexts"]
    ['Ann won.']
    """
    columns = rename_columns(row, names, _KEYS)
    contexts = _contexts_of_calls(row)
    if contexts and names["retrieved_contexts"] == NAMES["retrieved_contexts"]:
        columns.setdefault("retrieved_contexts", contexts)
    return columns


def _contexts_of_calls(row: Mapping[Any, Any]) -> list[str]:
    """Return the contexts that the first feedback function with contexts was called with, in order."""
    for argument in _CONTEXT_ARGUMENTS:
        for column, value in row.items():
            if not str(column).endswith(_CALLS):
                continue
            found: dict[str, None] = {}
            for call in _calls(value):
                arguments = call.get("args") if isinstance(call, Mapping) else None
                context = arguments.get(argument) if isinstance(arguments, Mapping) else None
                for text in context if isinstance(context, list) else [context]:
                    if isinstance(text, str):
                        found[text] = None
            if found:
                return [*found]
    return []


def _calls(value: Any) -> list[Any]:
    """Return the calls in a cell, which is text in JSON or in Python's form where a file was written."""
    if isinstance(value, str):
        text = value.strip()
        value = None
        with suppress(ValueError, RecursionError):
            value = json.loads(text)
        if value is None:
            value = list_in_python(text)
    return value if isinstance(value, list) else []
