"""Contexts cut into windows that fit the judge, and the best reply among windows.

`localeval.engine.windows` cuts the text. `reading.read` takes the best window of a sentence that a head
reads, and `localeval.auxiliary.hhem` that of a statement which the classifier decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from localeval.engine.batching import GLUE_TOKENS
from localeval.engine.interface import Reply, TreeEngine
from localeval.engine.windows import text_windows
from localeval.judgements.replies import probability_of_yes
from localeval.prompts import PromptPrefix, fence, join

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")
MAX_SHOWN_CHARACTERS = 1000  # of a sentence of the contexts that an item repeats


def windows(
    engine: TreeEngine,
    prefix: PromptPrefix | None,
    contexts: Sequence[str],
    items: Sequence[str],
    *,
    bare: str,
    budget: int = 0,
) -> list[str]:
    """Join the contexts: whole if they fit, else in windows (see `localeval.engine.windows`).

    bare    the text before the items, without contexts
    budget  tokens of a reply

    An eighth of the engine's context stays free, so that several items are decoded together. Raises
    ContextTooLong if more than eight windows would be needed.
    """
    reserved = max(engine.settings.n_ctx // 8, budget + GLUE_TOKENS)
    available = engine.settings.n_ctx if prefix is None else engine.room(prefix)
    room = available - engine.count(bare) - max(map(engine.count, items)) - reserved
    whole = join(contexts)
    if engine.count(fence(whole)) <= room:
        return [whole]
    return text_windows(contexts, lambda part: engine.count(fence(part)) + 1, max(0, room))


def ask_in_windows(
    engine: TreeEngine,
    prefix: PromptPrefix,
    render: Callable[[str], str],
    contexts: Sequence[str],
    render_items: Callable[[str], Sequence[str]],
    schema: type[T],
    budget: int = 0,
) -> tuple[list[Reply[T]], int]:
    """Ask each item in every window.

    render        turns a window's text into the prompt's context
    render_items  turns a window's text into the items, as many for each; those for the whole text are longest

    Returns each item's reply with the highest probability of yes (the first of equals), and the window count.
    """
    longest = render_items(join(contexts))
    parts = windows(engine, prefix, contexts, longest, bare=render(""), budget=budget)
    by_window = [
        engine.generate(prefix, render(part), render_items(part), schema, budget=budget) for part in parts
    ]
    return best_of_windows(by_window, probability_of_yes), len(parts)


def best_of_windows(by_window: Sequence[Sequence[V]], key: Callable[[V], Any]) -> list[V]:
    """Return the best value of each item, the first of equals: (windows, items) -> (items,).

    >>> best_of_windows([[0.2, 0.9], [0.4, 0.1]], key=float)
    [0.4, 0.9]
    """
    return [max(values, key=key) for values in zip(*by_window, strict=True)]
