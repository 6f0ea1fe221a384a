"""CSV and TSV: a line of names, then rows of cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from localeval.errors import InputError
from localeval.samples.cells import columns_of
from localeval.samples.faults import shown
from localeval.samples.files import Lines
from localeval.samples.row import Row, Rows
from localeval.samples.sample import Names

Cells = list[str | None]  # None is an empty cell; "" is one that holds an empty text, as "" in quotes
_LONGEST_CELL = 2**31 - 1
_UNCLOSED = "unexpected end of data"  # csv's words for a quote that is open at the end of the file


class _Record(NamedTuple):
    """The lines that csv reads as one row, and its cells, or why they can't be read."""

    first: int
    last: int
    cells: Cells | InputError

    @property
    def place(self) -> str:
        return _place(self.first, self.last)


def delimited_rows(lines: Lines, name: str, delimiter: str | None, names: Names) -> Rows:
    """A row for each record below the header that is not blank.

    delimiter  None for the one of , ; and the tab that the header has most of

    An empty cell is a missing column. Cells below an empty name are left out. Raises InputError for a header
    that can't be used, and for a quote that takes all lines behind it into one cell.
    """
    header: list[str] | None = None
    number = 0
    for record in _records(lines, name, delimiter):
        where, cells = f"{name}, {record.place}", record.cells
        if isinstance(cells, list) and all(cell is None for cell in cells):
            continue
        if header is None:
            header = _header(cells, where, names)
            continue
        number += 1
        yield Row(number, record.place, _columns(header, cells, where, names))


def _place(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _columns(
    header: Sequence[str], cells: Cells | InputError, where: str, names: Names
) -> dict[str, object] | InputError:
    if isinstance(cells, InputError):
        return cells
    if len(cells) != len(header):
        fault = f"the row has {len(cells)} cells, and the header {len(header)}"
        return InputError(f"{where}: {fault}; put a cell with delimiters or line ends in it into quotes.")
    named = zip(header, cells, strict=True)
    return columns_of(((column, cell) for column, cell in named if column), where, names)


def _header(cells: Cells | InputError, where: str, names: Names) -> list[str]:
    if isinstance(cells, InputError):
        raise cells
    header = [(cell or "").strip() for cell in cells]
    for column in filter(None, header):
        if header.count(column) > 1:
            raise InputError(f"{where}: {shown(column)} stands twice in the header; keep one of them.")
    if not set(header) & set(chain.from_iterable(names.values())):
        remedy = "put the names of the columns there, or say what they mean, as --columns response=NAME"
        found = shown(", ".join(filter(None, header)))
        raise InputError(f"{where}: the header names no column that is known ({found}); {remedy}.")
    return header


def _records(lines: Lines, name: str, delimiter: str | None) -> Iterator[_Record]:
    """Raises InputError for a quote that is never closed, unless it is in the last line."""
    # It is the whole process's limit, and its default of 131072 characters is less than some contexts have;
    # it is raised for good, since another thread may be reading too.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    every = iter(lines)
    head = _up_to_text(every)
    sign = delimiter or max(",;\t", key="".join(head[-1:]).count)
    taken: list[str] = []  # the lines of the record at hand
    reader = csv.reader(_kept(chain(head, every), taken), delimiter=sign, strict=True)
    cell = re.compile(rf'(?:^|{sign})("[^"]*(?:""[^"]*)*"|[^{sign}\r\n]*)')
    line = 1
    while True:
        try:
            cells: Cells | InputError = _with_gaps(next(reader), "".join(taken), cell)
        except StopIteration:
            return
        except csv.Error as error:
            cells = _not_csv(str(error), name, line, _last(line, taken))
        last = _last(line, taken)
        if isinstance(cells, list) or last == line:  # else it must be said how many lines are lost
            cells = _not_text(lines, name, line, taken) or cells
        yield _Record(line, last, cells)
        line += len(taken)
        taken.clear()


def _not_csv(cause: str, name: str, first: int, last: int) -> InputError:
    """Why these lines are no row. Raises it where an open quote took all that is left of the file.

    A row may be left out; but how many rows these were can't be told, and without them the beginning of the
    data would be judged for the whole.
    """
    kind = "not CSV" if first == last else "not CSV, and read as one row"
    found = "a quote is not closed" if cause == _UNCLOSED else cause.replace("'\t'", "a tab")
    remedy = "close every quote, and write a quote inside a cell twice"
    fault = InputError(f"{name}, {_place(first, last)}: {kind} ({found}); {remedy}.")
    if cause == _UNCLOSED and first < last:
        raise fault
    return fault


def _not_text(lines: Lines, name: str, first: int, taken: Sequence[str]) -> InputError | None:
    for line, text in enumerate(taken, first):
        if fault := lines.fault(text):
            return InputError(f"{name}, line {line}: {fault}.")
    return None


def _last(first: int, taken: Sequence[str]) -> int:
    """The line that a record ends in; blank lines behind an open quote are no part of it."""
    return max((place for place, text in enumerate(taken, first) if text.strip()), default=first)


def _up_to_text(lines: Iterator[str]) -> list[str]:
    """The first lines, of which only the last is not blank."""
    head = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    return head


def _kept(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def _with_gaps(cells: list[str], record: str, cell: re.Pattern[str]) -> Cells:
    """The cells with None for an empty one, unless it is "" in quotes: to csv both are the same."""
    written = cell.findall(record) if "" in cells and '""' in record else []
    if len(written) != len(cells):
        return [found or None for found in cells]
    return [None if there == "" else found for found, there in zip(cells, written, strict=True)]
