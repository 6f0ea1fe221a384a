"""Find model files by name or path, and check and remember the sha256 of each."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs

from localeval.errors import ModelBroken, ModelMissing
from localeval.models import catalog, found
from localeval.models.catalog import CatalogEntry, CatalogFile, Kind
from localeval.models.gguf import check_gguf, split_files
from localeval.system.files import atomic_write
from localeval.system.versions import digest
from localeval.text.display import suggested

SUMS = "SHA256SUMS"  # the sums of a folder's unpinned files as fetched, in sha256sum's format


@dataclass(frozen=True)
class ModelFiles:
    """A model on this machine, and the sha256 of its files.

    path       what the engine opens: the GGUF file (the first of a split model), or the folder
    sha256     of the file; for several files, of their sorted "sha256  name" lines
    size       bytes of all files together
    checksums  the path of each file, in order, and its sha256
    entry      of the catalog; None for another model
    found_as   name of a model that another program has stored, as `ollama:qwen2.5:7b`; else empty
    """

    name: str
    path: Path
    sha256: str
    size: int
    checksums: Mapping[Path, str]
    entry: CatalogEntry | None = None
    found_as: str = ""

    @property
    def paths(self) -> list[Path]:
        """Return the paths of all files, in order."""
        return list(self.checksums)

    @property
    def source(self) -> str:
        """Return the name or absolute path by which `resolve` finds the model again, from any folder."""
        if self.found_as:
            return self.found_as
        return self.name if self.entry else str(self.path)

    @property
    def unpinned(self) -> bool:
        """Return whether the catalog lacks the sha256 of a file of the model."""
        return self.entry is not None and any(file.sha256 is None for file in self.entry.files)


def models_dir() -> Path:
    """Return the models folder: `LOCALEVAL_MODELS`, the checkout's `models/`, or the user's data folder."""
    folder = os.environ.get("LOCALEVAL_MODELS")
    if folder:
        return absolute_path(folder)
    root = catalog.checkout()
    return root / "models" if root else platformdirs.user_data_path("localeval") / "models"


def absolute_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path, with a leading `~` expanded to the home folder."""
    return Path(os.path.expanduser(path)).absolute()  # noqa: PTH111 (Path's raises for an unknown user)


def catalog_file_path(entry: CatalogEntry, file: CatalogFile) -> Path:
    """Return the path of a catalog file in the models folder, whether it exists or not."""
    return models_dir() / entry.name / file.name if entry.is_folder else models_dir() / file.name


def resolve(
    name_or_path: str | os.PathLike[str], kind: Kind | None = None, *, read_again: bool = False
) -> ModelFiles:
    """Find and check the files of a model by a name of the catalog, `auto`, the name of one that another
    program has stored (see `found`), or a path to any GGUF or model folder.

    kind        also refuse a model of another kind; without it a folder with a `config.json` passes
    read_again  compute every sha256 again, even if it is remembered

    Raises ModelMissing for an unknown name or missing files, ModelBroken for files with wrong contents, and
    InputError for the name of a found model that is not there, not the only one, or can't be opened.
    """
    if name_or_path == catalog.AUTO and kind == "embedder":
        name_or_path = auto_embedder()
    entry = catalog.entries().get(name_or_path) if isinstance(name_or_path, str) else None
    try:
        if isinstance(name_or_path, str) and found.is_found_name(name_or_path):
            return _resolve_found(name_or_path, kind, read_again)
        if entry is None:
            return _resolve_path(name_or_path, kind, read_again)
        if kind not in (None, entry.kind):
            raise ModelMissing(
                f"{entry.name} is a model of the kind {entry.kind}, not {kind}; "
                f"of that kind: {', '.join(_names(kind))}."
            )
        return _resolve_entry(entry, read_again)
    except OSError as error:
        raise ModelBroken(f"{error.filename or name_or_path} cannot be read: {error.strerror}.") from error


def _names(kind: Kind | None) -> list[str]:
    """Return the catalog's names of a kind; of all kinds for None."""
    return [entry.name for entry in catalog.entries().values() if kind in (None, entry.kind)]


def auto_embedder() -> str:
    """Return the first of EMBEDDERS whose files are here; else the small one, to be fetched."""
    for entry in map(catalog.entries().get, catalog.EMBEDDERS):
        if entry and all(catalog_file_path(entry, file).is_file() for file in entry.files):
            return entry.name
    return catalog.QUICK_START[1]


def _resolve_entry(entry: CatalogEntry, read_again: bool) -> ModelFiles:
    paths: dict[str, Path] = {}
    sums: dict[str, str] = {}
    remedy = f"run: localeval models fetch {entry.name}"
    for file in entry.files:
        path = catalog_file_path(entry, file)
        if not path.is_file():
            raise ModelMissing(f"{entry.name} is not here ({path} is missing); {remedy}")
        sha256, fault = check_bytes(file, path, expected_sha256(entry, file), read_again)
        if fault:
            raise ModelBroken(f"{path} is not the catalog's file: {fault}; {remedy}")
        paths[file.name] = path
        sums[file.name] = sha256
    path = models_dir() / entry.name if entry.is_folder else next(iter(paths.values()))
    return _model_files(entry.name, path, paths, sums, entry)


def _resolve_found(name: str, kind: Kind | None, read_again: bool) -> ModelFiles:
    model = found.find(name, kind)
    if model.kind == "judge":
        files = _resolve_gguf(model.path, read_again)
    else:
        paths = visible_files(model.path)
        files = _model_files(name, model.path, paths, _sums(paths, read_again))
    if model.sha256 not in (None, files.sha256):
        raise ModelBroken(
            f"{name}: {files.path} has sha256 {files.sha256}, expected {model.sha256}; "
            "pull it again with Ollama."
        )
    return replace(files, name=name, found_as=name)


def _resolve_path(source: str | os.PathLike[str], kind: Kind | None, read_again: bool) -> ModelFiles:
    path = absolute_path(source)
    if not path.exists():
        if isinstance(source, str) and os.sep not in source and not source.endswith(".gguf"):
            hint = suggested(source, _names(kind))
            raise ModelMissing(f"{source!r} is no model of the catalog and no file; {hint}")
        raise ModelMissing(f"{path} is not there; give a GGUF file, a model folder or a name of the catalog.")
    if kind != "judge" and (path / "config.json").is_file():
        paths = visible_files(path)
        return _model_files(path.name, path, paths, _sums(paths, read_again))
    if kind not in (None, "judge"):
        raise ModelBroken(
            f"{path}: found no config.json in it, expected a model folder; give the {kind}'s folder."
        )
    return _resolve_gguf(path, read_again)


def visible_files(folder: Path) -> dict[str, Path]:
    """Return the files of a model folder by their path in it, without those that are hidden."""
    paths: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.is_file() and not is_hidden:
            paths[name.as_posix()] = path
    return paths


def _resolve_gguf(path: Path, read_again: bool) -> ModelFiles:
    """Check a GGUF file, or all files of the split one that it belongs to."""
    files = split_files(path)
    for file in files:
        if not file.exists():
            raise ModelMissing(
                f"{path} is one of {len(files)} files; {file.name} is missing: put it next to it."
            )
        check_gguf(file)
    paths = {file.name: file for file in files}
    return _model_files(path.stem, files[0], paths, _sums(paths, read_again))


def _sums(paths: Mapping[str, Path], read_again: bool) -> dict[str, str]:
    return {name: file_sha256(path, read_again) for name, path in paths.items()}


def _model_files(
    name: str,
    path: Path,
    paths: Mapping[str, Path],
    sums: Mapping[str, str],
    entry: CatalogEntry | None = None,
) -> ModelFiles:
    sha256 = next(iter(sums.values()))
    if len(sums) > 1:
        lines = sorted(f"{file_sum}  {file_name}\n" for file_name, file_sum in sums.items())
        sha256 = hashlib.sha256("".join(lines).encode()).hexdigest()
    return ModelFiles(
        # A file's name may hold any bytes.
        name=os.fsencode(name).decode("utf-8", "replace"),
        path=path,
        sha256=sha256,
        size=sum(file.stat().st_size for file in paths.values()),
        checksums={file: sums[file_name] for file_name, file in paths.items()},
        entry=entry,
    )


_WORST_FIRST = ("missing", "wrong", "present", "verified")


def listing() -> list[dict[str, Any]]:
    """Return the catalog with each model's state, reading no model file; `present` means not hashed yet."""
    return [
        {
            **entry.model_dump(mode="json", exclude={"files", "sources"}),
            "size": entry.size,
            "state": min((_state(entry, file) for file in entry.files), key=_WORST_FIRST.index),
        }
        for entry in catalog.entries().values()
    ]


def _state(entry: CatalogEntry, file: CatalogFile) -> str:
    path = catalog_file_path(entry, file)
    if not path.is_file():
        return "missing"
    if file.size not in (None, path.stat().st_size):
        return "wrong"
    expected = expected_sha256(entry, file)
    actual = _remembered(path)
    if not actual or not expected:
        return "present"
    return "verified" if actual == expected else "wrong"


def check_bytes(
    file: CatalogFile, path: Path, expected: str | None, read_again: bool = False
) -> tuple[str, str]:
    """Return the sha256 of the file at `path`, and its fault, as "found ..., expected ...", or "".

    A file of the wrong size is not read: its sha256 is "".
    """
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return "", f"found {size:,} bytes, expected {file.size:,}"
    if size == 0:
        return "", "found an empty file"
    actual = file_sha256(path, read_again)
    if expected and actual != expected:
        return actual, f"found sha256 {actual}, expected {expected}"
    return actual, ""


def expected_sha256(entry: CatalogEntry, file: CatalogFile) -> str | None:
    """Return the sha256 that the file must have: the catalog's, else the fetched file's, else None."""
    return file.sha256 or read_sums(models_dir() / entry.name / SUMS).get(file.name)


def read_sums(path: Path) -> dict[str, str]:
    """Read a file in sha256sum's format: names to sums; empty if it can't be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    sums: dict[str, str] = {}
    for line in lines:
        sha256, _, name = line.partition("  ")
        sums[name] = sha256
    return sums


def file_sha256(path: Path, read_again: bool = False) -> str:
    """Return the file's sha256, which is remembered until the file changes."""
    remembered = None if read_again else _remembered(path)
    if remembered:
        return remembered
    before = _sha256_path(path)
    sha256 = hash_file(path)
    if before == _sha256_path(path):  # the sha256 of a file that changed meanwhile is not worth remembering
        remember_sha256(path, sha256)
    return sha256


def hash_file(path: Path) -> str:
    """Compute the file's sha256 by reading all of it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remember_sha256(path: Path, sha256: str) -> None:
    """Remember the sha256 of the file at `path` as it is now; do nothing if that can't be written."""
    sha256_path = _sha256_path(path)
    with contextlib.suppress(OSError):
        sha256_path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(sha256_path, [sha256])


def _remembered(path: Path) -> str | None:
    """Return the remembered sha256 of the file as it is now, without reading the file."""
    try:
        return _sha256_path(path).read_text(encoding="ascii")
    except (OSError, ValueError):
        return None


def _sha256_path(path: Path) -> Path:
    """Return where the sha256 of the file as it is now is stored; a changed file has another path."""
    status = path.stat()  # a program can set a file's mtime, but not its ctime
    fields = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)
    return platformdirs.user_cache_path("localeval") / "verified" / digest([str(path.absolute()), *fields])
