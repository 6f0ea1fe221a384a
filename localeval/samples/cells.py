"""Read the cells of tables: CSV, Parquet and DataFrames have types that JSON lacks, or no types at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localeval.samples.columns import Names, field_columns
from localeval.samples.guessed_names import guess_columns, with_guesses
from localeval.samples.rows import Row
from localeval.samples.sample import is_missing_number
from localeval.samples.shapes import shape_columns


def row_of_cells(
    number: int, place: str, cells: Mapping[str, Any], names: Names, header: Sequence[str] = ()
) -> Row:
    """Return the row with the columns that are not empty.

    number, place  see `Row`
    cells          column -> cell, of any type that a table has
    header         the columns of the table; by default those of the cells
    """
    header = header or tuple(cells)
    names = with_guesses(names, guess_columns(header, names))
    # Fields, and the columns that rows of other tools keep them in, are checked later, as they are.
    checked_later = field_columns(names) | shape_columns()
    columns: dict[str, Any] = {}
    for name, cell in cells.items():
        value = _to_json_type(cell, keep_others=name in checked_later)
        if value is not None:
            columns[name] = value
    for id_column in names["id"]:
        row_id = columns.get(id_column)
        if isinstance(row_id, float) and row_id.is_integer():
            # A column with a missing cell holds 7 as 7.0.
            columns[id_column] = int(row_id)
    return Row(number, place, columns, header=header)


def _to_json_type(value: Any, keep_others: bool) -> Any:
    """Convert a value to JSON's types: numpy's to Python's, nan and infinity to None, UTF-8 to text.

    keep_others  leave other objects as they are, so that the check of the sample refuses them; else they
                 become text (dates, decimals), and bytes that are no UTF-8 become None
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if is_missing_number(value):
        return None
    if isinstance(value, list | tuple):
        return [_to_json_type(item, keep_others) for item in value]
    if isinstance(value, Mapping):
        return {name: _to_json_type(item, keep_others) for name, item in value.items()}
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value if keep_others else None
    if value is None or isinstance(value, str | int | float) or keep_others:
        return value
    return str(value)
