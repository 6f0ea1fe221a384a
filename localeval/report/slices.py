"""Means by the values of a column of the data: how a run does on each source, language or topic."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localeval.errors import InputError
from localeval.judgements.judged_text import language_of
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.summary import CollectedScores, Summary, group_of
from localeval.samples import Sample
from localeval.text.display import printable, shorten, suggested

MAX_SLICES = 20
MIN_SCORED = 5
"""Fewer scored samples than this say too little."""
MAX_VALUE = 40  # characters of a value that are shown
LANGUAGE = "lang"
"""The column that is computed where the data does not have it."""

# A value of a column, as text; None where the sample has none.
Value = str | None


@dataclass(frozen=True)
class Slice:
    """The samples with one value of a column.

    value    the value as text; None for the samples without one
    samples  number of samples, scored or not
    means    metric -> its means over these samples
    """

    value: Value
    samples: int
    means: Mapping[str, Summary]


@dataclass(frozen=True)
class Slices:
    """A run by the values of a column.

    slices        those of the most frequent values, then that of the samples without a value
    more_values   number of values that are left out, as they are rarer
    more_samples  number of samples with these values
    """

    column: str
    slices: tuple[Slice, ...]
    more_values: int = 0
    more_samples: int = 0


def slices_of(samples: Sequence[SampleResult], metrics: Sequence[str], column: str) -> Slices:
    """Average each metric over the samples with each of the 20 most frequent values of a column.

    Raises InputError where no sample has the column.
    """
    values = ColumnValues.find(samples, column)
    collected = {value: CollectedScores(metrics) for value in values.shown}
    for item in samples:
        scores_of_value = collected.get(values.of(item.sample))
        if scores_of_value is not None:
            scores_of_value.add(item.scores, group_of(item.sample))
    slices = [Slice(value, values.counts[value], scores.summaries()) for value, scores in collected.items()]
    return Slices(column, tuple(slices), values.more_values, values.more_samples)


class ColumnValues:
    """The values of a column that have a slice.

    of      sample -> its value
    counts  value -> number of samples
    shown   the most frequent values, the most frequent first and of equal ones that which came first; then
            None, if a sample has no value
    """

    def __init__(self, of: Callable[[Sample], Value], counts: Counter[Value]) -> None:
        self.of = of
        self.counts = counts
        frequent = [value for value, _ in counts.most_common() if value is not None]
        self.shown: list[Value] = [*frequent[:MAX_SLICES]]
        if None in counts:
            self.shown.append(None)
        self.more_values = len(frequent[MAX_SLICES:])
        self.more_samples = sum(counts[value] for value in frequent[MAX_SLICES:])

    @classmethod
    def find(cls, samples: Sequence[SampleResult], column: str) -> ColumnValues:
        """Count the values of a column, and find the language of the response for a missing column lang.

        Raises InputError where no sample has the column.
        """
        counts = Counter[Value]()
        columns: dict[str, None] = {}
        for item in samples:
            counts[column_value(item.sample, column)] += 1
            columns |= dict.fromkeys(_columns_of(item.sample))
        if any(value is not None for value in counts):
            return cls(lambda sample: column_value(sample, column), counts)
        if column == LANGUAGE:
            return cls(language_of, Counter(language_of(item.sample) for item in samples))
        raise InputError(f"no sample has the column {shorten(column, 60)}; {suggested(column, [*columns])}")


def column_value(sample: Sample, column: str) -> Value:
    """Return a sample's value in a column as text, None where it has none; other values than text as JSON.

    >>> sample = Sample(response="Tea.", tier=2, tags=["a", "b"])
    >>> column_value(sample, "tier"), column_value(sample, "tags"), column_value(sample, "source")
    ('2', '["a", "b"]', None)
    """
    value = _columns_of(sample).get(column)
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _columns_of(sample: Sample) -> dict[str, Any]:
    return {name: value for name, value in sample if value is not None}


def shown_value(value: Value) -> str:
    """Format a value for a table; a missing and an empty one are told apart.

    >>> shown_value("web"), shown_value(""), shown_value(None)
    ('web', '(empty)', '(missing)')
    """
    if value is None:
        return "(missing)"
    return shorten(value, MAX_VALUE) or "(empty)"


def more_note(column: str, more_values: int, more_samples: int) -> list[str]:
    """Return a line on the values that are left out; none where none is."""
    if not more_values:
        return []
    return [
        f"{more_values:,} more values of {printable(column)} are rarer, and are not shown: "
        f"{more_samples:,} samples"
    ]
