"""The journal: an append-only file of judgements, keyed by what they were made from.

One judgement a line. What is promised:

- A line is handed to the system before the next judgement begins: a process that is killed loses the
  judgement in flight, and no other.
- It is forced to the disk whenever a second has gone since that was last done: a power cut loses at most one
  second's work beside.
- A line that is not what was written, by its check, is never believed: it is said, put aside into
  `damaged.jsonl`, and that judgement alone is made again. A half-written last line is dropped.
- One process writes a folder at a time; a lock of a process that is gone does not count.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from localeval.errors import FolderError
from localeval.judgements.journal.lines import FILE, Lines, is_whole, line_of
from localeval.judgements.journal.lock import Lock
from localeval.system.files import no_link
from localeval.text.display import listed

LOG = logging.getLogger("localeval")

DAMAGED = "damaged.jsonl"
SECONDS_UNFORCED = 1.0
MOST_IN_MEMORY = 1000  # a judge that lives as long as its service keeps no more
_MOST_NAMED = 10


V = TypeVar("V")


class Recent(OrderedDict[str, V]):
    """Values by key, of which those that were put or taken last are kept."""

    def put(self, key: str, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > MOST_IN_MEMORY:
            self.popitem(last=False)

    def take(self, key: str) -> V | None:
        if key in self:
            self.move_to_end(key)
        return self.get(key)


class Journal:
    """The judgements of a run folder; with no folder the latest thousand are kept, in memory only.

    `damaged` counts lines that could not be read (the last one of a killed run, say) and are judged again.
    Raises FolderError when the folder can't be written, or another process is writing to it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.damaged = 0
        self.lines: Lines | None = None
        self._kept: Recent[dict[str, Any]] = Recent()
        self._file: BinaryIO | None = None
        self._forced = 0.0
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._lock = Lock(folder)
                self._open(folder / FILE)
            except OSError as error:
                raise FolderError(
                    f"{folder}: no run can be kept there ({error.strerror}); choose another folder with -o."
                ) from error

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under `key`, as it was put; None when there is none."""
        return self._kept.take(key) if self.lines is None else self.lines.get(key)

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        """Keep a record. `cost` (rows, seconds) is told beside it and is no part of it.

        Raises FolderError when it can't be written; all lines before it stay.
        """
        if self.lines is None or self._file is None:
            self._kept.put(key, record)
            return
        line = line_of({"key": key, "judgement": judgement, "sample": sample, "cost": cost, "record": record})
        try:
            _write(self._file, line)
            if time.monotonic() - self._forced >= SECONDS_UNFORCED:
                self._force()
        except OSError as error:
            with contextlib.suppress(OSError):  # half a line; where it stays, it is dropped the next time
                self._file.truncate(self.lines.size)
            raise FolderError(
                f"{self.lines.path}: a judgement can't be written ({error.strerror}); all before it are "
                "kept. Make room, or make the folder writable, and give the same command again."
            ) from error
        self.lines.add(key, len(line))
        self.check()

    def check(self) -> None:
        """Raises FolderError when the folder was moved or removed; a removed journal is put back first."""
        if self.lines is None or self._file is None:
            return
        path, ours = self.lines.path, os.fstat(self._file.fileno())
        with contextlib.suppress(OSError):
            if os.path.samestat(path.stat(), ours):
                return
        if ours.st_nlink:
            raise FolderError(
                f"{path.parent}: the run's folder was moved while the run was writing to it; what was judged "
                "is in it. Move it back, and give the same command again."
            )
        self._put_back(path)
        raise FolderError(
            f"{path.parent}: the run's folder was removed while the run was writing to it; its journal has "
            "been put back, with all that was judged. Give the same command again to go on."
        )

    def _open(self, path: Path) -> None:
        try:
            self.lines = Lines(path)
            self.damaged = len(self.lines.damaged) + self.lines.torn
            if self.lines.torn:
                LOG.warning("%s: the last line is half-written; that judgement is made again.", path)
            if self.lines.damaged:
                self.lines = _without_damaged(self.lines)
            self._file = open(path, "a+b", buffering=0, opener=no_link)  # noqa: SIM115
            self._file.truncate(self.lines.size)
        except BaseException:
            self._lock.release()
            raise

    def _force(self) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._forced = time.monotonic()

    def _put_back(self, path: Path) -> None:
        """The journal again, from the file that is still open here though it has no name any more."""
        if self._file is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file.seek(0)
            with path.open("xb") as file:
                while block := self._file.read(1 << 20):
                    file.write(block)
                os.fsync(file.fileno())
        except OSError as error:
            raise FolderError(
                f"{path.parent}: the run's folder was removed while the run was writing to it, and its "
                f"journal can't be put back ({error.strerror}); what was judged is lost."
            ) from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._force()
            self._file.close()
            self._lock.release()


def _write(file: BinaryIO, line: bytes) -> None:
    """All of it: a file without a buffer may take less, and then says why at the next call."""
    left = memoryview(line)
    while left:
        left = left[file.write(left) :]


def _without_damaged(lines: Lines) -> Lines:
    """The journal without its damaged lines, which are put aside; whole or not at all."""
    path = lines.path
    aside, beside = path.with_name(DAMAGED), path.with_name(f".{FILE}.part")
    named = listed([str(number) for number in lines.damaged], _MOST_NAMED)
    LOG.warning(
        "%s, line %s: not what was written; put aside into %s, and judged again.", path, named, DAMAGED
    )
    beside.unlink(missing_ok=True)
    with path.open("rb") as old, open(aside, "ab", opener=no_link) as put, beside.open("xb") as new:
        for line in old:
            if line.endswith(b"\n"):
                (new if is_whole(line) else put).write(line)
        for file in (put, new):
            file.flush()
            os.fsync(file.fileno())
    beside.replace(path)
    return Lines(path)
