"""Rows of samples from files of every format, and from tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from localeval.errors import InputError
from localeval.samples.sample import Names
from localeval.text.display import shorten

# The first format is that of stdin, and of a file whose name does not tell.
FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
_BY_SUFFIX = {f".{form}": form for form in FORMATS} | {".tab": "tsv", ".pq": "parquet"}
_GZIP = b"\x1f\x8b"
_ARCHIVES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .zip, .xls

Bytes: TypeAlias = "io.BufferedReader[Any]"


class Row(NamedTuple):
    """One row of the data, before it is a `Sample`.

    number  what its id defaults to: the line of a JSONL file, else its place, from 1
    place   where it stands, for people: "line 7"
    value   its columns by name, a `Sample`, or an InputError: why it can't be read, though the next may be
    """

    number: int
    place: str
    value: object


Rows: TypeAlias = Generator[Row, None, None]


def source_name(source: str | Path) -> str:
    return "stdin" if str(source) == "-" else shorten(source)


def file_rows(source: str | Path, form: str | None, encoding: str | None, names: Names) -> Rows:
    """Yield the rows of a file, or of stdin ("-"). Raises InputError for a file that can't be used at all."""
    name = source_name(source)
    if form is None:
        suffixes = [suffix.lower() for suffix in Path(source).suffixes if suffix.lower() != ".gz"]
        form = _BY_SUFFIX.get(suffixes[-1] if suffixes else "", FORMATS[0])
    if form not in FORMATS:
        raise InputError(f"format {shorten(form)} is not known; choose one of: {', '.join(FORMATS)}.")
    try:
        with _opened(source) as file:
            if file.peek(4).startswith(_ARCHIVES):
                raise InputError(f"{name}: is an Excel table or another archive; save it as CSV.")
            if form == "parquet":
                yield from _parquet_rows(file, name, names)
                return
            with closing(_lines(file, encoding)) as lines:
                if form == "jsonl":
                    yield from _jsonl_rows(lines)
                elif form == "json":
                    yield from _json_rows(lines, name)
                else:
                    yield from _csv_rows(lines, name, ",;\t" if form == "csv" else "\t", names)
    except UnicodeError as error:  # of encodings that take no broken bytes, as UTF-16
        remedy = "name it, as --encoding gb18030"
        raise InputError(f"{name}: is in another encoding ({shorten(error)}); {remedy}.") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:  # ValueError: a NUL in the path
        cause = shorten(getattr(error, "strerror", None) or error)
        raise InputError(f"{name}: can't be read ({cause}); give the path of a file that is whole.") from None


@contextmanager
def _opened(source: str | Path) -> Iterator[Bytes]:
    """Open a file, or stdin, which stays open after; unpack what gzip packed, whatever its name."""
    stdin = str(source) == "-"
    if stdin and (sys.stdin is None or sys.stdin.closed):  # None where the shell closed it
        raise InputError("stdin: is closed; send the samples there, or give the path of a file with samples.")
    file: Bytes = io.BufferedReader(sys.stdin.buffer) if stdin else Path(source).open("rb")  # noqa: SIM115
    try:
        yield io.BufferedReader(gzip.GzipFile(fileobj=file)) if file.peek(2).startswith(_GZIP) else file
    finally:
        file.detach() if stdin else file.close()


def _lines(file: Bytes, encoding: str | None) -> Generator[str, None, None]:
    """Yield the lines as text. Bytes of another encoding become half characters, which no sample may have."""
    try:
        # Without an encoding UTF-8, or what the first bytes show.
        encoding = encoding or json.detect_encoding(file.peek(4)[:4])
        text = io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="")
    except (LookupError, ValueError):
        example = "gb18030, utf-16 or cp1252, say"
        raise InputError(
            f"encoding {shorten(encoding)} is not known; give another one ({example})."
        ) from None
    try:
        yield from chain([next(text, "").removeprefix("\ufeff")], text)
    finally:
        text.detach()


def _jsonl_rows(lines: Iterable[str]) -> Rows:
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line:
            continue
        value: object = InputError("a list begins here; write one object a line, or say --format json")
        if not line.startswith("["):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                column, fault = getattr(error, "colno", 1), shorten(getattr(error, "msg", error))
                value = InputError(f"not JSON at column {column} ({fault}); write one whole object a line")
        yield Row(number, f"line {number}", value)


def _json_rows(lines: Iterable[str], name: str) -> Rows:
    """Yield the items of a list, or of the one list of objects that stands in an object."""
    remedy = "write a list of objects, as [{...}, {...}], or say --format jsonl for one object a line"
    try:
        data = json.loads("".join(lines))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON ({shorten(error)}); {remedy}.") from None
    lists = [data] if isinstance(data, list) else []
    if isinstance(data, dict):
        lists = [v for v in data.values() if isinstance(v, list) and any(isinstance(x, dict) for x in v)]
    if len(lists) != 1:
        raise InputError(f"{name}: holds {'several lists' if lists else 'no list'} of objects; {remedy}.")
    for number, value in enumerate(lists[0], 1):
        yield Row(number, f"sample {number}", value)


def _csv_rows(lines: Iterable[str], name: str, delimiters: str, names: Names) -> Rows:
    """Yield a row for each record below the header that is not blank.

    Raises InputError for a header that can't be used, and for a quote that is never closed: how many rows it
    took in can't be told, and without them a part of the data would be judged for the whole.
    """
    csv.field_size_limit(2**31 - 1)  # the process's; its default is less than some contexts have
    lines = iter(lines)
    head: list[str] = []
    for line in lines:
        head.append(line)
        if line.strip():
            break
    # The header has most of the one that parts the cells.
    delimiter = max(delimiters, key="".join(head).count)
    reader = csv.reader(chain(head, lines), delimiter=delimiter, strict=True)
    header, number = list[str](), 0
    while True:
        first, cells, fault = reader.line_num + 1, [""], ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"not CSV ({shorten(error)}); close every quote, and write a quote inside a cell twice"
        place = f"line {first}" if reader.line_num == first else f"lines {first} to {reader.line_num}"
        if not (fault or any(cells)):
            continue
        if not header:
            header = [cell.strip() for cell in cells]
            if not fault and not {*header} & {*chain(*names.values())}:
                fault = f"the header names no column that is known ({shorten(', '.join(header))})"
                fault += "; put the names there, or say what they mean, as --columns response=NAME"
            if not fault and (double := [one for one in header if one and header.count(one) > 1]):
                fault = f"{shorten(double[0])} stands twice in the header; keep one of them"
            if fault:
                raise InputError(f"{name}, {place}: {fault}.")
            continue
        if "end of data" in fault:  # csv's words for an open quote
            raise InputError(f"{name}, {place}: {fault}.")
        if not fault and len(cells) != len(header):
            fault = f"the row has {len(cells)} cells, and the header {len(header)}"
            fault += "; put cells with delimiters or line ends into quotes"
        number += 1
        filled = {column: cell for column, cell in zip(header, cells, strict=False) if column and cell}
        yield Row(number, place, InputError(fault) if fault else _from_table(filled, names))


def _parquet_rows(file: Bytes, name: str, names: Names) -> Rows:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'localeval[tables]', or give the samples as JSONL, JSON or CSV"
        raise InputError(f"{name}: Parquet is read with pyarrow, which is not installed; {remedy}.") from None
    try:
        table = parquet.read_table(io.BytesIO(file.read()))
        unnamed = [column for column in table.column_names if column.startswith("__index_level_")]
        yield from table_rows(table.drop_columns(unnamed), name, names)  # so pandas writes a nameless index
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name}: can't be read as Parquet ({shorten(error)}); write the file again."
        ) from None


def table_rows(table: Any, name: str, names: Names) -> Rows:
    """Yield the rows of a table, told by what it has. An index of pandas that has a name is a column too."""
    rows: Iterable[Mapping[str, Any]] = table
    if hasattr(table, "iter_rows"):
        rows = table.iter_rows(named=True)
    elif hasattr(table, "to_pylist"):  # pyarrow's
        rows = table.to_pylist()
    elif hasattr(table, "itertuples"):
        named = [level for level in table.index.names if level is not None and level not in table.columns]
        table = table.reset_index(level=named) if named else table
        if not table.columns.is_unique:
            raise InputError(f"{name}: two columns have one name; rename one of them.")
        table = table.astype(object).where(table.notna(), None)
        cells = table.itertuples(index=False, name=None)
        rows = (dict(zip(table.columns, row, strict=True)) for row in cells)
    for number, row in enumerate(rows, 1):
        yield Row(number, f"row {number}", _from_table(row, names))


_OBJECTS = ("inputs", "outputs", "reference_outputs")
# For each field the name that LangSmith gives it, and the objects of a row that it may stand in.
_WITHIN = {
    "user_input": ("input", "inputs"),
    "response": ("output", "outputs"),
    "retrieved_contexts": ("documents", "outputs", "inputs"),
    "reference": ("output", "reference_outputs"),
}


def from_langsmith(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Give a row of LangSmith the columns of a sample; one that has any of them stays as it is.

    A field stands in its object under one of its own names, or alone; what else is there is kept.

    >>> from localeval.samples.sample import NAMES
    >>> from_langsmith({"inputs": {"input": "Who?"}, "outputs": {"answer": "Ann.", "cost": 1}}, NAMES)
    {'outputs.cost': 1, 'user_input': 'Who?', 'response': 'Ann.'}
    """
    objects = {name: row[name] for name in _OBJECTS if isinstance(row.get(name), Mapping)}
    own_columns = chain.from_iterable(names[field] for field in _WITHIN)
    if "inputs" not in objects or any(row.get(name) is not None for name in own_columns):
        return row
    made = {name: value for name, value in row.items() if name not in objects}
    for name, parts in objects.items():
        made |= {f"{name}.{part}": value for part, value in parts.items() if value is not None}
    claimed = {*chain(*names.values())}
    for field, (own, *places) in _WITHIN.items():
        if any(made.get(name) is not None for name in names[field]):
            continue
        known = [*names[field], own, *(names["response"] if field == "reference" else ())]
        for place in places:
            there = [name for name in made if str(name).startswith(f"{place}.") and name not in claimed]
            found = [name for name in (f"{place}.{part}" for part in known) if name in there]
            if len(there) == 1 and field != "retrieved_contexts" and isinstance(made[there[0]], str):
                found = there
            if found:
                value = made.pop(found[0])
                if isinstance(value, list):  # of LangChain's documents
                    value = [x.get("page_content", x) if isinstance(x, Mapping) else x for x in value]
                made[names[field][0]] = value
                break
    return made


def _from_table(cells: Mapping[str, Any], names: Names) -> dict[str, Any] | InputError:
    """Give the columns that are there, or why a cell can't be read."""
    row = {name: value for name, cell in cells.items() if (value := _plain(cell)) is not None}
    for name in names["retrieved_contexts"]:
        if isinstance(text := row.get(name), str):
            try:
                row[name] = json.loads(text.strip() or "null")
            except (ValueError, RecursionError):
                remedy = 'write the list in JSON, as ["first text", "second text"]'
                return InputError(f"{name} is {shorten(repr(text), 60)}; {remedy}")
    name = names["id"][0]
    if isinstance(number := row.get(name), float) and number.is_integer():
        row[name] = int(number)  # a column in which a cell is missing holds 7 as 7.0
    return row


def _plain(value: Any) -> Any:
    """Give the value in JSON's types: numpy's as Python's, nan as None, bytes, dates, decimals as text."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, bytes):
        return value.decode(errors="surrogateescape")
    return value if value is None or isinstance(value, str | int | float) else str(value)
