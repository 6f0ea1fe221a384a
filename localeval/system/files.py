"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from localeval.errors import FolderError, InputError
from localeval.text.display import said

if TYPE_CHECKING:
    from filelock import BaseFileLock


def write_beside(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> Path:
    """A file beside `path` with this text in UTF-8, on the disk, to be moved into its place.

    errors  what becomes of half a character, as `open` has it

    Raises OSError, and whatever `parts` raises; then nothing is left beside.
    """
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.unlink(missing_ok=True)  # of a call that was killed; and "x" follows no link that lies there
        with beside.open("x", encoding="utf-8", errors=errors, newline="\n") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return beside


def write_whole(path: Path, parts: Iterable[str], errors: str = "surrogatepass") -> None:
    """`path`, as a caller named it, with this text, or as it was.

    A link is followed; what is no file (/dev/stdout, a pipe) is written as it goes.

    Raises as `write_beside` does.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", errors=errors, newline="\n") as file:
            file.writelines(parts)
        return
    place = Path(os.path.realpath(path))  # a link stays one
    move(write_beside(place, parts, errors), place)


def write_together(folder: Path, files: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Files of a folder, of which none is moved into its place before all are written; the last one last.

    Raises as `write_beside` does.
    """
    made: list[tuple[Path, Path]] = []
    try:
        made += ((write_beside(folder / name, parts), folder / name) for name, parts in files)
        for beside, path in made:
            beside.replace(path)
    except BaseException:
        for beside, _ in made:
            beside.unlink(missing_ok=True)
        raise


def refuse_links(folder: Path, names: Iterable[str]) -> None:
    """Raises FolderError where one of a run's own files is a link: a folder may come from somebody else."""
    for name in names:
        if (folder / name).is_symlink():
            raise FolderError(
                f"{folder / name}: this is a link, and what a run writes there would change another file; "
                "put the file itself in its place, or choose another folder."
            )


def no_link(path: str, flags: int) -> int:
    """An `opener` for `open`: an OSError where the path is a link."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def move(beside: Path, path: Path) -> None:
    """Put what `write_beside` made into its place. Raises OSError; then nothing is left beside."""
    try:
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def writing_to(path: str | Path, what: str) -> Iterator[None]:
    """What is written to a file that a caller named: an OSError in it becomes an InputError that says so."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: the {what} can't be written there ({error.strerror}).") from error


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """What is written in a run's folder: an OSError in it becomes a FolderError that says what to do."""
    try:
        yield
    except OSError as error:
        raise FolderError(
            f"{folder}: the run can't be written there ({error.strerror}); what was judged is kept in its "
            "journal. Make room, or make the folder writable, and give the same command again."
        ) from error


def is_same(path: Path, other: str | os.PathLike[str]) -> bool:
    """Whether both lead to one file that is there."""
    try:
        return path.samefile(other)
    except (OSError, ValueError):
        return False


def held(path: Path, seconds: float) -> BaseFileLock:
    """The lock on `path`, which this process holds until it calls `release`, or ends.

    Waits for another process as long as `seconds` (-1: for ever), then raises filelock's Timeout; OSError
    where the file can't be written. On a file system that knows no locks, a note of the holder beside the
    file stands for one: filelock's own way there removes the note that another process left in `path`.
    """
    from filelock import FileLock, SoftFileLock

    lock: BaseFileLock = FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=seconds)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        lock = SoftFileLock(path.with_name(f"{path.name}.held"), thread_local=False)
        lock.acquire(timeout=seconds)
    return lock


AGAIN = "give the run's `evaluate` command again, which asks the model for nothing that is in the journal."


def not_of_the_form(what: str, why: str, remedy: str = AGAIN) -> InputError:
    """The error that says so; `what` is the subject of its sentence."""
    return InputError(f"{what} was made by another version or changed by hand ({why}); {remedy}")


@contextmanager
def reading(what: str, remedy: str = AGAIN) -> Iterator[None]:
    """What is read and taken apart in it: what is missing or of another type becomes that error."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise not_of_the_form(what, _why(error), remedy) from error


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return said(": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"]))))
    if isinstance(error, KeyError):
        return f"{said(error, 60)} is missing"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return said(error, 120) if isinstance(error, ValueError) else "its parts are of other types"
