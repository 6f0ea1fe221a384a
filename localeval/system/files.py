"""Write files atomically, parse localeval's own files, keep lines out of memory, and lock files."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import threading
import time
import weakref
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, overload

from pydantic import ValidationError

from localeval.errors import FolderError, InputError
from localeval.system.arguments import describe
from localeval.text.display import shorten

if TYPE_CHECKING:
    from filelock import BaseFileLock, Timeout


_SECONDS_KEPT = 86_400  # of a temporary file of a process that was killed


def atomic_write(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> None:
    """Write all of `path`, or leave it as it was. Raises as `write_together` does.

    A link is followed; a pipe or a device, such as /dev/stdout, is written directly.
    """
    output = stream_at(path)
    if output is None and (path.is_file() or not path.exists()):
        real_path = Path(os.path.realpath(path))  # a link stays a link
        write_together(real_path.parent, [(real_path.name, parts)], errors)
        return
    if output:  # what was printed there stays
        output.flush()
    target = os.dup(output.fileno()) if output else path
    with open(target, "w", encoding="utf-8", errors=errors, newline="\n") as file:  # noqa: PTH123
        file.writelines(parts)


def stream_at(path: Path) -> TextIO | None:
    """Return stdout or stderr, if `path` is where it goes, as /dev/stdout is; else None."""
    streams: tuple[TextIO | None, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        # No such file, or a stream without a descriptor, or none at all.
        with suppress(OSError, ValueError, AttributeError):
            if stream and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
                return stream
    return None


def write_together(
    folder: Path,
    files: Iterable[tuple[str, Iterable[str]]],
    errors: str = "surrogatepass",
    outdated: Iterable[Path] = (),
    moved: Iterable[Path] = (),
) -> None:
    """Write files of a folder; once all are written, delete the `outdated` ones and move these into place.

    moved  files of another folder on the same disk, which are moved here before them

    They are in UTF-8 and synced to the disk, and so is the folder; `errors` is `open`'s. Raises OSError, and
    whatever the parts raise, and leaves no temporary file.
    """
    moves: list[tuple[Path, Path]] = []
    try:
        for name, parts in files:
            path = folder / name
            _remove_left_over(path)
            temporary = _temporary(path)
            moves.append((temporary, path))
            # Left by a killed process that had the same number; "x" follows no link.
            temporary.unlink(missing_ok=True)
            with temporary.open("x", encoding="utf-8", errors=errors, newline="\n") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
        for path in outdated:  # first, so that no outdated file is ever next to a new one
            path.unlink(missing_ok=True)
        for other in moved:
            other.replace(folder / other.name)
        for temporary, path in moves:
            temporary.replace(path)
        sync_folder(folder)
    finally:
        for temporary, _ in moves:
            temporary.unlink(missing_ok=True)


def replace_bytes(path: Path, data: bytes) -> None:
    """Write all of `path`, or leave it as it was, in a folder that is made if it is missing.

    Not synced to the disk: for a cache, whose reader checks what it reads. Raises OSError, and leaves no
    temporary file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_over(path)
    temporary = _temporary(path)
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """Return where `path` is written before it is moved into place: a name of this thread alone."""
    owner = f"{os.getpid()}-{threading.get_ident()}"
    return path.with_name(f"{_temporary_prefix(path)}{owner}.part")


def _temporary_prefix(path: Path) -> str:
    # Short, as a file system limits the bytes of a name.
    return f".{path.name[:40]}."


def _remove_left_over(path: Path) -> None:
    """Remove the temporary files of `path` that a killed process left a day ago or earlier."""
    prefix = _temporary_prefix(path)
    oldest = time.time() - _SECONDS_KEPT
    with suppress(OSError):
        for other in path.parent.iterdir():
            if other.name.startswith(prefix) and other.suffix == ".part" and other.lstat().st_mtime < oldest:
                other.unlink()


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk, where the system can: a power cut then undoes no rename."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def writing_to(path: str | Path, what: str) -> Iterator[None]:
    """Turn an OSError while writing the file that a caller named into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: the {what} can't be written there ({error.strerror}); make room, or choose "
            "another place."
        ) from error


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an OSError while writing a run's folder into a FolderError."""
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
    """Turn a missing or mistyped value in one of localeval's own files into an InputError about `what`."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = describe(error) if isinstance(error, ValidationError) else shorten(error, 120)
        reason += " is missing" if isinstance(error, KeyError) else ""
        raise InputError(
            f"{what} was made by another version or changed by hand ({reason}); {remedy}"
        ) from error


Item = TypeVar("Item", covariant=True)
IN_MEMORY = 16_000_000  # bytes of lines; beyond that they are kept in a file


class SpooledLines:
    """Lines by their index; many are kept in a temporary file, which is deleted with the object.

    One thread appends; any thread may read, and so may a forked process.
    """

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        self._starts = array("Q", [0])  # the offset of each line, and of the next one
        self._buffer = bytearray()  # all lines, while they are few
        self._file: FileIO | None = None
        self._position = threading.Lock()  # of the file, where a read moves it
        for line in lines:
            self.append(line)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> bytes:
        start, end = self._starts[number], self._starts[number + 1]
        buffer, file = self._buffer, self._file  # in this order: without a file the buffer is complete
        return bytes(buffer[start:end]) if file is None else self._read_at(file, start, end - start)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpooledLines, ([self[number] for number in range(len(self))],)

    def append(self, line: bytes) -> int:
        """Store a line, and return its index. Raises InputError if the temporary file can't be written."""
        if self._file is None and len(self._buffer) + len(line) <= IN_MEMORY:
            self._buffer += line
        else:
            self._write(line)
        self._starts.append(self._starts[-1] + len(line))
        return len(self) - 1

    def _read_at(self, file: FileIO, start: int, length: int) -> bytes:
        """Read without moving the file's position, at which the next line is written."""
        if hasattr(os, "pread"):
            read: bytes = os.pread(file.fileno(), length, start)
            return read
        with self._position:  # Windows has no such call
            end = file.tell()
            file.seek(start)
            try:
                return file.read(length)
            finally:
                file.seek(end)

    def _write(self, line: bytes) -> None:
        try:
            if self._file is None:
                # On Windows it is a wrapper, which has the methods of a file.
                file: Any = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                weakref.finalize(self, file.close)
                write_all(file, self._buffer)
                self._file, self._buffer = file, bytearray()
            with self._position:
                write_all(self._file, line)
        except OSError as error:
            raise InputError(
                f"{tempfile.tempdir or 'the temporary folder'}: a temporary file can't be written there "
                f"({error.strerror}); make room, or name another folder in the variable TMPDIR."
            ) from error


def write_all(file: FileIO, data: bytes | bytearray) -> None:
    """Write all of `data` to an unbuffered file, one call of which may write only a part of it."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


class StoredSequence(Sequence[Item]):
    """A sequence whose items are read one at a time; a slice is a list."""

    @abstractmethod
    def _read(self, index: int) -> Item:
        """Read the item at `index`, from 0."""

    def __iter__(self) -> Iterator[Item]:
        return map(self._read, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        selected = range(len(self))[index]
        return self._read(selected) if isinstance(selected, int) else list(map(self._read, selected))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))


def is_same(path: Path, other: str | os.PathLike[str]) -> bool:
    """Return whether both paths lead to the same existing file."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


_HELD = ".held"
_SECOND_LOOK = 0.2  # seconds


def lock_file(path: Path, seconds: float) -> BaseFileLock:
    """Lock `path` for this process, until it releases the returned lock, or ends.

    Waits for another process up to `seconds` (-1: for ever), then raises filelock's Timeout, whose
    `lock_file` is another path where the file's existence is the lock (see `left_over_lock`).
    """
    from filelock import FileLock, SoftFileLock

    if not issubclass(FileLock, SoftFileLock):
        lock = FileLock(path, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(timeout=seconds)
            return lock
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
    # A file system, or a Python, without locks. filelock's own fallback would remove another holder's file.
    soft_lock = SoftFileLock(path.with_name(f"{path.name}{_HELD}"), thread_local=False)
    # The first look removes the file of a process of this machine that has ended, and a second one locks.
    soft_lock.acquire(timeout=_SECOND_LOOK if seconds == 0 else seconds)
    return soft_lock


def left_over_lock(timeout: Timeout) -> Path | None:
    """Return the file whose existence is the lock, which stays where its process was killed; else None."""
    path = Path(timeout.lock_file)
    return path if path.name.endswith(_HELD) else None
