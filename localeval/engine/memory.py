"""Check that a model fits into this machine's memory, before loading it makes the machine swap."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from localeval.errors import InputError

# Bytes besides weights, cache and compute buffer, rounded up: Python with its libraries, the grammar.
OVERHEAD = 600_000_000
# Tokens of the worked examples of all judgements in English and Chinese, rounded up: an engine keeps their
# states until it is closed. Of five prompts in both languages the quick-start judge has 8,457.
PREFIX_TOKENS = 10_000
_BITS = {"f16": 16.0, "q8_0": 8.5}  # per value in the cache
# For cgroup v2 and v1: the files of a group's limit and use, and the fields of its page cache.
_GROUP_FILES = (
    ("memory.max", "memory.current", ("inactive_file", "active_file")),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
)


def available(
    meminfo: Path = Path("/proc/meminfo"),
    groups: Path = Path("/sys/fs/cgroup"),
    own: Path = Path("/proc/self/cgroup"),
) -> int | None:
    """Return the bytes that this process can still use without swapping; None where the system reports none.

    Of Linux's own files where they are there, else of psutil, which knows macOS and Windows. The
    least of the machine's free memory and what its control group, and each group around that, may still
    use (cgroup v1 and v2). The page cache counts as free: the system gives it up.

    groups  folder in which the control groups are mounted
    own     file that names the groups of this process
    """
    limits = []
    if (kilobytes := _read_numbers(meminfo).get("MemAvailable:")) is not None:
        limits.append(kilobytes * 1024)
    elif not meminfo.exists() and (others := _available_elsewhere()) is not None:
        limits.append(others)
    for folder in _own_groups(groups, own):
        for limit_file, used_file, cached in _GROUP_FILES:
            with suppress(OSError, ValueError):  # "max" where there is no limit
                limit = int((folder / limit_file).read_text())
                used = int((folder / used_file).read_text())
                stat = _read_numbers(folder / "memory.stat")
                page_cache = sum(stat.get(field, 0) for field in cached)
                limits.append(max(0, limit - max(0, used - page_cache)))
    return min(limits, default=None)


def _available_elsewhere() -> int | None:
    """Return the machine's free memory on a system without /proc; None where psutil does not know it."""
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except (ImportError, OSError, NotImplementedError, RuntimeError):
        return None


def _own_groups(groups: Path, own: Path) -> list[Path]:
    """Return the folders of this process's control groups of memory, and of all groups around them.

    In a container the file may name a group as the host does, where no folder is: then only the container's
    root counts, which is always among them.
    """
    try:
        lines = own.read_text().splitlines()
    except (OSError, ValueError):
        lines = []
    folders = [groups, groups / "memory", groups / "unified"]
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            roots = [groups, groups / "unified"]
        elif "memory" in controllers.split(","):
            roots = [groups / "memory"]
        else:
            roots = []
        parts = [part for part in path.split("/") if part]
        if ".." in parts:
            continue
        for root in roots:
            folders += [root.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
    return folders


def check_fits(path: Path, need: int | None) -> None:
    """Raise InputError if the model at `path` needs more bytes than are free; None is never refused."""
    free = available()
    if need is not None and free is not None and need > free:
        raise InputError(
            f"{path.name} needs about {need / 1e9:.1f} GB of memory here, and {free / 1e9:.1f} GB are "
            "free; choose a smaller model or a smaller --n-ctx, or close other programs."
        )


def cache_bytes(number: Callable[[str], int], n_ctx: int, cache_type: str) -> int:
    """Estimate the bytes of keys and values for `n_ctx` tokens.

    number  returns a number of the file's metadata, by its name without the architecture; else 0

    >>> tiny = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4}
    >>> cache_bytes(lambda name: tiny.get(name, 0), 100, "f16")
    51200

    What llama.cpp logs for Qwen3-4B, whose heads are larger than its width over their number:

    >>> model = {"block_count": 36, "embedding_length": 2560, "attention.head_count": 32}
    >>> model |= {"attention.head_count_kv": 8, "attention.key_length": 128, "attention.value_length": 128}
    >>> [cache_bytes(lambda name: model.get(name, 0), 8192, cells) / 1024**2 for cells in ("f16", "q8_0")]
    [1152.0, 612.0]
    >>> cache_bytes(lambda name: {**model, "attention.value_length": 64}.get(name, 0), 8192, "f16") / 1024**2
    864.0
    """
    heads = number("attention.head_count") or 1
    width = number("embedding_length") // heads
    # A file may give the lengths itself; Qwen3's are longer than width / heads.
    lengths = (number("attention.key_length") or width) + (number("attention.value_length") or width)
    values = n_ctx * number("block_count") * (number("attention.head_count_kv") or heads) * lengths
    return int(values * _BITS[cache_type] / 8)


def compute_bytes(heads: int, n_ctx: int, n_batch: int, flash_attention: bool) -> int:
    """Estimate the bytes of the buffer in which llama.cpp computes a call.

    Without flash attention it has a number of 4 bytes for each head, token of the call and token of the
    context, and 6 bytes beside; with it, 2 bytes. llama-cpp-python 0.3.36 logged on a CPU, for models of 28
    heads and for one of 12, 943.7, 3771.2, 3788.9, 17.5 and 106.1 MiB:

    >>> settings = (28, 32768, 256, False), (28, 131072, 256, False), (28, 8192, 4096, False)
    >>> settings += (28, 32768, 256, True), (12, 8192, 256, False)
    >>> [compute_bytes(*given) / 1024**2 for given in settings]
    [944.0, 3776.0, 3776.0, 16.0, 108.0]
    """
    bytes_of_pair = 2 if flash_attention else 4 * heads + 6
    return n_ctx * n_batch * bytes_of_pair


def _read_numbers(path: Path) -> dict[str, int]:
    """Map the first word of each line to the number after it; {} where the file can't be read."""
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except (OSError, ValueError):
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}
