"""Writing files whole or not at all, reading files of our own, lines kept out of memory, and locks."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import weakref
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pydantic import ValidationError

from localeval.errors import FolderError, InputError
from localeval.system.arguments import describe
from localeval.text.display import shorten

if TYPE_CHECKING:
    from filelock import BaseFileLock


def write_temporary(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> Path:
    """Write a file beside `path` in UTF-8, on the disk, to be moved into its place.

    `errors` is `open`'s. Raises OSError, and whatever `parts` raises; then nothing is left beside.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.unlink(missing_ok=True)  # of a call that was killed; and "x" follows no link that lies there
        with beside.open("x", encoding="utf-8", errors=errors, newline="\n") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def atomic_write(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> None:
    """Write `path`, as a caller named it, or leave it as it was. Raises as `write_temporary` does.

    A link is followed; what is no file (a pipe) is written as it goes, and so is /dev/stdout.
    """
    same = None
    for stream in filter(None, (sys.stderr, sys.stdout)):
        with suppress(OSError, ValueError, AttributeError):  # no file, or no stream of the system's
            same = stream if os.path.samestat(path.stat(), os.fstat(stream.fileno())) else same
    if same is None and (path.is_file() or not path.exists()):
        place = Path(os.path.realpath(path))  # a link stays one
        write_together(place.parent, [(place.name, parts)], errors)
        return
    if same:  # what was printed there stays
        same.flush()
    target = os.dup(same.fileno()) if same else path
    with open(target, "w", encoding="utf-8", errors=errors, newline="\n") as file:  # noqa: PTH123
        file.writelines(parts)


def write_together(
    folder: Path, files: Iterable[tuple[str, Iterable[str]]], errors: str = "surrogatepass"
) -> None:
    """Write files of a folder, none in its place before all are written. Raises as `write_temporary` does."""
    made: list[tuple[Path, Path]] = []
    try:
        made += ((write_temporary(folder / name, parts, errors), folder / name) for name, parts in files)
        for beside, path in made:
            beside.replace(path)
    finally:
        for beside, _ in made:
            beside.unlink(missing_ok=True)


@contextmanager
def writing_to(path: str | Path, what: str) -> Iterator[None]:
    """Turn an OSError in writing a file that a caller named into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: the {what} can't be written there ({error.strerror}).") from error


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an OSError in writing a run's folder into a FolderError."""
    try:
        yield
    except OSError as error:
        raise FolderError(
            f"{folder}: the run can't be written there ({error.strerror}); what was judged is kept in its "
            "journal. Make room, or make the folder writable, and give the same command again."
        ) from error


@contextmanager
def parsing(
    what: str,
    remedy: str = "give the run's `evaluate` command again, which asks nothing that is in the journal.",
) -> Iterator[None]:
    """Turn what is missing in a file of our own, or of another type, into an InputError about `what`."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = describe(error) if isinstance(error, ValidationError) else shorten(error, 120)
        why += " is missing" if isinstance(error, KeyError) else ""
        raise InputError(
            f"{what} was made by another version or changed by hand ({why}); {remedy}"
        ) from error


Item = TypeVar("Item", covariant=True)
IN_MEMORY = 16_000_000  # bytes of lines; more are kept in a file


class SpooledLines:
    """Lines by their number; many are kept in a file of the temporary folder, which ends with them.

    One thread appends, any may read, and so may a process that was forked.
    """

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        self._starts = array("Q", [0])  # where each line begins, and the next one would
        self._held = bytearray()  # all lines, while they are few
        self._file: FileIO | None = None
        for line in lines:
            self.append(line)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> bytes:
        start, end = self._starts[number], self._starts[number + 1]
        held, file = self._held, self._file  # in this order: what is in no file yet is held
        return bytes(held[start:end]) if file is None else os.pread(file.fileno(), end - start, start)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpooledLines, ([self[number] for number in range(len(self))],)

    def append(self, line: bytes) -> int:
        """Keep a line, and give its number. Raises InputError where the temporary folder takes no more."""
        if self._file is None and len(self._held) + len(line) <= IN_MEMORY:
            self._held += line
        else:
            self._write(line)
        self._starts.append(self._starts[-1] + len(line))
        return len(self) - 1

    def _write(self, line: bytes) -> None:
        try:
            if self._file is None:
                file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                weakref.finalize(self, file.close)
                write_all(file, self._held)
                self._file, self._held = file, bytearray()
            write_all(self._file, line)
        except OSError as error:
            raise InputError(
                f"{tempfile.tempdir or 'the temporary folder'}: a temporary file can't be written there "
                f"({error.strerror}); make room, or name another folder in the variable TMPDIR."
            ) from error


def write_all(file: FileIO, data: bytes | bytearray) -> None:
    """Write to a file without a buffer, which may take less, and then says why at the next call."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


class StoredSequence(Sequence[Item]):
    """What is read one item at a time; a slice is a list."""

    @abstractmethod
    def _read(self, place: int) -> Item:
        """Read the item at `place`, from 0."""

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> list[Item]: ...

    def __getitem__(self, place: int | slice) -> Item | list[Item]:
        places = range(len(self))[place]
        return self._read(places) if isinstance(places, int) else list(map(self._read, places))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


def is_same(path: Path, other: str | os.PathLike[str]) -> bool:
    """Tell whether both lead to one file that is there."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


def lock_file(path: Path, seconds: float) -> BaseFileLock:
    """Lock `path` for this process, until it calls `release` on what is returned, or ends.

    Waits for another process as long as `seconds` (-1: for ever), then raises filelock's Timeout.
    """
    from filelock import FileLock, SoftFileLock

    lock: BaseFileLock = FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=seconds)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        # A file system without locks. filelock's own fallback removes the note that another holder left.
        lock = SoftFileLock(path.with_name(f"{path.name}.held"), thread_local=False)
        lock.acquire(timeout=seconds)
    return lock
