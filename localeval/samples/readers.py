"""Read rows from files of every format, and from tables."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from localeval.errors import InputError
from localeval.samples.sample import Names, is_missing_number
from localeval.text.display import shorten

# The first is the format of stdin, and of a file with another suffix or none.
FORMATS = ("jsonl", "json", "csv", "tsv", "parquet")
_BY_SUFFIX = {f".{form}": form for form in FORMATS} | {".tab": "tsv", ".pq": "parquet"}
_GZIP = b"\x1f\x8b"
_ARCHIVES = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # .xlsx and .zip, .xls

Bytes: TypeAlias = "io.BufferedReader[Any]"


class Row(NamedTuple):
    """One row of the data, before it becomes a `Sample`.

    number  its default id: the line of a JSONL file, else its position, from 1
    place   its place for messages: "line 7"
    value   its columns by name, a `Sample`, or an InputError if it can't be read, though later rows may be
    guesses (column, what was done) for each cell that was read in another way than it is written
    """

    number: int
    place: str
    value: object
    guesses: Sequence[tuple[str, str]] = ()


Rows: TypeAlias = Generator[Row, None, None]


def source_name(source: str | Path) -> str:
    return "stdin" if str(source) == "-" else shorten(source)


def file_rows(source: str | Path, format_name: str | None, encoding: str | None, names: Names) -> Rows:
    """Yield the rows of a file, or of stdin ("-"). Raises InputError if the whole file can't be used."""
    name = source_name(source)
    if format_name is None:
        suffixes = [suffix.lower() for suffix in Path(source).suffixes if suffix.lower() != ".gz"]
        format_name = _BY_SUFFIX.get(suffixes[-1] if suffixes else "", FORMATS[0])
    if format_name not in FORMATS:
        raise InputError(f"format {shorten(format_name)} is not known; choose one of: {', '.join(FORMATS)}.")
    try:
        with _open(source) as file:
            if file.peek(4).startswith(_ARCHIVES):
                raise InputError(f"{name}: is an Excel table or another archive; save it as CSV.")
            if format_name == "parquet":
                yield from _parquet_rows(file, name, names)
                return
            with closing(_lines(file, encoding)) as lines:
                if format_name == "jsonl":
                    yield from _jsonl_rows(lines)
                elif format_name == "json":
                    yield from _json_rows(lines, name)
                else:
                    yield from _csv_rows(lines, name, ",;\t" if format_name == "csv" else "\t", names)
    except UnicodeError as error:  # from encodings that accept no broken bytes, as UTF-16
        remedy = "name it, as --encoding gb18030"
        raise InputError(f"{name}: is in another encoding ({shorten(error)}); {remedy}.") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:  # ValueError: a NUL in the path
        cause = shorten(getattr(error, "strerror", None) or error)
        raise InputError(f"{name}: can't be read ({cause}); give the path of a file that is whole.") from None


@contextmanager
def _open(source: str | Path) -> Iterator[Bytes]:
    """Open a file, or stdin, which stays open afterwards; unpack gzip data, whatever the file's name."""
    stdin = str(source) == "-"
    if stdin and (sys.stdin is None or sys.stdin.closed):  # None where the shell closed it
        raise InputError("stdin: is closed; send the samples there, or give the path of a file with samples.")
    file: Bytes = io.BufferedReader(sys.stdin.buffer) if stdin else Path(source).open("rb")  # noqa: SIM115
    try:
        yield io.BufferedReader(gzip.GzipFile(fileobj=file)) if file.peek(2).startswith(_GZIP) else file
    finally:
        file.detach() if stdin else file.close()


def _lines(file: Bytes, encoding: str | None) -> Generator[str, None, None]:
    """Yield the lines as text. Bytes of another encoding become surrogates, which no sample may hold."""
    try:
        # By default UTF-8, or what the first bytes show.
        encoding = encoding or json.detect_encoding(file.peek(4)[:4])
        text = io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="")
    except (LookupError, ValueError):
        raise InputError(
            f"encoding {shorten(encoding)} is not known; give another one (gb18030, utf-16 or cp1252, say)."
        ) from None
    try:
        yield from chain([next(text, "").removeprefix("\ufeff")], text)
    finally:
        text.detach()


def _jsonl_rows(lines: Iterable[str]) -> Rows:
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line:
            continue
        value: object = InputError("a list begins here; write one object a line, or give --format json")
        if not line.startswith("["):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                column, fault = getattr(error, "colno", 1), shorten(getattr(error, "msg", error))
                value = InputError(f"not JSON at column {column} ({fault}); write one whole object a line")
        yield Row(number, f"line {number}", value)


def _json_rows(lines: Iterable[str], name: str) -> Rows:
    """Yield the items of a list, or of the only list of objects in an object."""
    remedy = "write a list of objects, as [{...}, {...}], or give --format jsonl for one object a line"
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

    Raises InputError for a header that can't be used, and for a quote that is never closed: it hides an
    unknown number of rows, and without them part of the data would be judged for the whole.
    """
    csv.field_size_limit(2**31 - 1)  # global; the default is smaller than some contexts
    lines = iter(lines)
    header_lines: list[str] = []
    for line in lines:
        header_lines.append(line)
        if line.strip():
            break
    # The delimiter is the one that is most frequent in the header.
    head = "".join(header_lines)
    delimiter = max(delimiters, key=head.count)
    spaced = f'{delimiter} "' in head  # as in `"a", "b"`
    texts = chain(header_lines, lines)
    reader = csv.reader(texts, delimiter=delimiter, strict=True, skipinitialspace=spaced)
    header, number = list[str](), 0
    while True:
        start, cells, fault = reader.line_num + 1, [""], ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"not CSV ({shorten(error)}); close every quote, and write a quote inside a cell twice"
        place = f"line {start}" if reader.line_num == start else f"lines {start} to {reader.line_num}"
        if not (fault or any(cells)):
            continue
        if not header:
            header = [cell.strip() for cell in cells]
            if not fault and not {*header} & {*chain(*names.values())}:
                fault = f"the header names no column that is known ({shorten(', '.join(header))})"
                fault += "; put the names there, or map them, as --columns response=NAME"
            if not fault and (repeated := [cell for cell in header if cell and header.count(cell) > 1]):
                fault = f"{shorten(repeated[0])} stands twice in the header; keep one of them"
            if fault:
                raise InputError(f"{name}, {place}: {fault}.")
            continue
        if "end of data" in fault:  # the csv module's message for an open quote
            raise InputError(f"{name}, {place}: {fault}.")
        if not fault and len(cells) != len(header):
            fault = f"the row has {len(cells)} cells, and the header {len(header)}"
            fault += "; put cells with delimiters or line ends into quotes"
        number += 1
        columns = {column: cell for column, cell in zip(header, cells, strict=False) if column and cell}
        yield (
            Row(number, place, InputError(fault))
            if fault
            else Row(number, place, *_clean_row(columns, names))
        )


def _parquet_rows(file: Bytes, name: str, names: Names) -> Rows:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        remedy = "pip install 'localeval[tables]', or give the samples as JSONL, JSON or CSV"
        raise InputError(f"{name}: Parquet is read with pyarrow, which is not installed; {remedy}.") from None
    try:
        # In this thread alone: at the exit of Python, another that still frees part of the file aborts it.
        reader = parquet.ParquetFile(io.BytesIO(file.read()), pre_buffer=False)
        table = reader.read(use_threads=False)
        unnamed = [column for column in table.column_names if column.startswith("__index_level_")]
        yield from table_rows(table.drop_columns(unnamed), name, names)  # pandas' index without a name
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(
            f"{name}: can't be read as Parquet ({shorten(error)}); write the file again."
        ) from None


def is_table(source: object) -> bool:
    """Return whether it is a table, or a lazy one, of pandas, Polars, pyarrow or Hugging Face."""
    names = ("collect", "itertuples", "iter_rows", "to_pylist", "column_names")
    return any(hasattr(source, name) for name in names)


def table_rows(table: Any, name: str, names: Names) -> Rows:
    """Yield the rows of a pandas, Polars, pyarrow or Hugging Face table. A named pandas index is a column."""
    form = getattr(table, "format", {})  # of a Dataset, which may give its rows as tables, as may its stream
    if hasattr(table, "with_format") and form.get("type") != "custom":
        selection = {"columns": form["columns"]} if form else {}
        table = table.with_format(None, **selection)
    rows: Iterable[Mapping[str, Any]] = table
    columns: list[Any] = []
    if hasattr(table, "iter_rows"):
        rows = table.iter_rows(named=True)
    elif hasattr(table, "to_pylist"):  # pyarrow's
        columns = getattr(table, "column_names", [])  # which an array of structs lacks
        rows = table.to_pylist()
    elif hasattr(table, "itertuples"):
        levels = [name for name in table.index.names if name is not None and name not in table.columns]
        table = table.reset_index(level=levels) if levels else table
        columns = list(table.columns)
        table = table.astype(object).where(table.notna(), None)
        cells = table.itertuples(index=False, name=None)
        rows = (dict(zip(table.columns, row, strict=True)) for row in cells)
    if len(set(columns)) < len(columns):
        raise InputError(f"{name}: two columns have one name; rename one of them.")
    for number, row in enumerate(rows, 1):
        place = f"row {number}"
        is_columns = isinstance(row, Mapping)
        yield Row(number, place, *_clean_row(row, names)) if is_columns else Row(number, place, row)


_LANGSMITH_OBJECTS = ("inputs", "outputs", "reference_outputs")
# For each field its LangSmith name, and the objects of a row that may hold it.
_LANGSMITH_FIELDS = {
    "user_input": ("input", "inputs"),
    "response": ("output", "outputs"),
    "retrieved_contexts": ("documents", "outputs", "inputs"),
    "reference": ("output", "reference_outputs"),
}


def from_langsmith(row: Mapping[Any, Any], names: Names) -> Mapping[Any, Any]:
    """Return a LangSmith row with the columns of a sample; a row that has any of them stays as it is.

    A field is found by its names in its object, or as the only value there, if a text; the rest is kept. Two
    of its names stay two, so that reading them refuses values that differ.

    >>> from localeval.samples.sample import NAMES
    >>> from_langsmith({"inputs": {"input": "Who?"}, "outputs": {"answer": "Ann.", "cost": 1}}, NAMES)
    {'outputs.cost': 1, 'user_input': 'Who?', 'answer': 'Ann.'}
    """
    objects = {name: row[name] for name in _LANGSMITH_OBJECTS if isinstance(row.get(name), Mapping)}
    sample_columns = chain.from_iterable(names[field] for field in _LANGSMITH_FIELDS)
    if "inputs" not in objects or any(row.get(name) is not None for name in sample_columns):
        return row
    flat = {column: value for column, value in row.items() if column not in objects}
    for name, fields in objects.items():
        flat |= {f"{name}.{key}": value for key, value in fields.items() if value is not None}
    all_aliases = {*chain(*names.values())}
    for field, (langsmith_key, *object_names) in _LANGSMITH_FIELDS.items():
        if any(flat.get(alias) is not None for alias in names[field]):
            continue
        others = [langsmith_key, *(names["response"] if field == "reference" else ())]
        for name in object_names:
            members = [c for c in flat if str(c).startswith(f"{name}.") and c not in all_aliases]
            matches = [f"{name}.{key}" for key in names[field] if f"{name}.{key}" in members]
            matches = matches or [f"{name}.{key}" for key in others if f"{name}.{key}" in members][:1]
            values = [value for value in objects.get(name, {}).values() if value is not None]
            is_only_text = len(members) == len(values) == 1 and isinstance(values[0], str)
            if is_only_text and field != "retrieved_contexts":
                matches = members
            for member in matches:
                value, key = flat.pop(member), member.removeprefix(f"{name}.")
                if isinstance(value, list):  # LangChain's documents
                    value = [x.get("page_content", x) if isinstance(x, Mapping) else x for x in value]
                flat[key if key in names[field] else names[field][0]] = value
            if matches:
                break
    return flat


def _clean_row(
    cells: Mapping[str, Any], names: Names
) -> tuple[dict[str, Any] | InputError, list[tuple[str, str]]]:
    """Return the columns that are not empty, or an InputError if a cell can't be read; and the guesses."""
    kept = {*chain.from_iterable(names[field] for field in _LANGSMITH_FIELDS), *_LANGSMITH_OBJECTS}
    values = {name: _to_json_type(cell, name in kept) for name, cell in cells.items()}
    row = {name: value for name, value in values.items() if value is not None}
    guesses: list[tuple[str, str]] = []
    for name in names["retrieved_contexts"]:
        if isinstance(text := row.get(name), str):
            row[name], guess = _contexts_of_cell(text)
            if guess == _UNREADABLE:
                remedy = 'write the list in JSON, as ["first text", "second text"]'
                return InputError(f"{name} is {shorten(repr(text), 60)}; {remedy}"), []
            if guess:
                guesses.append((name, guess))
    name = names["id"][0]
    if isinstance(row_id := row.get(name), float) and row_id.is_integer():
        row[name] = int(row_id)  # a column with a missing cell holds 7 as 7.0
    return row, guesses


_UNREADABLE = "unreadable"
_SEEMS_A_LIST = re.compile(r"[\[(]\s*(?:['\"\])]|None\b|nan\b)")
# A text in quotes as Python's repr writes it. Between two of them there is a comma, or in the form of numpy
# only space; Python itself would read the latter two as one text.
_ESCAPED = r"""\\(?:['"\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"""
_QUOTED = re.compile(rf"""'(?:[^'\\\n]|{_ESCAPED})*'|"(?:[^"\\\n]|{_ESCAPED})*\"""")
_BETWEEN = re.compile(r"\s*,\s*|\s+")


def _contexts_of_cell(text: str) -> tuple[Any, str]:
    """Return the contexts in the text of a cell, and what was done if it is no list in JSON.

    The text may be a list in JSON or in Python's form, as pandas writes it; another text is one context.

    >>> _contexts_of_cell('["b", "c"]'), _contexts_of_cell("['b', 'c']")[0], _contexts_of_cell("Tea.")[0]
    ((['b', 'c'], ''), ['b', 'c'], ['Tea.'])
    """
    stripped = text.strip()
    if stripped in ("", "null"):
        return None, ""
    if stripped[0] in '[{"':
        with suppress(ValueError, RecursionError):
            value = json.loads(stripped)
            return ([value], _ONE_CONTEXT) if isinstance(value, str) else (value, "")
    if (texts := _texts_in_python(stripped)) is not None:
        return texts, "with a list in Python's form"
    if _SEEMS_A_LIST.match(stripped):
        return None, _UNREADABLE
    return [text], _ONE_CONTEXT


_ONE_CONTEXT = "without a list, each read as one context"


def _texts_in_python(text: str) -> list[str] | None:
    """Return the texts of a list or tuple as Python or numpy prints it; None for anything else.

    >>> _texts_in_python("['b', 'c']"), _texts_in_python("['b' 'c']"), _texts_in_python("['b', None]")
    (['b', 'c'], ['b', 'c'], None)
    """
    if text[:1] + text[-1:] not in ("[]", "()"):
        return None
    items = text[1:-1].strip()
    texts: list[str] = []
    position = 0
    while position < len(items):
        quoted = _QUOTED.match(items, position)
        if quoted is None:
            return None
        try:
            texts.append(ast.literal_eval(quoted[0]))
        except (ValueError, SyntaxError):  # an escape beyond the last character
            return None
        position = quoted.end()
        if position < len(items):
            between = _BETWEEN.match(items, position)
            if between is None:
                return None
            position = between.end()
    return texts


def _to_json_type(value: Any, kept: bool) -> Any:
    """Convert a value to JSON's types: numpy's to Python's, nan and infinity to None, UTF-8 to text.

    kept  leave other objects as they are, so that the check of the sample refuses them; else they become text
          (dates, decimals), and other bytes None
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if is_missing_number(value):
        return None
    if isinstance(value, list | tuple):
        return [_to_json_type(item, kept) for item in value]
    if isinstance(value, Mapping):
        return {name: _to_json_type(item, kept) for name, item in value.items()}
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value if kept else None
    return value if kept or value is None or isinstance(value, str | int | float) else str(value)
