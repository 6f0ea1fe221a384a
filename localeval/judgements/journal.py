"""The journal: judgements, one a line of JSON with a checksum, under a digest of what they were made from.

    {"key": "...", "judgement": "support", "sample": "42", "cost": {...}, "record": {...}, "check": "..."}

A line is written before the next judgement begins and forced to the disk once a second. A line that is not
what was written is told, put aside into `damaged.jsonl`, and made again. One process writes at a time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from pydantic import BaseModel

from localeval.errors import FolderError, InputError
from localeval.judgements import JUDGEMENTS, Failure, JudgeContext, Judgement
from localeval.samples import Sample
from localeval.system.files import lock_file, parsing, write_all
from localeval.system.versions import digest
from localeval.text.display import join_some

LOG = logging.getLogger("localeval")

FILE, DAMAGED, LOCK = "journal.jsonl", "damaged.jsonl", ".lock"
SECONDS_UNFORCED = 1.0
_LATEST = 100_000
MOST_IN_MEMORY = 1000  # a judge that lives as long as its service keeps no more

_HEAD = b'{"key": "'
_RECORD = b', "record": '
_CHECK = b', "check": "'  # the beginning of the sha256 of all bytes of the line before it follows
_TAIL = len(_CHECK) + 16 + len(b'"}\n')


def line_of(entry: Mapping[str, Any]) -> bytes:
    """Write an entry as a line of the journal; its first item is the key."""
    body = json.dumps(entry, ensure_ascii=False)[:-1].encode("utf-8", "surrogatepass")
    return body + _tail(body)


def is_whole(line: bytes) -> bool:
    """Tell by its check whether the line is what was written."""
    return line.startswith(_HEAD) and line[-_TAIL:] == _tail(line[:-_TAIL])


def _tail(body: bytes) -> bytes:
    return _CHECK + hashlib.sha256(body).hexdigest()[:16].encode() + b'"}\n'


def head_of(line: bytes) -> dict[str, Any]:
    """Read key, judgement, sample and cost from the beginning of a line; the record behind is not parsed.

    (No text can hold the mark between the two: a quote in a text has a backslash before it.) Raises
    ValueError for what is no line of a journal.
    """
    head: dict[str, Any] = json.loads(line.partition(_RECORD)[0] + b"}")
    return head


class _Places:
    """Where the line of each key begins: 16 bytes a key, beside the latest hundred thousand."""

    def __init__(self) -> None:
        self._latest: dict[int, int] = {}  # by the hash of a key; a line is asked for its own
        self._hashes, self._places = np.empty(0, np.int64), np.empty(0, np.int64)  # sorted by hash

    def get(self, key: str) -> int | None:
        if (hashed := hash(key)) in self._latest:
            return self._latest[hashed]
        at = int(np.searchsorted(self._hashes, hashed, side="right")) - 1  # of equal ones the last
        return int(self._places[at]) if at >= 0 and self._hashes[at] == hashed else None

    def put(self, key: str, place: int) -> None:
        self._latest[hash(key)] = place
        if len(self._latest) >= _LATEST:
            hashes = np.concatenate([self._hashes, np.fromiter(self._latest, np.int64)])
            places = np.concatenate([self._places, np.fromiter(self._latest.values(), np.int64)])
            order = hashes.argsort(kind="stable")
            self._hashes, self._places = hashes[order], places[order]
            self._latest.clear()


class JournalFile:
    """The whole lines of a journal file, by key. Memory holds where each begins; `get` reads it.

    damaged  numbers of the lines that are not what was written
    torn     whether the last line is half-written; it is no part of `size`, the bytes of the others

    Raises FolderError for a file that is there and can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.damaged: list[int] = []
        self.torn = False
        self.size = 0
        self.reader: BinaryIO | None = None  # while a run goes on, so that no look opens the file anew
        self._places = _Places()
        if self.path.exists():
            with self._opened() as file:
                for number, line in enumerate(file, 1):
                    if not line.endswith(b"\n"):
                        self.torn = True
                    elif is_whole(line):
                        self.add(line[len(_HEAD) :].partition(b'"')[0].decode(), len(line))
                    else:
                        self.damaged.append(number)
                        self.size += len(line)

    def get(self, key: str) -> dict[str, Any] | None:
        """Read the record under `key`; None when there is none, or its line is no longer what was written."""
        return (self.entry(key) or {}).get("record")

    def entry(self, key: str) -> dict[str, Any] | None:
        """Read the whole line under `key`, as `get` does."""
        if (place := self._places.get(key)) is None:
            return None
        with self._opened() as file:
            file.seek(place)
            line = file.readline()
        entry: dict[str, Any] = json.loads(line) if is_whole(line) else {}
        return entry if entry.get("key") == key else None

    def add(self, key: str, length: int) -> None:
        """Note a line of `length` bytes at the end."""
        self._places.put(key, self.size)
        self.size += length

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        try:
            with nullcontext(self.reader) if self.reader else self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise FolderError(
                f"{self.path}: the judgements can't be read ({error.strerror}); bring the run's folder back "
                "as it was."
            ) from error


class Journal:
    """The judgements of a run's folder, open to be written; with no folder the latest thousand, in memory.

    Raises FolderError when the folder can't be written, or another process is writing to it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.lines: JournalFile | None = None
        self._memory: dict[str, dict[str, Any]] = {}  # the one that was put or got last stands last
        self._forced = 0.0
        if folder is None:
            return
        from filelock import Timeout

        lock = folder / LOCK
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with ExitStack() as opened:
                opened.callback(lock_file(lock, 0).release)  # the system does it however the process ends
                lock.write_text(f"{os.getpid()}\n", encoding="ascii")
                self.lines = _repaired(folder / FILE)
                self._file = opened.enter_context((folder / FILE).open("a+b", buffering=0))
                self._file.truncate(self.lines.size)
                self.lines.reader = opened.enter_context((folder / FILE).open("rb"))
                self._opened = opened.pop_all()
        except Timeout:
            who = lock.read_text(encoding="ascii").strip()
            raise FolderError(
                f"{folder}: process {who} is writing to this run; wait until it is done, stop it, or choose "
                "another folder with -o."
            ) from None
        except OSError as error:
            raise FolderError(
                f"{folder}: no run can be kept there ({error.strerror}); choose another folder with -o."
            ) from error

    def get(self, key: str) -> dict[str, Any] | None:
        """Give the record under `key`, as it was put; None when there is none."""
        if self.lines is not None:
            return self.lines.get(key)
        if key in self._memory:
            self._memory[key] = self._memory.pop(key)
        return self._memory.get(key)

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        """Keep a record. Raises FolderError when it can't be written; all lines before it stay."""
        if self.lines is None:
            self._memory[key] = record
            if len(self._memory) > MOST_IN_MEMORY:
                del self._memory[next(iter(self._memory))]
            return
        line = line_of({"key": key, "judgement": judgement, "sample": sample, "cost": cost, "record": record})
        try:
            write_all(self._file, line)
            if time.monotonic() - self._forced >= SECONDS_UNFORCED:
                os.fsync(self._file.fileno())
                self._forced = time.monotonic()
        except OSError as error:
            with suppress(OSError):  # half a line; where it stays, it is dropped the next time
                self._file.truncate(self.lines.size)
            raise FolderError(
                f"{self.lines.path}: a judgement can't be written ({error.strerror}); all before it are "
                "kept. Make room, or make the folder writable, and give the same command again."
            ) from error
        self.lines.add(key, len(line))
        with suppress(FileNotFoundError, NotADirectoryError):
            if os.path.samestat(self.lines.path.stat(), os.fstat(self._file.fileno())):
                return
        raise FolderError(
            f"{self.lines.path}: it was moved, removed or replaced while the run was writing to it; move it "
            "back, and give the same command again."
        )

    def copy(self, lines: JournalFile, key: str) -> None:
        """Put what another journal has under `key`, with its cost."""
        entry = lines.entry(key)
        if entry is not None:
            self.put(key, entry["judgement"], entry["sample"], entry["record"], entry["cost"])

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.lines is not None:
            with suppress(OSError):
                os.fsync(self._file.fileno())
            self.lines.reader = None
            self._opened.close()


def _repaired(path: Path) -> JournalFile:
    """Open the journal's lines; put damaged ones aside and tell of them, and of a half-written last one."""
    lines = JournalFile(path)
    if lines.torn:
        LOG.warning("%s: the last line is half-written; that judgement is made again.", path)
    if not lines.damaged:
        return lines
    named = join_some([str(number) for number in lines.damaged], 10)
    LOG.warning(
        "%s, line %s: not what was written; put aside into %s, and judged again.", path, named, DAMAGED
    )
    beside = path.with_name(f".{FILE}.part")
    with path.open("rb") as old, path.with_name(DAMAGED).open("ab") as aside, beside.open("wb") as new:
        for line in old:
            if line.endswith(b"\n"):
                (new if is_whole(line) else aside).write(line)
        for file in (aside, new):
            file.flush()
            os.fsync(file.fileno())
    beside.replace(path)
    return JournalFile(path)


def find(journal: Journal | JournalFile, judgement: Judgement, key: str) -> BaseModel | None:
    """Read the record of a judgement; None where there is none. Raises InputError for one of another form."""
    if (kept := journal.get(key)) is None:
        return None
    what = f"the journal's line of {judgement.name} with the key {key[:16]}..."
    with parsing(what, "take it out, and give the run's `evaluate` command again."):
        return Failure(**kept) if "failed" in kept else judgement.record(**kept)


def is_believed(record: BaseModel) -> bool:
    """Tell whether a kept record stands: an engine's error or a worker's loss may pass, and is made anew."""
    return not (isinstance(record, Failure) and record.failed in ("engine_error", "worker_lost"))


def find_believed(journal: Journal | JournalFile, judgement: Judgement, key: str) -> BaseModel | None:
    """Read the record of a judgement that need not be made anew; None where it has to be."""
    record = find(journal, judgement, key)
    return record if record is not None and is_believed(record) else None


class JournaledRecords(Mapping[str, BaseModel]):
    """Judgement -> record, as a dict has it, but nothing is held in memory: each look reads a line.

    at  judgement -> the key of its line in the journal

    Looking raises InputError when the journal is gone, no longer what it was, or of another form.
    """

    __slots__ = ("_lines", "at")

    def __init__(self, lines: JournalFile, at: Mapping[str, str]) -> None:
        self._lines, self.at = lines, at

    def __getitem__(self, judgement: str) -> BaseModel:
        record = find(self._lines, JUDGEMENTS[judgement], self.at[judgement])
        if record is None:
            raise InputError(
                f"{self._lines.path}: the line of {judgement} with the key {self.at[judgement][:16]}... is "
                "missing or damaged; give the command of the run again, it makes what is missing."
            )
        return record

    def __contains__(self, judgement: object) -> bool:
        return judgement in self.at

    def __iter__(self) -> Iterator[str]:
        return iter(self.at)

    def __len__(self) -> int:
        return len(self.at)


def key_of(
    judgement: Judgement,
    context: JudgeContext,
    sample: Sample,
    records: Mapping[str, BaseModel],
    engine: Mapping[str, Any],
) -> str:
    """Compute what a record is kept under: a digest of all that can change it.

    `engine` is what of the judge can change it; of `context` nothing is asked but the models' signatures.
    """
    return digest(
        {
            "judgement": [judgement.name, judgement.version],
            "recipe": judgement.recipe(context, sample),
            "of": [records[name].model_dump(mode="json") for name in judgement.needs],
            "sample": {column: getattr(sample, column) for column in judgement.columns},
            "engine": engine,
        }
    )
