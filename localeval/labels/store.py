"""A file of labels that grows while a person labels: what was labelled is on the disk at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from localeval.errors import InputError
from localeval.labels.file import row_json
from localeval.system.files import atomic_write, writing_to


class LabelStore:
    """A file of labels, a row each; every change is synced to the disk before the call returns.

    A new label is appended; to change or remove one, the file is written anew and moved into place. Nothing
    is written over what another program wrote meanwhile.
    """

    def __init__(self, path: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Begin with the rows that the file has, by their ids; none for a file that is not there yet."""
        self.path = path
        self._rows = dict(rows)
        self._lock = threading.Lock()
        self._state = _state_of(path)

    def __len__(self) -> int:
        return len(self._rows)

    def check_writable(self) -> None:
        """Raise InputError where the file can't be written, before anything is labelled."""
        with writing_to(self.path, "file of labels"):
            is_new = not self.path.exists()
            with self.path.open("ab"):
                pass
            if is_new:
                self.path.unlink()

    def put(self, row_id: str, row: Mapping[str, Any]) -> None:
        """Write a label. Raises InputError where it can't be written."""
        with self._lock, writing_to(self.path, "label"):
            self._check_unchanged()
            is_new = row_id not in self._rows
            if is_new:
                _append(self.path, _line(row))
            else:
                self._rewrite({**self._rows, row_id: row})
            self._rows[row_id] = row
            self._state = _state_of(self.path)

    def remove(self, row_id: str) -> None:
        """Remove a label, if there is one. Raises InputError where the file can't be written."""
        with self._lock, writing_to(self.path, "label"):
            if row_id not in self._rows:
                return
            self._check_unchanged()
            rows = {name: row for name, row in self._rows.items() if name != row_id}
            self._rewrite(rows)
            self._rows = rows
            self._state = _state_of(self.path)

    def replace_all(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Write these rows instead of those of the file. Raises InputError where it can't be written."""
        with self._lock, writing_to(self.path, "file of labels"):
            self._check_unchanged()
            self._rewrite(rows)
            self._rows = dict(rows)
            self._state = _state_of(self.path)

    def _rewrite(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        atomic_write(self.path, map(_line, rows.values()))

    def _check_unchanged(self) -> None:
        if _state_of(self.path) != self._state:
            raise InputError(
                f"{self.path}: another program wrote this file meanwhile, so this label was not saved; "
                "end that program, and give the command again."
            )


def _line(row: Mapping[str, Any]) -> str:
    return row_json(row) + "\n"


def _append(path: Path, line: str) -> None:
    """Append a line whole, or leave the file as it was."""
    with path.open("a+b", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        rest = memoryview(_missing_line_end(file, end) + line.encode())
        try:
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                os.ftruncate(file.fileno(), end)
            raise


def _missing_line_end(file: FileIO, end: int) -> bytes:
    """Return a line feed where the last line of the file has none."""
    if end == 0:
        return b""
    file.seek(end - 1)
    return b"" if file.read(1) == b"\n" else b"\n"


def _state_of(path: Path) -> tuple[int, int] | None:
    """Return what changes when the file is written; None where it is not there."""
    with suppress(OSError):
        state = path.stat()
        return state.st_size, state.st_mtime_ns
    return None
