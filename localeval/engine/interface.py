"""The interface of an engine, for the rest of the package. Imports nothing heavy."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from localeval.engine.settings import EngineSettings
from localeval.prompts import PromptPrefix

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T", bound=BaseModel)


class EngineError(Exception):
    """The engine could not answer. The sample is *failed* with `engine_error`; the run goes on."""


class ContextTooLong(EngineError):
    """Prefix, context and one item with its budget take more tokens than the context has."""


class Frame(NamedTuple):
    """The tokens of a prefix: those before the context, and those after each item."""

    before: Sequence[int]
    after: Sequence[int]


@dataclass(frozen=True)
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
    probabilities: dict[str, dict[Any, float]] = field(default_factory=dict)
    truncated: str = ""
    decoded: int = 0
    mass: dict[str, float] = field(default_factory=dict)


class TokenValues(NamedTuple):
    """One vector (a hidden state) or one number (a logit) for each token of a text.

    values  (tokens, width), float32: the residual stream after a layer; or (tokens,): a logit for each
    ends    offset at which each token ends in the text, in bytes of UTF-8
    """

    values: npt.NDArray[np.floating[Any]]
    ends: tuple[int, ...]

    def tokens(self, start: int, end: int) -> slice:
        """Return the tokens that overlap the bytes from `start` to `end`; at least one.

        >>> import numpy as np
        >>> states = TokenValues(np.zeros((3, 1)), ends=(2, 5, 9))
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
    >>> usage.given, usage.total
    (79, 127)
    >>> TokenUsage(read=1).plus(read=3).read
    4
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
        return TokenUsage._make(now - then for now, then in zip(self, before, strict=True))


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

        budget       maximum tokens of an item's free fields together, one number for all items or one each;
                     a longer reply is cut, and still valid JSON
        temperature  0 chooses the likeliest token; above 0, item i is sampled by a generator with seeds[i]

        Raises ContextTooLong, before anything is decoded, when the tokens don't fit the context.
        """
        ...

    def read(self, context: str, item: str, layer: int) -> TokenValues:
        """Return the hidden states after `layer` of `item` following `context`, with no prefix.

        Only the layers up to this one are computed. Raises ContextTooLong as `generate` does, EngineError
        where this build of llama.cpp exposes no hidden states, and InputError for a model whose architecture
        is not known for reading (`localeval.engine.architectures`).
        """
        ...

    def states_before_replies(
        self, prefix: PromptPrefix, context: str, items: Sequence[str], schema: type[T], layer: int
    ) -> npt.NDArray[np.float32]:
        """Return the hidden state after `layer` in which the reply to each item would begin: (items, width).

        The prompts are those of `generate`, with what the grammar forces before the first choice; no reply
        is decoded. Raises what `read` raises.
        """
        ...

    def likelihood(self, context: str, items: Sequence[str]) -> list[Likelihood]:
        """Return how likely each of `items` is as the continuation of `context`, with no prefix.

        Equal beginnings of items are computed once. Raises ContextTooLong as `generate` does.
        """
        ...

    def read_and_compare(
        self, context: str, item: str, variants: Sequence[str], layer: int
    ) -> tuple[TokenValues, list[float]]:
        """Read `item` as `read` does, and return how much likelier it is than each of its variants.

        That is the log-probability of the first token of `item` that a variant does not have, minus the one
        of the variant's token there. The item is computed once, by all layers, however many variants there
        are. Raises what `read` raises, and ValueError for a variant that differs at the first token of the
        item, or does not differ.
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
