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
_STRING, _ARRAY = 8, 9


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
    offset = HEADER.size

    def skip(length: int) -> int:
        nonlocal offset
        offset += length
        if offset > len(data):
            raise ValueError(f"found the end of the file at byte {len(data):,}, expected more metadata")
        return offset - length

    def number(type_code: str) -> Any:
        return struct.unpack_from(f"<{type_code}", data, skip(struct.calcsize(f"<{type_code}")))[0]

    def string() -> str:
        length = number("Q")
        return data[skip(length) : offset].decode("utf-8", "replace")

    def value(kind: int) -> Any:
        if kind in _NUMBERS:
            return number(_NUMBERS[kind])
        if kind == _STRING:
            return string()
        item_kind, size = (number("I"), number("Q")) if kind == _ARRAY else (kind, 0)
        if item_kind in _NUMBERS:
            skip(size * struct.calcsize(f"<{_NUMBERS[item_kind]}"))
        elif item_kind == _STRING:
            for _ in range(size):
                skip(number("Q"))
        else:
            raise ValueError(f"found metadata of type {item_kind}, expected 0 to 12")
        return None

    return {string(): value(number("I")) for _ in range(count)}
