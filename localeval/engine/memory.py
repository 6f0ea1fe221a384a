"""Check that a model fits into this machine's memory, before loading it makes the machine swap."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from localeval.errors import InputError

# Bytes besides weights and cache, rounded up: Python with its libraries, the grammar, llama.cpp's buffers.
OVERHEAD = 600_000_000
_BITS = {"f16": 16.0, "q8_0": 8.5}  # per value in the cache


def available(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes that this process can still use without swapping; None where the system reports none.

    The smaller of the machine's free memory and what a container may still use (cgroup v2). The page cache of
    either counts as free: the system gives it up.
    """
    limits = []
    if (kilobytes := _read_numbers(meminfo).get("MemAvailable:")) is not None:
        limits.append(kilobytes * 1024)
    with suppress(OSError, ValueError):  # "max" where there is no limit
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        stat = _read_numbers(group / "memory.stat")
        page_cache = stat.get("inactive_file", 0) + stat.get("active_file", 0)
        limits.append(max(0, limit - max(0, used - page_cache)))
    return min(limits, default=None)


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


def _read_numbers(path: Path) -> dict[str, int]:
    """Map the first word of each line to the number after it; {} where the file can't be read."""
    try:
        rows = [line.split() for line in path.read_text().splitlines()]
    except (OSError, ValueError):
        return {}
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}
