"""Where model files live, how a name or path becomes checked files, and what was checked before."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from localeval.errors import ModelBroken, ModelMissing
from localeval.models import catalog
from localeval.models.catalog import CatalogFile, CatalogRow, Kind
from localeval.models.checksums import combined_sha256, file_sha256, forget, remembered
from localeval.models.gguf_header import check_gguf, split_files
from localeval.models.places import whole_path

SUMS = "SHA256SUMS"  # what `fetch` got for the unpinned files of a folder, in sha256sum's format


@dataclass(frozen=True)
class ModelFiles:
    """A model on this machine whose bytes are known.

    `path` is what the engine opens: the GGUF file (of a split model the first), or the folder. `sha256` is
    the file's; of several files it is taken over their sorted "sha256  name" lines. `row` is the catalog's,
    None for a path of the user's.
    """

    name: str
    path: Path
    sha256: str
    size: int
    row: CatalogRow | None = None

    @property
    def unpinned(self) -> bool:
        """Whether the catalog names the model without the sha256 of every file."""
        return self.row is not None and any(file.sha256 is None for file in self.row.files)


def models_dir() -> Path:
    """The models folder: `LOCALEVAL_MODELS`, else the checkout's `models/`, else the user's data folder."""
    if chosen := os.environ.get("LOCALEVAL_MODELS"):
        return whole_path(chosen)
    root = catalog.checkout()
    return root / "models" if root else platformdirs.user_data_path("localeval") / "models"


def resolve(name_or_path: str | os.PathLike[str], kind: Kind | None = None) -> ModelFiles:
    """The checked files of a catalog name, or of a path to any GGUF or model folder.

    Each file's sha256 is computed once and remembered. Raises ModelMissing for an unknown name or files that
    are not there, ModelBroken for files that are not what they should be. `kind` also refuses a model that
    is of another kind; without it a folder with a `config.json` passes as a model folder.

    >>> resolve("qwen2.5-coder-1.5b").path.name    # doctest: +SKIP
    'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf'
    """
    row = catalog.rows().get(name_or_path) if isinstance(name_or_path, str) else None
    if row is not None and kind not in (None, row.kind):
        fitting = ", ".join(other.name for other in catalog.rows().values() if other.kind == kind)
        raise ModelMissing(
            f"{row.name} is a model of the kind {row.kind}, not {kind}; of that kind: {fitting}."
        )
    try:
        return _resolve_row(row) if row else _resolve_path(_as_path(name_or_path), kind)
    except OSError as error:
        raise ModelBroken(f"{error.filename or name_or_path} cannot be read: {error.strerror}.") from error


def verify(name_or_path: str | os.PathLike[str]) -> ModelFiles:
    """Like `resolve`, but every byte is read again, whatever is remembered."""
    row = catalog.rows().get(name_or_path) if isinstance(name_or_path, str) else None
    if row is not None:
        paths = list(_row_paths(row).values())
    else:
        path = _as_path(name_or_path)
        paths = [*_folder_files(path), *(split_files(path) or [path])]
    for path in paths:
        forget(path)
    return resolve(name_or_path)


def place(row: CatalogRow, file: CatalogFile) -> Path:
    """Where a catalog file lies, or will lie, in the models folder."""
    return models_dir() / row.name / file.name if row.is_folder else models_dir() / file.name


def listing() -> list[dict[str, object]]:
    """The catalog with each model's state, without reading any model file.

    The state is `missing`, `present` (not hashed yet), `verified`, or `wrong` (other size, or known to be of
    other bytes than the catalog's).
    """
    return [
        {
            "name": row.name,
            "kind": row.kind,
            "size": row.size,
            "ram_gb": row.ram_gb,
            "languages": list(row.languages),
            "licence": row.licence,
            "state": _state(row),
            "note": row.note,
        }
        for row in catalog.rows().values()
    ]


def mismatch(file: CatalogFile, path: Path, expected: str | None) -> str | None:
    """What is wrong with the bytes at `path` ("found ..., expected ..."), None if nothing is."""
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"found {size:,} bytes, expected {file.size:,}"
    if size == 0:
        return "found an empty file"
    if expected is not None and (found := file_sha256(path)) != expected:
        return f"found sha256 {found}, expected {expected}"
    return None


def expected_sha256(row: CatalogRow, file: CatalogFile) -> str | None:
    """The sha256 the file must have: the catalog's, else what `fetch` got, else None."""
    return file.sha256 or read_sums(row).get(file.name)


def read_sums(row: CatalogRow) -> dict[str, str]:
    """What `fetch` noted of the row's unpinned files: name to sha256."""
    try:
        lines = (models_dir() / row.name / SUMS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}


def _as_path(value: str | os.PathLike[str]) -> Path:
    path = whole_path(value)
    if isinstance(value, str) and not (os.sep in value or value.endswith(".gguf") or path.exists()):
        names = list(catalog.rows())
        near = difflib.get_close_matches(value, names, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}? Known" if near else "; known"
        raise ModelMissing(f"{value!r} is no model of the catalog and no file{hint}: {', '.join(names)}.")
    return path


def _resolve_row(row: CatalogRow) -> ModelFiles:
    paths = _row_paths(row)
    remedy = f"run: localeval models fetch {row.name}"
    for path in paths.values():
        if not path.is_file():
            raise ModelMissing(f"{row.name} is not here ({path} is missing); {remedy}")
    for file in row.files:
        if wrong := mismatch(file, paths[file.name], expected_sha256(row, file)):
            raise ModelBroken(f"{paths[file.name]} is not the catalog's file: {wrong}; {remedy}")
    return _model_files(row.name, models_dir() / row.name if row.is_folder else None, paths, row)


def _row_paths(row: CatalogRow) -> dict[str, Path]:
    return {file.name: place(row, file) for file in row.files}


def _resolve_path(path: Path, kind: Kind | None) -> ModelFiles:
    if not path.exists():
        raise ModelMissing(f"{path} is not there; give a GGUF file, a model folder or a name of the catalog.")
    if kind != "judge" and (files := _folder_files(path)):
        paths = {file.relative_to(path).as_posix(): file for file in files}
        return _model_files(path.name, path, paths, None)
    if kind not in (None, "judge"):
        raise ModelBroken(
            f"{path}: found no config.json in it, expected a model folder; give the {kind}'s folder."
        )
    siblings = split_files(path)
    for file in siblings or [path]:
        if not file.exists():
            raise ModelMissing(
                f"{path} is one of {len(siblings)} files; {file.name} is missing: put it beside it."
            )
        check_gguf(file)
    return _model_files(path.stem, None, {file.name: file for file in siblings or [path]}, None)


def _folder_files(path: Path) -> list[Path]:
    """The files of a model folder, hidden ones aside; none if `path` is no such folder."""
    if not (path / "config.json").is_file():
        return []
    found = (file for file in path.rglob("*") if file.is_file())
    return sorted(file for file in found if not any(p.startswith(".") for p in file.relative_to(path).parts))


def _model_files(
    name: str, folder: Path | None, paths: dict[str, Path], row: CatalogRow | None
) -> ModelFiles:
    return ModelFiles(
        name=name,
        path=folder or next(iter(paths.values())),
        sha256=combined_sha256({file: file_sha256(path) for file, path in paths.items()}),
        size=sum(path.stat().st_size for path in paths.values()),
        row=row,
    )


def _state(row: CatalogRow) -> str:
    known = []
    for file, path in zip(row.files, _row_paths(row).values(), strict=True):
        if not path.is_file():
            return "missing"
        if file.size not in (None, path.stat().st_size):
            return "wrong"
        known.append((remembered(path), expected_sha256(row, file)))
    if any(found and expected and found != expected for found, expected in known):
        return "wrong"
    return "verified" if all(found and found == expected for found, expected in known) else "present"
