"""`pack`: fill a folder with everything that another machine of this kind needs, and say what it must be."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import platform
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from localeval import models as store
from localeval.errors import InputError, ModelBroken
from localeval.models import catalog
from localeval.models.fetch import Announce, Progress, say
from localeval.models.files import file_sha256
from localeval.pack import install, llama, wheels
from localeval.pack.noted import PART, SCRATCH, Noted
from localeval.pack.plan import Plan
from localeval.system.files import write_whole
from localeval.system.versions import own_version

BLOCK = 1 << 20


def pack(plan: Plan, target: Path, announce: Announce = say, progress: Progress | None = None) -> Path:
    """Fill `target` and return its manifest; what an earlier call left there whole is kept.

    Raises InputError for a folder with other things in it, a disk that is too small or full, and no compiler;
    DownloadFailed with pip's last words; ModelError for a model that is not what it should be.
    """
    check_target(target)
    try:
        folder = _Folder(target)
        folder.require_room(plan)
        with contextlib.closing(folder):
            _collect(plan, folder, announce, progress or (lambda _done, _all: None))
            return folder.finish(_facts(plan, folder))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InputError(
                f"{target} is full; make room and run the same command again, it goes on from there."
            ) from error
        raise InputError(f"{error.filename or target}: {error.strerror or error}.") from error


def check_target(target: Path) -> None:
    """InputError unless the folder is new, empty, or holds a pack and nothing else."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(f"{target} is no folder; give pack a new or an empty one.")
    if target.is_dir():
        ours = Noted.of(target).names()
        for path in sorted(target.rglob("*")):
            name = path.relative_to(target).as_posix()
            inside = SCRATCH in ours and name.startswith(f"{SCRATCH}/")
            if path.is_symlink() or not (name in ours or path.is_dir() or inside):
                raise InputError(
                    f"{target} holds other things ({name}); give pack a new folder, or one that it made."
                )


class _Folder:
    """The target: what is there whole, noted as it comes, so that an interrupted pack goes on."""

    def __init__(self, target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        self.path = target
        before = Noted.of(target)
        self.noted = before.files
        self.used: dict[str, dict[str, Any]] = {}
        if before.begun:
            (target / f"{before.begun}.part").unlink(missing_ok=True)
        # From here on no half-changed pack can be taken for a whole one.
        self._note()
        (target / install.MANIFEST).unlink(missing_ok=True)
        self.scratch = target / SCRATCH
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()

    def require_room(self, plan: Plan) -> None:
        """InputError unless what is still to come will fit, by the estimate of the wheels' sizes."""
        there = sum(int(entry["size"]) for name, entry in self.noted.items() if (self.path / name).is_file())
        needed, free = plan.wheel_bytes + plan.model_bytes - there, shutil.disk_usage(self.path).free
        if needed > free:
            raise InputError(
                f"the pack needs about {needed:,} more bytes in {self.path}, where {free:,} are free; "
                "make room, or give another folder."
            )

    def keep(self, name: str) -> bool:
        """Whether the file is there with the bytes that were noted; then it belongs to the pack."""
        entry, path = self.noted.get(name), self.path / name
        if name in self.used:
            return True
        if entry is None or not path.is_file() or path.stat().st_size != entry["size"]:
            return False
        if install.file_sha256(path) != entry["sha256"]:
            return False
        self.used[name] = entry
        return True

    def take(self, source: Path, name: str, report: Callable[[int], None] = lambda _done: None) -> str:
        """Copy `source` to `name` by way of a .part file, and return its sha256."""
        final = self.path / name
        final.parent.mkdir(parents=True, exist_ok=True)
        self._note(name)
        part = final.with_name(f"{final.name}.part")
        digest, size = hashlib.sha256(), 0
        with source.open("rb") as given, part.open("wb") as copy:
            while block := given.read(BLOCK):
                copy.write(block)
                digest.update(block)
                size += len(block)
                report(size)
            copy.flush()
            os.fsync(copy.fileno())
        self.used[name] = self.noted[name] = {"size": size, "sha256": digest.hexdigest()}
        self._note(name)  # before the name is there, so that none is unknown
        part.replace(final)
        return digest.hexdigest()

    def finish(self, facts: dict[str, Any]) -> Path:
        """Remove what only an earlier pack needed, and write the manifest."""
        for name in sorted(self.noted.keys() - self.used.keys()):
            (self.path / name).unlink(missing_ok=True)
        _write(self.path / install.MANIFEST, {**facts, "files": dict(sorted(self.used.items()))})
        (self.path / PART).unlink()
        return self.path / install.MANIFEST

    def _note(self, begun: str = "") -> None:
        _write(self.path / PART, {"files": self.noted, "begun": begun})

    def close(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)


def _write(path: Path, content: dict[str, Any]) -> None:
    write_whole(path, [json.dumps(content, indent=1, sort_keys=True)])


def _collect(plan: Plan, folder: _Folder, announce: Announce, progress: Progress) -> None:
    own = wheels.own(folder.scratch)  # first: where it can't be made, nothing has to be fetched
    folder.take(own, f"wheels/{own.name}")
    _models(plan, folder, announce, progress)
    folder.take(Path(install.__file__), "install.py")
    folder.take(catalog.catalog_path(), "catalog.toml")
    kept = {wheels.identity(Path(name).name): name for name in folder.noted if name.startswith("wheels/")}
    there = {
        found[0]
        for found, name in kept.items()
        if plan.wheels.get(found[0]) in ("", found[1]) and folder.keep(name)
    }
    missing = {name: version for name, version in plan.wheels.items() if name not in there}
    announce(f"wheels: {len(there)} are there; {len(missing)} to download, and localeval's own")
    for wheel in _downloaded(missing, folder):
        folder.take(wheel, f"wheels/{wheel.name}")
    if not llama.is_cached(plan.llama):
        announce(f"compiling {llama.NAME} {plan.llama.version}, which takes 5 to 10 minutes on a core")
    compiled = llama.wheel(plan.llama)
    if not folder.keep(f"wheels/{compiled.name}"):
        folder.take(compiled, f"wheels/{compiled.name}")


def _downloaded(missing: dict[str, str], folder: _Folder) -> Iterator[Path]:
    """The wheels a few at a time, so that an interruption loses little."""
    names = list(missing)
    for at in range(0, len(names), 12):
        some = {name: missing[name] for name in names[at : at + 12]}
        with tempfile.TemporaryDirectory(dir=folder.scratch) as place:
            yield from wheels.download(some, Path(place))


def _models(plan: Plan, folder: _Folder, announce: Announce, progress: Progress) -> None:
    done = 0
    for model in plan.models:
        for name, source in _files_of(model):
            if not folder.keep(name):
                found = folder.take(source, name, partial(_add, progress, done, plan.model_bytes))
                if found != file_sha256(source):
                    raise ModelBroken(f"{source} is damaged; run: localeval models verify {model.name}")
            done += source.stat().st_size
        announce(f"{model.name} is in the pack")


def _add(progress: Progress, before: int, total: int, size: int) -> None:
    progress(before + size, total)


def _files_of(model: store.ModelFiles) -> Iterator[tuple[str, Path]]:
    """Where each file of a catalog model lies in a pack, and where it lies here."""
    row = model.row
    assert row is not None  # noqa: S101 (a plan holds models of the catalog only)
    files = {file.name: store.place(row, file) for file in row.files}
    if row.is_folder and (sums := store.models_dir() / row.name / store.SUMS).is_file():
        files[store.SUMS] = sums
    for file, path in files.items():
        yield (f"models/{row.name}/{file}" if row.is_folder else f"models/{file}"), path


def _facts(plan: Plan, folder: _Folder) -> dict[str, Any]:
    """What the manifest says beside the files."""
    paths = [folder.path / name for name in folder.used if name.startswith("wheels/")]
    glibc = max(
        (llama.needed_glibc(path) for path in paths), key=lambda text: int(text.partition(".")[2] or 0)
    )
    return {
        "localeval_pack": install.FORMAT,
        "localeval": own_version(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "glibc": glibc,
        "packed_on": " ".join(platform.libc_ver()).strip(),
        "cpu": plan.llama.cpu,
        "llama": {"version": plan.llama.version, "flags": list(plan.llama.flags)},
        "packages": dict(wheels.identity(path.name) for path in sorted(paths)),
        "models": [model.name for model in plan.models],
        "installed_bytes": sum(map(_unpacked, paths)),
        "pip": next(f"wheels/{path.name}" for path in paths if wheels.identity(path.name)[0] == "pip"),
    }


def _unpacked(wheel: Path) -> int:
    with zipfile.ZipFile(wheel) as archive:
        return sum(member.file_size for member in archive.infolist())
