"""An engine that answers nothing and counts what a real one would compute.

A judgement that is asked of it goes its whole way: prompts, windows, refusals of what is too long. So the
code that asks is what tells what a run will ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from localeval.engine.batching import build_tree, chunks, count_beyond, shared_length
from localeval.engine.interface import Reply, States, TokenUsage, TreeEngine
from localeval.prompts import PromptPrefix

T = TypeVar("T", bound=BaseModel)

# How long replies will be, chosen on finished judgements by qwen2.5-coder-1.5b with its built-in prompts: the
# tokens of 160 other samples, 20 by 20, were 0.98 to 1.06 of the estimate.
LIST_SHARE = 0.95  # tokens of a reply that is a list, for each token of its item
TEXT_TOKENS = {"question": 12}  # tokens of a text field of a reply
OTHER_TEXT_TOKENS = 40  # reasons and analyses are not fitted: a guess
WRONG_GUESSES = 0.29  # wrongly guessed tokens for each one written, where nothing is drawn


class DryRunEngine:
    """A `TreeEngine` that reads with another one's tokens.

    asked  the tokens of each chunk of items that was asked since it was emptied: of prompts as they will be,
           of replies estimated

    A free field of its replies is empty and cut by the budget, and a choice stands at even odds.
    """

    spent = TokenUsage()

    def __init__(self, engine: TreeEngine) -> None:
        self.settings, self.room = engine.settings, engine.room
        self.tokens, self.count, self.frame = engine.tokens, engine.count, engine.frame
        self._engine = engine
        self._prefixes: set[PromptPrefix] = set()
        self._in_cache: tuple[PromptPrefix | int, str] | None = None
        self.asked: list[TokenUsage] = []

    def is_prefix_cached(self, prefix: PromptPrefix) -> bool:
        return prefix in self._prefixes or self._engine.is_prefix_cached(prefix)

    def prefix_tokens(self) -> int:
        """Count the tokens of all prefixes that were used, also of those that are cached."""
        return sum(len(self.frame(prefix).before) for prefix in self._prefixes)

    def close(self) -> None:
        """Do nothing: the engine whose tokenizer it uses stays open."""

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
        settings, (before, after) = self.settings, self.frame(prefix)
        fields = schema.model_fields
        choices = {
            n: get_args(f.annotation) for n, f in fields.items() if get_origin(f.annotation) is Literal
        }
        lists = [name for name, field in fields.items() if get_origin(field.annotation) is list]
        texts = sum(TEXT_TOKENS.get(n, OTHER_TEXT_TOKENS) for n in fields if n not in (*choices, *lists))
        opening, later = self._forced([*fields], choices)
        context_tokens, own = len(self.tokens(context)), [self.tokens(item) for item in items]
        feeds = [[*text, *after, *opening] for text in own]
        budgets = [budget] * len(items) if isinstance(budget, int) else list(budget)
        stem = len(before) + context_tokens
        for chunk in chunks([*map(len, feeds)], budgets, stem, settings.n_ctx, settings.width):
            nodes, _ = build_tree([feeds[i] for i in chunk])
            forced = count_beyond(nodes, [len(own[i]) + len(after) for i in chunk])
            decoded = sum(min(budgets[i], texts + LIST_SHARE * len(lists) * len(own[i])) for i in chunk)
            self.asked.append(
                TokenUsage(
                    prefix=0 if self.is_prefix_cached(prefix) else len(before),
                    context=0 if self._in_cache == (prefix, context) else context_tokens,
                    items=len(nodes) - forced,
                    forced=forced + later * len(chunk),
                    decoded=round(decoded),
                    guessed=0 if temperature > 0 else round(WRONG_GUESSES * decoded),
                )
            )
            self._prefixes.add(prefix)
            self._in_cache = (prefix, context)
        value = {name: [] if name in lists else choices.get(name, ("",))[0] for name in fields}
        even = {name: dict.fromkeys(options, 1 / len(options)) for name, options in choices.items()}
        return [Reply(schema(**value), "", even, truncated="budget") for _ in items]

    def read(self, context: str, item: str, layer: int) -> States:
        """States of nothing but zeros, one wide."""
        stem, own = len(self.tokens(context)), len(self.tokens(item))
        chunks([own], [0], stem, self.settings.n_ctx, 1)  # raises where it does not fit
        before = 0 if self._in_cache == (layer, context) else stem
        self.asked.append(TokenUsage(read=before + own))
        self._in_cache = (layer, context)
        return blank_states(item, own)

    def _forced(self, fields: Sequence[str], choices: Mapping[str, Sequence[Any]]) -> tuple[list[int], int]:
        """Give (a reply's tokens before its first decision, how many stand before the later choices)."""
        first, *others = fields
        start = f'{{"{first}":'
        later = sum(len(self.tokens(f'{name}":"')) for name in others if name in choices)
        if first not in choices:
            return [*self.tokens(start + '"')][:-1], later
        ways = [self.tokens(f'{start}"{option}"') for option in choices[first]]
        return [*ways[0][: shared_length(ways)]], later


def blank_states(text: str, tokens: int) -> States:
    """Zeros for a text of so many tokens, all about as long; a head makes its bias of them."""
    import numpy as np

    size = len(text.encode("utf-8", "replace"))
    ends = tuple(size * (i + 1) // tokens for i in range(tokens))
    return States(np.zeros((tokens, 1), np.float32), ends)
