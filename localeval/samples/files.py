"""Files that hold samples: opened, unpacked, and read as lines of text in whatever encoding they have."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from localeval.errors import InputError
from localeval.samples.faults import shown

STDIN = "-"
Bytes: TypeAlias = "io.BufferedReader[Any]"
_UNREADABLE = "localeval.unreadable"
_MARK = re.compile("[\udc00-\udcff]")
_GZIP = b"\x1f\x8b"
_NO_DATA = {
    b"PK\x03\x04": "a zip archive, as .xlsx files are; save an Excel table as CSV, and unpack any other",
    b"\xd0\xcf\x11\xe0": "an Office file, as .xls files are; save the table as CSV",
}


def name_of(source: str | Path) -> str:
    return "stdin" if str(source) == STDIN else shown(str(source))


@contextmanager
def opened(source: str | Path) -> Iterator[Bytes]:
    """The bytes of a file or of stdin ("-"), unpacked if gzip packed them. Raises InputError."""
    name = name_of(source)
    with _stdin() if str(source) == STDIN else _file(source, name) as file:
        try:
            yield _unpacked(file, name)
        except (OSError, EOFError, zlib.error) as error:
            cause = shown(getattr(error, "strerror", None) or str(error))
            raise InputError(f"{name}: can't be read ({cause}); check that it is whole.") from None


@contextmanager
def _stdin() -> Iterator[Bytes]:
    stream = getattr(sys.stdin, "buffer", None)  # sys.stdin is None where the shell closed it, as <&- does
    if stream is None or stream.closed:
        raise InputError("stdin: is closed; send the samples there, or give the path of a file with samples.")
    stdin: Bytes = io.BufferedReader(stream)  # not all that stands there for stdin can peek
    try:
        yield stdin
    finally:
        stdin.detach()


def _file(source: str | Path, name: str) -> Bytes:
    try:
        return Path(source).open("rb")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        cause = getattr(error, "strerror", None) or "not a path"
        raise InputError(f"{name}: can't be read ({cause}); give the path of a file with samples.") from None


def _unpacked(file: Bytes, name: str) -> Bytes:
    """What gzip packed, by its first bytes: a name tells nothing. Raises InputError for what Excel saves."""
    if file.peek(2).startswith(_GZIP):
        file = io.BufferedReader(_Packed(fileobj=file))
    for mark, fault in _NO_DATA.items():
        if file.peek(len(mark)).startswith(mark):
            raise InputError(f"{name}: is {fault}.")
    return file


class _Packed(gzip.GzipFile):
    def seekable(self) -> bool:
        return False  # each step back would unpack again from the beginning, which a pipe can't even do


class Lines:
    """The lines of a file as text, with their ends; `fault` tells of one with bytes of another encoding.

    encoding  None for what the first bytes show: UTF-8, or UTF-16 or UTF-32 by their byte order mark
    newline   as for `open`: "\\n" ends lines there alone, "" also at "\\r"

    Such bytes stop nothing: they are marked, so that the lines behind can be read. Raises InputError for an
    encoding that is not known, or that can't be read line by line.
    """

    def __init__(self, file: Bytes, name: str, encoding: str | None, newline: str) -> None:
        self._file, self._name, self._newline = file, name, newline
        # Beside the mark, JSON's rule: text that begins with ASCII shows by its zeros how wide its signs are.
        self.encoding = encoding or json.detect_encoding(file.peek(4)[:4])

    def __iter__(self) -> Iterator[str]:
        text = _text(self._file, self.encoding, self._newline)
        try:
            for number, line in enumerate(text):
                yield line if number else line.removeprefix("\ufeff")
        except UnicodeError as error:  # from a codec that knows no marking; UTF-16 without its mark, say
            remedy = "name another encoding"
            raise InputError(
                f"{self._name}: is not {self._shown()} ({shown(str(error))}); {remedy}."
            ) from None
        finally:
            text.detach()

    def fault(self, line: str) -> str:
        """Which byte of the line can't be read, and what to do; "" if there is none."""
        found = _MARK.search(line)
        if found is None:
            return ""
        # Some encodings read signs that they can't write.
        before = len(line[: found.start()].encode(self.encoding, "replace")) - len("".encode(self.encoding))
        remedy = "save the file as UTF-8, or name its encoding, as --encoding gb18030"
        return f"byte {before + 1} of the line is not {self._shown()}; {remedy}"

    def _shown(self) -> str:
        return shown(self.encoding.upper().removesuffix("-SIG"))


def check_encoding(encoding: str) -> None:
    """Raises InputError for what is no encoding of text."""
    try:
        _text(io.BufferedReader(io.BytesIO()), encoding, "\n")
    except (LookupError, ValueError, TypeError):
        example = "gb18030, utf-16 or cp1252, say"
        known = f"encoding {shown(str(encoding))} is not known"
        raise InputError(f"{known}; give another one ({example}).") from None


def _text(file: Bytes, encoding: str, newline: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(file, encoding=encoding, errors=_UNREADABLE, newline=newline)


def _mark(error: UnicodeError) -> tuple[str, int]:
    """A half character for each byte that can't be read: no encoding gives one for bytes that can."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_UNREADABLE, _mark)
