"""Read Excel tables (.xlsx) with openpyxl, which the extra `excel` installs."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
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
    notes = []
    if len(with_cells) > 1:
        others = enumerated([shorten(sheet.title, 40) for sheet in with_cells[1:]])
        notes.append(f"the sheet {shorten(with_cells[0].title, 40)} is read, and not {others}")
    rows = _filled_rows(with_cells[0])
    header_number, header_cells = next(rows)
    header = ["" if cell is None else str(cell).strip() for cell in header_cells]
    fault = header_fault(header, file.names)
    if fault:
        raise InputError(f"{file.name}, row {header_number}: {fault}.")
    for number, (row_number, row) in enumerate(rows, 1):
        # A row may have more cells than the header, and these no name.
        names = [*header, *[""] * (len(row) - len(header))]
        filled = [(name, cell) for name, cell in zip(names, row, strict=False) if cell is not None]
        cells = {name: cell for name, cell in filled if name}
        read = row_of_cells(number, f"row {row_number}", cells, file.names, [n for n in header if n])
        notes_of_row = [*notes, *unnamed_note(len(filled) - len(cells))]
        yield read._replace(notes=notes_of_row)


def _filled_rows(sheet: Any) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the number and cells of each row that has a cell with a value; no cell is an empty text."""
    for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
        cells = [None if isinstance(cell, str) and not cell else cell for cell in row]
        if any(cell is not None for cell in cells):
            yield number, cells


EXCEL = FileFormat("xlsx", (".xlsx", ".xlsm"), read_excel)
