"""JSON: a list of objects, or an object that holds one such list. The text is held in memory, whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count

from localeval.errors import InputError
from localeval.samples.faults import shown
from localeval.samples.files import Lines
from localeval.samples.json_lines import decoder, not_json, twice
from localeval.samples.row import Row, Rows

_SPACE = re.compile(r"[ \t\n\r]*")
_REMEDY = "write a list of objects, as [{...}, {...}], or say --format jsonl for one object a line"


def list_rows(lines: Lines, name: str) -> Rows:
    """A row for each item of the list. Raises InputError for text that is not JSON, or holds no such list."""
    walk = _Walk(_whole(lines, name), name)
    if walk.sees("{"):
        begin = _only_list(walk)
        walk.end()
        walk.at = begin
        yield from _items(walk)
    elif walk.sees("["):
        yield from _items(walk)
        walk.end()
    else:
        raise InputError(f"{walk.where()}: no list begins here; {_REMEDY}.")


def _whole(lines: Lines, name: str) -> str:
    read = []
    for number, line in enumerate(lines, 1):
        if fault := lines.fault(line):
            raise InputError(f"{name}, line {number}: {fault}.")
        read.append(line)
    return "".join(read)


class _Walk:
    """A place in a JSON text that goes forward, value by value, and knows its line."""

    def __init__(self, text: str, name: str) -> None:
        self._text, self._name = text, name
        self.at = 0
        self._line, self._counted = 1, 0

    def sees(self, sign: str) -> bool:
        """Whether the next sign, space aside, is this one; "" is the end."""
        self.at = _end(_SPACE.match(self._text, self.at))
        return self._text[self.at : self.at + 1] == sign

    def takes(self, sign: str) -> bool:
        there = self.sees(sign)
        self.at += there
        return there

    def expects(self, sign: str) -> None:
        if not self.sees(sign):
            raise InputError(f"{self.where()}: not JSON ({sign} is missing here); {_REMEDY}.")

    def demand(self, sign: str) -> None:
        self.expects(sign)
        self.at += 1

    def end(self) -> None:
        if not self.sees(""):
            raise InputError(f"{self.where()}: more stands behind the end of the JSON text; {_REMEDY}.")

    def line(self) -> int:
        if self.at < self._counted:
            self._line, self._counted = 1, 0
        self._line += self._text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def where(self) -> str:
        return f"{self._name}, line {self.line()}"

    def value(self) -> object:
        """The value that begins here, or why it can't be read though it is JSON to others."""
        self.sees("")
        where = self.where()
        try:
            value, self.at = decoder(where).raw_decode(self._text, self.at)
        except InputError as fault:
            self.loose_value()
            return fault
        except (ValueError, RecursionError) as error:
            raise self._not_json(error) from None
        return value

    def loose_value(self) -> object:
        """The value that begins here, read as loosely as Python does."""
        self.sees("")
        try:
            value, self.at = json.JSONDecoder().raw_decode(self._text, self.at)
        except (ValueError, RecursionError) as error:
            raise self._not_json(error) from None
        return value

    def _not_json(self, error: ValueError | RecursionError) -> InputError:
        self.at = getattr(error, "pos", self.at)
        return InputError(f"{self.where()}: {not_json(error)}; {_REMEDY}.")


def _end(match: re.Match[str] | None) -> int:
    return match.end() if match else 0


def _items(walk: _Walk) -> Iterator[Row]:
    walk.demand("[")
    if walk.takes("]"):
        return
    for number in count(1):
        walk.sees("")
        line = walk.line()
        yield Row(number, f"sample {number} (line {line})", walk.value())
        if not walk.takes(","):
            break
    walk.demand("]")


def _only_list(walk: _Walk) -> int:
    """Where the one list of objects in this object begins."""
    names: set[str] = set()
    found: dict[str, int] = {}
    where = walk.where()
    walk.demand("{")
    more = not walk.sees("}")
    while more:
        walk.expects('"')
        place, name = walk.where(), str(walk.loose_value())
        if name in names:
            raise twice(place, name)
        names.add(name)
        walk.demand(":")
        walk.sees("")
        begin, value = walk.at, walk.loose_value()
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            found[name] = begin
        more = walk.takes(",")
    walk.demand("}")
    if len(found) != 1:
        lists = f"{len(found) or 'no'} lists of objects" + f" ({shown(', '.join(found))})" * bool(found)
        raise InputError(f"{where}: an object with {lists}; {_REMEDY}.")
    return next(iter(found.values()))
