"""The catalog: the models that localeval knows by name, as entries read from `catalog.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from localeval.errors import InputError
from localeval.text.display import shorten

Kind = Literal["judge", "embedder", "classifier"]

# The defaults; `auto` is the first of EMBEDDERS that is on this machine.
DEFAULT_JUDGE = "qwen2.5-coder-1.5b"
DEFAULT_EMBEDDER = AUTO = "auto"
DEFAULT_CLASSIFIER = "hhem-2.1-open"
EMBEDDERS = ("bge-m3", "multilingual-e5-small", "multilingual-e5-small-q4", "all-minilm-l6-v2")
QUICK_START = (DEFAULT_JUDGE, "multilingual-e5-small")  # what `localeval models fetch` gets without a name


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CatalogFile(_Frozen):
    """One file of a model. `size` and `sha256` are None if they are not known (unpinned)."""

    name: str
    size: int | None = Field(None, gt=0)
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$")


class HubSource(_Frozen):
    """Files of one repository on the hub; `files` is empty if it holds all files of the model."""

    repo: str = Field(alias="hub")
    revision: str
    files: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"hub {self.repo} @ {self.revision[:10]}"


Cosine = Annotated[float, Field(ge=-1, lt=1)]


class CatalogEntry(_Frozen):
    """One model of the catalog.

    prefix     an embedder's: what it needs before each text
    unrelated  an embedder's: its mean cosine of unrelated questions, by language ("en", "zh"); empty where it
               was not measured
    """

    name: str = Field(pattern="^[a-z0-9.-]+$")
    kind: Kind
    files: tuple[CatalogFile, ...] = Field(min_length=1)
    licence: str
    languages: tuple[str, ...]
    ram_gb: float = Field(gt=0)
    note: str
    prefix: str = ""
    unrelated: dict[Literal["en", "zh"], Cosine] = {}
    sources: tuple[HubSource, ...] = ()  # empty: `fetch` needs a folder with the files

    @property
    def is_folder(self) -> bool:
        """Return whether the files are in a folder with the model's name, as all but judges' are."""
        return self.kind != "judge"

    @property
    def size(self) -> int | None:
        """Return the bytes of all files; None if the size of one is not known."""
        sizes = [file.size for file in self.files if file.size]
        return sum(sizes) if len(sizes) == len(self.files) else None

    def source(self, file: CatalogFile) -> HubSource | None:
        """Return the repository that holds the file, if one does."""
        for source in self.sources:
            if not source.files or file.name in source.files:
                return source
        return None


class _Catalog(_Frozen):
    model: tuple[CatalogEntry, ...]


def checkout() -> Path | None:
    """Return the root of the git checkout that holds this package; None for an installed package."""
    root = Path(__file__).resolve().parents[2]
    is_checkout = (root / "pyproject.toml").is_file() and (root / "models" / "catalog.toml").is_file()
    return root if is_checkout else None


def catalog_path() -> Path:
    """Return the path of the catalog: in the checkout's `models/`, else inside the package."""
    root = checkout()
    return root / "models" / "catalog.toml" if root else Path(__file__).with_name("catalog.toml")


def entries() -> Mapping[str, CatalogEntry]:
    """Return the catalog's entries by name, in the file's order."""
    return read_catalog(catalog_path())


@lru_cache
def read_catalog(path: Path) -> Mapping[str, CatalogEntry]:
    """Read a catalog file. Raises InputError if it cannot be read or a field is missing or wrong."""
    try:
        catalog = _Catalog.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the model catalog cannot be read ({shorten(error)}).") from error
    return {entry.name: entry for entry in catalog.model}
