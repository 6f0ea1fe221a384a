"""Columns that are read as a field because of their names: in other cases, and as other tools call them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from localeval.samples.columns import NAMES, Names, all_columns

# Read where a row has no column with a name in `NAMES`.
TOOL_NAMES: dict[str, tuple[str, ...]] = {
    "response": ("actual_output",),  # deepeval
    "retrieved_contexts": (
        "retrieval_context",  # deepeval
        "retrieved_context",  # RAGChecker
        "source_nodes",  # LlamaIndex
        "source_documents",  # LangChain
    ),
    "reference": (
        "ground_truths",  # ragas 0.0
        "gt_answer",  # RAGChecker
        "reference_answer",  # LlamaIndex
        "expected_output",  # deepeval
        "expected_response",  # TruLens
    ),
}


class GuessedColumns(NamedTuple):
    """The column that each field is read from by a guess, and notes on columns that were passed over."""

    columns: dict[str, str]
    notes: list[str]


def guess_columns(present: Iterable[str], names: Names) -> GuessedColumns:
    """Guess the columns of the fields that no column of the row is named after.

    present  the names of all columns of the row or table

    >>> guess_columns(["Question", "gt_answer", "note"], NAMES).columns
    {'user_input': 'Question', 'reference': 'gt_answer'}
    >>> guess_columns(["reference", "ground_truths"], NAMES).notes
    ['ground_truths is kept and not read, as reference is read from reference']
    """
    known = all_columns(names)
    columns = [column for column in present if isinstance(column, str)]
    chosen: dict[str, str] = {}
    for field, aliases in names.items():
        for name in aliases:
            if name in columns:
                chosen.setdefault(field, name)
    guessed: dict[str, str] = {}
    notes: list[str] = []
    for column in columns:
        field = _FIELD_OF_NAME.get(_plain(column), "")
        # The caller named another column for the field, or this one for another field.
        is_named = column in known or names.get(field) != NAMES.get(field)
        if not field or is_named:
            continue
        if field not in chosen:
            chosen[field] = column
            guessed[field] = column
        else:
            notes.append(f"{column} is kept and not read, as {field} is read from {chosen[field]}")
    return GuessedColumns(guessed, notes)


def with_guesses(names: Names, guessed: GuessedColumns) -> Names:
    """Return the columns that each field is read from, the guessed ones among them."""
    if not guessed.columns:
        return names
    with_column = {field: (*names[field], column) for field, column in guessed.columns.items()}
    return {**names, **with_column}


@lru_cache(maxsize=10_000)
def _plain(name: str) -> str:
    """Return a name in small letters, without spaces, lines and the like.

    >>> _plain("Retrieved Contexts"), _plain("groundTruth")
    ('retrievedcontexts', 'groundtruth')
    """
    return re.sub(r"[\W_]+", "", name[:100]).lower()


_FIELD_OF_NAME: dict[str, str] = {
    _plain(name): field for field, aliases in NAMES.items() for name in (*aliases, *TOOL_NAMES.get(field, ()))
}
