"""A model that does not fit is refused with the figures, before the machine swaps."""

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from localeval.engine.engine import Engine
from localeval.engine.interface import EngineSettings, physical_cores
from localeval.engine.memory import OVERHEAD, PREFIX_TOKENS, available
from localeval.errors import InputError

MEMINFO = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    4000000 kB\n"
STAT = "anon 100000000\nfile 900000000\ninactive_file 600000000\nactive_file 300000000\nslab 7\nodd\n"
MACHINES = [
    ("", None, None, None),  # a system that does not tell
    (MEMINFO, "max", STAT, 4_096_000_000),
    (MEMINFO, "3000000000", None, 2_000_000_000),  # an old kernel
    (MEMINFO, "3000000000", STAT, 2_900_000_000),  # files that were read give way
    (MEMINFO, "3000000000", STAT.replace(" 6", " 16"), 3_000_000_000),  # measured a moment later
    (MEMINFO, "500000000", None, 0),  # over its limit
]


@pytest.mark.parametrize(("meminfo", "limit", "stat", "free"), MACHINES)
def test_what_is_free_is_the_least_of_what_the_machine_has_and_a_container_may_take(
    meminfo: str, limit: str | None, stat: str | None, free: int | None, tmp_path: Path
) -> None:
    texts = {"meminfo": meminfo, "memory.max": limit, "memory.current": "1000000000", "memory.stat": stat}
    for name, text in texts.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    assert available(tmp_path / "meminfo", tmp_path, tmp_path / "own") == free


def test_a_machine_without_proc_tells_its_memory_and_cores_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = available(tmp_path / "none", tmp_path, tmp_path / "none")
    assert free is not None
    assert 0 < free < 1 << 50
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert 1 <= physical_cores() <= (os.cpu_count() or 1)


V1 = "4:memory:/shop/pod\n3:cpu,cpuacct:/other\n0::/\n"
V1_STAT = "inactive_file 1\ntotal_inactive_file 600000000\ntotal_active_file 300000000\n"
NESTED = [
    ("0::/shop/pod\n", {"shop/pod/memory.max": "3000000000", "shop/pod/memory.current": "1000000000"}, 2),
    ("0::/shop/pod\n", {"shop/memory.max": "3000000000", "shop/memory.current": "2000000000"}, 1),
    ("0::/shop/pod\n", {"unified/shop/memory.max": "9", "unified/shop/memory.current": "8"}, 0),
    ("0::/host/name\n", {"memory.max": "3000000000", "memory.current": "1000000000"}, 2),  # a container's
    ("0::/../pod\n", {"memory.max": "3000000000", "memory.current": "1000000000"}, 2),
    (
        V1,
        {"memory/shop/pod/memory.limit_in_bytes": "2000000000", "memory/shop/pod/memory.usage_in_bytes": "0"},
        2,
    ),
    (V1, {"memory/memory.limit_in_bytes": "2000000000", "memory/memory.usage_in_bytes": "1000000000"}, 1),
    (
        V1,
        {
            "memory/shop/memory.limit_in_bytes": "2100000000",
            "memory/shop/memory.usage_in_bytes": "2000000000",
            "memory/shop/memory.stat": V1_STAT,
        },
        1,
    ),
    (V1, {"memory/memory.limit_in_bytes": "9223372036854771712", "memory/memory.usage_in_bytes": "5"}, 4),
    ("odd\n\n7\n", {}, 4),
]


@pytest.mark.parametrize(("own", "files", "gigabytes"), NESTED)
def test_the_groups_around_a_process_bound_its_memory_too(
    own: str, files: dict[str, str], gigabytes: int, tmp_path: Path
) -> None:
    """In cgroup v2 and v1; the machine has 4.1 GB free."""
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    free = available(tmp_path / "meminfo", tmp_path, tmp_path / "own")
    assert free is not None
    assert free // 1_000_000_000 == gigabytes


def test_loading_and_planning_ask_for_the_same(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte less than what is planned is refused when the model is loaded; as much is enough."""
    engine = Engine(tiny_path, EngineSettings(n_threads=1))
    # Tokens, layers, heads for keys, two lengths, bytes.
    cache = (8192 + PREFIX_TOKENS) * 2 * 2 * (16 + 16) * 2
    # Tokens of context and of a call, and for each pair a number of 4 bytes a head, and 6 bytes.
    buffer = 8192 * 256 * (4 * 4 + 6)
    planned = tiny_path.stat().st_size + OVERHEAD + cache + buffer
    assert engine.memory() == planned
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it is not even probed"))
        patch.setattr("localeval.engine.memory.available", lambda: planned - 1)
        with pytest.raises(InputError, match=r"tiny\.gguf needs about 0\.7 GB .* 0\.7 GB are free"):
            assert engine.llama
    for enough in (planned, None):
        monkeypatch.setattr("localeval.engine.memory.available", lambda enough=enough: enough)
        with closing(Engine(tiny_path, EngineSettings(n_threads=1))) as engine:
            assert engine.llama


def test_no_more_threads_than_a_container_has_processor_time(tmp_path: Path) -> None:
    cores = physical_cores(tmp_path / "none")
    for quota, limit in (("1000 100000", 1), ("150000 100000", 2), ("max 100000", 4096)):
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
        assert physical_cores(tmp_path / "cpu.max") == min(cores, limit) >= 1
