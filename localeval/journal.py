"""The journal: an append-only file of judgements, keyed by what they were made from.

One judgement a line, handed to the system when it is made. Whatever ends a run, what was judged stays; the
next run with the same folder finds it by its key and asks the model only for the rest. In memory there is
only where each line begins.

    {"key": "...", "judgement": "support", "sample": "42", "cost": {...}, "record": {...}, "check": "..."}

`check` is the beginning of the sha256 of all bytes of the line before it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from localeval.errors import InputError

FILE = "journal.jsonl"
LOG = logging.getLogger("localeval")

_HEAD = b'{"key": "'
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


def _sum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode()


class Lines:
    """The whole lines of a journal file, by key. A line is read from the file when it is asked for.

    damaged  numbers of the lines that are not what was written; what stood there is not known
    size     bytes of the file without a half-written last line
    torn     whether there was one
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.damaged: list[int] = []
        self.size = 0
        self.torn = False
        self._places: dict[str, int] = {}
        if self.path.exists():
            with self.path.open("rb") as file:
                self._read(file)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under `key`; None when there is none. Raises InputError when the file has changed."""
        place = self._places.get(key)
        if place is None:
            return None
        try:
            with self.path.open("rb") as file:
                file.seek(place)
                line = file.readline()
        except OSError as error:
            raise InputError(
                f"{self.path}: the judgements can't be read ({error.strerror}); bring the run's folder back."
            ) from error
        if not is_whole(line):
            raise InputError(
                f"{self.path}: the judgement at byte {place} is not what was written; "
                "give the run's command again."
            )
        record: dict[str, Any] = json.loads(line)["record"]
        return record

    def add(self, key: str, length: int) -> None:
        """A line of `length` bytes was written at the end."""
        self._places[key] = self.size
        self.size += length

    def _read(self, file: BinaryIO) -> None:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                self.torn = True
                return
            if is_whole(line):
                self._places[line[len(_HEAD) : line.index(b'"', len(_HEAD))].decode()] = self.size
            else:
                self.damaged.append(number)
            self.size += len(line)


class Journal:
    """The judgements of a run folder; with no folder they are kept in memory only.

    `damaged` counts lines that could not be read (the last one of a killed run, say) and are judged again.
    Raises InputError when the folder can't be written.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.damaged = 0
        self.lines: Lines | None = None
        self._kept: dict[str, dict[str, Any]] = {}
        self._file: BinaryIO | None = None
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._open(folder / FILE)
            except OSError as error:
                raise InputError(
                    f"{folder}: no run can be kept there ({error.strerror}); choose another folder with -o."
                ) from error

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under `key`, as it was put; None when there is none."""
        return self._kept.get(key) if self.lines is None else self.lines.get(key)

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        """Keep a record. `cost` (rows, seconds) is told beside it and is no part of it."""
        if self.lines is None or self._file is None:
            self._kept[key] = record
            return
        line = line_of({"key": key, "judgement": judgement, "sample": sample, "cost": cost, "record": record})
        self._file.write(line)
        self.lines.add(key, len(line))

    def _open(self, path: Path) -> None:
        self.lines = Lines(path)
        self.damaged = len(self.lines.damaged) + self.lines.torn
        if self.damaged:
            LOG.warning("%s: %d damaged lines are judged again.", path, self.damaged)
        self._file = path.open("ab", buffering=0)
        if self.lines.torn:
            self._file.truncate(self.lines.size)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
