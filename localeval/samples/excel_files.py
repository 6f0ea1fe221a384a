"""Read Excel tables (.xlsx) with openpyxl, which the extra `excel` installs."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, repeat
from typing import Any

from localeval.errors import InputError
from localeval.samples.cells import row_of_cells
from localeval.samples.file_format import FileFormat, OpenFile
from localeval.samples.header import header_fault, unnamed_note
from localeval.samples.rows import Rows
from localeval.text.display import enumerated, shorten


def read_excel(file: OpenFile) -> Rows:
    """Yield the rows of the first sheet that has any; its first row with a cell holds the names.

    The cells of a formula are read as the value that Excel stored. Raises InputError without openpyxl, and
    for a file or header that can't be used.
    """
    try:
        import openpyxl
    except ImportError:
        remedy = "pip install 'localeval[excel]', or save it as CSV"
        raise InputError(
            f"{file.name}: an Excel table is read with openpyxl, which is not installed; {remedy}."
        ) from None
    content = io.BytesIO(file.content.read())
    with warnings.catch_warnings():
        # Of parts that openpyxl does not read: styles, filters.
        warnings.simplefilter("ignore")
        try:
            book = openpyxl.load_workbook(content, read_only=True, data_only=True)
            with closing(book):
                yield from _rows_of_book(book, file)
        except (zipfile.BadZipFile, KeyError, OSError, ValueError, TypeError) as error:
            raise InputError(
                f"{file.name}: can't be read as an Excel table ({shorten(error)}); save it as CSV."
            ) from None


def _rows_of_book(book: Any, file: OpenFile) -> Rows:
    with_cells = [sheet for sheet in book.worksheets if next(_filled_rows(sheet), None) is not None]
    if not with_cells:
        return
    notes = _notes_on_sheets(with_cells)
    rows = _filled_rows(with_cells[0])
    header_number, header_cells = next(rows)
    header = ["" if cell is None else str(cell).strip() for cell in header_cells]
    fault = header_fault(header, file.names)
    if fault:
        raise InputError(f"{file.name}, row {header_number}: {fault}.")
    columns = [name for name in header if name]
    for number, (row_number, row) in enumerate(rows, 1):
        filled = _filled_cells(header, row)
        cells = {name: cell for name, cell in filled if name}
        read = row_of_cells(number, f"row {row_number}", cells, file.names, columns)
        notes_of_row = [*notes, *unnamed_note(len(filled) - len(cells))]
        yield read._replace(notes=notes_of_row)


def _filled_cells(header: Sequence[str], row: Sequence[Any]) -> list[tuple[str, Any]]:
    """Return (column, cell) of each cell with a value; a row may have cells without a column's name."""
    names = chain(header, repeat(""))
    return [(name, cell) for name, cell in zip(names, row, strict=False) if cell is not None]


def _notes_on_sheets(sheets: Sequence[Any]) -> list[str]:
    """Say which of several sheets is read: the first."""
    first, *others = [shorten(sheet.title, 40) for sheet in sheets]
    if not others:
        return []
    return [f"the sheet {first} is read, and not {enumerated(others)}"]


def _filled_rows(sheet: Any) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the number and cells of each row that has a cell with a value; no cell is an empty text."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells = [None if isinstance(cell, str) and not cell else cell for cell in row]
        if any(cell is not None for cell in cells):
            yield number, cells


EXCEL = FileFormat("xlsx", (".xlsx", ".xlsm"), read_excel)
