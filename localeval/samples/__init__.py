"""The data: `Sample` is one row; `read_samples` reads and selects them from any source."""

from localeval.samples.collection import Samples, Skipped
from localeval.samples.columns import ALIASES
from localeval.samples.file_format import FileFormat, OpenFile
from localeval.samples.formats import FORMATS, register_file_format
from localeval.samples.hints import check_columns, columns_hint
from localeval.samples.read import Source, read_samples
from localeval.samples.rows import Row
from localeval.samples.sample import Sample
from localeval.samples.shapes import RowShape, register_shape
from localeval.samples.tables import is_table

__all__ = [
    "ALIASES",
    "FORMATS",
    "FileFormat",
    "OpenFile",
    "Row",
    "RowShape",
    "Sample",
    "Samples",
    "Skipped",
    "Source",
    "check_columns",
    "columns_hint",
    "is_table",
    "read_samples",
    "register_file_format",
    "register_shape",
]
