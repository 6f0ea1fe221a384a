"""Keep many lines out of memory, and sequences whose items are read one at a time."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from operator import eq
from typing import Any, TypeVar, overload

from localeval.errors import InputError

Item = TypeVar("Item", covariant=True)
MAX_BYTES_IN_MEMORY = 16_000_000  # of lines; beyond that they are kept in a file


class SpooledLines:
    """Lines by their index; many are kept in a temporary file, which is deleted with the object.

    One thread appends; any thread may read, and so may a forked process.
    """

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        # The offset of each line, and of the next one.
        self._starts = array("Q", [0])
        # All lines, while they are few.
        self._buffer = bytearray()
        self._file: FileIO | None = None
        # Held while the position of the file is not at its end.
        self._position = threading.Lock()
        for line in lines:
            self.append(line)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> bytes:
        start, end = self._starts[number], self._starts[number + 1]
        # The buffer first: where there is no file afterwards, it was complete.
        buffer = self._buffer
        file = self._file
        if file is None:
            return bytes(buffer[start:end])
        return self._read_at(file, start, end - start)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpooledLines, ([self[number] for number in range(len(self))],)

    def append(self, line: bytes) -> int:
        """Store a line, and return its index. Raises InputError if the temporary file can't be written."""
        if self._file is None and len(self._buffer) + len(line) <= MAX_BYTES_IN_MEMORY:
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
            file = self._file or self._open_file()
            with self._position:
                write_all(file, line)
        except OSError as error:
            raise InputError(
                f"{tempfile.tempdir or 'the temporary folder'}: a temporary file can't be written there "
                f"({error.strerror}); make room, or name another folder in the variable TMPDIR."
            ) from error

    def _open_file(self) -> FileIO:
        """Open the temporary file, and move all lines there."""
        # On Windows it is a wrapper, which has the methods of a file.
        file: Any = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        weakref.finalize(self, file.close)
        write_all(file, self._buffer)
        # The file first, for a thread that reads meanwhile.
        self._file = file
        self._buffer = bytearray()
        opened: FileIO = file
        return opened


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
        if isinstance(selected, int):
            return self._read(selected)
        return [self._read(number) for number in selected]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))
