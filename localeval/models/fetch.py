"""`models fetch`: bring a catalog model's files here, from the hub or from the user's own file or folder.

Each file grows as `NAME.part`, goes on where it was interrupted, and takes its name once its bytes are right.
"""

from __future__ import annotations

import errno
import http.client
import os
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from filelock import Timeout

from localeval.errors import DownloadFailed, InputError, ModelError, ModelMissing
from localeval.models import catalog
from localeval.models.catalog import CatalogEntry, CatalogFile, HubSource
from localeval.models.files import (
    SUMS,
    ModelFiles,
    catalog_file_path,
    expected_sha256,
    file_sha256,
    mismatch,
    models_dir,
    read_sums,
    remember_sha256,
    resolve,
    whole_path,
)
from localeval.system.files import lock_file
from localeval.system.terminal import say
from localeval.text.display import shorten

TRIES = 3
PAUSE_S = 1.0  # before the second try; twice as long before the third
TIMEOUT_S = 10  # a machine without network must hear of it within seconds
BLOCK = 1 << 18
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PASSING = (408, 425, 429, 500, 502, 503, 504)  # answers that another try may change

Progress = Callable[[int, int], None]  # bytes done and bytes in all (0 while that is not known)


def fetch(
    name: str,
    source: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    elsewhere: bool = True,
) -> ModelFiles:
    """Put the files of a catalog model in the models folder and check them; those that are right are kept.

    source     a file, or a folder of the files, that is tried before the hub
    elsewhere  whether the hub is tried at all

    Raises ModelMissing for an unknown name, InputError if `source` does not exist, ModelError if the disk is
    too small, DownloadFailed where the right bytes could not be had.
    """
    entry = catalog.entries().get(name)
    if entry is None:
        raise ModelMissing(f"{name!r} is not in the catalog; it has: {', '.join(catalog.entries())}.")
    if not elsewhere:
        entry = entry.model_copy(update={"sources": ()})
    given = None if source is None else whole_path(source)
    if given is not None and not given.exists():
        raise InputError(f"--from {given}: there is no such file or folder.")
    try:
        if not _wanted(entry):
            say(f"{name} is already in {models_dir()} and checked; nothing to do.")
            return resolve(name)
        models_dir().mkdir(parents=True, exist_ok=True)
        path = models_dir() / f".{name}.lock"
        try:
            lock = lock_file(path, 0)  # two processes would write one file
        except Timeout:
            say(f"another process is fetching {name}; waiting until it is done.")
            lock = lock_file(path, -1)
        try:
            if wanted := _wanted(entry):  # the other process may have fetched it
                _fetch_files(entry, wanted, given, progress)
        finally:
            lock.release()
    except OSError as error:
        raise ModelError(f"{error.filename or models_dir()}: {error.strerror or error}.") from error
    return resolve(name)


def _wanted(entry: CatalogEntry) -> list[CatalogFile]:
    """List the model's files that are not here with the right bytes."""

    def is_right(file: CatalogFile) -> bool:
        path = catalog_file_path(entry, file)
        return path.is_file() and not mismatch(file, path, expected_sha256(entry, file))

    return [file for file in entry.files if not is_right(file)]


def _fetch_files(
    entry: CatalogEntry, wanted: list[CatalogFile], given: Path | None, progress: Progress | None
) -> None:
    if not (given or entry.sources):
        raise DownloadFailed(
            f"{entry.name} is in no repository of the hub: make it with scripts/quick_start_models.py, give "
            f"a folder that holds it with --from, or choose another {entry.kind}."
        )
    size, unknown = sum(file.size or 0 for file in wanted), any(file.size is None for file in wanted)
    more = " and more" if unknown else ""
    say(f"{entry.name}: {len(wanted)} file(s), {size:,} bytes{more}, to {models_dir()}")
    say(f"from: {'; then '.join(map(str, filter(None, [given, *entry.sources])))}")
    there = sum(part.stat().st_size for file in wanted if (part := _part(entry, file)).exists())
    needed, free = size - there, shutil.disk_usage(models_dir()).free
    if given is None and needed > free:  # a link to a file of the user's takes no space
        raise ModelError(
            f"{entry.name} needs {needed:,} more bytes in {models_dir()}, where {free:,} are free; "
            "make room, or set LOCALEVAL_MODELS to a folder on another disk."
        )
    done = 0

    def report(more: int) -> None:
        if progress:
            progress(done + more, 0 if unknown else size)

    for file in wanted:
        final = catalog_file_path(entry, file)
        final.parent.mkdir(parents=True, exist_ok=True)
        made = _get(entry, file, given, report)
        sha256 = file_sha256(made)
        with made.open("rb") as stream:
            os.fsync(stream.fileno())  # a name must never outlive a power cut that its bytes did not
        made.replace(final)
        remember_sha256(final, sha256)
        _part(entry, file).unlink(missing_ok=True)
        if file.sha256 is None:
            notes = models_dir() / entry.name / SUMS
            sums = {**read_sums(notes), file.name: sha256}
            notes.write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)), encoding="utf-8")
            say(f"unpinned: {file.name}, sha256 {sha256}: not in the catalog, now in {SUMS}")
        done += final.stat().st_size
    if progress:
        progress(done, done)
    say(f"{entry.name} is in {models_dir()}.")


def _part(entry: CatalogEntry, file: CatalogFile) -> Path:
    """Return where a file of the hub grows."""
    path = catalog_file_path(entry, file)
    return path.with_name(f"{path.name}.part")


def _get(entry: CatalogEntry, file: CatalogFile, given: Path | None, report: Callable[[int], None]) -> Path:
    """Get one file with the right bytes beside its place, from the first source that has it."""
    answers: list[str] = []
    sources = [source for source in (given, entry.source(file)) if source]
    for source in sources:
        try:
            if isinstance(source, Path):
                made = _take_given(entry, file, source)
            else:
                made = _part(entry, file)
                _download(source, file, made, report)
            if wrong := mismatch(file, made, file.sha256):
                made.unlink()
                raise DownloadFailed(f"wrong bytes: {wrong}")
            return made
        except DownloadFailed as error:
            answers.append(f"{source}: {error}")
            if source is not sources[-1]:
                say(f"{answers[-1]}; trying the next source")
    raise DownloadFailed(
        f"{entry.name}: {file.name} could not be had ({'; '.join(answers)}); try again where the hub can be "
        "reached, or give a file or folder that holds it with --from."
    )


def _take_given(entry: CatalogEntry, file: CatalogFile, given: Path) -> Path:
    """Link or copy the file from the user's file or folder to a name beside its place, which is returned."""
    candidates = [given / entry.name / file.name, given / file.name]
    if len(entry.files) == 1 or given.name == file.name:
        candidates.append(given)
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        raise DownloadFailed(f"does not hold {file.name}")
    # Not the hub's part: going on with that one would write into the user's file.
    part = _part(entry, file).with_suffix(".given")
    part.unlink(missing_ok=True)
    try:
        os.link(found.resolve(), part)
    except OSError:
        shutil.copyfile(found, part)
    return part


def _download(source: HubSource, file: CatalogFile, part: Path, report: Callable[[int], None]) -> None:
    """Fetch the file into `part`, which stays for a later call where DownloadFailed is raised."""
    base = os.environ.get("LOCALEVAL_HUB") or "https://huggingface.co"
    if urllib.parse.urlsplit(base).scheme not in ("http", "https"):
        raise InputError(f"LOCALEVAL_HUB is {base!r}; it must begin with https:// or http://.")
    name = urllib.parse.quote(file.name)
    url = f"{base.rstrip('/')}/{source.repo}/resolve/{source.revision}/{name}"
    if file.sha256 is None:
        part.unlink(missing_ok=True)  # it may be of another version, and no sum would tell
    answer = ""
    for attempt in range(TRIES):
        time.sleep(PAUSE_S * attempt)
        have = part.stat().st_size if part.exists() else 0
        if file.size is not None and have >= file.size:
            return  # whole, or too long: the caller's check tells
        request = urllib.request.Request(url, headers={"User-Agent": "localeval"})  # noqa: S310 (http or https)
        if have:
            request.add_header("Range", f"bytes={have}-")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
                if response.status != http.HTTPStatus.PARTIAL_CONTENT:
                    have = 0  # the server sends the whole file, so start over
                length = response.headers.get("Content-Length")
                total = have + int(length) if length else None
                if None not in (file.size, total) and file.size != total:  # what is here already is kept
                    raise DownloadFailed(f"wrong bytes: offers {total:,} bytes, expected {file.size:,}")
                with part.open("ab" if have else "wb") as stream:
                    while block := response.read(BLOCK):
                        have += len(block)
                        stream.write(block)
                        report(have)
            if total is None or have >= total:
                return
            answer = f"the connection ended after {have:,} of {total:,} bytes"
        except urllib.error.HTTPError as error:
            error.close()
            answer = f"HTTP {error.code} {shorten(error.reason)}"
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                part.unlink(missing_ok=True)  # it is as long as the server's file, or longer: start over
            elif error.code not in PASSING:
                break
        except urllib.error.URLError as error:
            answer = f"cannot be reached ({shorten(error.reason)})"
            if attempt == 0:
                break
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in DISK_FULL:
                raise
            answer = shorten(error)
    raise DownloadFailed(answer)
