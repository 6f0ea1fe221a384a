"""What the rest of the package knows of an engine. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
import os
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass

from localeval.errors import InputError
from localeval.prompts import PromptPrefix
from localeval.system.arguments import STRICT, Settings, Whole

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


T = TypeVar("T", bound=BaseModel)


class EngineError(Exception):
    """The engine could not answer. The sample is *failed* with `engine_error`; the run goes on."""


class ContextTooLong(EngineError):
    """Prefix, context and one item with its budget take more tokens than the context has."""


@dataclass(frozen=True, config=STRICT)
class EngineSettings(Settings):
    """What the engine computes with; part of every score's signature. Raises InputError out of range."""

    n_ctx: Whole = Field(
        default=8192,
        ge=2048,
        le=1 << 20,
        description="Tokens of context, for prefix, context and the items of one chunk together.",
    )
    n_threads: Whole = Field(
        default=0, ge=0, le=1024, description="Threads; 0 becomes the number of physical cores."
    )
    n_gpu_layers: Whole = Field(
        default=0,
        ge=-1,
        le=1000,
        description="Layers on a GPU, -1 for all; needs a llama.cpp build with GPU support.",
    )
    # A token of 512 takes a tenth longer on a CPU.
    n_batch: Whole = Field(
        default=0,
        ge=0,
        le=8192,
        description="Tokens of one call, 32 at least; 0 becomes 512 on a GPU, 256 on a CPU.",
    )
    width: Whole = Field(default=32, ge=1, le=120, description="Items that are decoded together.")
    # On a CPU it costs a third more time.
    flash_attention: bool | None = Field(
        default=None, description="None becomes True on a GPU, and for a cache of 8 bits, which needs it."
    )
    cache_type: Literal["f16", "q8_0"] = Field(
        default="f16", description="Of keys and values; q8_0 takes half the memory."
    )
    mmap: bool = Field(default=True, description="Map the model file into memory instead of reading it.")

    def __post_init__(self) -> None:
        """Resolve what was left to the engine."""
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
    """Count the cores this process may run on, hyper-threads once where Linux tells; at least 1.

    Not more than the processor time that a container is allowed (cgroup v2, `quota`).
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    told = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in allowed]
    cores = len({path.read_text() if path.exists() else str(path) for path in told})
    try:
        microseconds, period = map(int, quota.read_text().split())  # "max" where there is no limit
    except (OSError, ValueError):
        return cores
    return max(1, min(cores, -(-microseconds // period)))


class Frame(NamedTuple):
    """The tokens of a prefix: those before a context, and those after each item."""

    before: Sequence[int]
    after: Sequence[int]


@dataclasses.dataclass(frozen=True)
class Reply(Generic[T]):
    """What one item brought.

    value          the parsed object; always there, and always of the schema
    text           the JSON that it was parsed from
    probabilities  for each `Literal` field, option -> probability; they sum to 1
    truncated      "" or why a free field was cut: "budget" or "repetition"
    decoded        tokens that the model chose, one decode step each
    """

    value: T
    text: str
    probabilities: dict[str, dict[Any, float]] = dataclasses.field(default_factory=dict)
    truncated: str = ""
    decoded: int = 0


class States(NamedTuple):
    """What a model holds of a text that it has read.

    values  float32, (tokens, width): the residual behind a layer
    ends    where each token ends in the text, in bytes of UTF-8
    """

    values: npt.NDArray[np.float32]
    ends: tuple[int, ...]

    def tokens(self, start: int, end: int) -> slice:
        """Find the tokens that share a byte with those from `start` to `end`; at least one."""
        first = bisect_right(self.ends, start)
        return slice(first, max(first + 1, bisect_left(self.ends, end) + 1))


class TokenUsage(NamedTuple):
    """The tokens that an engine has put through the model since it was made.

    prefix, context, items  of prompt text
    read                    of text that is read, not asked about, through the lower layers alone
    forced                  of reply text that nothing else could follow, and of options looked at
    decoded                 of reply text that the model chose
    guessed                 of text that was guessed and that the model did not choose
    seconds                 inside llama_decode
    """

    prefix: int = 0
    context: int = 0
    items: int = 0
    forced: int = 0
    decoded: int = 0
    guessed: int = 0
    read: int = 0
    seconds: float = 0.0

    @property
    def given(self) -> int:
        """Tokens that no model has to choose: prompt text and forced text."""
        return self.prefix + self.context + self.items + self.forced + self.read

    @property
    def total(self) -> int:
        return self.given + self.decoded + self.guessed

    def stored(self) -> dict[str, float]:
        """Give it under the names that files have for it."""
        names = {"prefix": "trunk", "context": "branch", "items": "leaves"}
        return {names.get(name, name): value for name, value in self._asdict().items()}

    def plus(self, **more: float) -> TokenUsage:
        return self._replace(**{name: getattr(self, name) + value for name, value in more.items()})

    def since(self, before: TokenUsage) -> TokenUsage:
        """Give what came after `before`."""
        return TokenUsage(*map(sub, self, before))


class TreeEngine(Protocol):
    """One prefix a run, one context a sample, many items decoded together. `testing.FakeEngine` is one."""

    settings: EngineSettings

    @property
    def spent(self) -> TokenUsage: ...

    def tokens(self, text: str) -> Sequence[int]: ...

    def count(self, text: str) -> int:
        return len(self.tokens(text))

    def frame(self, prefix: PromptPrefix) -> Frame: ...

    def is_prefix_cached(self, prefix: PromptPrefix) -> bool:
        """Tell whether the prefix was computed already, or its state was kept."""
        ...

    def room(self, prefix: PromptPrefix) -> int:
        """Count the tokens left for a context and its items."""
        return self.settings.n_ctx - sum(map(len, self.frame(prefix)))

    def generate(
        self,
        prefix: PromptPrefix,
        context: str,
        items: Sequence[str],
        schema: type[T],
        *,
        budget: int | Sequence[int] = 256,
        temperature: float = 0.0,
        seeds: Sequence[list[int]] | None = None,
    ) -> list[Reply[T]]:
        """Give one reply for each item, in order.

        budget       tokens that an item's free fields may take together, for all items or for each; a longer
                     reply is cut, legally
        temperature  0 takes the likeliest token; above, item i draws with a generator seeded by seeds[i]

        Raises ContextTooLong, before anything is decoded, when the tokens don't fit the context.
        """
        ...

    def read(self, context: str, item: str, layer: int) -> States:
        """Give the hidden states of the item behind a layer, as the model reads it after `context` alone.

        Only the layers up to this one are computed. Raises ContextTooLong as `generate` does, and
        EngineError where this build of llama.cpp shows no states.
        """
        ...

    def close(self) -> None: ...


class EmbeddingModel(Protocol):
    """`localeval.engine.embedder.Embedder` is one.

    embed      one vector for each text, in order, of the same length each; cosines are computed of them
    signature  what can change a vector; with `languages` ["en"] samples in another language are told
    """

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...

    def signature(self) -> dict[str, Any]: ...


class EntailmentModel(Protocol):
    """`localeval.engine.hhem.Classifier` is one."""

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]: ...

    def signature(self) -> dict[str, Any]: ...
