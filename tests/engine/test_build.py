"""A processor and a build of llama.cpp are told from others, by what can make a build wrong or slow."""

from __future__ import annotations

from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from localeval.engine import build

CPUINFO = "processor\t: 0\nmodel name\t: Some name\nflags\t\t: fpu avx2 {}\n"


def test_two_processors_of_one_name_and_other_features_are_two(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(CPUINFO.format("avx512f"))
    assert build.processor(file) == {"name": "Some name", "features": "fpu avx2 avx512f"}
    file.write_text(CPUINFO.format("avx512f amx_tile"))
    assert build.processor(file) == {"name": "Some name", "features": "fpu avx2 avx512f amx_tile"}


def test_one_version_compiled_in_two_ways_is_two_builds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ModuleSpec("llama_cpp", None, is_package=True)
    here.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(build, "find_spec", lambda _: here)
    (tmp_path / "lib").mkdir()
    made = set()
    for content in ("without AMX", "with AMX", "without AMX"):
        (tmp_path / "lib" / "libggml-cpu.so").write_text(content)
        build.library.cache_clear()
        made.add(build.library())
    build.library.cache_clear()
    assert len(made) == 2
