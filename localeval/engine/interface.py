"""The interface of an engine, for the rest of the package. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
import math
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

LEAST_CONTEXT = 2048  # tokens of context that any judge needs


class EngineError(Exception):
    """The engine could not answer. The sample is *failed* with `engine_error`; the run goes on."""


class ContextTooLong(EngineError):
    """Prefix, context and one item with its budget take more tokens than the context has."""


@dataclass(frozen=True, config=STRICT)
class EngineSettings(Settings):
    """Settings of an engine, part of every score's signature. Raises InputError for a value out of range.

    >>> different = {}, {"n_gpu_layers": 1}, {"cache_type": "q8_0"}, {"n_batch": 64, "flash_attention": True}
    >>> [(row.n_batch, row.flash_attention) for row in (EngineSettings(**given) for given in different)]
    [(256, False), (512, True), (256, True), (64, True)]
    """

    n_ctx: Whole = Field(
        default=8192,
        ge=LEAST_CONTEXT,
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
    # On a CPU a token takes a tenth longer in calls of 512 than in calls of 256.
    n_batch: Whole = Field(
        default=0,
        ge=0,
        le=8192,
        description="Tokens of one call, 32 at least; 0 becomes 512 on a GPU, 256 on a CPU.",
    )
    width: Whole = Field(default=32, ge=1, le=120, description="Items decoded together.")
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
    allowed = os.sched_getaffinity(0)
    siblings = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in allowed]
    cores = len({path.read_text() if path.exists() else str(path) for path in siblings})
    try:
        microseconds, period = map(int, quota.read_text().split())  # "max" where there is no limit
    except (OSError, ValueError):
        return cores
    return max(1, min(cores, -(-microseconds // period)))


def _cores_elsewhere() -> int:
    """Count the physical cores of a machine that is no Linux; those that save power are counted, too."""
    try:
        import psutil

        cores = psutil.cpu_count(logical=False)
    except (ImportError, OSError, NotImplementedError, RuntimeError):
        cores = None
    return cores or os.cpu_count() or 1


class Frame(NamedTuple):
    """The tokens of a prefix: those before the context, and those after each item."""

    before: Sequence[int]
    after: Sequence[int]


@dataclasses.dataclass(frozen=True)
class Reply(Generic[T]):
    """The reply to one item.

    value          the parsed object; always there, and always of the schema
    text           the JSON that it was parsed from
    probabilities  for each `Literal` field, option -> probability; they sum to 1
    truncated      "", or the reason why a free field was cut: "budget" or "repetition"
    decoded        number of tokens that the model chose, one decode step each
    mass           for each `Literal` field, the probability, among all tokens, of those that begin an option:
                   near 0 where the model would rather write something else; {} where that is not known
    """

    value: T
    text: str
    probabilities: dict[str, dict[Any, float]] = dataclasses.field(default_factory=dict)
    truncated: str = ""
    decoded: int = 0
    mass: dict[str, float] = dataclasses.field(default_factory=dict)


class States(NamedTuple):
    """The hidden states of a text that the model has read, or what a head makes of each.

    values  (tokens, width), float32: the residual stream after a layer; or (tokens,): a logit for each
    ends    offset at which each token ends in the text, in bytes of UTF-8
    """

    values: npt.NDArray[np.floating[Any]]
    ends: tuple[int, ...]

    def tokens(self, start: int, end: int) -> slice:
        """Return the tokens that overlap the bytes from `start` to `end`; at least one.

        >>> import numpy as np
        >>> states = States(np.zeros((3, 1)), ends=(2, 5, 9))
        >>> states.tokens(2, 5), states.tokens(1, 6), states.tokens(5, 5)
        (slice(1, 2, None), slice(0, 3, None), slice(2, 3, None))
        """
        first = bisect_right(self.ends, start)
        return slice(first, max(first + 1, bisect_left(self.ends, end) + 1))


class Likelihood(NamedTuple):
    """How likely a judge finds a text that follows another one.

    tokens  log-probability of each of its tokens, given all before it
    """

    tokens: tuple[float, ...]

    @property
    def total(self) -> float:
        """The log-probability of the whole text."""
        return math.fsum(self.tokens)


class TokenUsage(NamedTuple):
    """The tokens that an engine has put through the model since it was created.

    prefix, context, items  tokens of prompt text
    read                    tokens of text that only the lower layers read, for its hidden states
    forced                  tokens of a reply that the grammar forces, and of options that are compared
    decoded                 tokens of a reply that the model chose
    guessed                 draft tokens that the model did not choose
    seconds                 time inside llama_decode

    >>> usage = TokenUsage(1, 2, 4, 8, 16, 32, 64, seconds=0.5)
    >>> usage.given, usage.total, TokenUsage().plus(read=3)[:-1], TokenUsage().seconds
    (79, 127, (0, 0, 0, 0, 0, 0, 3), 0.0)
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
        """Tokens that the model does not have to choose: prompt text and forced text."""
        return self.prefix + self.context + self.items + self.forced + self.read

    @property
    def total(self) -> int:
        return self.given + self.decoded + self.guessed

    def plus(self, **more: float) -> TokenUsage:
        return self._replace(**{name: getattr(self, name) + value for name, value in more.items()})

    def since(self, before: TokenUsage) -> TokenUsage:
        """Return the usage since `before`, an earlier state of the same engine."""
        return TokenUsage(*map(sub, self, before))


class TreeEngine(Protocol):
    """One prefix per run, one context per sample, many items decoded together, as in `testing.FakeEngine`."""

    settings: EngineSettings

    @property
    def spent(self) -> TokenUsage: ...

    def tokens(self, text: str) -> Sequence[int]: ...

    def count(self, text: str) -> int:
        return len(self.tokens(text))

    def frame(self, prefix: PromptPrefix) -> Frame: ...

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
        """Return one reply for each item, in order.

        budget       most tokens of an item's free fields together, one number for all items or one for each;
                     a longer reply is cut, and still valid JSON
        temperature  0 chooses the likeliest token; above 0, item i is sampled by a generator with seeds[i]

        Raises ContextTooLong, before anything is decoded, when the tokens don't fit the context.
        """
        ...

    def read(self, context: str, item: str, layer: int) -> States:
        """Return the hidden states after `layer` of `item` following `context`, with no prefix.

        Only the layers up to this one are computed. Raises ContextTooLong as `generate` does, and
        EngineError where this build of llama.cpp exposes no hidden states.
        """
        ...

    def likelihood(self, context: str, items: Sequence[str]) -> list[Likelihood]:
        """Return how likely each of `items` is as the continuation of `context`, with no prefix.

        Equal beginnings of items are computed once. Raises ContextTooLong as `generate` does.
        """
        ...

    def close(self) -> None: ...


class EmbeddingModel(Protocol):
    """`localeval.auxiliary.embedder.Embedder` is one.

    embed      returns one vector per text, in order, all of one length; they are compared by cosine
    signature  what can change a vector; with `languages` ["en"], samples in another language are reported;
               with `unrelated` {"en": 0.77}, its mean cosine of unrelated questions, `soft` counts from there
    """

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...

    def signature(self) -> dict[str, Any]: ...


class EntailmentModel(Protocol):
    """`localeval.auxiliary.hhem.Classifier` is one."""

    def support(self, contexts: Sequence[str], statements: Sequence[str]) -> tuple[list[float], int]: ...

    def signature(self) -> dict[str, Any]: ...
