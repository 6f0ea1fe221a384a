"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from localeval.errors import FolderError, InputError


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
