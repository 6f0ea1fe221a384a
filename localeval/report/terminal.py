"""Tables as lines of plain text: the same in a terminal, a file and a notebook."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table


def new_table(first: str, *numbers: str) -> Table:
    """Make a table with its first column, and columns of numbers, which stand at their right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first)
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def printed(table: Table, width: int) -> list[str]:
    """Return its lines, at most `width` wide, without space at their ends."""
    out = io.StringIO()
    # In Jupyter rich would show the table by itself, and write nothing.
    Console(file=out, width=width, color_system=None, legacy_windows=False, force_jupyter=False).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]
