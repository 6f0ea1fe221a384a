"""Contexts cut into windows that fit the judge, and the best of what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from localeval.engine.batching import GLUE_TOKENS, cut
from localeval.engine.interface import Reply, TreeEngine
from localeval.prompts import fence, join
from localeval.prompts.prefix import PromptPrefix
from localeval.text.overlap import context_sentences


def windows(
    engine: TreeEngine,
    trunk: PromptPrefix | None,
    contexts: Sequence[str],
    leaves: Sequence[str],
    *,
    branch: str,
    budget: int = 0,
) -> list[str]:
    """The contexts joined, whole where they fit; else windows of whole sentences, one sentence shared.

    `branch` is the branch without contexts, `trunk` is None where none stands before it, `budget` is of
    a reply. These, the longest of `leaves` and an eighth of the context stay free, so that several leaves are
    decoded together. Raises ContextTooLong where more than eight windows, or a window for a single sentence,
    would be needed.
    """
    free = max(engine.settings.n_ctx // 8, budget + GLUE_TOKENS)
    before = engine.settings.n_ctx if trunk is None else engine.room(trunk)
    room = before - engine.count(branch) - max(map(engine.count, leaves)) - free
    whole = join(contexts)
    if engine.count(fence(whole)) <= room:
        return [whole]
    sentences = [s.text for s in context_sentences(contexts)]
    return cut(sentences, [engine.count(fence(s)) + 1 for s in sentences], max(0, room))


def best(by_window: Iterable[Sequence[Reply[Any]]]) -> list[Reply[Any]]:
    """Of each leaf, asked in every window, the reply that is surest of yes; of equals the first."""
    return [max(replies, key=yes) for replies in zip(*by_window, strict=True)]


def yes(reply: Reply[Any]) -> float:
    """The probability of the verdict yes, 0 to 1."""
    return reply.probabilities["verdict"]["yes"]
