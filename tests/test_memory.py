"""A model that does not fit is refused with the figures, before the machine swaps."""

from __future__ import annotations

from pathlib import Path

import pytest

from localeval.engine import loading
from localeval.engine.interface import EngineSettings, physical_cores
from localeval.engine.lazy import LazyEngine
from localeval.engine.memory import OVERHEAD, available, cache_bytes, check
from localeval.engine.tree import Engine
from localeval.errors import InputError
from localeval.judgements.support import DirectReply
from localeval.prompts.prefix import Trunk

MEMINFO = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    4000000 kB\n"
STAT = "anon 100000000\nfile 900000000\ninactive_file 600000000\nactive_file 300000000\nslab 7\n"


def machine(folder: Path, limit: str | None = None) -> tuple[Path, Path]:
    """A machine, and where there is a limit a container which has taken 1 GB, most of it to read files."""
    (folder / "meminfo").write_text(MEMINFO)
    if limit is not None:
        (folder / "memory.max").write_text(f"{limit}\n")
        (folder / "memory.current").write_text("1000000000\n")
        (folder / "memory.stat").write_text(STAT)
    return folder / "meminfo", folder


def test_what_is_free_is_what_linux_calls_available(tmp_path: Path) -> None:
    assert available(*machine(tmp_path)) == 4_000_000 * 1024


def test_a_containers_limit_counts_where_it_is_lower(tmp_path: Path) -> None:
    assert available(*machine(tmp_path, "max")) == 4_000_000 * 1024
    assert available(*machine(tmp_path, "1")) == 0
    machine(tmp_path, "3000000000")[1].joinpath("memory.stat").unlink()  # an old kernel
    assert available(tmp_path / "meminfo", tmp_path) == 2_000_000_000


def test_what_a_container_keeps_of_files_it_read_is_free(tmp_path: Path) -> None:
    """Linux drops it as soon as memory is asked for; a model's file has just been read, for its sum."""
    assert available(*machine(tmp_path, "3000000000")) == 2_900_000_000


def test_what_the_system_tells_in_another_form_counts_for_nothing(tmp_path: Path) -> None:
    machine(tmp_path, "3000000000")
    (tmp_path / "memory.current").write_text("\n")
    assert available(tmp_path / "meminfo", tmp_path) == 4_000_000 * 1024
    (tmp_path / "memory.current").unlink()
    (tmp_path / "memory.current").mkdir()  # reading it is an error, as it is where it is not allowed
    assert available(tmp_path / "meminfo", tmp_path) == 4_000_000 * 1024
    (tmp_path / "meminfo").write_text("MemAvailable:    unknown\n")
    assert available(tmp_path / "meminfo", tmp_path) is None


def test_a_system_that_does_not_tell_refuses_nothing(tmp_path: Path) -> None:
    assert available(tmp_path / "none", tmp_path) is None
    check(Path("model.gguf"), 10**15, None)


QWEN2_7B = {
    "block_count": 28,
    "embedding_length": 3584,
    "attention.head_count": 28,
    "attention.head_count_kv": 4,
}
QWEN3_4B = {
    "block_count": 36,
    "embedding_length": 2560,
    "attention.head_count": 32,
    "attention.head_count_kv": 8,
    "attention.key_length": 128,
    "attention.value_length": 128,
}


@pytest.mark.parametrize(("model", "mebibytes"), [(QWEN2_7B, 448), (QWEN3_4B, 1152)])
def test_the_cache_of_a_known_model_has_the_size_that_llama_cpp_logs(
    model: dict[str, int], mebibytes: int
) -> None:
    """For 8192 tokens at 16 bits. The heads of Qwen3-4B are larger than its width over their number."""
    assert cache_bytes(lambda name: model.get(name, 0), 8192, "f16") == mebibytes * 1024**2


def test_keys_and_values_of_different_length_are_both_counted() -> None:
    model = {**QWEN3_4B, "attention.value_length": 64}
    assert cache_bytes(lambda name: model.get(name, 0), 8192, "f16") == 864 * 1024**2


def test_what_a_model_needs_is_read_in_its_file(tiny_path: Path) -> None:
    cache = 8192 * 2 * 2 * (16 + 16) * 2  # tokens, layers, heads for keys, two lengths, bytes
    assert LazyEngine(tiny_path, EngineSettings()).memory() == tiny_path.stat().st_size + OVERHEAD + cache


def test_the_states_of_trunks_that_are_kept_are_planned_as_large_as_they_are(tiny_path: Path) -> None:
    trunk = Trunk("Answer yes or no.", (("Does tea grow? " * 40, "yes"),))
    engine, lazy = Engine(tiny_path, EngineSettings(n_threads=2)), LazyEngine(tiny_path, EngineSettings())
    engine.generate(trunk, "Tea grows.", ["Does it?"], DirectReply)
    size = sum(map(len, engine._states.values()))
    planned, without = lazy.memory(engine.spent.trunk), lazy.memory()
    engine.close()
    assert planned is not None
    assert without is not None
    assert planned - without <= size <= (planned - without) * 1.1 + 1000


def test_loading_and_planning_ask_for_the_same(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte less than what is planned is refused when the model is loaded; as much is enough."""
    settings = EngineSettings(n_threads=2)
    planned = LazyEngine(tiny_path, settings).memory()
    assert planned is not None
    monkeypatch.setattr(loading, "available", lambda: planned - 1)
    with pytest.raises(InputError, match=r"tiny\.gguf needs about 0\.6 GB"):
        Engine(tiny_path, settings)
    monkeypatch.setattr(loading, "available", lambda: planned)
    Engine(tiny_path, settings).close()


def test_a_model_too_large_for_the_machine_is_refused_by_name_with_both_figures(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "available", lambda: 100_000_000)
    with pytest.raises(InputError, match=r"tiny\.gguf needs about 0\.6 GB .* 0\.1 GB are free"):
        Engine(tiny_path, EngineSettings())


def test_no_more_threads_than_a_container_has_processor_time(tmp_path: Path) -> None:
    cores = physical_cores(tmp_path / "none")
    assert cores >= 1
    for quota, most in (("100000 100000", 1), ("1000 100000", 1), ("150000 100000", 2), ("max 100000", 4096)):
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
        assert physical_cores(tmp_path / "cpu.max") == min(cores, most)
