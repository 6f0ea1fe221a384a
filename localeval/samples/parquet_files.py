"""Read Parquet with pyarrow, which the extra `tables` installs."""

from __future__ import annotations

import io

from localeval.errors import InputError
from localeval.samples.file_format import FileFormat, OpenFile
from localeval.samples.rows import Rows
from localeval.samples.tables import table_rows
from localeval.text.display import shorten


def read_parquet(file: OpenFile) -> Rows:
    """Yield the rows of the file, which is read into memory whole."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'localeval[tables]', or give the samples as JSONL, JSON or CSV"
        raise InputError(
            f"{file.name}: Parquet is read with pyarrow, which is not installed; {remedy}."
        ) from None
    try:
        # In this thread alone: at the exit of Python, another that still frees part of the file aborts it.
        reader = parquet.ParquetFile(io.BytesIO(file.content.read()), pre_buffer=False)
        table = reader.read(use_threads=False)
        # pandas' index without a name.
        unnamed = [column for column in table.column_names if column.startswith("__index_level_")]
        yield from table_rows(table.drop_columns(unnamed), file.name, file.names)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"{file.name}: can't be read as Parquet ({shorten(error)}); write the file again."
        ) from None


PARQUET = FileFormat("parquet", (".parquet", ".pq"), read_parquet)
