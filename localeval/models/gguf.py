"""Check a GGUF file's name and header in Python, before llama.cpp reads the file."""

from __future__ import annotations

import mmap
import re
import struct
from pathlib import Path
from typing import Any

from localeval.errors import ModelBroken

HEADER = struct.Struct("<4sIQQ")  # magic, version, tensors, metadata pairs
MAX_ENTRIES = 1 << 16  # tensors, or metadata pairs, of a plausible file
TOKENIZERS = ("gpt2", "llama")  # allowed for a judge, so that llama.cpp's code for other kinds is never run

_SPLIT = re.compile(r"^(?P<stem>.+)-\d{5}-of-(?P<parts>\d{5})\.gguf$")
_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING = 8
_ARRAY = 9


def split_files(path: Path) -> list[Path]:
    """Return all files of the GGUF that `path` belongs to, in order; `path` alone if it is not split."""
    split = _SPLIT.match(path.name)
    if split is None:
        return [path]
    count = int(split["parts"])
    return [path.with_name(f"{split['stem']}-{n:05d}-of-{count:05d}.gguf") for n in range(1, count + 1)]


def check_gguf(path: Path) -> None:
    """Raise ModelBroken for a file that is no GGUF, is truncated in its metadata, or can't be a judge.

    Damage after the metadata is found by the probe, in which llama.cpp first loads the file.
    """
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no regular file"
        raise ModelBroken(f"{path}: found {kind}, expected one GGUF file (see: localeval models list).")
    try:
        if path.stat().st_size < HEADER.size:
            raise ValueError(f"found {path.stat().st_size} bytes, expected a GGUF header and more")
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            magic, version, tensors, pairs = HEADER.unpack_from(data)
            if magic != b"GGUF" or version not in (2, 3):
                raise ValueError(f"found {magic!r} of version {version}, expected b'GGUF' of version 2 or 3")
            if max(tensors, pairs) > MAX_ENTRIES:
                raise ValueError(f"found {tensors:,} tensors and {pairs:,} metadata pairs, expected few")
            tokenizer = _metadata(data, pairs).get("tokenizer.ggml.model", "gpt2")
    except ValueError as error:
        raise ModelBroken(f"{path}: {error}; copy or fetch the file again.") from error
    if tokenizer not in TOKENIZERS:
        raise ModelBroken(
            f"{path}: found a tokenizer of the kind {tokenizer!r:.40}, expected {' or '.join(TOKENIZERS)}; "
            "such a model can't judge: choose a Qwen2.5 or Qwen3 instruct model."
        )


def _metadata(data: mmap.mmap, count: int) -> dict[str, Any]:
    """Read the pairs after the header, without lists. Raises ValueError if one goes beyond the file's end."""
    reader = _MetadataReader(data, HEADER.size)
    metadata: dict[str, Any] = {}
    for _ in range(count):
        name = reader.string()
        metadata[name] = reader.value(reader.number("I"))
    return metadata


class _MetadataReader:
    """Read values one after the other, from an offset on."""

    def __init__(self, data: mmap.mmap, offset: int) -> None:
        self._data = data
        self._offset = offset

    def skip(self, length: int) -> int:
        """Skip bytes, and return where they begin. Raises ValueError beyond the end of the file."""
        start = self._offset
        self._offset += length
        if self._offset > len(self._data):
            raise ValueError(f"found the end of the file at byte {len(self._data):,}, expected more metadata")
        return start

    def number(self, type_code: str) -> Any:
        """Read a number of a type of `struct`."""
        start = self.skip(struct.calcsize(f"<{type_code}"))
        return struct.unpack_from(f"<{type_code}", self._data, start)[0]

    def string(self) -> str:
        length = self.number("Q")
        start = self.skip(length)
        return self._data[start : start + length].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """Read a value of a GGUF type; None for a list, which is skipped."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            item_kind = self.number("I")
            self._skip_items(item_kind, self.number("Q"))
            return None
        raise _unknown(kind)

    def _skip_items(self, kind: int, count: int) -> None:
        if kind in _NUMBERS:
            self.skip(count * struct.calcsize(f"<{_NUMBERS[kind]}"))
        elif kind == _STRING:
            for _ in range(count):
                self.skip(self.number("Q"))
        else:
            raise _unknown(kind)


def _unknown(kind: int) -> ValueError:
    return ValueError(f"found metadata of type {kind}, expected 0 to 12")
