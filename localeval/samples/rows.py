"""A row of the data as it was read, before it becomes a `Sample`."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias


class Row(NamedTuple):
    """One row of the data.

    number   its default id: the line of a JSONL file, else its position, from 1
    place    its place for messages: "line 7"
    value    its columns by name, a `Sample`, or an InputError if it can't be read, though later rows may be
    guesses  (column, what was done) for each cell that was read in another way than it is written
    header   the columns of its table, those of empty cells too; () where it is of no table
    notes    lines about the whole file, each of which is said once
    """

    number: int
    place: str
    value: object
    guesses: Sequence[tuple[str, str]] = ()
    header: Sequence[Any] = ()
    notes: Sequence[str] = ()


Rows: TypeAlias = Generator[Row, None, None]
