"""Contexts cut into windows that fit the judge, and the best reply among windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from localeval.engine.batching import GLUE_TOKENS, split_windows
from localeval.engine.interface import Reply, TreeEngine
from localeval.prompts import PromptPrefix, fence, join
from localeval.text.overlap import context_sentences

T = TypeVar("T", bound=BaseModel)


def windows(
    engine: TreeEngine,
    prefix: PromptPrefix | None,
    contexts: Sequence[str],
    items: Sequence[str],
    *,
    bare: str,
    budget: int = 0,
) -> list[str]:
    """Join the contexts: whole if they fit, else as windows of whole sentences that overlap by one.

    bare    the text before the items, without contexts
    budget  tokens of a reply

    An eighth of the engine's context stays free, so that several items are decoded together. Raises
    ContextTooLong if more than eight windows, or one for part of a sentence, would be needed.
    """
    reserved = max(engine.settings.n_ctx // 8, budget + GLUE_TOKENS)
    available = engine.settings.n_ctx if prefix is None else engine.room(prefix)
    room = available - engine.count(bare) - max(map(engine.count, items)) - reserved
    whole = join(contexts)
    if engine.count(fence(whole)) <= room:
        return [whole]
    sentences = [s.text for s in context_sentences(contexts)]
    return split_windows(sentences, [engine.count(fence(s)) + 1 for s in sentences], max(0, room))


def ask_in_windows(
    engine: TreeEngine,
    prefix: PromptPrefix,
    render: Callable[[str], str],
    contexts: Sequence[str],
    items: Sequence[str],
    schema: type[T],
    budget: int = 0,
) -> tuple[list[Reply[T]], int]:
    """Ask each item in every window; `render` turns a window's text into the prompt's context.

    Returns each item's reply with the highest probability of yes (the first of equals), and the window count.
    """
    parts = windows(engine, prefix, contexts, items, bare=render(""), budget=budget)
    by_window = [engine.generate(prefix, render(part), items, schema, budget=budget) for part in parts]
    return [max(replies, key=probability_of_yes) for replies in zip(*by_window, strict=True)], len(parts)


def probability_of_yes(reply: Reply[Any]) -> float:
    return reply.probabilities["verdict"]["yes"]
