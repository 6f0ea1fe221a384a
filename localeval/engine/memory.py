"""Check that a model fits into this machine's memory, before loading it makes the machine swap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from localeval.engine.settings import EngineSettings
from localeval.errors import InputError

# Bytes besides weights, cache and compute buffer, rounded up: Python with its libraries, the grammar.
OVERHEAD = 600_000_000
# Tokens of the worked examples of all judgements in English and Chinese, rounded up: an engine keeps their
# states until it is closed. Of five prompts in both languages the quick-start judge has 8,457.
PREFIX_TOKENS = 10_000
REMEDY = "choose a smaller model or a smaller --n-ctx, or close other programs"
_BITS = {"f16": 16.0, "q8_0": 8.5}  # per value in the cache


class _GroupFiles(NamedTuple):
    """The names of a control group's files of its limit and use, and the fields of its page cache."""

    limit: str
    used: str
    page_cache: tuple[str, str]


# Of cgroup v2 and v1.
_GROUP_FILES = (
    _GroupFiles("memory.max", "memory.current", ("inactive_file", "active_file")),
    _GroupFiles(
        "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")
    ),
)


def available(
    meminfo: Path = Path("/proc/meminfo"),
    groups: Path = Path("/sys/fs/cgroup"),
    own: Path = Path("/proc/self/cgroup"),
) -> int | None:
    """Return the bytes that this process can still use without swapping; None where the system reports none.

    It is the minimum of the machine's free memory and what its control group, and each group around that,
    may still use (cgroup v1 and v2). The machine's is read from Linux's own files where they are there, else
    by psutil, which knows macOS and Windows. The page cache counts as free: the system gives it up.

    groups  folder in which the control groups are mounted
    own     file that names the groups of this process
    """
    limits = [_free_of_machine(meminfo)]
    for folder in _own_groups(groups, own):
        for files in _GROUP_FILES:
            limits.append(_free_of_group(folder, files))
    return min((limit for limit in limits if limit is not None), default=None)


def _free_of_machine(meminfo: Path) -> int | None:
    """Return the machine's free memory; None where the system does not report it."""
    kilobytes = _read_numbers(meminfo).get("MemAvailable:")
    if kilobytes is not None:
        return kilobytes * 1024
    if meminfo.exists():
        return None
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except (ImportError, OSError, NotImplementedError, RuntimeError):
        return None


def _free_of_group(folder: Path, files: _GroupFiles) -> int | None:
    """Return what a control group may still use; None where `folder` is no group, or one without a limit."""
    try:
        # "max" where there is no limit.
        limit = int((folder / files.limit).read_text())
        used = int((folder / files.used).read_text())
    except (OSError, ValueError):
        return None
    statistics = _read_numbers(folder / "memory.stat")
    page_cache = sum(statistics.get(field, 0) for field in files.page_cache)
    return max(0, limit - max(0, used - page_cache))


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
        # "4:memory:/pod", and in cgroup v2 "0::/pod".
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        parts = [part for part in path.split("/") if part]
        if ".." in parts:
            continue
        for root in _roots(groups, controllers):
            folders += [root.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
    return folders


def _roots(groups: Path, controllers: str) -> list[Path]:
    """Return the folders below which a group with these controllers of memory may be."""
    if not controllers:
        return [groups, groups / "unified"]
    if "memory" in controllers.split(","):
        return [groups / "memory"]
    return []


def check_fits(model: str, need: int | None) -> None:
    """Raise InputError if the model of this name needs more bytes than are free now."""
    check_need(model, need, available())


def check_need(model: str, need: int | None, free: int | None) -> None:
    """Raise InputError if the model of this name needs more bytes than are `free`."""
    if not fits(need, free):
        raise InputError(
            f"{model} needs about {_gigabytes(need)} of memory here, and {_gigabytes(free)} are free; "
            f"{REMEDY}."
        )


def fits(need: int | None, free: int | None) -> bool:
    """Return whether so many bytes are free; True where either number is not known."""
    return need is None or free is None or need <= free


def _gigabytes(size: int | None) -> str:
    return f"{(size or 0) / 1e9:.1f} GB"


def cache_bytes(number: Callable[[str], int], n_ctx: int, cache_type: str) -> int:
    """Estimate the bytes of keys and values for `n_ctx` tokens.

    number  returns a number of the file's metadata, by its name without the architecture; else 0

    >>> tiny = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4}
    >>> cache_bytes(lambda name: tiny.get(name, 0), 100, "f16")
    51200

    What llama.cpp logs for Qwen3-4B, whose heads are larger than its width over their number:

    >>> model = {"block_count": 36, "embedding_length": 2560, "attention.head_count": 32}
    >>> model |= {"attention.head_count_kv": 8, "attention.key_length": 128, "attention.value_length": 128}
    >>> number = lambda name: model.get(name, 0)
    >>> cache_bytes(number, 8192, "f16") / 1024**2
    1152.0
    >>> cache_bytes(number, 8192, "q8_0") / 1024**2
    612.0
    >>> model["attention.value_length"] = 64
    >>> cache_bytes(number, 8192, "f16") / 1024**2
    864.0
    """
    heads = number("attention.head_count") or 1
    default_length = number("embedding_length") // heads
    # A file may give the lengths itself; Qwen3's are longer than width / heads.
    key_length = number("attention.key_length") or default_length
    value_length = number("attention.value_length") or default_length
    cached_heads = number("attention.head_count_kv") or heads
    values = n_ctx * number("block_count") * cached_heads * (key_length + value_length)
    return int(values * _BITS[cache_type] / 8)


def model_bytes(size: int, number: Callable[[str], int], settings: EngineSettings) -> int:
    """Estimate the bytes of a loaded model on a CPU.

    size    bytes of its files
    number  as for `cache_bytes`
    """
    # The states of prefixes are stored beside the cache, in the same form.
    cache = cache_bytes(number, settings.n_ctx + PREFIX_TOKENS, settings.cache_type)
    heads = number("attention.head_count")
    buffer = compute_bytes(heads, settings.n_ctx, settings.n_batch, bool(settings.flash_attention))
    return size + OVERHEAD + cache + buffer


def compute_bytes(heads: int, n_ctx: int, n_batch: int, flash_attention: bool) -> int:
    """Estimate the bytes of the buffer in which llama.cpp computes a call.

    Without flash attention it has a number of 4 bytes for each head, token of the call and token of the
    context, and 6 bytes beside; with it, 2 bytes. llama-cpp-python 0.3.36 logged on a CPU for the same
    models 943.7, 3771.2, 3788.9, 106.1 and, with flash attention, 17.5 MiB:

    >>> compute_bytes(28, 32768, 256, False) / 1024**2
    944.0
    >>> compute_bytes(28, 131072, 256, False) / 1024**2
    3776.0
    >>> compute_bytes(28, 8192, 4096, False) / 1024**2
    3776.0
    >>> compute_bytes(12, 8192, 256, False) / 1024**2
    108.0
    >>> compute_bytes(28, 32768, 256, True) / 1024**2
    16.0
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
