"""The settings of an engine. Imports nothing heavy."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from localeval.errors import InputError
from localeval.system.arguments import STRICT, Int, Settings

MIN_CONTEXT = 2048  # tokens of context that any judge needs


@dataclass(frozen=True, config=STRICT)
class EngineSettings(Settings):
    """Settings of an engine, part of every score's signature. Raises InputError for a value out of range.

    >>> settings = EngineSettings(n_gpu_layers=1)
    >>> settings.n_batch, settings.flash_attention
    (512, True)
    >>> settings = EngineSettings()
    >>> settings.n_batch, settings.flash_attention
    (256, False)
    >>> EngineSettings(cache_type="q8_0").flash_attention
    True
    >>> EngineSettings(n_batch=64).n_batch
    64
    """

    n_ctx: Int = Field(
        default=8192,
        ge=MIN_CONTEXT,
        le=1 << 20,
        description="Tokens of context, for prefix, context and the items of one chunk together.",
    )
    n_threads: Int = Field(
        default=0, ge=0, le=1024, description="Threads; 0 becomes the number of physical cores."
    )
    n_gpu_layers: Int = Field(
        default=0,
        ge=-1,
        le=1000,
        description="Layers on a GPU, -1 for all; needs a llama.cpp build with GPU support.",
    )
    # On a CPU a token takes a tenth longer in calls of 512 than in calls of 256.
    n_batch: Int = Field(
        default=0,
        ge=0,
        le=8192,
        description="Tokens of one call, 32 at least; 0 becomes 512 on a GPU, 256 on a CPU.",
    )
    width: Int = Field(default=32, ge=1, le=120, description="Items decoded together.")
    # Flash attention takes a third more time on a CPU.
    flash_attention: bool | None = Field(
        default=None, description="None becomes True on a GPU, and for a cache of 8 bits, which needs it."
    )
    cache_type: Literal["f16", "q8_0"] = Field(
        default="f16", description="Type of cached keys and values; q8_0 takes half the memory."
    )
    mmap: bool = Field(default=True, description="Map the model file into memory instead of reading it.")

    def __post_init__(self) -> None:
        """Replace 0 and None by the values that they stand for, and check them together."""
        if self.cache_type != "f16" and self.flash_attention is False:
            raise InputError(f"cache_type {self.cache_type} needs flash_attention; leave that out.")
        on_gpu = self.n_gpu_layers != 0
        object.__setattr__(self, "n_batch", self.n_batch or (512 if on_gpu else 256))
        object.__setattr__(self, "n_threads", self.n_threads or physical_cores())
        if self.flash_attention is None:
            object.__setattr__(self, "flash_attention", on_gpu or self.cache_type != "f16")
        if not 32 <= self.n_batch <= self.n_ctx:
            raise InputError(f"n_batch is {self.n_batch}; choose 32 to n_ctx ({self.n_ctx}), or 0.")


def physical_cores(quota: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Count the physical cores this process may use (logical ones where the system shows none); at least 1.

    Limited to the processor time that a container is allowed (`quota`, of cgroup v2).
    """
    if not hasattr(os, "sched_getaffinity"):
        return _cores_elsewhere()
    cores = _count_cores(os.sched_getaffinity(0))
    try:
        # "max" in place of the first number where there is no limit.
        microseconds, period = map(int, quota.read_text().split())
    except (OSError, ValueError):
        return cores
    allowed = math.ceil(microseconds / period)
    return max(1, min(cores, allowed))


def _count_cores(logical: Iterable[int]) -> int:
    """Count the physical cores of these logical ones, as Linux numbers them."""
    cores = set()
    for cpu in logical:
        # Logical processors of one core list the same siblings.
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.add(siblings.read_text() if siblings.exists() else str(siblings))
    return len(cores)


def _cores_elsewhere() -> int:
    """Count the physical cores of a machine that is no Linux; those that save power are counted, too."""
    try:
        import psutil

        cores = psutil.cpu_count(logical=False)
    except (ImportError, OSError, NotImplementedError, RuntimeError):
        cores = None
    return cores or os.cpu_count() or 1
