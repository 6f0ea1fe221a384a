"""Write files atomically, and parse localeval's own files."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from pydantic import ValidationError

from localeval.errors import FolderError, InputError
from localeval.system.arguments import describe
from localeval.text.display import shorten

_MAX_LEFT_OVER_SECONDS = 86_400  # after which the temporary file of a killed process is removed


def atomic_write(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> None:
    """Write all of `path`, or leave it as it was. Raises as `write_together` does.

    A link is followed. A pipe or a device is written directly: a file moved there would take its place. So is
    stdout, as /dev/stdout, and keeps what was printed there.
    """
    stream = stream_at(path)
    if stream is not None:
        stream.flush()
        # A copy of the descriptor, as closing the file must not close the stream.
        _write_directly(os.dup(stream.fileno()), parts, errors)
    elif path.exists() and not path.is_file():
        _write_directly(path, parts, errors)
    else:
        real_path = Path(os.path.realpath(path))
        write_together(real_path.parent, [(real_path.name, parts)], errors)


def _write_directly(target: Path | int, parts: Iterable[str], errors: str) -> None:
    with open(target, "w", encoding="utf-8", errors=errors, newline="\n") as file:  # noqa: PTH123
        file.writelines(parts)


def stream_at(path: Path) -> TextIO | None:
    """Return stdout or stderr, if `path` is where it goes, as /dev/stdout is; else None."""
    streams: tuple[TextIO | None, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        # No such file, or a stream without a descriptor, or none at all.
        with suppress(OSError, ValueError, AttributeError):
            if stream and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
                return stream
    return None


def write_together(
    folder: Path,
    files: Iterable[tuple[str, Iterable[str]]],
    errors: str = "surrogatepass",
    outdated: Iterable[Path] = (),
    moved: Iterable[Path] = (),
) -> None:
    """Write files of a folder; once all are written, delete the `outdated` ones and move these into place.

    moved  files of another folder on the same disk, which are moved here before them

    They are in UTF-8 and synced to the disk, and so is the folder; `errors` is `open`'s. Raises OSError, and
    whatever the parts raise, and leaves no temporary file.
    """
    moves: list[tuple[Path, Path]] = []
    try:
        for name, parts in files:
            path = folder / name
            _remove_left_over(path)
            temporary = _temporary(path)
            moves.append((temporary, path))
            # Left by a killed process that had the same number; "x" follows no link.
            temporary.unlink(missing_ok=True)
            with temporary.open("x", encoding="utf-8", errors=errors, newline="\n") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
        for path in outdated:  # first, so that no outdated file is ever next to a new one
            path.unlink(missing_ok=True)
        for other in moved:
            other.replace(folder / other.name)
        for temporary, path in moves:
            temporary.replace(path)
        sync_folder(folder)
    finally:
        for temporary, _ in moves:
            temporary.unlink(missing_ok=True)


def replace_bytes(path: Path, data: bytes) -> None:
    """Write all of `path`, or leave it as it was, in a folder that is made if it is missing.

    Not synced to the disk: for a cache, whose reader checks what it reads. Raises OSError, and leaves no
    temporary file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_left_over(path)
    temporary = _temporary(path)
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """Return where `path` is written before it is moved into place: a name of this thread alone."""
    owner = f"{os.getpid()}-{threading.get_ident()}"
    return path.with_name(f"{_temporary_prefix(path)}{owner}.part")


def _temporary_prefix(path: Path) -> str:
    # Short, as a file system limits the bytes of a name.
    return f".{path.name[:40]}."


def _remove_left_over(path: Path) -> None:
    """Remove the temporary files of `path` that a killed process left a day ago or earlier."""
    prefix = _temporary_prefix(path)
    oldest = time.time() - _MAX_LEFT_OVER_SECONDS
    with suppress(OSError):
        for other in path.parent.iterdir():
            is_temporary = other.name.startswith(prefix) and other.suffix == ".part"
            if is_temporary and other.lstat().st_mtime < oldest:
                other.unlink()


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk, where the system can: a power cut then undoes no rename."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def writing_to(path: str | Path, what: str) -> Iterator[None]:
    """Turn an OSError while writing the file that a caller named into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: the {what} can't be written there ({error.strerror}); make room, or choose "
            "another place."
        ) from error


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an OSError while writing a run's folder into a FolderError."""
    try:
        yield
    except OSError as error:
        raise FolderError(
            f"{folder}: the run can't be written there ({error.strerror}); what was judged is kept in its "
            "journal. Make room, or make the folder writable, and give the same command again."
        ) from error


@contextmanager
def parsing(
    what: str,
    remedy: str = "give the run's `evaluate` command again, which asks nothing that is in the journal.",
) -> Iterator[None]:
    """Turn a missing or mistyped value in one of localeval's own files into an InputError about `what`."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = describe(error) if isinstance(error, ValidationError) else shorten(error, 120)
        if isinstance(error, KeyError):
            reason += " is missing"
        raise InputError(
            f"{what} was made by another version or changed by hand ({reason}); {remedy}"
        ) from error


def is_same(path: Path, other: str | os.PathLike[str]) -> bool:
    """Return whether both paths lead to the same existing file."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False
