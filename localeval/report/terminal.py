"""Tables as lines of plain text: the same in a terminal, a file and a notebook."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def new_table(first: str) -> Table:
    """Make a table with its first column."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(first)
    return table


def printed(table: Table, width: int) -> list[str]:
    """Return its lines, at most `width` wide, without space at their ends."""
    from rich.console import Console

    out = io.StringIO()
    # In Jupyter rich would show the table by itself, and write nothing.
    Console(file=out, width=width, color_system=None, legacy_windows=False, force_jupyter=False).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]
