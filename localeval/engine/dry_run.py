"""An engine that computes nothing and counts the tokens that a real one would.

A judgement runs on it in full: prompts, windows, refusals of what is too long. So a plan comes from the same
code as the run itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from localeval.engine.batching import build_tree, chunks, count_beyond, shared_length
from localeval.engine.interface import Likelihood, Reply, TokenUsage, TokenValues, TreeEngine
from localeval.prompts import PromptPrefix
from localeval.system.versions import digest

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T", bound=BaseModel)

# Lengths of replies, fitted to finished judgements by qwen2.5-coder-1.5b with its built-in prompts: for 160
# other samples, 20 at a time, the tokens were 0.98 to 1.06 of the estimate.
LIST_SHARE = 0.95  # tokens of a list field of a reply, for each token of its item
TEXT_TOKENS = {"question": 12}  # tokens of a text field of a reply
OTHER_TEXT_TOKENS = 40  # a guess: reasons and analyses were not fitted
WRONG_GUESSES = 0.29  # wrong draft tokens for each token written, at temperature 0


@dataclass(frozen=True)
class _ReplyFields:
    """The fields of a reply, by what is known of them before it is written.

    names    all of them, in order
    choices  name -> options
    lists    names of the fields that are lists; the others are texts
    """

    names: tuple[str, ...]
    choices: Mapping[str, Sequence[Any]]
    lists: frozenset[str]

    @classmethod
    def of_schema(cls, schema: type[BaseModel]) -> _ReplyFields:
        choices: dict[str, Sequence[Any]] = {}
        lists = set()
        for name, field in schema.model_fields.items():
            if get_origin(field.annotation) is Literal:
                choices[name] = get_args(field.annotation)
            elif get_origin(field.annotation) is list:
                lists.add(name)
        return cls(tuple(schema.model_fields), choices, frozenset(lists))

    def estimate(self, item_tokens: int) -> float:
        """Estimate the tokens of the texts and lists of a reply to an item of so many tokens."""
        texts = [name for name in self.names if name not in self.choices and name not in self.lists]
        text_tokens = sum(TEXT_TOKENS.get(name, OTHER_TEXT_TOKENS) for name in texts)
        return text_tokens + LIST_SHARE * len(self.lists) * item_tokens

    def value(self, text: str) -> dict[str, Any]:
        """Return a value of each field: an empty list, the first option, or `text`."""
        value: dict[str, Any] = {}
        for name in self.names:
            if name in self.lists:
                value[name] = []
            elif name in self.choices:
                value[name] = self.choices[name][0]
            else:
                value[name] = text
        return value

    def even_odds(self) -> dict[str, dict[Any, float]]:
        """Return the same probability for each option of a choice."""
        return {name: dict.fromkeys(options, 1 / len(options)) for name, options in self.choices.items()}


class DryRunEngine:
    """A `TreeEngine` that uses the tokenizer and settings of another one, and has no prefix cached.

    spent  tokens since it was made: exact for prompts, estimated for replies

    A list of its replies is empty, a text tells what was asked, and a choice has even odds.
    """

    def __init__(self, engine: TreeEngine) -> None:
        self.settings = engine.settings
        self.room = engine.room
        self.tokens = engine.tokens
        self.count = engine.count
        self.frame = engine.frame
        self._prefixes: set[PromptPrefix] = set()
        self._in_cache: tuple[PromptPrefix | int | None, str] | None = None
        self.spent = TokenUsage()

    def close(self) -> None:
        """Do nothing: the engine whose tokenizer this one uses stays open."""

    def generate(
        self,
        prefix: PromptPrefix,
        context: str,
        items: Sequence[str],
        schema: type[T],
        *,
        budget: int | Sequence[int] = 256,
        temperature: float = 0.0,
        seeds: Sequence[list[int]] | None = None,  # noqa: ARG002
    ) -> list[Reply[T]]:
        """Raises ContextTooLong as a real engine does."""
        fields = _ReplyFields.of_schema(schema)
        budgets = [budget] * len(items) if isinstance(budget, int) else list(budget)
        self._count_generated(prefix, context, items, fields, budgets, temperature)
        # What is made of other texts has another key.
        value = fields.value(digest([context, *items]))
        even = fields.even_odds()
        return [Reply(schema(**value), "", even, truncated="budget") for _ in items]

    def _count_generated(
        self,
        prefix: PromptPrefix,
        context: str,
        items: Sequence[str],
        fields: _ReplyFields,
        budgets: Sequence[int],
        temperature: float,
    ) -> None:
        """Count the tokens of the replies to `items` and of their prompts."""
        _, after = self.frame(prefix)
        opening, later = self._forced(fields)
        item_tokens = [self.tokens(item) for item in items]
        feeds = [[*tokens, *after, *opening] for tokens in item_tokens]
        for chunk in self._prefilled(prefix, context, feeds, budgets):
            nodes, _ = build_tree([feeds[i] for i in chunk])
            forced = count_beyond(nodes, [len(item_tokens[i]) + len(after) for i in chunk])
            decoded = sum(min(budgets[i], fields.estimate(len(item_tokens[i]))) for i in chunk)
            self.spent = self.spent.plus(
                items=len(nodes) - forced,
                forced=forced + later * len(chunk),
                decoded=round(decoded),
                guessed=0 if temperature > 0 else round(WRONG_GUESSES * decoded),
            )

    def _prefilled(
        self, prefix: PromptPrefix, context: str, feeds: Sequence[Sequence[int]], budgets: Sequence[int]
    ) -> list[range]:
        """Return the items that are decoded together, and count prefix and context where they are new."""
        before, _ = self.frame(prefix)
        context_tokens = len(self.tokens(context))
        sizes = [len(feed) for feed in feeds]
        stem = len(before) + context_tokens
        item_ranges = chunks(sizes, budgets, stem, self.settings.n_ctx, self.settings.width)
        self.spent = self.spent.plus(
            prefix=0 if prefix in self._prefixes else len(before),
            context=0 if self._in_cache == (prefix, context) else context_tokens,
        )
        self._prefixes.add(prefix)
        self._in_cache = (prefix, context)
        return item_ranges

    def read(self, context: str, item: str, layer: int) -> TokenValues:
        """Return states of zeros, of width 1. Raises ContextTooLong as a real engine does."""
        context_tokens = len(self.tokens(context))
        item_tokens = len(self.tokens(item))
        # Checks that they fit.
        chunks([item_tokens], [0], context_tokens, self.settings.n_ctx, 1)
        new_context = 0 if self._in_cache == (layer, context) else context_tokens
        self.spent = self.spent.plus(read=new_context + item_tokens)
        self._in_cache = (layer, context)
        return blank_states(item, item_tokens)

    def states_before_replies(
        self,
        prefix: PromptPrefix,
        context: str,
        items: Sequence[str],
        schema: type[T],
        layer: int,  # noqa: ARG002
    ) -> npt.NDArray[np.float32]:
        """Return states of zeros, of width 1. Raises ContextTooLong as a real engine does."""
        _, after = self.frame(prefix)
        opening, _ = self._forced(_ReplyFields.of_schema(schema))
        feeds = [[*self.tokens(item), *after, *opening] for item in items]
        for chunk in self._prefilled(prefix, context, feeds, [0] * len(items)):
            nodes, _ = build_tree([feeds[i] for i in chunk])
            self.spent = self.spent.plus(read=len(nodes))
        return blank_rows(len(items))

    def likelihood(self, context: str, items: Sequence[str]) -> list[Likelihood]:
        """Return even likelihoods. Raises ContextTooLong as a real engine does."""
        *stem, last = self.tokens(context)
        item_tokens = [[*self.tokens(item)] for item in items]
        sizes = [len(tokens) for tokens in item_tokens]
        no_budget = [0] * len(items)
        for chunk in chunks(sizes, no_budget, len(stem), self.settings.n_ctx, self.settings.width):
            nodes, _ = build_tree([[last, *item_tokens[i][:-1]] for i in chunk])
            new_context = 0 if self._in_cache == (None, context) else len(stem)
            self.spent = self.spent.plus(context=new_context, items=len(nodes))
            self._in_cache = (None, context)
        return [Likelihood((0.0,)) for _ in items]

    def read_and_compare(
        self,
        context: str,
        item: str,
        variants: Sequence[str],
        layer: int,  # noqa: ARG002
    ) -> tuple[TokenValues, list[float]]:
        """Return states of zeros and even odds. Raises ContextTooLong as a real engine does."""
        context_tokens = len(self.tokens(context))
        item_tokens = len(self.tokens(item))
        # Checks that they fit.
        chunks([item_tokens], [0], context_tokens, self.settings.n_ctx, 1)
        new_context = 0 if self._in_cache == (None, context) else context_tokens
        self.spent = self.spent.plus(context=new_context, items=item_tokens)
        self._in_cache = (None, context)
        return blank_states(item, item_tokens), [0.0] * len(variants)

    def _forced(self, fields: _ReplyFields) -> tuple[list[int], int]:
        """Return (a reply's tokens before its first decision, number of tokens before later choices)."""
        first, *others = fields.names
        later = sum(len(self.tokens(name + '":"')) for name in others if name in fields.choices)
        start = '{"' + first + '":"'
        if first not in fields.choices:
            # Without the last token: the opening quote may be one token with the text behind it.
            tokens = list(self.tokens(start))
            return tokens[:-1], later
        replies = [self.tokens(f'{start}{option}"') for option in fields.choices[first]]
        shared = shared_length(replies)
        return list(replies[0][:shared]), later


def blank_states(text: str, tokens: int) -> TokenValues:
    """Return zeros for a text of `tokens` tokens of about equal length; a head maps them to its bias."""
    size = len(text.encode("utf-8", "replace"))
    ends = tuple(size * (i + 1) // tokens for i in range(tokens))
    return TokenValues(blank_rows(tokens), ends)


def blank_rows(number: int) -> npt.NDArray[np.float32]:
    """Return states of zeros, of width 1; a head maps them to its bias."""
    import numpy as np

    return np.zeros((number, 1), np.float32)
