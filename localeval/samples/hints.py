"""Say which columns the data has, and which of them a missing field may be in."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from localeval.errors import InputError
from localeval.samples.columns import ALIASES, NAMES, all_columns
from localeval.samples.sample import Sample
from localeval.text.display import join_some, shorten

MAX_COMPARED = 200  # columns, and characters of a column's name
MIN_LIKENESS = 0.7


def columns_of(samples: Sequence[Sample]) -> Sequence[str]:
    """Return the names of the columns of the data; of samples that were made one by one, what they have."""
    given: Sequence[str] | None = getattr(samples, "columns", None)
    if given is not None:
        return given
    names = dict[str, None]()
    for sample in samples:
        names.update(dict.fromkeys(sample.model_dump(exclude_none=True, exclude={"id"})))
    return list(names)


def nearest_column(field: str, columns: Sequence[str]) -> str | None:
    """Return the column of another name that looks most like one of the field's; None where none does.

    >>> nearest_column("retrieved_contexts", ["id", "context", "note"]), nearest_column("response", ["note"])
    ('context', None)
    """
    known = all_columns(NAMES)
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


def columns_hint(samples: Sequence[Sample], fields: Sequence[str]) -> str:
    """Say which columns there are, and how one is named for each of the fields; "" where none can be."""
    columns = [str(column) for column in columns_of(samples)]
    if not columns:
        return ""
    pairs = []
    for field in fields:
        if field in NAMES:
            column = nearest_column(field, columns) or "NAME"
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
