"""JSON: one object a line, and how strictly each object is read."""

from __future__ import annotations

import json
from typing import NoReturn

from localeval.errors import InputError
from localeval.samples.faults import shown
from localeval.samples.files import Lines
from localeval.samples.row import Row, Rows


def line_rows(lines: Lines, name: str) -> Rows:
    """A row for each line that is not blank. Raises InputError where a list begins instead."""
    first = True
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        if first and line.lstrip().startswith("["):
            wanted = "JSONL wants one object a line, without [ ]; for a list say --format json"
            raise InputError(f"{where}: a JSON array begins here; {wanted}.")
        if line.strip():
            first = False
            yield Row(number, f"line {number}", _parsed(line, lines.fault(line), where))


def _parsed(line: str, unreadable: str, where: str) -> object:
    """The value of the line, or why it has none."""
    if unreadable:
        return InputError(f"{where}: {unreadable}.")
    try:
        return decoder(where).decode(line.rstrip("\r\n"))
    except (ValueError, RecursionError) as error:
        remedy = "write one plain JSON object, whole, on each line"
        return InputError(f"{where}: {not_json(error)}; {remedy}.")
    except InputError as error:
        return error


def decoder(where: str) -> json.JSONDecoder:
    """Reads strictly: InputError for NaN and the like, and for a name that stands twice in an object."""

    def refuse_constant(name: str) -> NoReturn:
        raise InputError(f"{where}: {name} is not JSON; write null or a number.")

    def without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
        columns: dict[str, object] = {}
        for name, value in pairs:
            if name in columns:
                raise twice(where, name)
            columns[name] = value
        return columns

    return json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=without_repeats)


def twice(where: str, name: str) -> InputError:
    """Why an object is refused that has a name more than once: readers differ in which they take."""
    return InputError(f"{where}: {shown(name)} stands twice in one object; keep one of them.")


def not_json(error: ValueError | RecursionError) -> str:
    """What is wrong with the text, after the error that decoding it raised."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON at column {error.colno} ({error.msg})"
    if isinstance(error, RecursionError):
        return "JSON that is nested too deeply"
    return "JSON with a number of too many digits"  # the one kind left: Python refuses more than 4300
