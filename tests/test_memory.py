"""A model that does not fit is refused with the figures, before the machine swaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from localeval.engine import loading
from localeval.engine.interface import EngineSettings
from localeval.engine.memory import available, cache_bytes, check
from localeval.engine.tree import Engine
from localeval.errors import InputError

MEMINFO = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    4000000 kB\n"


def machine(folder: Path, limit: str | None = None) -> tuple[Path, Path]:
    (folder / "meminfo").write_text(MEMINFO)
    if limit is not None:
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("1000000000\n")
    return folder / "meminfo", folder


def test_what_is_free_is_what_linux_calls_available(tmp_path: Path) -> None:
    assert available(*machine(tmp_path)) == 4_000_000 * 1024


def test_a_containers_limit_counts_where_it_is_lower(tmp_path: Path) -> None:
    assert available(*machine(tmp_path, "3000000000")) == 2_000_000_000
    assert available(*machine(tmp_path, "max")) == 4_000_000 * 1024
    assert available(*machine(tmp_path, "1")) == 0


def test_a_system_that_does_not_tell_refuses_nothing(tmp_path: Path) -> None:
    assert available(tmp_path / "none", tmp_path) is None
    check(Path("model.gguf"), 10**15, None)


def test_the_cache_of_a_known_model_has_the_size_that_llama_cpp_logs() -> None:
    # Qwen2.5-7B (28 layers, 3584 wide, 28 heads, 4 of them for keys): 448 MiB for 8192 tokens at 16 bits
    assert cache_bytes(8192, 28, 3584, 28, 4, 16) == 448 * 1024**2


def test_a_model_too_large_for_the_machine_is_refused_by_name_with_both_figures(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "available", lambda: 100_000_000)
    with pytest.raises(InputError, match=r"tiny\.gguf needs about 0\.6 GB .* 0\.1 GB are free"):
        Engine(tiny_path, EngineSettings())
