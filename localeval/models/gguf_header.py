"""What can be told of a GGUF file from its name and its tables, before any engine opens it."""

from __future__ import annotations

import re
from pathlib import Path

from localeval.errors import ModelBroken
from localeval.models.gguf_tables import HEADER, check_tables

VERSIONS = (2, 3)
SPLIT = re.compile(r"^(?P<stem>.+)-\d{5}-of-(?P<parts>\d{5})\.gguf$")


def split_files(path: Path) -> list[Path]:
    """All files of the split GGUF that `path` is one of, in order; none if it is not split."""
    split = SPLIT.match(path.name)
    if split is None:
        return []
    count = int(split["parts"])
    return [path.with_name(f"{split['stem']}-{n:05d}-of-{count:05d}.gguf") for n in range(1, count + 1)]


def check_gguf(path: Path) -> None:
    """Refuse what llama.cpp could only fail on, in words that say what it is instead."""
    remedy = "give a GGUF file (see: localeval models list)"
    if not path.is_file():
        found = "a folder" if path.is_dir() else "no regular file"
        raise ModelBroken(f"{path}: found {found}, expected one GGUF file; {remedy}.")
    size = path.stat().st_size
    with path.open("rb") as stream:
        header = stream.read(HEADER.size)
    if size == 0:
        raise ModelBroken(f"{path}: found an empty file, expected a GGUF model; copy or fetch it again.")
    if header[:4] != b"GGUF"[: len(header)]:
        raise ModelBroken(f"{path}: found {header[:4]!r} at its start, expected b'GGUF'; {remedy}.")
    if len(header) < HEADER.size:
        raise ModelBroken(
            f"{path}: found {size} bytes, expected a GGUF header of {HEADER.size} and more; "
            "the file is cut off: copy or fetch it again."
        )
    version = HEADER.unpack(header)[1]
    if version not in VERSIONS:
        raise ModelBroken(
            f"{path}: found GGUF version {version}, expected 2 or 3; convert it with llama.cpp."
        )
    check_tables(path)
