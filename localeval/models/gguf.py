"""Read and check a GGUF file's name and header in Python, before llama.cpp reads the file."""

from __future__ import annotations

import math
import mmap
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
_LENGTH = struct.Struct("<Q")  # of a string
_TOKENS = "tokenizer.ggml.tokens"

# What general.file_type stands for: llama.cpp's enum llama_ftype.
_QUANTIZATIONS = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
}


@dataclass(frozen=True)
class GgufHeader:
    """What the headers of a model's GGUF files say. No weights are read.

    metadata    values by their names, without lists
    parameters  number of values in all tensors
    bos, eos    texts of the tokens before and after every text; empty where the chat template has neither
    """

    metadata: Mapping[str, Any]
    parameters: int
    bos: str
    eos: str

    @property
    def architecture(self) -> str:
        return self.text("general.architecture")

    @property
    def quantization(self) -> str:
        """Return the name of the file's mix of tensor types; "unknown" where it names none."""
        return _QUANTIZATIONS.get(self.metadata.get("general.file_type", -1), "unknown")

    @property
    def tokenizer(self) -> str:
        return self.text("tokenizer.ggml.model")

    @property
    def chat_template(self) -> str:
        return self.text("tokenizer.chat_template")

    def number(self, name: str) -> int:
        """Return a number by its name without the architecture ("block_count"); 0 where there is none."""
        value = self.metadata.get(f"{self.architecture}.{name}")
        return value if isinstance(value, int) else 0

    def text(self, name: str) -> str:
        value = self.metadata.get(name)
        return value if isinstance(value, str) else ""


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
        with _open_metadata(path) as (reader, _, pairs):
            tokenizer = reader.metadata(pairs).get("tokenizer.ggml.model", "gpt2")
    except ValueError as error:
        raise ModelBroken(f"{path}: {error}; copy or fetch the file again.") from error
    if tokenizer not in TOKENIZERS:
        raise ModelBroken(
            f"{path}: found a tokenizer of the kind {tokenizer!r:.40}, expected {' or '.join(TOKENIZERS)}; "
            "such a model can't judge: choose a Qwen2.5 or Qwen3 instruct model."
        )


def read_header(files: Sequence[Path]) -> GgufHeader:
    """Read the headers of all files of a model; the first one has the metadata.

    Raises ValueError for a file that is no GGUF or is truncated in its header, OSError for one that can't be
    read.
    """
    metadata: dict[str, Any] = {}
    special: dict[str, str] = {}
    parameters = 0
    for file in files:
        with _open_metadata(file) as (reader, tensors, pairs):
            own_metadata = reader.metadata(pairs)
            parameters += reader.parameters(tensors)
            if file == files[0]:
                metadata = own_metadata
                special = {which: _special_text(reader, metadata, which) for which in ("bos", "eos")}
    return GgufHeader(metadata, parameters, **special)


def _special_text(reader: _MetadataReader, metadata: Mapping[str, Any], which: str) -> str:
    """Return the text of the "bos" or "eos" token; empty where the chat template does not write it."""
    number = metadata.get(f"tokenizer.ggml.{which}_token_id")
    is_used = f"{which}_token" in str(metadata.get("tokenizer.chat_template"))
    return reader.token(number) if is_used and isinstance(number, int) else ""


@contextmanager
def _open_metadata(path: Path) -> Iterator[tuple[_MetadataReader, int, int]]:
    """Open a GGUF file; yield a reader of its metadata, and the numbers of tensors and of pairs.

    Raises ValueError for a file of another format.
    """
    size = path.stat().st_size
    if size < HEADER.size:
        raise ValueError(f"found {size} bytes, expected a GGUF header and more")
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        magic, version, tensors, pairs = HEADER.unpack_from(data)
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError(f"found {magic!r} of version {version}, expected b'GGUF' of version 2 or 3")
        if max(tensors, pairs) > MAX_ENTRIES:
            raise ValueError(f"found {tensors:,} tensors and {pairs:,} metadata pairs, expected few")
        yield _MetadataReader(data, HEADER.size), tensors, pairs


class _MetadataReader:
    """Read values one after the other, from an offset on."""

    def __init__(self, data: mmap.mmap, offset: int) -> None:
        self._data = data
        self._offset = offset
        self._tokens: int | None = None  # offset of the list of tokens

    def metadata(self, count: int) -> dict[str, Any]:
        """Read pairs, without lists. Raises ValueError if one goes beyond the end of the file."""
        metadata: dict[str, Any] = {}
        for _ in range(count):
            name = self.string()
            kind = self.number("I")
            if name == _TOKENS:
                self._tokens = self._offset
            metadata[name] = self.value(kind)
        return metadata

    def parameters(self, tensors: int) -> int:
        """Read the descriptions of tensors, which follow the metadata; return the number of their values."""
        total = 0
        for _ in range(tensors):
            self.string()
            dimensions = self.number("I")
            total += math.prod(self.number("Q") for _ in range(dimensions))
            self.number("I")  # type
            self.number("Q")  # offset of the values
        return total

    def token(self, number: int) -> str:
        """Return the text of a token; empty for a number that is none. It moves to the list of tokens."""
        if self._tokens is None:
            return ""
        self._offset = self._tokens
        kind = self.number("I")
        count = self.number("Q")
        if kind != _STRING or not 0 <= number < count:
            return ""
        self._skip_strings(number)
        return self.string()

    def skip(self, length: int) -> int:
        """Skip bytes, and return where they begin. Raises ValueError beyond the end of the file."""
        start = self._offset
        self._offset += length
        if self._offset > len(self._data):
            raise self._truncated()
        return start

    def _truncated(self) -> ValueError:
        return ValueError(f"found the end of the file at byte {len(self._data):,}, expected more metadata")

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
            self._skip_strings(count)
        else:
            raise _unknown(kind)

    def _skip_strings(self, count: int) -> None:
        """Skip strings. A plain loop: a tokenizer has some 300,000."""
        data = self._data
        offset = self._offset
        last = len(data) - _LENGTH.size
        for _ in range(count):
            if offset > last:
                raise self._truncated()
            offset += _LENGTH.size + _LENGTH.unpack_from(data, offset)[0]
        self._offset = offset
        self.skip(0)


def _unknown(kind: int) -> ValueError:
    return ValueError(f"found metadata of type {kind}, expected 0 to 12")
