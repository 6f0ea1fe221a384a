"""Rows of promptfoo: the results that `promptfoo eval --output results.json` (or jsonl) writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localeval.samples.columns import NAMES, Names, all_columns
from localeval.samples.guessed_names import guess_columns
from localeval.samples.renaming import rename_columns

PROMPTFOO_COLUMNS = ("vars", "response")
# The variables of its own examples for RAG, besides the names of fields.
_KEYS = {"user_input": ("vars.input",), "retrieved_contexts": ("vars.context",)}


def is_promptfoo(row: Mapping[Any, Any]) -> bool:
    """Return whether a row is the result of a test: variables, and the response of a provider."""
    response = row.get("response")
    has_output = isinstance(response, Mapping) and "output" in response
    return isinstance(row.get("vars"), Mapping) and (has_output or "promptIdx" in row)


def from_promptfoo(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Return a result with the columns of a sample: variables by their names, and the output as response.

    The rest is kept: variables as `vars.NAME`, the rest of the response as `response.NAME`.

    >>> row = {"vars": {"query": "Who?", "context": "Ann won."}, "response": {"output": "Ann.", "cost": 1}}
    >>> from_promptfoo(row, NAMES)["response"], from_promptfoo(row, NAMES)["retrieved_contexts"]
    ('Ann.', 'Ann won.')
    """
    columns = {name: value for name, value in row.items() if name not in PROMPTFOO_COLUMNS}
    variables = row["vars"]
    of_fields = _variables_of_fields(variables)
    for name, value in variables.items():
        columns[name if name in of_fields else f"vars.{name}"] = value
    response = row.get("response")
    parts = response if isinstance(response, Mapping) else {"output": response}
    # A column that the caller named for the response is another one.
    is_named = names["response"] != NAMES["response"]
    output_column = "response" if is_named else names["response"][0]
    for name, value in parts.items():
        if name == "output":
            columns[output_column] = value
        elif value is not None:
            columns[f"response.{name}"] = value
    return rename_columns(columns, names, _KEYS)


def _variables_of_fields(variables: Mapping[Any, Any]) -> set[str]:
    """Return the variables that have the name of a field, or one that is guessed to be of a field."""
    guessed = guess_columns(variables, NAMES).columns.values()
    aliases = all_columns(NAMES) - {"id"}
    return {*guessed, *aliases.intersection(variables)}
