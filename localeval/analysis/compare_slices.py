"""Compare two runs by the values of a column: where a change took place."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.text import Text

from localeval.analysis.compare import (
    Conclusion,
    Difference,
    conclusion,
    difference_cells,
    paired_difference,
    paired_samples,
    shown_p,
)
from localeval.metrics.summary import GroupNumbers, group_of, shared_groups
from localeval.report.slices import MIN_SCORED, ColumnValues, Value, more_note, shown_value
from localeval.report.text import new_table, printed
from localeval.runs.result import Result
from localeval.statistics.holm import holm
from localeval.text.display import printable

TABLE_WIDTH = 120


@dataclass(frozen=True)
class SliceDifference:
    """One metric over the pairs with one value of a column.

    value       the value as text; None for the samples without one
    pairs       number of samples that both runs scored
    difference  of these pairs, with the uncorrected p; None without any
    p           corrected by Holm for all that are looked at; None for fewer than five pairs, which are not
                tested
    finding     by the corrected p
    """

    value: Value
    metric: str
    pairs: int
    difference: Difference | None
    p: float | None = None
    finding: Conclusion | None = None


@dataclass(frozen=True)
class ComparedSlices:
    """Two runs by the values of a column of the first.

    rows          by value, the most frequent first, and then by metric
    more_values   number of values that are left out, as they are rarer
    more_samples  number of samples with these values
    looks         number of tests for which p is corrected, in all columns together
    """

    column: str
    rows: tuple[SliceDifference, ...]
    more_values: int
    more_samples: int
    looks: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return a table, and what a reader must know of it."""
        table = new_table("", "pairs")
        table.columns[0].header = Text(printable(self.column))
        table.columns[0].overflow = "fold"
        table.add_column("metric")
        for heading in ("A", "B", "B - A", "95 %", "p (Holm)"):
            table.add_column(heading, justify="right")
        table.add_column("finding")
        named: set[Value] = set()
        for row in self.rows:
            # Only the first row of a value has it.
            value = "" if row.value in named else shown_value(row.value)
            named.add(row.value)
            *numbers, _ = difference_cells(row.difference)
            p = "-" if row.p is None else shown_p(row.p)
            finding = "too few" if row.finding is None else row.finding
            cells = [value, f"{row.pairs:,}", printable(row.metric), *numbers, p, finding]
            table.add_row(*map(Text, cells))
        notes = more_note(self.column, self.more_values, self.more_samples)
        is_tested = any(row.p is not None for row in self.rows)
        if is_tested and self.looks > 1:
            notes.append(f"each p is one of {self.looks} looks, and corrected for that (Holm 1979)")
        return [*printed(table, TABLE_WIDTH), *notes]


def compare_slices(
    first: Result, second: Result, metrics: Sequence[str], columns: Sequence[str]
) -> list[ComparedSlices]:
    """Compare two runs by the values of each column of the first.

    The p-values are corrected by Holm for all tests of all columns. Raises InputError for a column that no
    sample of the first run has.
    """
    higher = {**first.higher_is_better, **second.higher_is_better}
    compared = [_compared(first, second, metrics, column) for column in dict.fromkeys(columns)]
    tested = [row for sliced in compared for row in sliced.rows if row.pairs >= MIN_SCORED]
    p_values = iter(holm([row.difference.p for row in tested if row.difference is not None]))
    return [
        replace(sliced, rows=tuple(_with_p(row, p_values, higher) for row in sliced.rows), looks=len(tested))
        for sliced in compared
    ]


def _with_p(
    row: SliceDifference, p_values: Iterator[float], higher_is_better: Mapping[str, bool]
) -> SliceDifference:
    """Add the next p-value and its finding to a row that was tested."""
    if row.difference is None or row.pairs < MIN_SCORED:
        return row
    p = next(p_values)
    finding = conclusion(replace(row.difference, p=p), higher_is_better.get(row.metric))
    return replace(row, p=p, finding=finding)


def _compared(first: Result, second: Result, metrics: Sequence[str], column: str) -> ComparedSlices:
    """Compare the runs by the values of one column; its p-values are not corrected yet."""
    values = ColumnValues.find(first.samples, column)
    pairs = {(value, metric): _Pairs() for value in values.shown for metric in metrics}
    numbers = GroupNumbers()
    for item, other in paired_samples(first, second):
        group = numbers.of(group_of(item.sample))
        value = values.of(item.sample)
        for metric in metrics:
            pairs_of_slice = pairs.get((value, metric))
            if pairs_of_slice is not None:
                pairs_of_slice.add(group, item.scores[metric].value, other.scores[metric].value)
    rows = [
        SliceDifference(value, metric, len(of_slice.before), of_slice.difference())
        for (value, metric), of_slice in pairs.items()
    ]
    return ComparedSlices(column, tuple(rows), values.more_values, values.more_samples)


class _Pairs:
    """The values of one metric in both runs, for the samples of a slice that both scored."""

    def __init__(self) -> None:
        self.before = array("d")
        self.after = array("d")
        self._groups = array("q")

    def add(self, group: int, before: float | None, after: float | None) -> None:
        if before is None or after is None:
            return
        self.before.append(before)
        self.after.append(after)
        self._groups.append(group)

    def difference(self) -> Difference | None:
        return paired_difference(self.before, self.after, shared_groups(self._groups))
