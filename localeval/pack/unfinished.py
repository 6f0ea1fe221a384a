"""A pack that is being filled. What an interruption leaves is kept for the next call."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from filelock import Timeout
from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.pack import install
from localeval.pack.manifest import FileFacts, Manifest
from localeval.system.files import atomic_write, parsing
from localeval.system.locks import left_over_lock, lock_file
from localeval.system.terminal import say

FOLDER = "unfinished"  # in the pack, until it is finished
RECORD = "done.json"
MAKING = "making"


class _Record(BaseModel):
    """The files of the pack that are done: path -> facts."""

    model_config = ConfigDict(strict=True, extra="forbid")

    files: dict[str, FileFacts] = {}


class CopyDiffers(InputError):
    """A file that was copied into a pack has other bytes than expected."""


class UnfinishedPack:
    """A pack that is being filled, with a folder for its record and for the files in the making.

    A file is written in `making`, recorded with its size and sha256, and only then moved to its place. So
    what is in the pack and not in the record was put there by somebody else, and is never touched.

    files  the files that are done: path in the pack -> facts
    """

    def __init__(self, target: Path) -> None:
        """Open a folder that `check_target` accepts; files with other bytes than recorded are deleted.

        It is locked until `close`. Raises InputError if another process packs there.
        """
        self.target = target
        self.making = target / FOLDER / MAKING
        self.making.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = lock_file(target / FOLDER / "lock", 0)
        except Timeout as error:
            remedy = "wait until it is done"
            left_over = left_over_lock(error)
            if left_over is not None:
                remedy += f", or remove {left_over} if there is none"
            raise InputError(f"{target}: another process is packing there; {remedy}.") from None
        self.files = _read_record(target).files
        if self.making.exists():
            shutil.rmtree(self.making)
        self._drop_changed()

    def close(self) -> None:
        """Unlock the folder, and say what to do about a pack that was not finished."""
        self._lock.release()
        if self.files and not (self.target / install.MANIFEST).exists():
            say(f"{self.target} is unfinished: pack there again, and what is done is kept.")

    def _drop_changed(self) -> None:
        for name, facts in list(self.files.items()):
            path = self.target / name
            if not path.is_file():
                del self.files[name]
            elif _facts_of(path) != facts:
                say(f"{path} has other bytes than it was packed with; it is made again")
                self.remove(name)
        if self.files:
            say(f"{self.target} is unfinished; {len(self.files)} files are kept")

    def place(self, name: str) -> Path:
        """Return where to write a file before `add` takes it: in a folder that exists."""
        path = self.making / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def add(self, path: Path, name: str) -> None:
        """Record a whole file, and move it to its place in the pack."""
        self._add(path, name, _facts_of(path))

    def _add(self, path: Path, name: str, facts: FileFacts) -> None:
        self.files[name] = facts
        record = self.target / FOLDER / RECORD
        record.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(record, [_Record(files=self.files).model_dump_json(indent=1)])
        final = self.target / name
        final.parent.mkdir(parents=True, exist_ok=True)
        path.replace(final)

    def copy(self, source: Path, name: str, sha256: str) -> None:
        """Copy a file, unless it is done. Raises CopyDiffers if the copy has another sha256 than this."""
        if self.files.get(name) == FileFacts(size=source.stat().st_size, sha256=sha256):
            return
        path = self.place(name)
        shutil.copyfile(source, path)
        facts = _facts_of(path)
        if facts.sha256 != sha256:
            raise CopyDiffers(f"{source} changed while it was copied; pack again.")
        self._add(path, name, facts)

    def remove(self, name: str) -> None:
        """Remove a file that is done."""
        (self.target / name).unlink()
        del self.files[name]

    def finish(self, wanted: Collection[str], manifest: Manifest) -> Path:
        """Remove the files that are no longer wanted, write the manifest, and return its path."""
        for name in set(self.files).difference(wanted):
            self.remove(name)
        path = self.target / install.MANIFEST
        atomic_write(path, [manifest.text()])
        shutil.rmtree(self.target / FOLDER)
        return path


def check_target(target: Path) -> None:
    """Raise InputError unless `target` is a new or empty folder, or holds an unfinished pack alone."""
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is not a folder; give pack a new or an empty one.")
    for path in _others(target):
        raise InputError(
            f"{target} is not empty ({path.relative_to(target)} is there); give pack a new or an empty "
            "folder, or remove this one if an earlier pack made it."
        )


def _others(target: Path) -> Iterator[Path]:
    """Yield what is in the folder and was not recorded as a file of an unfinished pack."""
    done = _read_record(target).files
    for path in sorted(target.rglob("*")):
        name = path.relative_to(target)
        is_plain_folder = path.is_dir() and not path.is_symlink()
        if not is_plain_folder and name.parts[0] != FOLDER and name.as_posix() not in done:
            yield path


def _read_record(target: Path) -> _Record:
    """Read the record of an unfinished pack; an empty one where there is none."""
    path = target / FOLDER / RECORD
    if not path.is_file():
        return _Record()
    with parsing(f"{path}", f"remove {target}, and pack again."):
        record = _Record.model_validate_json(path.read_bytes())
        for name in record.files:
            if not install.is_safe(name):
                raise ValueError(f"it names {name!r}")
    return record


def _facts_of(path: Path) -> FileFacts:
    return FileFacts(size=path.stat().st_size, sha256=install.file_sha256(path))
