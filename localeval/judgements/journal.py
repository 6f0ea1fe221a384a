"""The journal: one judgement a line, as JSON with a checksum, under a digest of all that can change it.

    {"key":"...","judgement":"support","sample":"42","cost":{...},"record":{...}, "check": "..."}

A line is written before the next judgement begins, and synced to the disk once a second. (Workers send a line
when it is made; on a cluster, when its sample is done.) A damaged line stays where it is; its number is
reported, and what it held is judged again. Only one process may write at a time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import to_json

from localeval.errors import FolderError, InputError
from localeval.judgements.base import JUDGEMENTS, AnyJudgement, Failure, Inputs, Record
from localeval.samples import Sample
from localeval.system.files import parsing, sync_folder
from localeval.system.locks import left_over_lock, lock_file
from localeval.system.spooled import write_all
from localeval.system.versions import digest
from localeval.text.display import join_some

LOG = logging.getLogger("localeval")

JOURNAL = "journal.jsonl"
LOCK = ".lock"
# Which process holds the lock: on Windows nobody else can read the locked file itself.
LOCK_NOTE = ".lock.pid"
SYNC_SECONDS = 1.0  # between two syncs to the disk
MAX_IN_MEMORY = 1000  # records of a journal without a folder: a judge may live as long as its service

_HEAD = b'{"key":'  # then the key; in lines of an earlier state after a space
_CHECK = b', "check": "'  # then the first 16 hex digits of the sha256 of all bytes before it
_TAIL = len(_CHECK) + 16 + len(b'"}\n')


def line_of(entry: Mapping[str, Any]) -> bytes:
    """Return an entry as a line of the journal; its first item must be the key."""
    try:
        body = to_json(entry)[:-1]  # five times as fast as json
    except ValueError:  # half a character, which a model wrote
        body = json.dumps(entry, ensure_ascii=False)[:-1].encode("utf-8", "surrogatepass")
    return body + _tail(body)


def is_whole(line: bytes) -> bool:
    """Return whether the line's checksum is right."""
    return line.startswith(_HEAD) and line[-_TAIL:] == _tail(line[:-_TAIL])


def _tail(body: bytes) -> bytes:
    return _CHECK + hashlib.sha256(body).hexdigest()[:16].encode() + b'"}\n'


class JournalFile:
    """The undamaged lines of a journal file, by key. Memory holds only their offsets; `get` reads a line.

    damaged  numbers of the damaged lines, a half-written last one included
    size     bytes of all lines that end, damaged ones too: a half-written last one is not counted

    Raises FolderError for a file that exists and can't be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.damaged: list[int] = []
        self.size = 0
        self.reader: BinaryIO | None = None  # open during a run, so that lookups do not reopen the file
        self._offsets: dict[int, int] = {}  # hash of a key -> its latest line; `entry` compares keys
        if self.path.exists():
            with self._open() as file:
                for number, line in enumerate(file, 1):
                    if is_whole(line):
                        self.add(line.split(b'"', 4)[3].decode(), len(line))
                    else:
                        self.damaged.append(number)
                        self.size += len(line) if line.endswith(b"\n") else 0

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the record under `key`; None if there is none, or its line was damaged since."""
        return (self.entry(key) or {}).get("record")

    def entry(self, key: str) -> dict[str, Any] | None:
        """Return the whole line under `key`, or None as `get` does."""
        offset = self._offsets.get(hash(key))
        if offset is None:
            return None
        with self._open() as file:
            file.seek(offset)
            line = file.readline()
        entry: dict[str, Any] = json.loads(line) if is_whole(line) else {}
        return entry if entry.get("key") == key else None

    def add(self, key: str, length: int) -> None:
        """Register a line of `length` bytes at the end of the file."""
        self._offsets[hash(key)] = self.size
        self.size += length

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        try:
            with nullcontext(self.reader) if self.reader else self.path.open("rb") as file:
                yield file
        except OSError as error:
            raise FolderError(
                f"{self.path}: the judgements can't be read ({error.strerror}); bring the run's folder back "
                "as it was."
            ) from error


def _holder(folder: Path) -> str:
    """Name the process that holds the folder's lock, or had it last where it has not said so yet."""
    try:
        return f"process {int((folder / LOCK_NOTE).read_text(encoding='ascii'))}"
    except (OSError, ValueError):
        return "another process"


class Journal:
    """The judgements of a run's folder, open for writing; without a folder the latest thousand, in memory.

    known  journals of other runs, from which a record is copied when it is asked for and not here

    Raises FolderError if the folder can't be written to, or another process is writing to it.

    >>> journal = Journal()
    >>> for number in range(1000):
    ...     journal.put(str(number), "support", "tea", {"n": number}, {})
    >>> journal.get("0")
    {'n': 0}
    >>> journal.put("one more", "support", "tea", {}, {})
    >>> journal.get("0"), journal.get("1"), journal.get("2")  # the one that was not used for longest is gone
    ({'n': 0}, None, {'n': 2})
    """

    def __init__(self, folder: Path | None = None, known: Sequence[JournalFile] = ()) -> None:
        self.lines: JournalFile | None = None
        self._known = known
        self._limit: int | None = MAX_IN_MEMORY
        self._memory: dict[str, dict[str, Any]] = {}  # the least recently used first
        self._synced_at = 0.0
        if folder is None:
            return
        from filelock import Timeout

        lock = folder / LOCK
        try:
            Path(os.path.realpath(folder)).mkdir(parents=True, exist_ok=True)  # also where a link leads
            with ExitStack() as stack:
                stack.callback(lock_file(lock, 0).release)  # the system does it if the process is killed
                (folder / LOCK_NOTE).write_text(f"{os.getpid()}\n", encoding="ascii")
                self.lines = JournalFile(folder / JOURNAL)
                if self.lines.damaged:
                    numbers = join_some([str(number) for number in self.lines.damaged], 10)
                    LOG.warning("%s, line %s: not what was written; judged again.", folder / JOURNAL, numbers)
                self._file = stack.enter_context((folder / JOURNAL).open("a+b", buffering=0))
                # The names of a new journal and of new folders (runs/NAME), so that no power cut takes them.
                real = Path(os.path.realpath(folder))
                for place in (real, *real.parents[:2]):
                    sync_folder(place)
                self._file.truncate(self.lines.size)  # half a line would swallow the next one
                self.lines.reader = stack.enter_context((folder / JOURNAL).open("rb"))
                self._open_files = stack.pop_all()
        except Timeout as error:
            held = left_over_lock(error)
            remedy = "" if held is None else f" Where no such process runs any more, remove {held}."
            raise FolderError(
                f"{folder}: {_holder(folder)} is writing to this run; wait until it is done, stop it, or "
                f"choose another folder with -o.{remedy}"
            ) from None
        except OSError as error:
            raise FolderError(
                f"{folder}: no run can be kept there ({error.strerror}); choose another folder with -o."
            ) from error

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the record under `key`, as it was put; None if there is none."""
        if self.lines is not None:
            record = self.lines.get(key)
            return self._copy_known(key) if record is None else record
        if key in self._memory:
            self._memory[key] = self._memory.pop(key)
        return self._memory.get(key)

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        """Store a record. Raises FolderError if it can't be written; all lines before it stay."""
        if self.lines is None:
            self._memory[key] = record
            self._forget_beyond_limit()
            return
        line = line_of({"key": key, "judgement": judgement, "sample": sample, "cost": cost, "record": record})
        try:
            write_all(self._file, line)
            if time.monotonic() - self._synced_at >= SYNC_SECONDS:
                os.fsync(self._file.fileno())
                self._synced_at = time.monotonic()
        except OSError as error:
            with suppress(OSError):  # remove half a line; if it stays, the next run drops it
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

    @contextmanager
    def remembering_all(self) -> Iterator[None]:
        """Hold all records in memory until the block ends, and then the latest thousand again."""
        self._limit = None
        try:
            yield
        finally:
            self._limit = MAX_IN_MEMORY
            self._forget_beyond_limit()

    def _forget_beyond_limit(self) -> None:
        """Drop the least recently used records that are too many for memory."""
        while self._limit is not None and len(self._memory) > self._limit:
            del self._memory[next(iter(self._memory))]

    def _copy_known(self, key: str) -> dict[str, Any] | None:
        """Copy a record that another run has, and return it; None where none has it."""
        for lines in self._known:
            record = lines.get(key)
            if record is not None:
                self.copy(lines, key)
                return record
        return None

    def copy(self, lines: JournalFile, key: str) -> None:
        """Store the record that another journal has under `key`, with its cost."""
        entry = lines.entry(key)
        if entry is not None:
            self.put(key, entry["judgement"], entry["sample"], entry["record"], entry["cost"])

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.lines is None:
            # It is in memory, and has no files.
            return
        with suppress(OSError):
            os.fsync(self._file.fileno())
        # From here on a lookup opens the file itself.
        self.lines.reader = None
        self._open_files.close()


def find(journal: Journal | JournalFile, judgement: AnyJudgement, key: str) -> Record | None:
    """Return a judgement's stored record or None. Raises InputError if its fields are wrong."""
    stored = journal.get(key)
    if stored is None:
        return None
    description = f"the journal's line of {judgement.name} with the key {key[:16]}..."
    with parsing(description, "take it out, and give the run's `evaluate` command again."):
        return parse_record(judgement, stored)


def parse_record(judgement: AnyJudgement, stored: Mapping[str, Any]) -> Record:
    """Return the record that was stored so. Raises ValueError if its fields are wrong."""
    if "failed" in stored:
        return Failure(**stored)
    record: Record = judgement.record(**stored)
    return record


PASSING = ("engine_error", "timeout", "worker_lost")
"""Reasons of failures that may not happen again; another run judges the sample again."""


def is_final(record: Record) -> bool:
    """Return whether a stored record is final, and no failure that may not happen again."""
    return not (isinstance(record, Failure) and record.failed in PASSING)


def key_of_failure(key: str, sample: Sample) -> str:
    """Return the key of a failure that may not happen again: `key` stays free for a record that is final."""
    return digest([key, sample.id])


def put_failure(journal: Journal, judgement: AnyJudgement, key: str, sample: Sample, failure: Failure) -> str:
    """Store a failure, of something that was not asked, that may not happen again. Return its key."""
    key = key_of_failure(key, sample)
    cost = {"seconds": 0, "tokens": 0}
    journal.put(key, judgement.name, sample.id, failure.model_dump(mode="json"), cost)
    return key


def find_final(journal: Journal | JournalFile, judgement: AnyJudgement, key: str) -> Record | None:
    """Return a judgement's stored record if it is final; None if it has to be judged."""
    record = find(journal, judgement, key)
    return record if record is not None and is_final(record) else None


class JournaledRecords(Mapping[str, Record]):
    """Judgement -> record, as a mapping that holds no record in memory: each lookup reads a line.

    at  judgement -> the key of its line in the journal

    A lookup raises InputError if the journal is gone or changed, or a record has the wrong fields.
    """

    __slots__ = ("_lines", "at")

    def __init__(self, lines: JournalFile, keys: Mapping[str, str]) -> None:
        self._lines = lines
        self.at = keys

    def __getitem__(self, judgement: str) -> Record:
        record = find(self._lines, JUDGEMENTS[judgement], self.at[judgement])
        if record is None:
            raise InputError(
                f"{self._lines.path}: the line of {judgement} with the key {self.at[judgement][:16]}... is "
                "missing or damaged; give the run's command again, which judges what is missing."
            )
        return record

    def __contains__(self, judgement: object) -> bool:
        return judgement in self.at

    def __iter__(self) -> Iterator[str]:
        return iter(self.at)

    def __len__(self) -> int:
        return len(self.at)


def key_of(judgement: AnyJudgement, inputs: Inputs, record_fingerprint: Mapping[str, Any]) -> str:
    """Return the key that a record is stored under: a digest of all that can change it.

    record_fingerprint  the settings of the judge that are part of every record's key
    """
    return digest(
        {
            "judgement": judgement.name,
            "version": judgement.version,
            "inputs": inputs.sha256(),
            "judge": record_fingerprint,
        }
    )
