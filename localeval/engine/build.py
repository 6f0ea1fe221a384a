"""Which processor this is, and which build of llama.cpp: what is remembered holds for these alone."""

from __future__ import annotations

import platform
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from localeval.models.files import hash_file
from localeval.system.versions import digest


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """The processor's name and, where Linux tells them, its features."""
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    told = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = told.get("model name") or platform.processor() or platform.machine()
    return {"name": name, "features": told.get("flags", told.get("Features", ""))}


@cache
def library() -> str:
    """A digest of llama.cpp's compiled libraries: one version compiled in two ways gives two."""
    found = find_spec("llama_cpp")
    places = [Path(place) / "lib" for place in (found and found.submodule_search_locations) or ()]
    files = sorted(file for place in places for file in place.glob("lib*") if "so." not in file.name)
    return digest([(file.name, hash_file(file)) for file in files])
