"""Fetch a catalog model's files from the hub, or copy them from the user's own file or folder.

A file is written as `NAME.part`, resumes where it was interrupted, and is renamed once its bytes are right.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from filelock import Timeout

from localeval.errors import DownloadFailed, InputError, ModelMissing
from localeval.models import catalog
from localeval.models.catalog import CatalogEntry, CatalogFile
from localeval.models.files import (
    SUMS,
    ModelFiles,
    absolute_path,
    catalog_file_path,
    check_bytes,
    expected_sha256,
    file_sha256,
    models_dir,
    read_sums,
    remember_sha256,
    resolve,
)
from localeval.system.locks import lock_file
from localeval.system.terminal import say
from localeval.text.display import shorten

TRIES = 3
PAUSE_S = 1.0  # before the second try; twice as long before the third
TIMEOUT_S = 10  # a machine without network must learn of it within seconds
BLOCK = 1 << 18
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PASSING = (408, 425, 429, 500, 502, 503, 504)  # HTTP errors that may pass with another try

ByteProgress = Callable[[int, int], None]  # bytes done and bytes in total (0 if unknown)


def fetch(
    name: str, source: str | os.PathLike[str] | None = None, progress: ByteProgress | None = None
) -> ModelFiles:
    """Fetch the files of a catalog model into the models folder, and check them; those that are right stay.

    source  a file, or a folder with the files, to copy instead of asking the hub

    Raises ModelMissing for an unknown name, InputError if `source` does not exist, LOCALEVAL_HUB is no
    address, or the models folder has no room or can't be written, and DownloadFailed if the hub or `source`
    does not have the right bytes.
    """
    entry = catalog.entries().get(name)
    if entry is None:
        raise ModelMissing(f"{name!r} is not in the catalog; it has: {', '.join(catalog.entries())}.")
    local = None if source is None else absolute_path(source)
    if local is not None and not local.exists():
        raise InputError(f"--from {local}: there is no such file or folder.")
    try:
        if _missing_files(entry):
            _fetch_missing(entry, local, progress)
        else:
            say(f"{name} is already in {models_dir()} and checked; nothing to do.")
    except OSError as error:
        place = models_dir() if local is None or error.errno in DISK_FULL else local
        raise InputError(
            f"{error.filename or place} can't be used ({error.strerror or error}); make room or give "
            "permission there, or set LOCALEVAL_MODELS to another folder."
        ) from error
    return resolve(name)


def _fetch_missing(entry: CatalogEntry, local: Path | None, progress: ByteProgress | None) -> None:
    """Fetch what is missing, while no other process fetches the same model."""
    models_dir().mkdir(parents=True, exist_ok=True)
    lock_path = models_dir() / f".{entry.name}.lock"
    try:
        lock = lock_file(lock_path, 0)  # two processes would write to the same file
    except Timeout:
        say(f"another process is fetching {entry.name}; waiting until it is done.")
        lock = lock_file(lock_path, -1)
    try:
        missing = _missing_files(entry)
        if missing:  # another process may have fetched them
            _fetch_files(entry, missing, local, progress)
    finally:
        lock.release()


def _missing_files(entry: CatalogEntry) -> list[CatalogFile]:
    """Return the model's files that are not here with the right bytes."""
    return [file for file in entry.files if not _is_right(entry, file)]


def _is_right(entry: CatalogEntry, file: CatalogFile) -> bool:
    path = catalog_file_path(entry, file)
    if not path.is_file():
        return False
    _, fault = check_bytes(file, path, expected_sha256(entry, file))
    return not fault


def _fetch_files(
    entry: CatalogEntry, missing: Sequence[CatalogFile], local: Path | None, progress: ByteProgress | None
) -> None:
    """Fetch these files, one after the other. Progress has no total where the size of one is not known."""
    places = [_given(entry, file, local) if local else _url(entry, file) for file in missing]
    size = sum(file.size or 0 for file in missing)
    is_unknown = any(file.size is None for file in missing)
    suffix = " and more" if is_unknown else ""
    say(f"{entry.name}: {len(missing)} file(s), {size:,} bytes{suffix}, to {models_dir()}")
    say(f"from: {local or ', '.join(map(str, entry.sources))}")
    _check_room(entry, missing, size)
    done = 0

    def report(received: int) -> None:
        if progress:
            progress(done + received, 0 if is_unknown else size)

    for file, place in zip(missing, places, strict=True):
        done += _fetch_file(entry, file, place, report)
    if progress:
        progress(done, done)
    say(f"{entry.name} is in {models_dir()}.")


def _check_room(entry: CatalogEntry, missing: Sequence[CatalogFile], size: int) -> None:
    """Raise InputError where the models folder has no room for what is still to come of the files."""
    parts = [_part(entry, file) for file in missing]
    needed = size - sum(part.stat().st_size for part in parts if part.exists())
    free = shutil.disk_usage(models_dir()).free
    if needed > free:
        raise InputError(
            f"{entry.name} needs {needed:,} more bytes in {models_dir()}, where {free:,} are free; "
            "make room, or set LOCALEVAL_MODELS to a folder on another disk."
        )


def _fetch_file(
    entry: CatalogEntry, file: CatalogFile, place: Path | str, report: Callable[[int], None]
) -> int:
    """Fetch a file from a path or an address, check it, give it its name, and return its size."""
    final = catalog_file_path(entry, file)
    final.parent.mkdir(parents=True, exist_ok=True)
    part = _part(entry, file)
    try:
        if isinstance(place, Path):
            _copy(place, part, report)
        else:
            _Download(place, file, part, report).run()
        sha256, fault = check_bytes(file, part, file.sha256)
        if fault:
            part.unlink()
            raise DownloadFailed(f"wrong bytes: {fault}")
    except DownloadFailed as error:
        raise DownloadFailed(
            f"{entry.name}: {file.name} could not be fetched ({place}: {error}); try again where the hub "
            "can be reached, or give a file or folder that holds it with --from."
        ) from error
    with part.open("rb") as stream:
        os.fsync(stream.fileno())  # so that no power cut leaves the final name without its bytes
    part.replace(final)
    remember_sha256(final, sha256)
    if file.sha256 is None:
        _note_unpinned(entry, file, sha256)
    return final.stat().st_size


def _note_unpinned(entry: CatalogEntry, file: CatalogFile, sha256: str) -> None:
    """Write down the sha256 of a file for which the catalog has none."""
    path = models_dir() / entry.name / SUMS
    sums = {**read_sums(path), file.name: sha256}
    lines = [f"{sums[name]}  {name}\n" for name in sorted(sums)]
    path.write_text("".join(lines), encoding="utf-8")
    say(f"unpinned: {file.name}, sha256 {sha256}: not in the catalog, now in {SUMS}")


def _part(entry: CatalogEntry, file: CatalogFile) -> Path:
    """Return the path that a file is written to."""
    path = catalog_file_path(entry, file)
    return path.with_name(f"{path.name}.part")


def _given(entry: CatalogEntry, file: CatalogFile, local: Path) -> Path:
    """Return the path of the file in the user's folder; `local` itself where it is the file."""
    candidates = [local / entry.name / file.name, local / file.name]
    if len(entry.files) == 1 or local.name == file.name:
        candidates.append(local)
    path = next((path for path in candidates if path.is_file()), None)
    if path is None:
        raise DownloadFailed(
            f"{local} does not hold {file.name} of {entry.name}; give another place to --from."
        )
    return path


def _url(entry: CatalogEntry, file: CatalogFile) -> str:
    """Return the file's address on the hub. Raises InputError for one that is none of a web server."""
    source = entry.source(file)
    if source is None:
        raise DownloadFailed(
            f"{entry.name} is in no repository of the hub: make it with scripts/quick_start_models.py, give "
            f"a folder that holds it with --from, or choose another {entry.kind}."
        )
    hub = (os.environ.get("LOCALEVAL_HUB") or "https://huggingface.co").rstrip("/")
    if not hub.lower().startswith(("https://", "http://")):
        raise InputError(f"LOCALEVAL_HUB is {hub!r}; it must begin with https:// or http://.")
    return f"{hub}/{source.repo}/resolve/{source.revision}/{urllib.parse.quote(file.name)}"


def _copy(source: Path, part: Path, report: Callable[[int], None]) -> None:
    with source.open("rb") as stream:
        part.unlink(missing_ok=True)  # it may be a link to the user's file, or be that file
        _write(stream, part, 0, report)


def _write(stream: IO[bytes], part: Path, received: int, report: Callable[[int], None]) -> int:
    """Write the stream after the `received` first bytes of `part`; return how many it has then."""
    with part.open("ab" if received else "wb") as file:
        while block := stream.read(BLOCK):
            received += len(block)
            file.write(block)
            report(received)
    return received


class _Refused(Exception):
    """The hub gave an answer that another try would not change."""


class _Download:
    """The download of a file to `part`, which is kept for a later one if DownloadFailed is raised."""

    def __init__(self, url: str, file: CatalogFile, part: Path, report: Callable[[int], None]) -> None:
        self._url = url
        self._file = file
        self._part = part
        self._report = report

    def run(self) -> None:
        """Try up to `TRIES` times, each from where the last one ended. Raises DownloadFailed if none did."""
        if self._file.sha256 is None:
            self._part.unlink(missing_ok=True)  # it may be of another version, which no sha256 would show
        answer = ""
        for attempt in range(TRIES):
            time.sleep(PAUSE_S * attempt)
            try:
                answer = self._try()
            except urllib.error.URLError as error:
                answer = f"cannot be reached ({shorten(error.reason)})"
                # Where not even the first try reaches the hub, waiting for it does not help.
                if attempt == 0:
                    break
            except _Refused as error:
                answer = str(error)
                break
            if not answer:
                return
        raise DownloadFailed(answer)

    def _try(self) -> str:
        """Ask for the rest of the file once. Return "" if it is complete, else why it is not.

        Raises URLError where the hub can't be reached, and _Refused where another try would not help.
        """
        received = self._part.stat().st_size if self._part.exists() else 0
        if self._file.size is not None and received >= self._file.size:
            return ""  # complete, or too long, which the caller checks
        try:
            return self._receive(received)
        except urllib.error.HTTPError as error:
            return self._explain(error, received)
        except urllib.error.URLError:
            raise
        except (ValueError, http.client.InvalidURL) as error:
            raise InputError(
                f"{self._url!r} is no address ({shorten(error)}); change LOCALEVAL_HUB."
            ) from error
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in DISK_FULL:
                raise
            return shorten(error)

    def _receive(self, received: int) -> str:
        """Receive what comes after the first `received` bytes, or all where the hub sends no part."""
        request = urllib.request.Request(self._url, headers={"User-Agent": "localeval"})  # noqa: S310 (http or https)
        if received:
            request.add_header("Range", f"bytes={received}-")
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
            if response.status != http.HTTPStatus.PARTIAL_CONTENT:
                received = 0  # the server sends the whole file, so start over
            length = response.headers.get("Content-Length")
            total = received + int(length) if length else None
            expected = self._file.size
            if total is not None and expected is not None and total != expected:  # keep the part
                raise DownloadFailed(f"wrong bytes: offers {total:,} bytes, expected {expected:,}")
            received = _write(response, self._part, received, self._report)
        if total is None or received >= total:
            return ""
        return f"the connection ended after {received:,} of {total:,} bytes"

    def _explain(self, error: urllib.error.HTTPError, received: int) -> str:
        """Return what an HTTP error says, "" if the file is complete. Raises _Refused for a lasting error."""
        error.close()
        answer = f"HTTP {error.code} {shorten(error.reason)}"
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            if received and file_sha256(self._part) == self._file.sha256:
                return ""
            self._part.unlink(missing_ok=True)  # it is as long as the server's file, or longer: start over
        elif error.code not in PASSING:
            raise _Refused(answer)
        return answer
