"""Whether a model fits into this machine's memory, asked before it is loaded and the machine swaps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from localeval.errors import InputError

# Bytes beside weights and cache, rounded up: Python with its libraries, the grammar, llama.cpp's buffers.
OVERHEAD = 600_000_000
_BITS = {"f16": 16.0, "q8_0": 8.5}  # of a value in the cache


def available(meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Give the bytes that this process may still take without swapping; None where nobody tells.

    The least of what the machine has and what a container is allowed (cgroup v2). What either keeps of
    files that were read counts as free: it gives way.
    """
    found = []
    if (kilobytes := _numbers(meminfo).get("MemAvailable:")) is not None:
        found.append(kilobytes * 1024)
    with suppress(OSError, ValueError):  # "max" where there is no limit
        most = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        kept = _numbers(group / "memory.stat")
        files = kept.get("inactive_file", 0) + kept.get("active_file", 0)
        found.append(max(0, most - max(0, used - files)))
    return min(found, default=None)


def check(path: Path, need: int | None) -> None:
    """Raise InputError unless this process can have the bytes that the model at `path` needs, if any."""
    free = available()
    if need is not None and free is not None and need > free:
        raise InputError(
            f"{path.name} needs about {need / 1e9:.1f} GB of memory here, and {free / 1e9:.1f} GB are "
            "free; choose a smaller model or a smaller --n-ctx, or close other programs."
        )


def cache_bytes(number: Callable[[str], int], n_ctx: int, cache_type: str) -> int:
    """Reckon the bytes of keys and values for `n_ctx` tokens.

    number  gives a number of the file's metadata, by its name behind the architecture; 0 without it

    >>> tiny = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4}
    >>> cache_bytes(lambda name: tiny.get(name, 0), 100, "f16")
    51200
    """
    heads = number("attention.head_count") or 1
    width = number("embedding_length") // heads
    # A file may say how long they are; Qwen3's are longer than the width over the heads.
    lengths = (number("attention.key_length") or width) + (number("attention.value_length") or width)
    values = n_ctx * number("block_count") * (number("attention.head_count_kv") or heads) * lengths
    return int(values * _BITS[cache_type] / 8)


def _numbers(path: Path) -> dict[str, int]:
    """Read the first word of each line -> the number behind it; nothing where the file can't be read."""
    try:
        lines = [line.split() for line in path.read_text().splitlines()]
    except (OSError, ValueError):
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}
