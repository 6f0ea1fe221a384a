"""What every format gives."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

from localeval.errors import InputError


class Row(NamedTuple):
    """One row of the data, before it is a `Sample`.

    number  what its id defaults to: the line of a file of lines, else its place, from 1
    place   where it stands, for people: "line 7"
    value   its columns by name, a `Sample`, or why it can't be read (rows behind it may still be)
    """

    number: int
    place: str
    value: object | InputError


Rows: TypeAlias = Generator[Row, None, None]
