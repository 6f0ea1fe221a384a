"""The formats of files, and the rows that each gives."""

from __future__ import annotations

from pathlib import Path

from localeval.errors import InputError
from localeval.samples.delimited import delimited_rows
from localeval.samples.faults import shown
from localeval.samples.files import STDIN, Lines, check_encoding, name_of, opened
from localeval.samples.json_lines import line_rows
from localeval.samples.json_lists import list_rows
from localeval.samples.row import Rows
from localeval.samples.sample import Names
from localeval.samples.tables import parquet_rows

# The first format is that of stdin, and of a file whose name does not tell.
FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
_BY_SUFFIX = {f".{form}": form for form in FORMATS} | {".tab": "tsv", ".pq": "parquet"}


def file_rows(source: str | Path, form: str | None, encoding: str | None, names: Names) -> Rows:
    """The rows of a file, or of stdin ("-"). Raises InputError for what is wrong with the file as a whole."""
    if form not in (None, *FORMATS):
        raise InputError(f"format {shown(str(form))} is not known; choose one of: {', '.join(FORMATS)}.")
    if encoding is not None:
        check_encoding(encoding)
    name, form = name_of(source), form or _format_of(source)
    with opened(source) as file:
        if form == "parquet":
            yield from parquet_rows(file, name, names)
        elif form in ("csv", "tsv"):
            lines = Lines(file, name, encoding, newline="")
            yield from delimited_rows(lines, name, "\t" if form == "tsv" else None, names)
        else:
            lines = Lines(file, name, encoding, newline="\n")
            yield from (list_rows if form == "json" else line_rows)(lines, name)


def _format_of(source: str | Path) -> str:
    if str(source) == STDIN:
        return FORMATS[0]
    path = Path(source)
    path = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return _BY_SUFFIX.get(path.suffix.lower(), FORMATS[0])
