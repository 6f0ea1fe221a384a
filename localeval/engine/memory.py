"""Whether a model fits into this machine's memory, asked before it is loaded and the machine swaps."""

from __future__ import annotations

from pathlib import Path

from localeval.errors import InputError

OVERHEAD = 600_000_000
"""Bytes beside weights and cache, rounded up: Python with its libraries, the grammar, llama.cpp's buffers."""

_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available(meminfo: Path = _MEMINFO, group: Path = _GROUP) -> int | None:
    """Bytes that this process may still take without swapping; None where the system does not tell.

    The least of what the machine has and what a container is allowed (cgroup v2).
    """
    found = []
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        if "MemAvailable" in fields:
            found.append(int(fields["MemAvailable"].split()[0]) * 1024)
    limit, used = group / "memory.max", group / "memory.current"
    if limit.exists() and used.exists() and (most := limit.read_text().strip()).isdigit():
        found.append(max(0, int(most) - int(used.read_text())))
    return min(found) if found else None


def cache_bytes(n_ctx: int, n_layer: int, n_embd: int, n_head: int, n_head_kv: int, bits: float) -> int:
    """Bytes of keys and values for `n_ctx` tokens.

    >>> cache_bytes(8192, 28, 1536, 12, 2, 16)
    234881024
    """
    return int(2 * n_ctx * n_layer * (n_embd // n_head) * n_head_kv * bits / 8)


def check(path: Path, needed: int, there: int | None) -> None:
    """Raise InputError unless `needed` bytes for the model at `path` are there."""
    if there is not None and needed > there:
        raise InputError(
            f"{path.name} needs about {needed / 1e9:.1f} GB of memory here, and {there / 1e9:.1f} GB are "
            "free; choose a smaller model or a smaller --n-ctx, or close other programs."
        )
