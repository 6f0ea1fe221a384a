"""The form of a journal's lines, and reading them. In memory there is only where each line begins.

    {"key": "...", "judgement": "support", "sample": "42", "cost": {...}, "record": {...}, "check": "..."}

`check` is the beginning of the sha256 of all bytes of the line before it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from localeval.errors import FolderError
from localeval.system.files import reading

FILE = "journal.jsonl"

_HEAD = b'{"key": "'
_RECORD = b', "record": '
_CHECK = b', "check": "'
_TAIL = len(_CHECK) + 16 + len(b'"}\n')


def line_of(entry: Mapping[str, Any]) -> bytes:
    """A line of the journal; the first item of `entry` is its key."""
    body = json.dumps(entry, ensure_ascii=False)[:-1].encode("utf-8", "surrogatepass")
    return body + _CHECK + _sum(body) + b'"}\n'


def is_whole(line: bytes) -> bool:
    """Whether the line is what was written, by its check."""
    body, tail = line[:-_TAIL], line[-_TAIL:]
    return line.startswith(_HEAD) and tail == _CHECK + _sum(body) + b'"}\n'


def is_begun(data: bytes) -> bool:
    """Whether this may be the beginning of a journal's first line, or nothing.

    >>> is_begun(b""), is_begun(b'{"ke'), is_begun(b'{"key": "mine"}\\n')
    (True, True, False)
    """
    return b"\n" not in data and (data.startswith(_HEAD) or _HEAD.startswith(data))


def cost_in(line: bytes) -> dict[str, Any]:
    """What a judgement took, by the beginning of its line: its record, which is most of it, is not read.

    (No text of the line can hold the mark between the two: a quote in a text has a backslash before it.)
    Raises ValueError or KeyError for what is no line of a journal.
    """
    try:
        cost: dict[str, Any] = json.loads(line.partition(_RECORD)[0] + b"}")["cost"]
    except RecursionError as error:
        raise ValueError(error) from error
    return cost


def _key(line: bytes) -> str:
    return line[len(_HEAD) :].partition(b'"')[0].decode("utf-8", "replace")


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


class Lines:
    """The whole lines of a journal file, by key. A line is read from the file when it is asked for.

    damaged  numbers of the lines that are not what was written; what stood there is not known
    torn     whether the last line is half-written; it is no part of `size`, the bytes of the others

    Raises FolderError for a file that is there and can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.damaged: list[int] = []
        self.torn = False
        self.size = 0
        self._places: dict[str, int] = {}
        if os.path.lexists(self.path):
            with self._opened() as file:
                self._read(file)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under `key`; None when there is none.

        Raises FolderError when the file has changed, InputError for a line of another form.
        """
        place = self._places.get(key)
        if place is None:
            return None
        with self._opened() as file:
            file.seek(place)
            line = file.readline()
        if not is_whole(line):
            raise FolderError(
                f"{self.path}: the judgement at byte {place} is not what was written; "
                "give the run's command again."
            )
        with reading(
            f"{self.path}: the line at byte {place}", "take it out, and give the run's command again."
        ):
            record: dict[str, Any] = json.loads(line)["record"]
        return record

    def add(self, key: str, length: int) -> None:
        """A line of `length` bytes was written at the end."""
        self._places[key] = self.size
        self.size += length

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            with self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise FolderError(
                f"{self.path}: the judgements can't be read ({error.strerror}); bring the run's folder back "
                "as it was."
            ) from error

    def _read(self, file: BinaryIO) -> None:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                self.torn = True
                return
            if is_whole(line):
                self._places[_key(line)] = self.size
            else:
                self.damaged.append(number)
            self.size += len(line)
