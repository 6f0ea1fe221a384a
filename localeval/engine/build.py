"""Identify what computes: the build of llama.cpp and the processor, on which the bits of a result depend."""

from __future__ import annotations

import platform
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from localeval.models.files import hash_file
from localeval.system.versions import digest


@cache
def library_digest() -> str:
    """Digest llama.cpp's compiled libraries: two builds of one version have two digests."""
    spec = find_spec("llama_cpp")
    packages = (spec.submodule_search_locations if spec else None) or ()
    files: list[Path] = []
    for package in packages:
        # Names as libllama.so.1 are links to libllama.so.
        files += [file for file in (Path(package) / "lib").glob("lib*") if "so." not in file.name]
    return digest([(file.name, hash_file(file)) for file in sorted(files)])


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """Return the processor's name and, on Linux, its features."""
    fields: dict[str, str] = {}
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
    return {
        "name": fields.get("model name") or platform.processor() or platform.machine(),
        # x86 calls them flags, ARM Features.
        "features": fields.get("flags", fields.get("Features", "")),
    }
