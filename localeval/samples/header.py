"""The header of a table: what is wrong with its names, and cells that have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from localeval.samples.columns import Names, all_columns
from localeval.samples.guessed_names import guess_columns
from localeval.samples.shapes import find_shape
from localeval.text.display import shorten


def header_fault(header: Sequence[str], names: Names) -> str:
    """Return what is wrong with the names in the header; "" for nothing."""
    # As if each column held a text that may be an object.
    shape = find_shape(dict.fromkeys(header, "{}"), names)
    has_field = all_columns(names).intersection(header) or guess_columns(header, names).columns
    if shape is None and not has_field:
        return (
            f"the header names no column that is known ({shorten(', '.join(header))}); "
            "put the names there, or map them, as --columns response=NAME"
        )
    counts = Counter(header)
    for cell in header:
        if cell and counts[cell] > 1:
            return f"{shorten(cell)} stands twice in the header; keep one of them"
    return ""


def unnamed_note(number: int) -> list[str]:
    """Return a note that cells have no name in the header, if there are any."""
    return (
        ["cells under no name in the header are left out; name their column to keep them"] if number else []
    )
