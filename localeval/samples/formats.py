"""The formats of files, by name, and how a file, or stdin, is opened.

A new format is one `FileFormat`, in a file of its own, given to `register_file_format`.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localeval.errors import InputError
from localeval.samples.columns import Names
from localeval.samples.csv_files import CSV, TSV
from localeval.samples.excel_files import EXCEL
from localeval.samples.file_format import Bytes, FileFormat, OpenFile
from localeval.samples.json_files import JSON, JSONL
from localeval.samples.parquet_files import PARQUET
from localeval.samples.rows import Rows
from localeval.text.display import shorten

# The first is the format of stdin, and of a file with another suffix or none.
FORMATS: dict[str, FileFormat] = {form.name: form for form in (JSONL, JSON, CSV, TSV, PARQUET, EXCEL)}
_GZIP = b"\x1f\x8b"
_ARCHIVES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .zip, .xls


def register_file_format(form: FileFormat) -> None:
    """Read files of this format from now on. One of the same name is replaced; suffixes go to the last."""
    FORMATS[form.name] = form


def source_name(source: str | Path) -> str:
    return "stdin" if str(source) == "-" else shorten(source)


def file_rows(source: str | Path, format_name: str | None, encoding: str | None, names: Names) -> Rows:
    """Yield the rows of a file, or of stdin ("-"). Raises InputError if the whole file can't be used."""
    name = source_name(source)
    form = _choose_format(source, format_name)
    try:
        with _open(source) as file:
            if file.peek(4).startswith(_ARCHIVES) and form is not EXCEL:
                remedy = "name it .xlsx, or save it as CSV"
                raise InputError(f"{name}: is an Excel table or another archive; {remedy}.")
            yield from form.read(OpenFile(name, file, encoding, names))
    except UnicodeError as error:  # from encodings that accept no broken bytes, as UTF-16
        remedy = "name it, as --encoding gb18030"
        raise InputError(f"{name}: is in another encoding ({shorten(error)}); {remedy}.") from None
    except IsADirectoryError:
        remedy = "load_from_disk(FOLDER).to_json(FILE)"
        raise InputError(
            f"{name}: can't be read, as it is a folder; a data set of Hugging Face becomes a file "
            f"by {remedy}."
        ) from None
    except (OSError, EOFError, ValueError, zlib.error) as error:  # ValueError: a NUL in the path
        cause = shorten(getattr(error, "strerror", None) or error)
        raise InputError(f"{name}: can't be read ({cause}); give the path of a file that is whole.") from None


def _choose_format(source: str | Path, format_name: str | None) -> FileFormat:
    """Return the named format, else the format of the file's suffix (before .gz), else the first one."""
    if format_name is not None:
        if format_name not in FORMATS:
            known = ", ".join(FORMATS)
            raise InputError(f"format {shorten(format_name)} is not known; choose one of: {known}.")
        return FORMATS[format_name]
    suffixes = [suffix.lower() for suffix in Path(source).suffixes if suffix.lower() != ".gz"]
    # The last one that was registered is found first.
    for form in reversed(FORMATS.values()):
        if suffixes and suffixes[-1] in form.suffixes:
            return form
    return next(iter(FORMATS.values()))


@contextmanager
def _open(source: str | Path) -> Iterator[Bytes]:
    """Open a file, or stdin, which stays open afterwards; unpack gzip data, whatever the file's name."""
    if str(source) == "-":
        if sys.stdin is None or sys.stdin.closed:  # None where the shell closed it
            raise InputError(
                "stdin: is closed; send the samples there, or give the path of a file with samples."
            )
        stdin: Bytes = io.BufferedReader(sys.stdin.buffer)
        try:
            yield _unpacked(stdin)
        finally:
            stdin.detach()
    else:
        with Path(source).open("rb") as file:
            yield _unpacked(file)


def _unpacked(file: Bytes) -> Bytes:
    if file.peek(2).startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    return file
