"""Rows of deepeval: goldens and test cases, as `EvaluationDataset.save_as` and its test runs write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from localeval.samples.columns import Names
from localeval.samples.renaming import rename_columns

# The names in Python, and in the JSON of a test run.
_KEYS = {
    "user_input": ("input",),
    "response": ("actual_output", "actualOutput"),
    "reference": ("expected_output", "expectedOutput"),
    "retrieved_contexts": ("retrieval_context", "retrievalContext"),
    # The contexts that should be retrieved, which ragas calls so.
    "reference_contexts": ("context",),
}
_LISTS = ("retrieval_context", "retrievalContext", "context")
_SEPARATOR = "|"  # between the contexts in a cell of its CSV
DEEPEVAL_COLUMNS = tuple(key for keys in _KEYS.values() for key in keys)


def is_deepeval(row: Mapping[Any, Any]) -> bool:
    """Return whether a row has an input, and a column that only deepeval has."""
    own = [*_KEYS["response"], *_KEYS["reference"], *_KEYS["retrieved_contexts"]]
    return "input" in row and any(key in row for key in own)


def from_deepeval(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Return a golden or test case with the columns of a sample; the rest is kept.

    >>> from localeval.samples.columns import NAMES
    >>> from_deepeval({"input": "Who?", "actual_output": "Ann.", "retrieval_context": "One.|Two."}, NAMES)
    {'user_input': 'Who?', 'response': 'Ann.', 'retrieved_contexts': ['One.', 'Two.']}
    """
    columns = dict(row)
    for key in _LISTS:
        if key in columns:
            columns[key] = _split_cell(columns[key])
    return rename_columns(columns, names, _KEYS)


def is_deepeval_conversation(row: Mapping[Any, Any]) -> bool:
    return "turns" in row and "scenario" in row


def from_deepeval_conversation(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Return a conversation with the columns of a sample: its messages, and the contexts of the last answer.

    >>> from localeval.samples.columns import NAMES
    >>> turn = {"role": "assistant", "content": "Ann.", "retrieval_context": ["Ann won."]}
    >>> from_deepeval_conversation({"turns": [turn], "scenario": "A quiz."}, NAMES)["retrieved_contexts"]
    ['Ann won.']
    """
    columns = dict(row)
    turns = columns.pop("turns")
    if isinstance(turns, str):  # a cell of its CSV
        with suppress(ValueError, RecursionError):
            turns = json.loads(turns)
    columns["input"] = turns
    for turn in turns if isinstance(turns, list) else ():
        if isinstance(turn, Mapping) and turn.get("role") == "assistant":
            columns["retrieval_context"] = turn.get("retrieval_context")
    return from_deepeval(columns, names)


def _split_cell(value: Any) -> Any:
    """Return the contexts in a cell of its CSV; another value, and a list written as text, as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] == "[" or _SEPARATOR not in value:
        return value
    return value.split(_SEPARATOR)
