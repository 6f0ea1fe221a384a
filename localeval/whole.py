"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_beside(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> Path:
    """A file beside `path` with this text in UTF-8, on the disk, to be moved into its place.

    errors  what becomes of half a character, as `open` has it

    Raises OSError, and whatever `parts` raises; then nothing is left beside.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        with beside.open("w", encoding="utf-8", errors=errors, newline="\n") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def write_whole(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> None:
    """`path` with this text, or as it was. Raises as `write_beside` does."""
    beside = write_beside(path, parts, errors)
    try:
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
