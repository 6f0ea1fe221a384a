"""One row of the data, `Sample`, and reading rows from JSONL or from Python.

    {"question": "Who won?", "answer": "Ann won.", "contexts": ["Ann won the race."]}

is `Sample(user_input="Who won?", response="Ann won.", retrieved_contexts=["Ann won the race."])`. Every
fault is an `InputError` of one sentence: where, which field, what was found, what to do.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError

# The names are ragas'. The aliases are read and never written.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_input": ("question", "query"),
    "response": ("answer",),
    "retrieved_contexts": ("contexts", "docs", "document_list"),
    "reference": ("ground_truth",),
}
_MAX_DEPTH = 100  # deeper nesting could be read, but not safely be written again
_HUGE = 10**40
_SURROGATE = re.compile("[\ud800-\udfff]")


class Sample(BaseModel):
    """One row: a question, an answer, what was retrieved for it and what it should have been.

    None means that the column is missing (or null); "" and [] mean that it is there and empty. Columns
    with other names are kept in `model_extra`. `Sample(...)` takes the aliases too, and raises
    `InputError` on a wrong type, on an alias that contradicts its field, and on text that is no Unicode
    (a lone surrogate). An id that is an int becomes a string; "" stands for none.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: list[str] | None = None
    reference: str | None = None

    def __init__(self, /, **columns: Any) -> None:
        super().__init__(**_checked(columns, "Sample"))

    @classmethod
    def read(cls, columns: Mapping[str, Any], where: str) -> Sample:
        """`Sample(**columns)`, with `where` ("data.jsonl, line 3") at the head of its errors."""
        return cls(**_checked(columns, where))


def read_samples(source: str | Path | Iterable[Sample | Mapping[str, Any]]) -> list[Sample]:
    """The samples of a JSONL file (any name; "-" is stdin) or of an iterable, at least one.

    An id that is missing becomes the number of the line, or the place in the iterable, from 1. Blank lines
    are skipped. `InputError` names the file, the line and the field of what can't be read.
    """
    if isinstance(source, (str, Path)):
        return _unique(_read_file(source), "line", _shown(str(source)))
    if isinstance(source, (Sample, Mapping)) or not isinstance(source, Iterable):
        raise _wrong("samples", "source", "a path or a list of samples", source, "put one sample in a list")
    rows = [(place, _read_item(item, f"sample {place}")) for place, item in enumerate(source, 1)]
    return _unique(rows, "sample", "samples")


def check_columns(samples: Sequence[Sample], needed: Sequence[str], metric: str, where: str) -> None:
    """`InputError` if a needed field is None in every sample, so that the metric could score none of them."""
    for field in needed:
        if all(getattr(sample, field, None) is None for sample in samples):
            also = "".join(f" or {name}" for name in ALIASES.get(field, ()))
            need = f"{metric} needs the column {field}{also}, which no sample has"
            raise InputError(f"{where}: {need}; add it, or leave the metric out.")


def _read_file(source: str | Path) -> list[tuple[int, Sample]]:
    name = _shown(str(source))
    if str(source) == "-":
        return _read_lines(sys.stdin.buffer, "stdin")
    try:
        with Path(source).open("rb") as file:
            return _read_lines(file, name)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        cause = getattr(error, "strerror", None) or "not a path"
        raise InputError(f"{name}: can't be read ({cause}); give the path of a JSONL file.") from None


def _read_lines(file: BinaryIO, name: str) -> list[tuple[int, Sample]]:
    rows: list[tuple[int, Sample]] = []
    for number, raw in enumerate(file, 1):
        where = f"{name}, line {number}"
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} of the line is not UTF-8"
            raise InputError(f"{where}: {byte}; save the file as UTF-8.") from None
        if not rows and line.lstrip().startswith("["):
            raise InputError(
                f"{where}: a JSON array begins here; JSONL wants one object a line, without [ ]."
            )
        if line.strip():
            rows.append((number, _read_item(_parsed(line, where), where)))
    return rows


def _parsed(line: str, where: str) -> object:
    """The JSON value of a line, strictly: no NaN, no name twice in an object."""

    def refuse_constant(name: str) -> NoReturn:
        raise InputError(f"{where}: {name} is not JSON; write null or a number.")

    def without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
        columns: dict[str, object] = {}
        for name, value in pairs:
            if name in columns:
                raise InputError(f"{where}: {_shown(name)} stands twice in one object; keep one of them.")
            columns[name] = value
        return columns

    try:
        parsed: object = json.loads(line, parse_constant=refuse_constant, object_pairs_hook=without_repeats)
    except json.JSONDecodeError as error:
        fault = f"not JSON at column {error.colno} ({error.msg})"
    except RecursionError:
        fault = "JSON that is nested too deeply"
    except ValueError:  # the one kind left: Python refuses integers of more than 4300 digits
        fault = "JSON with a number of too many digits"
    else:
        return parsed
    raise InputError(f"{where}: {fault}; write one plain JSON object, whole, on each line.")


def _read_item(item: object, where: str) -> Sample:
    if isinstance(item, Sample):
        return item
    if not isinstance(item, Mapping):
        raise _wrong(where, "sample", "an object with named columns", item, "name its columns")
    return Sample.read(item, where)


def _unique(rows: list[tuple[int, Sample]], unit: str, name: str) -> list[Sample]:
    """The samples, each with an id of its own."""
    if not rows:
        raise InputError(f"{name}: there is no sample in it; give at least one.")
    seen: dict[str, int] = {}
    samples: list[Sample] = []
    for number, sample in rows:
        named = sample if sample.id else sample.model_copy(update={"id": str(number)})
        first = seen.setdefault(named.id, number)
        if first != number:
            both = f"{unit} {first} and {unit} {number} have the same id {_shown(named.id)}"
            raise InputError(f"{name}: {both}; make every id unique.")
        samples.append(named)
    return samples


def _checked(columns: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The columns under their own names, aliases resolved, each of its right type."""
    for name, value in columns.items():
        if not isinstance(name, str):
            raise _wrong(where, "columns", "every name to be a string", name, "rename it")
        _check_writable([name, value], where, name)
    checked: dict[str, Any] = {"id": _checked_id(columns.get("id"), where)}
    for field, aliases in ALIASES.items():
        names = [name for name in (field, *aliases) if columns.get(name) is not None]
        values = [_checked_value(columns[name], where, name, field) for name in names]
        for name, value in zip(names, values, strict=True):
            if value != values[0]:
                raise InputError(f"{where}: {names[0]} and {name} are one field but differ; keep one.")
        checked[field] = values[0] if values else None
    read = {"id", *ALIASES, *chain.from_iterable(ALIASES.values())}
    return checked | {name: value for name, value in columns.items() if name not in read}


def _checked_id(value: object, where: str) -> str:
    if value is None:
        return ""
    # bool is an int to Python, and no id to anyone; Python prints no integer of more than 4300 digits.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _HUGE:
        return str(value)
    if isinstance(value, str):
        return value
    raise _wrong(where, "id", "a string or an integer", value, "write it as a string")


def _checked_value(value: object, where: str, name: str, field: str) -> str | list[str]:
    if field != "retrieved_contexts":
        if isinstance(value, str):
            return value
        raise _wrong(where, name, "a string", value, "write text or null")
    if not isinstance(value, (list, tuple)):
        raise _wrong(where, name, "a list of strings", value, "put the text in a list, as [text]")
    for place, item in enumerate(value, 1):
        if not isinstance(item, str):
            raise _wrong(where, f"{name}, item {place}", "a string", item, "write text, or drop the item")
    return list(value)


def _check_writable(column: object, where: str, name: str) -> None:
    """Refuse lone surrogates and deep nesting anywhere in a column: neither could be written again."""
    # A stack of our own, because recursion is what deep nesting would break.
    stack = [(column, 0)]
    while stack:
        item, depth = stack.pop()
        if depth > _MAX_DEPTH:
            raise InputError(f"{where}: {_shown(name)}: more than {_MAX_DEPTH} levels deep; use fewer.")
        if isinstance(item, str) and _SURROGATE.search(item):
            raise InputError(f"{where}: {_shown(name)}: has half a character (a lone surrogate); remove it.")
        if isinstance(item, Mapping):
            stack += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, (list, tuple)):
            stack += [(part, depth + 1) for part in item]


def _wrong(where: str, name: str, expected: str, value: object, remedy: str) -> InputError:
    """The error for a value of the wrong type: its type in JSON's words, and at most 40 characters of it."""
    found = f"a {type(value).__name__}"
    if value is None or isinstance(value, bool):
        found = {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, str):
        found = f'a string "{_shown(value, 40)}"'
    elif isinstance(value, (int, float)):
        found = "a huge number" if abs(value) >= _HUGE else f"a number {_shown(str(value), 40)}"
    elif isinstance(value, (list, tuple)):
        found = f"a list of {len(value)}"
    elif isinstance(value, Mapping):
        found = "an object"
    return InputError(f"{where}: {_shown(name)}: expected {expected}, found {found}; {remedy}.")


def _shown(text: str, limit: int = 200) -> str:
    """The text fit for a message: no control, format or half characters, and no more than `limit`."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in short)
