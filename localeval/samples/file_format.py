"""What a format of files is: a name, suffixes, and a function that reads the rows of an open file."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from localeval.errors import InputError
from localeval.samples.columns import Names
from localeval.samples.rows import Row
from localeval.text.display import shorten

Bytes: TypeAlias = "io.BufferedReader[Any]"


@dataclass(frozen=True)
class OpenFile:
    """A file that is open for reading.

    name      for messages
    content   its bytes, unpacked if they were compressed
    encoding  that the caller named, if one
    names     the columns that each field is read from
    """

    name: str
    content: Bytes
    encoding: str | None
    names: Names

    @contextmanager
    def lines(self) -> Iterator[Iterator[str]]:
        """Read it as text, line by line, with the line ends.

        Bytes of another encoding become surrogates, which no sample may hold.
        """
        encoding = self.encoding
        try:
            # By default UTF-8, or what the first bytes show.
            encoding = encoding or json.detect_encoding(self.content.peek(4)[:4])
            text = io.TextIOWrapper(self.content, encoding=encoding, errors="surrogateescape", newline="")
        except (LookupError, ValueError):
            raise InputError(
                f"encoding {shorten(encoding)} is not known; give another one "
                "(gb18030, utf-16 or cp1252, say)."
            ) from None
        try:
            first = next(text, "").removeprefix("\ufeff")
            yield chain([first], text)
        finally:
            text.detach()


@dataclass(frozen=True)
class FileFormat:
    """A format of files.

    name      for the option --format
    suffixes  of such files, in small letters: (".csv",)
    read      yields the rows of an open file. Raises InputError if the whole file can't be used; for one row
              that can't be read it yields a `Row` with the InputError
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[OpenFile], Iterable[Row]]
