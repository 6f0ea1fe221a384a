"""Read JSONL, one object a line, and JSON, a list of objects."""

from __future__ import annotations

import json
from typing import Any

from localeval.errors import InputError
from localeval.samples.columnar import columns_of_lists, rows_of_columns
from localeval.samples.columns import Names, all_columns
from localeval.samples.file_format import FileFormat, OpenFile
from localeval.samples.guessed_names import guess_columns
from localeval.samples.rows import Row, Rows
from localeval.samples.shapes import find_shape
from localeval.text.display import shorten

_JSON_REMEDY = "write a list of objects, as [{...}, {...}], or give --format jsonl for one object a line"


def read_jsonl(file: OpenFile) -> Rows:
    """Yield a row for each line that is not blank."""
    with file.lines() as lines:
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text:
                yield Row(number, f"line {number}", _parse_line(text))


def _parse_line(text: str) -> object:
    """Return the JSON value of a line, or an InputError that says why it has none."""
    if text.startswith("["):
        return InputError("a list begins here; write one object a line, or give --format json")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        column = getattr(error, "colno", 1)
        fault = shorten(getattr(error, "msg", error))
        return InputError(f"not JSON at column {column} ({fault}); write one whole object a line")


def read_json(file: OpenFile) -> Rows:
    """Yield the items of a list, or of the only list of objects in an object.

    An object may also hold one list for each column, or be one sample.
    """
    try:
        with file.lines() as lines:
            data = json.loads("".join(lines))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file.name}: not JSON ({shorten(error)}); {_JSON_REMEDY}.") from None
    notes: list[str] = []
    columns = columns_of_lists(data, file.names)
    if columns is None:
        items = _items(data, file)
    else:
        items = list(rows_of_columns(columns))
        notes = ["each column is one list, or one object; the samples are made of them"]
    for number, item in enumerate(items, 1):
        yield Row(number, f"sample {number}", item, notes=notes)


def _items(data: Any, file: OpenFile) -> list[Any]:
    """Return the items of the list of samples in the data; one sample is its only item."""
    lists = _lists_of_objects(data)
    known = [items for items in lists if _is_known(items, file.names)]
    if not known and _is_sample(data, file.names):
        return [data]
    if len(lists) > 1:
        lists = known or lists
    if len(lists) != 1:
        found = "several lists" if lists else "no list"
        raise InputError(f"{file.name}: holds {found} of objects; {_JSON_REMEDY}.")
    return lists[0]


def _lists_of_objects(data: Any) -> list[list[Any]]:
    """Return the data itself if it is a list, else the lists in it that hold an object.

    Without such a list the objects in the data are searched, as promptfoo has `results` in `results`.

    >>> _lists_of_objects({"version": [1], "rows": [{"answer": "A"}], "notes": []})
    [[{'answer': 'A'}]]
    """
    if isinstance(data, list):
        return [data]
    if not isinstance(data, dict):
        return []
    found = [value for value in data.values() if _has_object(value)]
    if found:
        return found
    objects = [value for value in data.values() if isinstance(value, dict)]
    return [value for inner in objects for value in inner.values() if _has_object(value)]


def _has_object(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _is_known(items: list[Any], names: Names) -> bool:
    """Return whether an object in the list has a column of a sample, or is a row of a known tool."""
    for item in items:
        if isinstance(item, dict):
            has_field = all_columns(names).difference(names["id"]).intersection(item)
            if has_field or guess_columns(item, names).columns or find_shape(item, names):
                return True
    return False


def _is_sample(data: Any, names: Names) -> bool:
    """Return whether an object is one sample: a question, response or reference in it is a text."""
    if not isinstance(data, dict):
        return False
    guessed = guess_columns(data, names).columns
    texts = [
        data.get(column)
        for field in ("user_input", "response", "reference")
        for column in (*names[field], guessed.get(field))
    ]
    return any(isinstance(text, str) for text in texts)


JSONL = FileFormat("jsonl", (".jsonl",), read_jsonl)
JSON = FileFormat("json", (".json",), read_json)
