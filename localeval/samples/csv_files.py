"""Read tables of text: CSV, whose delimiter is found in the header, and TSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from localeval.errors import InputError
from localeval.samples.cells import row_of_cells
from localeval.samples.columns import Names
from localeval.samples.file_format import FileFormat, OpenFile
from localeval.samples.header import header_fault, unnamed_note
from localeval.samples.rows import Row, Rows
from localeval.text.display import shorten

_MAX_CELL = 2**31 - 1  # characters; the default of the csv module is smaller than some contexts
_OPEN_QUOTE = "end of data"  # in the csv module's message for a quote that is never closed


class _Record(NamedTuple):
    """A record that is not blank: its place, its cells, and what is wrong with it, else ""."""

    place: str
    cells: list[str]
    fault: str = ""


def read_csv(file: OpenFile) -> Rows:
    return _read(file, ",;\t")


def read_tsv(file: OpenFile) -> Rows:
    return _read(file, "\t")


def _read(file: OpenFile, delimiters: str) -> Rows:
    """Yield a row for each record below the header that is not blank.

    Raises InputError for a header that can't be used, and for a quote that is never closed: it hides an
    unknown number of rows, and without them part of the data would be judged for the whole.
    """
    with file.lines() as lines:
        records = _records(lines, delimiters)
        header_record = next(records, None)
        if header_record is None:
            return
        header = [cell.strip() for cell in header_record.cells]
        fault = header_record.fault or header_fault(header, file.names)
        if fault:
            raise InputError(f"{file.name}, {header_record.place}: {fault}.")
        for number, record in enumerate(records, 1):
            if _OPEN_QUOTE in record.fault:
                raise InputError(f"{file.name}, {record.place}: {record.fault}.")
            yield _row(number, record, header, file.names)


def _row(number: int, record: _Record, header: Sequence[str], names: Names) -> Row:
    """Return the row of a record; one with a fault has an `InputError` for its value."""
    fault = record.fault or _length_fault(record.cells, header)
    if fault:
        return Row(number, record.place, InputError(fault))
    filled = [(column, cell) for column, cell in zip(header, record.cells, strict=True) if cell]
    cells = {column: cell for column, cell in filled if column}
    columns = [column for column in header if column]
    row = row_of_cells(number, record.place, cells, names, columns)
    # pandas writes the numbers of rows under no name.
    unnamed = [cell for column, cell in filled if not column and not cell.isdecimal()]
    return row._replace(notes=unnamed_note(len(unnamed)))


def _records(lines: Iterator[str], delimiters: str) -> Iterator[_Record]:
    """Yield the records that are not blank. The delimiter is the one that is most frequent in the header."""
    csv.field_size_limit(_MAX_CELL)  # a setting of the whole process
    header_lines: list[str] = []
    for line in lines:
        header_lines.append(line)
        if line.strip():
            break
    header = "".join(header_lines)
    delimiter = max(delimiters, key=header.count)
    has_spaces = f'{delimiter} "' in header  # as in `"a", "b"`
    reader = csv.reader(
        chain(header_lines, lines), delimiter=delimiter, strict=True, skipinitialspace=has_spaces
    )
    while True:
        start = reader.line_num + 1
        cells = list[str]()
        fault = ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"not CSV ({shorten(error)}); close every quote, and write a quote inside a cell twice"
        if fault or any(cells):
            end = reader.line_num
            place = f"line {start}" if start == end else f"lines {start} to {end}"
            yield _Record(place, cells, fault)


def _length_fault(cells: Sequence[str], header: Sequence[str]) -> str:
    """Return what is wrong with the number of cells in a row; "" for nothing."""
    if len(cells) == len(header):
        return ""
    return (
        f"the row has {len(cells)} cells, and the header {len(header)}; "
        "put cells with delimiters or line ends into quotes"
    )


CSV = FileFormat("csv", (".csv",), read_csv)
TSV = FileFormat("tsv", (".tsv", ".tab"), read_tsv)
