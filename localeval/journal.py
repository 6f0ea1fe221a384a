"""The journal: an append-only file of judgements, keyed by what they were made from.

One judgement a line, written and flushed when it is made. Whatever ends a run, what was judged stays;
the next run with the same folder finds it by its key and asks the model only for the rest.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from localeval.errors import InputError
from localeval.signature import digest

FILE = "journal.jsonl"
LOG = logging.getLogger("localeval")


class Journal:
    """The judgements of a run folder; with no folder they are kept in memory only.

    `damaged` counts lines that could not be read (the last one of a killed run, say) and are judged again.
    Raises InputError when the folder can't be written.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.damaged = 0
        self._lines: dict[str, dict[str, Any]] = {}
        self._file: TextIO | None = None
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._read(folder / FILE)
                self._file = (folder / FILE).open("a", encoding="utf-8")
            except OSError as error:
                raise InputError(
                    f"{folder}: no run can be kept there ({error.strerror}); choose another folder with -o."
                ) from error

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under `key`, as it was put; None when there is none."""
        return self._lines.get(key)

    def put(
        self, key: str, judgement: str, sample: str, record: dict[str, Any], cost: Mapping[str, Any]
    ) -> None:
        """Keep a record. `cost` (rows, seconds) is told beside it and is no part of it."""
        self._lines[key] = record
        if self._file is not None:
            line = {"key": key, "judgement": judgement, "sample": sample, "cost": cost, "record": record}
            line["check"] = digest(record)[:16]
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()

    def _read(self, path: Path) -> None:
        if not path.exists():
            return
        data = path.read_bytes()
        for line in data.splitlines():
            try:
                entry = json.loads(line)
                if digest(entry["record"])[:16] != entry["check"]:
                    raise ValueError("the record is not what was written")
                self._lines[entry["key"]] = entry["record"]
            except (ValueError, KeyError, TypeError):
                self.damaged += 1
        if self.damaged:
            LOG.warning("%s: %d damaged lines are judged again.", path, self.damaged)
        if data and not data.endswith(b"\n"):
            with path.open("ab") as file:  # a torn last line must not swallow the next one
                file.write(b"\n")

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
