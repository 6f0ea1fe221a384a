"""Say which columns the data has, and which of them a missing field may be in."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from localeval.errors import InputError
from localeval.samples.collection import Samples
from localeval.samples.columns import ALIASES, NAMES, all_columns
from localeval.samples.sample import Sample
from localeval.text.display import join_some, shorten

MAX_COMPARED = 200  # columns, and characters of a column's name
MIN_LIKENESS = 0.7
# Of ragas' samples, of retrieval metrics and of response_consistency: they look like fields, and are none.
OTHER_COLUMNS = frozenset(
    (
        "reference_contexts",
        "reference_ids",
        "reference_context_ids",
        "retrieved_ids",
        "retrieved_context_ids",
        "reference_topics",
        "reference_tool_calls",
        "responses",
    )
)


def columns_of(samples: Sequence[Sample]) -> Sequence[str]:
    """Return the names of the columns of the data; of samples that were made one by one, what they have."""
    given: Sequence[str] | None = getattr(samples, "columns", None)
    if given is not None:
        return given
    names = dict[str, None]()
    for sample in samples:
        names.update(dict.fromkeys(sample.model_dump(exclude_none=True, exclude={"id"})))
    return list(names)


def nearest_column(field: str, columns: Sequence[str], taken: Collection[str] = ()) -> str | None:
    """Return the column of another name that looks most like one of the field's; None where none does.

    taken  columns that another field is read from

    >>> nearest_column("retrieved_contexts", ["id", "context", "note"]), nearest_column("response", ["note"])
    ('context', None)
    """
    known = all_columns(NAMES) | set(taken) | OTHER_COLUMNS
    unknown = [column for column in columns if column not in known]
    nearest: str | None = None
    highest = MIN_LIKENESS
    for column in unknown[:MAX_COMPARED]:
        plain = re.sub(r"\W+", "_", column[:MAX_COMPARED].strip().lower())
        for name in NAMES[field]:
            likeness = difflib.SequenceMatcher(None, name, plain).ratio()
            if likeness > highest:
                highest = likeness
                nearest = column
    return nearest


def _columns_read(samples: Sequence[Sample]) -> set[str]:
    """Return the columns that a field was read from."""
    read_from: Mapping[str, Sequence[str]] = getattr(samples, "read_from", {})
    return {*chain.from_iterable(read_from.values())}


def nearest_columns(samples: Samples) -> list[str]:
    """Return a line for each field that no column was read as, and that some column looks like."""
    columns = samples.columns or ()
    taken = _columns_read(samples)
    lines = []
    for field in ALIASES:
        nearest = None if field in samples.read_from else nearest_column(field, columns, taken)
        if nearest is not None:
            pair = f"{field}={quoted_column(nearest)}"
            lines.append(f"no column is {field}; if {shorten(nearest)} is, give --columns {shorten(pair)}")
    return lines


def columns_hint(samples: Sequence[Sample], fields: Sequence[str]) -> str:
    """Say which columns there are, and how one is named for each of the fields; "" where none can be."""
    columns = [str(column) for column in columns_of(samples)]
    if not columns:
        return ""
    pairs = []
    for field in fields:
        if field in NAMES:
            column = nearest_column(field, columns, _columns_read(samples)) or "NAME"
            pairs.append(f"{field}={quoted_column(column)}")
    listed = shorten(join_some(columns, 30), 400)
    if not pairs:
        # Columns that are no fields have only one name.
        return f"the columns are: {listed}; name one of them"
    return f"the columns are: {listed}; name the right one, as --columns {','.join(pairs)}"


def quoted_column(name: str) -> str:
    """Write a column's name as --columns takes it: in quotes, where it has a comma or a quote.

    >>> quoted_column("q"), quoted_column("Question, short")
    ('q', '"Question, short"')
    """
    if "," in name or name.startswith('"'):
        return '"' + name.replace('"', '""') + '"'
    return name


def check_columns(samples: Sequence[Sample], needed: Sequence[str], metric: str, where: str) -> None:
    """Raise `InputError` if a needed field is None in every sample, so that `metric` can score none."""
    for field in needed:
        if any(getattr(sample, field, None) is not None for sample in samples):
            continue
        alternatives = "".join(f" or {name}" for name in ALIASES.get(field, ()))
        fault = f"{metric} needs the column {field}{alternatives}, which no sample has"
        hint = columns_hint(samples, [field])
        remedy = f"{hint}, add it" if hint else "add it"
        raise InputError(f"{where}: {fault}; {remedy}, or leave the metric out.")
