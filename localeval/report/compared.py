"""A comparison as tables for the terminal. Text from samples is shown, never interpreted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localeval.metrics.summary import SIGNIFICANT
from localeval.report.terminal import new_table, printed
from localeval.report.text import number
from localeval.text.display import digits, printable

if TYPE_CHECKING:
    from rich.table import Table

    from localeval.runs.compare import Compared, Comparison, Difference

LEAST_P = 0.0001


def as_text(comparison: Comparison, width: int = 110) -> str:
    """A row for the value and one for the soft score of each metric, then the samples that moved most.

    Every number of a difference is B minus A. What is no pair of scores is counted below the table.
    """
    lines = printed(_differences(comparison), width)
    lines += (printable(_counted(name, found)) for name, found in comparison.metrics.items())
    if any(found.moved for found in comparison.metrics.values()):
        lines += ["", *printed(_moved(comparison), width)]
    return "\n".join([*lines, "", *_notes(comparison)])


def _differences(comparison: Comparison) -> Table:
    from rich.text import Text

    rows = new_table("metric")
    for column in ("A", "B", "B - A", "95 %", "p"):
        rows.add_column(column, justify="right")
    rows.add_column("finding")
    for name, found in comparison.metrics.items():
        rows.add_row(Text(printable(name)), *_cells(found.value), found.finding)
        rows.add_row("  soft", *_cells(found.soft), "")
    return rows


def _cells(difference: Difference | None) -> list[str]:
    if difference is None:
        return ["-"] * 5
    low, high = difference.interval or (None, None)
    between = "-" if low is None else f"{_signed(low)} to {_signed(high)}"
    p = f"< {LEAST_P}" if difference.p < LEAST_P else digits(difference.p, SIGNIFICANT)
    return [number(difference.a), number(difference.b), _signed(difference.difference), between, p]


def _counted(name: str, found: Compared) -> str:
    undefined, failed = (f"{a} in A, {b} in B" for a, b in (found.undefined, found.failed))
    return f"{name}: {found.pairs} scored in both; undefined {undefined}; failed {failed}"


def _moved(comparison: Comparison) -> Table:
    from rich.text import Text

    rows = new_table("moved most")
    rows.add_column("sample", overflow="fold", max_width=40)
    for column in ("A", "B", "soft A", "soft B", "soft B - A"):
        rows.add_column(column, justify="right")
    for name, found in comparison.metrics.items():
        for i, one in enumerate(found.moved):
            scores = map(number, (one.a, one.b, one.soft_a, one.soft_b))
            label = "" if i else printable(name)
            rows.add_row(Text(label), Text(printable(one.id)), *scores, _signed(one.soft_b - one.soft_a))
    return rows


def _notes(comparison: Comparison) -> list[str]:
    alone = f"{comparison.only_a} only in A, {comparison.only_b} only in B"
    notes = [f"{comparison.paired} samples in both; {alone}"]
    if comparison.forced:
        notes.append(f"compared by force, though made differently: {'; '.join(comparison.forced)}")
    return [*map(printable, (*notes, *comparison.warnings, f"A {comparison.a}", f"B {comparison.b}"))]


def _signed(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:+.3f}" if round(value, 3) else "0.000"
