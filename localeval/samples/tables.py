"""Read the rows of tables in memory: of pandas, Polars, pyarrow and Hugging Face.

A new kind of table is one function that returns its columns and rows, and a line in `_KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from localeval.errors import InputError
from localeval.samples.cells import row_of_cells
from localeval.samples.columns import Names
from localeval.samples.rows import Row, Rows

_METHODS = ("collect", "itertuples", "iter_rows", "to_pylist", "column_names")


class Table(NamedTuple):
    """The rows of a table, and the names of its columns where two of them may be the same."""

    rows: Iterable[Any]
    columns: Sequence[Any] = ()


def is_table(source: object) -> bool:
    """Return whether it is a table, or a lazy one, of pandas, Polars, pyarrow or Hugging Face."""
    return any(hasattr(source, name) for name in _METHODS)


def table_rows(table: Any, name: str, names: Names) -> Rows:
    """Yield the rows of a pandas, Polars, pyarrow or Hugging Face table. A named pandas index is a column."""
    rows, columns = _open_table(_without_format(table))
    if len(set(columns)) < len(columns):
        raise InputError(f"{name}: two columns have one name; rename one of them.")
    for number, row in enumerate(rows, 1):
        place = f"row {number}"
        if isinstance(row, Mapping):
            yield row_of_cells(number, place, row, names)
        else:
            yield Row(number, place, row)


def _open_table(table: Any) -> Table:
    for method, open_table in _KINDS.items():
        if hasattr(table, method):
            return open_table(table)
    # A Dataset of Hugging Face is an iterable of its rows.
    return Table(table)


def _without_format(table: Any) -> Any:
    """Return a Dataset of Hugging Face that gives its rows as mappings; its stream and others as they are.

    Its format may make tables of the rows; one of the user's own ("custom") is kept.
    """
    form = getattr(table, "format", {})
    if not hasattr(table, "with_format") or form.get("type") == "custom":
        return table
    if not form:
        return table.with_format(None)
    return table.with_format(None, columns=form["columns"])


def _open_polars(table: Any) -> Table:
    return Table(table.iter_rows(named=True))


def _open_arrow(table: Any) -> Table:
    # An array of structs has no names of columns.
    return Table(table.to_pylist(), getattr(table, "column_names", []))


def _open_pandas(table: Any) -> Table:
    levels = [name for name in table.index.names if name is not None and name not in table.columns]
    if levels:
        table = table.reset_index(level=levels)
    columns = list(table.columns)
    cells = table.astype(object).where(table.notna(), None)
    rows = (dict(zip(columns, row, strict=True)) for row in cells.itertuples(index=False, name=None))
    return Table(rows, columns)


# The method that shows the kind, and how it is opened. The order counts: Polars has no `itertuples`.
_KINDS: dict[str, Callable[[Any], Table]] = {
    "iter_rows": _open_polars,
    "to_pylist": _open_arrow,
    "itertuples": _open_pandas,
}
