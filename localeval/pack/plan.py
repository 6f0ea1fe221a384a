"""What a pack holds: the packages as they are installed here, llama.cpp's build and the models."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from localeval import models as store
from localeval.errors import InputError, ModelMissing
from localeval.models import ModelFiles, catalog
from localeval.pack.install import GROWTH
from localeval.pack.llama import NAME as LLAMA
from localeval.pack.llama import Build, is_cached
from localeval.pack.wheels import CPU_INDEX

JUDGE, EMBEDDER = "qwen2.5-coder-1.5b", "all-minilm-l6-v2"
"""The quick start's models: the default, where they are here."""

PACKED_SHARE = 0.3
"""Bytes of wheels for a byte of installed packages; for the estimate that is said first."""

LLAMA_BYTES = 12_000_000  # of its wheel, roughly

_GPU = re.compile(r"(nvidia|cuda)[-_]|triton$")


@dataclass(frozen=True)
class Plan:
    """`wheels`: name to version of what pip downloads; `unpacked`: bytes of all packages, installed."""

    wheels: dict[str, str]
    unpacked: int
    llama: Build
    models: tuple[ModelFiles, ...]

    @property
    def wheel_bytes(self) -> int:
        """About what the wheels will take."""
        return int(self.unpacked * PACKED_SHARE) + LLAMA_BYTES

    @property
    def model_bytes(self) -> int:
        return sum(model.size for model in self.models)

    def lines(self, target: Path) -> list[str]:
        """What will be fetched, compiled and copied, with sizes, and the space at the target."""
        kept = "compiled before, from the cache" if is_cached(self.llama) else "compiled now"
        there = target
        while not there.exists():
            there = there.parent
        python = f"{platform.python_implementation()} {platform.python_version()}"
        free = shutil.disk_usage(there).free
        return [
            f"a pack for {python} on {platform.system()} {platform.machine()}, in {target}",
            f"  {len(self.wheels) + 1} wheels: about {_mb(self.wheel_bytes - LLAMA_BYTES)}, by pip as it is "
            f"set up here; torch, if need be, from {CPU_INDEX}",
            f"  {LLAMA} {self.llama.version}: about {_mb(LLAMA_BYTES)}, {kept}",
            *(f"  {model.name}: {_mb(model.size)}, copied" for model in self.models),
            f"in all about {_mb(self.wheel_bytes + self.model_bytes)}; {_mb(free)} are free there; "
            f"installed it takes about {_mb(self.unpacked * GROWTH + self.model_bytes)}",
        ]


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def make_plan(models: Sequence[str], llama: Build) -> Plan:
    """Raises ModelError for a model that cannot be packed, InputError where a package is not installed."""
    found = closure("localeval")
    unpacked = sum(_installed_bytes(each) for each in found.values())
    wheels = {name: each.version for name, each in found.items() if name not in ("localeval", LLAMA)}
    wheels["pip"] = distribution("pip").version if _is_installed("pip") else ""
    if platform.system() == "Linux" and "torch" in wheels:
        wheels = {name: number for name, number in wheels.items() if not _GPU.match(name)}
        wheels["torch"] = f"{wheels['torch'].partition('+')[0]}+cpu"
    return Plan(dict(sorted(wheels.items())), unpacked, llama, tuple(map(_packable, models)))


def default_models(judge: str | None, embedder: str | None) -> list[str]:
    """The named judge and embedder; for one that is not named the quick start's, if it is here.

    Raises InputError for a model of another kind.
    """
    for name, kind in ((judge, "judge"), (embedder, "embedder")):
        if name and (row := catalog.rows().get(name)) is not None and row.kind != kind:
            raise InputError(f"{name} is no {kind} but a model of another kind ({row.kind}); name a {kind}.")
    states = {str(row["name"]): row["state"] for row in store.listing()}
    names = [judge or JUDGE, embedder or EMBEDDER]
    return [
        name for name in names if name in (judge, embedder) or states.get(name) in ("present", "verified")
    ]


def closure(name: str) -> dict[str, Distribution]:
    """A package and all that it needs on this machine, by normalized name, as they are installed.

    >>> sorted(closure("jinja2"))
    ['jinja2', 'markupsafe']
    """
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(name)]
    while waiting:
        wanted = waiting.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key in seen:
            continue
        seen.add(key)
        try:
            found[key[0]] = distribution(wanted.name)
        except PackageNotFoundError as error:
            raise InputError(
                f"{wanted.name} is not installed here and cannot be packed; install all that localeval needs."
            ) from error
        waiting += _needed(map(Requirement, found[key[0]].requires or []), key[1] or {""})
    return found


def _needed(requirements: Iterable[Requirement], extras: Iterable[str]) -> list[Requirement]:
    return [
        each
        for each in requirements
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras)
    ]


def _packable(name: str) -> ModelFiles:
    if name not in catalog.rows():
        raise ModelMissing(
            f"{name!r} is not in the catalog, and a pack holds only its models: {', '.join(catalog.rows())}; "
            "carry another GGUF file beside the pack, and give its path to --judge."
        )
    return store.resolve(name)


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _installed_bytes(package: Distribution) -> int:
    return sum(file.size or 0 for file in package.files or [])
