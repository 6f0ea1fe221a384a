"""Whether the tables of a GGUF file hold together: read in Python, so that no damage in them can do harm.

A GGUF file is a header, metadata pairs, a table of tensors, and the tensors' bytes. Everything in it says how
long it is, and llama.cpp believes some of that.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from localeval.errors import ModelBroken

HEADER = struct.Struct("<4sIQQ")  # magic, version, tensors, metadata pairs
MOST_TENSORS, MOST_PAIRS, MOST_DIMENSIONS = 1 << 16, 1 << 16, 4
MOST_STRINGS = 1 << 21  # in one list; the largest vocabularies have a quarter of a million

TOKENIZERS = ("gpt2", "llama")
"""Kinds of tokenizers that a judge may have. llama.cpp's code for the others never sees a file."""

_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9

_BLOCKS = {  # ggml's type: (numbers in a block, bytes of a block); others are left to llama.cpp
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    30: (1, 2),
}


class Tensor(NamedTuple):
    """A row of the table of tensors; `offset` counts from where the tensors' bytes begin."""

    name: str
    dimensions: tuple[int, ...]
    kind: int
    offset: int

    def size(self) -> int:
        """Bytes at least; 1 for a type of numbers that is not known here."""
        count = 1
        for dimension in self.dimensions:
            count *= dimension
        numbers, taken = _BLOCKS.get(self.kind, (count or 1, 1))
        return count // numbers * taken


class _Fault(Exception):
    """What is wrong, without the file's name, and what to do."""

    def __init__(
        self, what: str, remedy: str = "the file is damaged or cut off: copy or fetch it again"
    ) -> None:
        super().__init__(what)
        self.remedy = remedy


class _Reader:
    """The file's numbers and strings one after another; `_Fault` where the next would lie beyond its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self.at, self.size = data, HEADER.size, len(data)

    def skip(self, length: int) -> int:
        """Step over `length` bytes; where they begin."""
        begin = self.at
        if length > self.size - begin:
            raise _Fault(
                f"found the end of the file at byte {self.size:,}, expected at least {length:,} more"
            )
        self.at += length
        return begin

    def number(self, form: str) -> Any:
        begin = self.skip(struct.calcsize("<" + form))
        return struct.unpack_from("<" + form, self._data, begin)[0]

    def string(self) -> str:
        length = self.number("Q")
        begin = self.skip(length)
        return self._data[begin : begin + length].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A metadata value; None for a list, which is stepped over."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            raise _Fault(f"found metadata of type {kind}, expected 0 to 12")
        of, count = self.number("I"), self.number("Q")
        if of in _NUMBERS:
            self.skip(count * struct.calcsize("<" + _NUMBERS[of]))
        elif of == _STRING and count <= MOST_STRINGS:
            for _ in range(count):
                self.skip(self.number("Q"))
        else:
            raise _Fault(f"found a list of {count:,} values of type {of}, expected numbers or strings")
        return None


def check_tables(path: Path) -> None:
    """Raise ModelBroken unless every length in the file's tables, and every tensor, lies inside the file.

    A tokenizer of another kind than a judge's is refused too. The magic and the version are `gguf_header`'s
    to check, before this.
    """
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            _check(data)
        except _Fault as error:
            raise ModelBroken(f"{path}: {error}; {error.remedy}.") from error


def _check(data: mmap.mmap) -> None:
    _, _, tensors, pairs = HEADER.unpack_from(data)
    for name, found, most in (("tensors", tensors, MOST_TENSORS), ("metadata pairs", pairs, MOST_PAIRS)):
        if found > most:
            raise _Fault(f"found {found:,} {name}, expected at most {most:,}")
    reader = _Reader(data)
    metadata = {reader.string(): reader.value(reader.number("I")) for _ in range(pairs)}
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise _Fault(f"found an alignment of {alignment}, expected a power of two")
    if (tokenizer := metadata.get("tokenizer.ggml.model", "gpt2")) not in TOKENIZERS:
        raise _Fault(
            f"found a tokenizer of the kind {tokenizer!r:.40}, expected {' or '.join(TOKENIZERS)}",
            "such a model can't judge: choose a Qwen2.5 or Qwen3 instruct model",
        )
    table = list(_tensors(reader, tensors))
    begin = -(-reader.at // alignment) * alignment
    for tensor in table:
        if tensor.offset % alignment or begin + tensor.offset + tensor.size() > reader.size:
            raise _Fault(
                f"found tensor {tensor.name!r:.80} at byte {tensor.offset:,} with {tensor.size():,} bytes, "
                f"expected it inside the file's {reader.size:,}"
            )


def _tensors(reader: _Reader, count: int) -> Iterator[Tensor]:
    for _ in range(count):
        name, rank = reader.string(), reader.number("I")
        if rank > MOST_DIMENSIONS:
            raise _Fault(f"found a tensor of {rank} dimensions, expected at most {MOST_DIMENSIONS}")
        dimensions = tuple(reader.number("Q") for _ in range(rank))
        yield Tensor(name, dimensions, reader.number("I"), reader.number("Q"))
