"""A model that does not fit is refused with the figures, before the machine swaps."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from localeval import Judge
from localeval.engine.engine import Engine
from localeval.engine.memory import OVERHEAD, PREFIX_TOKENS, available
from localeval.engine.settings import physical_cores
from localeval.errors import InputError

MEMINFO = "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    4000000 kB\n"
# Pages of files that were read count as free: 0.6 + 0.3 GB.
STAT = "anon 100000000\nfile 900000000\ninactive_file 600000000\nactive_file 300000000\nslab 7\nodd\n"
USED = "1000000000"


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., int | None]:
    """Return what is free on a machine whose system has files of these contents, by their names."""

    def free(**files: str) -> int | None:
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        return available(tmp_path / "meminfo", tmp_path, tmp_path / "own")

    return free


def test_a_system_that_does_not_tell_has_no_figure(machine: Callable[..., int | None]) -> None:
    assert machine(meminfo="") is None


def test_without_a_limit_the_machines_free_memory_counts(machine: Callable[..., int | None]) -> None:
    free = machine(meminfo=MEMINFO, memory_max="max", memory_current=USED, memory_stat=STAT)
    assert free == 4_000_000 * 1024


def test_a_container_may_take_what_its_limit_leaves(machine: Callable[..., int | None]) -> None:
    """Of an old kernel, which has no figures of pages."""
    free = machine(meminfo=MEMINFO, memory_max="3000000000", memory_current=USED)
    assert free == 3_000_000_000 - 1_000_000_000


def test_pages_of_files_that_were_read_count_as_free(machine: Callable[..., int | None]) -> None:
    free = machine(meminfo=MEMINFO, memory_max="3000000000", memory_current=USED, memory_stat=STAT)
    assert free == 3_000_000_000 - (1_000_000_000 - 900_000_000)


def test_more_pages_than_are_used_free_no_more_than_the_limit(machine: Callable[..., int | None]) -> None:
    """The two are measured one after the other."""
    later = STAT.replace("inactive_file 6", "inactive_file 16")
    free = machine(meminfo=MEMINFO, memory_max="3000000000", memory_current=USED, memory_stat=later)
    assert free == 3_000_000_000


def test_a_container_over_its_limit_has_nothing_free(machine: Callable[..., int | None]) -> None:
    assert machine(meminfo=MEMINFO, memory_max="500000000", memory_current=USED) == 0


def test_a_machine_without_proc_tells_its_memory_and_cores_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = available(tmp_path / "none", tmp_path, tmp_path / "none")
    assert free is not None
    assert 0 < free < 1 << 50
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert 1 <= physical_cores() <= (os.cpu_count() or 1)


GIGABYTES = 1_000_000_000
V1 = "4:memory:/shop/pod\n3:cpu,cpuacct:/other\n0::/\n"


@pytest.fixture
def groups(tmp_path: Path) -> Callable[[str, dict[str, tuple[int, int]]], int]:
    """Return what is free, in gigabytes, where the machine has 4.1 and groups (limit, use) as given."""

    def free(own: str, limits: dict[str, tuple[int, int]]) -> int:
        (tmp_path / "meminfo").write_text(MEMINFO)
        (tmp_path / "own").write_text(own)
        for folder, (limit, used) in limits.items():
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            is_first = folder.startswith("memory")
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if is_first else CGROUP_2
            for name, value in zip(names, (limit, used), strict=True):
                (tmp_path / folder / name).write_text(str(value))
        bytes_free = available(tmp_path / "meminfo", tmp_path, tmp_path / "own")
        assert bytes_free is not None
        return bytes_free // GIGABYTES

    return free


CGROUP_2 = ("memory.max", "memory.current")
Groups = Callable[[str, dict[str, tuple[int, int]]], int]


def test_the_own_group_bounds_a_processs_memory(groups: Groups) -> None:
    assert groups("0::/shop/pod\n", {"shop/pod": (3 * GIGABYTES, GIGABYTES)}) == 2


def test_a_group_around_the_own_one_bounds_it_too(groups: Groups) -> None:
    assert groups("0::/shop/pod\n", {"shop": (3 * GIGABYTES, 2 * GIGABYTES)}) == 1


def test_groups_of_both_versions_may_be_mounted_side_by_side(groups: Groups) -> None:
    assert groups("0::/shop/pod\n", {"unified/shop": (9, 8)}) == 0


def test_in_a_container_the_root_counts_where_the_hosts_name_leads_nowhere(groups: Groups) -> None:
    assert groups("0::/host/name\n", {".": (3 * GIGABYTES, GIGABYTES)}) == 2


def test_a_group_above_the_containers_own_counts_as_its_root(groups: Groups) -> None:
    assert groups("0::/../pod\n", {".": (3 * GIGABYTES, GIGABYTES)}) == 2


def test_in_version_1_the_own_group_of_memory_counts(groups: Groups) -> None:
    assert groups(V1, {"memory/shop/pod": (2 * GIGABYTES, 0)}) == 2


def test_in_version_1_the_root_counts(groups: Groups) -> None:
    assert groups(V1, {"memory": (2 * GIGABYTES, GIGABYTES)}) == 1


def test_in_version_1_pages_of_files_that_were_read_count_as_free(groups: Groups, tmp_path: Path) -> None:
    """2.1 - (2 - 0.9) GB; the figures of the group alone, without its members', do not count."""
    stat = "inactive_file 1\ntotal_inactive_file 600000000\ntotal_active_file 300000000\n"
    (tmp_path / "memory" / "shop").mkdir(parents=True)
    (tmp_path / "memory" / "shop" / "memory.stat").write_text(stat)
    assert groups(V1, {"memory/shop": (2_100_000_000, 2 * GIGABYTES)}) == 1


def test_in_version_1_a_limit_beyond_all_memory_is_none(groups: Groups) -> None:
    assert groups(V1, {"memory": (9223372036854771712, 5)}) == 4


def test_lines_of_another_form_are_passed_over(groups: Groups) -> None:
    assert groups("odd\n\n7\n", {}) == 4


def test_loading_and_planning_ask_for_the_same(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte less than what is planned is refused when the model is loaded; as much is enough."""
    # Tokens, layers, heads for keys, two lengths, bytes.
    cache = (8192 + PREFIX_TOKENS) * 2 * 2 * (16 + 16) * 2
    # Tokens of context and of a call, and for each pair a number of 4 bytes a head, and 6 bytes.
    buffer = 8192 * 256 * (4 * 4 + 6)
    planned = tiny_path.stat().st_size + OVERHEAD + cache + buffer
    with Judge.load(tiny_path, n_threads=1) as judge:
        assert isinstance(judge.engine, Engine)
        assert judge.engine.memory() == planned
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it is not even probed"))
            patch.setattr("localeval.engine.memory.available", lambda: planned - 1)
            with pytest.raises(InputError, match=r"tiny\.gguf needs about 0\.7 GB .* 0\.7 GB are free"):
                assert judge.engine.llama
    for enough in (planned, None):
        monkeypatch.setattr("localeval.engine.memory.available", lambda enough=enough: enough)
        with Judge.load(tiny_path, n_threads=1) as judge:
            assert isinstance(judge.engine, Engine)
            assert judge.engine.llama


def test_no_more_threads_than_a_container_has_processor_time(tmp_path: Path) -> None:
    cores = physical_cores(tmp_path / "none")
    for quota, limit in (("1000 100000", 1), ("150000 100000", 2), ("max 100000", 4096)):
        (tmp_path / "cpu.max").write_text(f"{quota}\n")
        assert physical_cores(tmp_path / "cpu.max") == min(cores, limit) >= 1
