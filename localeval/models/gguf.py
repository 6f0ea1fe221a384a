"""What a GGUF file's name and first part tell, read in Python before llama.cpp sees the file."""

from __future__ import annotations

import mmap
import re
import struct
from pathlib import Path
from typing import Any

from localeval.errors import ModelBroken

HEADER = struct.Struct("<4sIQQ")  # magic, version, tensors, metadata pairs
MOST = 1 << 16  # tensors, or metadata pairs

TOKENIZERS = ("gpt2", "llama")
"""Kinds of tokenizers that a judge may have. llama.cpp's code for the others never sees a file."""

_SPLIT = re.compile(r"^(?P<stem>.+)-\d{5}-of-(?P<parts>\d{5})\.gguf$")
_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_AGAIN = "the file is damaged or cut off: copy or fetch it again"


def split_files(path: Path) -> list[Path]:
    """Return all files of the GGUF that `path` is one of, in order; `path` alone if it is not split."""
    split = _SPLIT.match(path.name)
    if split is None:
        return [path]
    count = int(split["parts"])
    return [path.with_name(f"{split['stem']}-{n:05d}-of-{count:05d}.gguf") for n in range(1, count + 1)]


def check_gguf(path: Path) -> None:
    """Raise ModelBroken for what is no GGUF file, is cut off in its metadata, or can be no judge.

    Damage behind the metadata is left to the trial, in which llama.cpp first loads the file.
    """
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no regular file"
        raise ModelBroken(f"{path}: found {found}, expected one GGUF file (see: localeval models list).")
    with path.open("rb") as stream:
        header = stream.read(HEADER.size)
        if len(header) < HEADER.size:
            raise ModelBroken(
                f"{path}: found {len(header)} bytes, expected a GGUF header and more; {_AGAIN}."
            )
        magic, version, *counts = HEADER.unpack(header)
        if magic != b"GGUF":
            raise ModelBroken(f"{path}: found {magic!r} at its start, expected b'GGUF'; give a GGUF file.")
        if version not in (2, 3):
            raise ModelBroken(f"{path}: found GGUF version {version}, expected 2 or 3; convert it anew.")
        for count, what in zip(counts, ("tensors", "metadata pairs"), strict=True):
            if count > MOST:
                raise ModelBroken(f"{path}: found {count:,} {what}, expected at most {MOST:,}; {_AGAIN}.")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                metadata = _Metadata(data).pairs(counts[1])
            except ValueError as error:
                raise ModelBroken(f"{path}: {error}; {_AGAIN}.") from error
    if (kind := metadata.get("tokenizer.ggml.model", "gpt2")) not in TOKENIZERS:
        raise ModelBroken(
            f"{path}: found a tokenizer of the kind {kind!r:.40}, expected {' or '.join(TOKENIZERS)}; "
            "such a model can't judge: choose a Qwen2.5 or Qwen3 instruct model."
        )


class _Metadata:
    """The metadata of a file, value after value. Raises ValueError where one is not inside the file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._at = data, HEADER.size

    def pairs(self, count: int) -> dict[str, Any]:
        return {self._string(): self._value(self._number("I")) for _ in range(count)}

    def _skip(self, length: int) -> int:
        """Step over `length` bytes and return where they begin."""
        begin = self._at
        if length > len(self._data) - begin:
            raise ValueError(f"found the end of the file at byte {len(self._data):,}, expected more metadata")
        self._at += length
        return begin

    def _number(self, form: str) -> Any:
        return struct.unpack_from(f"<{form}", self._data, self._skip(struct.calcsize(f"<{form}")))[0]

    def _string(self) -> str:
        length = self._number("Q")
        begin = self._skip(length)
        return self._data[begin : begin + length].decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        """Return a number or string; None for a list, which is stepped over."""
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._string()
        of, count = (self._number("I"), self._number("Q")) if kind == _ARRAY else (kind, 0)
        if of in _NUMBERS:
            self._skip(count * struct.calcsize(f"<{_NUMBERS[of]}"))
        elif of == _STRING:
            for _ in range(count):
                self._skip(self._number("Q"))
        else:
            raise ValueError(f"found metadata of type {of}, expected 0 to 12")
        return None
