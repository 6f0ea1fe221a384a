"""What the rest of the package knows of an engine. Imports nothing heavy."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from localeval.errors import InputError
from localeval.prompts.prefix import Trunk
from localeval.system.arguments import whole
from localeval.text.display import suggested

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


T = TypeVar("T", bound=BaseModel)


_QUOTA = Path("/sys/fs/cgroup/cpu.max")


class EngineError(Exception):
    """The engine could not answer. The sample is *failed* with `engine_error`; the run goes on."""


class ContextTooLong(EngineError):
    """Trunk, branch and one leaf with its budget take more tokens than the context has."""


@dataclass(frozen=True)
class EngineSettings:
    """What the engine computes with; part of every score's signature. Raises InputError out of range.

    n_ctx            tokens of context, for trunk, branch and the leaves of one chunk together
    n_threads        0 becomes the number of physical cores
    n_gpu_layers     layers on the GPU, -1 for all; needs a llama.cpp build with GPU support
    n_batch          rows that one call of llama.cpp takes; 0 becomes 512 on a GPU, and on a CPU 256, as a row
                     of 512 takes a tenth longer there
    width            leaves that are decoded together
    flash_attention  None becomes False on a CPU, where it costs a third more time, and True on a GPU; a
                     cache of 8 bits needs it
    cache_type       of keys and values: "f16", or "q8_0" for half the memory
    mmap             map the model file into memory instead of reading it
    """

    n_ctx: int = 8192
    n_threads: int = 0
    n_gpu_layers: int = 0
    n_batch: int = 0
    width: int = 32
    flash_attention: bool | None = None
    cache_type: Literal["f16", "q8_0"] = "f16"
    mmap: bool = True

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> EngineSettings:
        """Settings from keyword arguments. Raises InputError for an unknown name or a bad value."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise InputError(f"there is no setting {name!r} of a judge; {suggested(name, known)}")
        return cls(**given)

    def __post_init__(self) -> None:
        bounds = {
            "n_ctx": (2048, 1 << 20),
            "n_threads": (0, 1024),
            "n_gpu_layers": (-1, 1000),
            "n_batch": (0 if self.n_batch == 0 else 32, 8192),
            "width": (1, 120),
        }
        for name, (low, high) in bounds.items():
            object.__setattr__(self, name, whole(name, getattr(self, name), low, high))
        if not isinstance(self.mmap, bool):
            raise InputError(f"mmap is {self.mmap!r}; choose True or False.")
        if not isinstance(self.flash_attention, bool | None):
            raise InputError(f"flash_attention is {self.flash_attention!r}; choose True, False or None.")
        if self.cache_type not in ("f16", "q8_0"):
            raise InputError(f"cache_type is {self.cache_type!r}; choose f16 or q8_0.")
        if self.cache_type != "f16" and self.flash_attention is False:
            raise InputError(f"cache_type {self.cache_type} needs flash_attention; leave that out.")
        if self.n_batch == 0:
            object.__setattr__(self, "n_batch", 512 if self.n_gpu_layers else 256)
        if self.n_batch > self.n_ctx:
            raise InputError(f"n_batch is {self.n_batch}, more than n_ctx ({self.n_ctx}); choose less.")
        if self.flash_attention is None:
            object.__setattr__(self, "flash_attention", self.n_gpu_layers != 0 or self.cache_type != "f16")
        if self.n_threads == 0:
            object.__setattr__(self, "n_threads", physical_cores())


def physical_cores(quota: Path = _QUOTA) -> int:
    """Count the cores this process may run on, hyper-threads once where Linux tells; at least 1.

    Not more than the processor time that a container is allowed (cgroup v2, `quota`): threads beyond it would
    wait for each other.
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = set()
    for cpu in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        cores.add(siblings.read_text() if siblings.exists() else str(cpu))
    try:
        microseconds, period = map(int, quota.read_text().split())  # "max" where there is no limit
    except (OSError, ValueError):
        return max(1, len(cores))
    return max(1, min(len(cores), -(-microseconds // period)))


class Frame(NamedTuple):
    """The tokens of a trunk: those before a branch, and those after each leaf."""

    before: Sequence[int]
    after: Sequence[int]


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What one leaf brought.

    value          the parsed object; always there, and always of the schema
    text           the JSON that it was parsed from
    probabilities  for each `Literal` field, option -> probability; they sum to 1
    truncated      "" or why a free field was cut: "budget" or "repetition"
    decoded        tokens that the model chose, one decode step each
    """

    value: T
    text: str
    probabilities: dict[str, dict[Any, float]] = field(default_factory=dict)
    truncated: str = ""
    decoded: int = 0


class States(NamedTuple):
    """What a model holds of a text that it has read.

    values  float32, (tokens, layers, width): the residual behind each chosen layer
    ends    where each token ends in the text, in bytes of UTF-8
    """

    values: npt.NDArray[np.float32]
    ends: tuple[int, ...]

    def tokens(self, start: int, end: int) -> slice:
        """The tokens that share a byte with those from `start` to `end`; at least one."""
        first = bisect_right(self.ends, start)
        return slice(first, max(first + 1, bisect_left(self.ends, end) + 1))


class Spent(NamedTuple):
    """What an engine has computed since it was made, in rows: a row is one token put through the model.

    trunk, branch, leaves  rows of prompt text
    read                   rows of text that is read, not asked about, through the lower layers alone
    forced                 rows of reply text that nothing else could follow, and of options looked at
    decoded                rows of reply text that the model chose
    guessed                rows of text that was guessed and that the model did not choose
    seconds                inside llama_decode
    """

    trunk: int = 0
    branch: int = 0
    leaves: int = 0
    forced: int = 0
    decoded: int = 0
    guessed: int = 0
    read: int = 0
    seconds: float = 0.0

    @property
    def given(self) -> int:
        """Rows that no model has to choose: prompt text and forced text."""
        return self.trunk + self.branch + self.leaves + self.forced + self.read

    @property
    def rows(self) -> int:
        return self.given + self.decoded + self.guessed

    def plus(self, **more: float) -> Spent:
        return self._replace(**{name: getattr(self, name) + value for name, value in more.items()})

    def since(self, before: Spent) -> Spent:
        """What came after `before`.

        >>> Spent(trunk=9, decoded=3).since(Spent(trunk=9)).decoded
        3
        """
        return Spent(*map(sub, self, before))


class TreeEngine(Protocol):
    """One trunk a run, one branch a sample, many leaves decoded together. `testing.FakeEngine` is one."""

    @property
    def settings(self) -> EngineSettings: ...

    @property
    def spent(self) -> Spent: ...

    def tokens(self, text: str) -> Sequence[int]: ...

    def count(self, text: str) -> int: ...

    def frame(self, trunk: Trunk) -> Frame: ...

    def stands(self, trunk: Trunk) -> bool:
        """Whether the trunk takes no rows any more: it was computed, or its state was kept."""
        ...

    def room(self, trunk: Trunk) -> int:
        """Tokens left for a branch and its leaves."""
        ...

    def generate(
        self,
        trunk: Trunk,
        branch: str,
        leaves: Sequence[str],
        schema: type[T],
        *,
        budget: int | Sequence[int] = 256,
        temperature: float = 0.0,
        seeds: Sequence[list[int]] | None = None,
    ) -> list[Reply[T]]:
        """One reply for each leaf, in order.

        budget       tokens that a leaf's free fields may take together, for all leaves or for each; a longer
                     reply is cut, legally
        temperature  0 takes the likeliest token; above, leaf i draws with a generator seeded by seeds[i]

        Raises ContextTooLong, before anything is decoded, when the tokens don't fit the context.
        """
        ...

    def read(self, context: str, items: Sequence[str], layers: Sequence[int]) -> list[States]:
        """The hidden states of each item, as the model reads it behind `context`.

        No trunk stands before them, and no reply is made: only the layers up to the last of `layers` are
        computed. Equal beginnings of items are computed once. Raises ContextTooLong as `generate` does, and
        EngineError where this build of llama.cpp shows no states.
        """
        ...

    def close(self) -> None: ...


class Embeds(Protocol):
    """`localeval.engine.embedder.Embedder` is one.

    embed      one vector for each text, in order, of the same length each; cosines are computed of them
    signature  what can change a vector; with `languages` ["en"] samples in another language are told
    """

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...

    def signature(self) -> dict[str, Any]: ...


class Supports(Protocol):
    """`localeval.engine.hhem.Classifier` is one."""

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]: ...

    def signature(self) -> dict[str, Any]: ...
