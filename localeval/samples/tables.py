"""Parquet files and pandas DataFrames: what the extra `tables` is for."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Protocol

from localeval.errors import InputError
from localeval.samples.cells import columns_of
from localeval.samples.faults import shown
from localeval.samples.files import Bytes
from localeval.samples.row import Row, Rows
from localeval.samples.sample import Names

_INDEX = "__index_level_"  # how pandas writes an index without a name
_ROWS_AT_ONCE = 256


class Frame(Protocol):
    """What of a pandas DataFrame is read; named here so that pandas need not be there."""

    columns: Any
    index: Any

    def reset_index(self, *args: Any, **kwargs: Any) -> Any: ...

    def itertuples(self, *args: Any, **kwargs: Any) -> Any: ...


def parquet_rows(file: Bytes, name: str, names: Names) -> Rows:
    """The rows of a Parquet file, some at a time. Raises InputError for a broken one, and without pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'localeval[tables]', or give the samples as JSONL, JSON or CSV"
        raise InputError(f"{name}: Parquet is read with pyarrow, which is not installed; {remedy}.") from None
    number = 0
    try:
        # The index of the columns stands at the end of the file, and a pipe can't be read from there.
        table = parquet.ParquetFile(file if file.seekable() else io.BytesIO(file.read()), pre_buffer=False)
        columns = [column for column in table.schema_arrow.names if not column.startswith(_INDEX)]
        _check_names(columns, name)
        for batch in table.iter_batches(_ROWS_AT_ONCE, columns=columns):
            for place in range(batch.num_rows):
                number += 1
                yield _arrow_row(batch, place, number, name, names)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:  # a name not in UTF-8, say
        cause = shown(" ".join(str(error).split()))
        raise InputError(f"{name}: can't be read as Parquet ({cause}); write the file again.") from None


def _arrow_row(batch: Any, place: int, number: int, name: str, names: Names) -> Row:
    where = f"{name}, row {number}"
    cells = []
    for column, values in zip(batch.schema.names, batch.columns, strict=True):
        try:
            cells.append((column, values[place].as_py()))
        except (ValueError, OverflowError) as error:  # text that is not UTF-8, or a time beyond Python's
            fault = f"{shown(column)}: can't be read ({shown(str(error))})"
            return Row(number, f"row {number}", InputError(f"{where}: {fault}; write the cell again."))
    return Row(number, f"row {number}", columns_of(cells, where, names))


def is_frame(source: object) -> bool:
    """Whether it is a pandas DataFrame. By name, since asking pandas would load it."""
    return any(
        (kind.__module__.split(".")[0], kind.__name__) == ("pandas", "DataFrame")
        for kind in type(source).__mro__
    )


def frame_rows(frame: Frame, name: str, names: Names) -> Rows:
    """The rows of a DataFrame; an index that has a name is a column too."""
    import pandas as pd

    named = [level for level in frame.index.names if level is not None and level not in frame.columns]
    frame = frame.reset_index(level=named) if named else frame
    columns = list(frame.columns)
    _check_names(columns, name)
    for number, row in enumerate(frame.itertuples(index=False, name=None), 1):
        cells = zip(columns, row, strict=True)
        there = ((column, cell) for column, cell in cells if pd.isna(cell) is not True)
        yield Row(number, f"row {number}", columns_of(there, f"{name}, row {number}", names))


def _check_names(columns: Sequence[object], name: str) -> None:
    for column in columns:
        if columns.count(column) > 1:
            raise InputError(f"{name}: there are two columns {shown(str(column))}; rename one of them.")
