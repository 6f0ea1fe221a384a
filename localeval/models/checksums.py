"""The sha256 of files, computed once and remembered as long as nothing touches a file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

import platformdirs


def file_sha256(path: Path) -> str:
    """The file's sha256, remembered by absolute path, size, times of change and inode.

    A cache that cannot be read or written only means that the file is hashed again.

    >>> file_sha256(Path("model.gguf"))    # doctest: +SKIP
    'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046'
    """
    known = remembered(path)
    if known is None:
        before = _identity(path)
        known = hash_file(path)
        # A file that changed while it was read has no sha256 worth remembering.
        if before == _identity(path):
            remember(path, known)
    return known


def hash_file(path: Path) -> str:
    """The file's sha256, by reading all of it."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def combined_sha256(sums: Mapping[str, str]) -> str:
    """One sha256 for files given as name: sha256. Of one file its own, else over "sha256  name" lines.

    >>> combined_sha256({"a.gguf": "cc324af0"})
    'cc324af0'
    """
    if len(sums) == 1:
        return next(iter(sums.values()))
    lines = sorted(f"{sha256}  {name}\n" for name, sha256 in sums.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def remembered(path: Path) -> str | None:
    """The sha256 that is remembered for the file as it is now, without reading it; None if there is none."""
    try:
        memory = json.loads(_memory(path).read_text(encoding="utf-8"))
        sha256 = memory.pop("sha256")
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return sha256 if memory == _identity(path) and isinstance(sha256, str) else None


def remember(path: Path, sha256: str) -> None:
    """Note that the file at `path`, as it is now, has this sha256."""
    memory = _memory(path)
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and moved, so that no other process reads half of it.
        with tempfile.NamedTemporaryFile("w", dir=memory.parent, suffix=".tmp", delete=False) as stream:
            json.dump({**_identity(path), "sha256": sha256}, stream)
        Path(stream.name).replace(memory)


def forget(path: Path) -> None:
    """Drop what is remembered of the file, so that it is hashed again."""
    with contextlib.suppress(OSError):
        _memory(path).unlink()


def _identity(path: Path) -> dict[str, object]:
    status = path.stat()  # a program can set a file's mtime as it likes, and not its ctime
    names = ("size", "mtime_ns", "ctime_ns", "ino", "dev")
    return {"path": str(path.absolute()), **{name: getattr(status, f"st_{name}") for name in names}}


def _memory(path: Path) -> Path:
    key = hashlib.sha256(str(path.absolute()).encode(errors="surrogateescape")).hexdigest()[:32]
    return platformdirs.user_cache_path("localeval") / "verified" / f"{key}.json"
