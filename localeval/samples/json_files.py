"""Read JSONL, one object a line, and JSON, a list of objects."""

from __future__ import annotations

import json
from typing import Any

from localeval.errors import InputError
from localeval.samples.file_format import FileFormat, OpenFile
from localeval.samples.rows import Row, Rows
from localeval.text.display import shorten


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
    """Yield the items of a list, or of the only list of objects in an object."""
    remedy = "write a list of objects, as [{...}, {...}], or give --format jsonl for one object a line"
    try:
        with file.lines() as lines:
            data = json.loads("".join(lines))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file.name}: not JSON ({shorten(error)}); {remedy}.") from None
    lists = _lists_of_objects(data)
    if len(lists) != 1:
        found = "several lists" if lists else "no list"
        raise InputError(f"{file.name}: holds {found} of objects; {remedy}.")
    for number, value in enumerate(lists[0], 1):
        yield Row(number, f"sample {number}", value)


def _lists_of_objects(data: Any) -> list[list[Any]]:
    """Return the data itself if it is a list, else the lists in it that hold an object.

    >>> _lists_of_objects({"version": [1], "rows": [{"answer": "A"}], "notes": []})
    [[{'answer': 'A'}]]
    """
    if isinstance(data, list):
        return [data]
    if not isinstance(data, dict):
        return []
    lists = [value for value in data.values() if isinstance(value, list)]
    return [items for items in lists if any(isinstance(item, dict) for item in items)]


JSONL = FileFormat("jsonl", (".jsonl",), read_jsonl)
JSON = FileFormat("json", (".json",), read_json)
