"""Is each context, taken alone, of use for the answer that is given?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from localeval.engine.interface import ContextTooLong
from localeval.judgements.context import JudgeContext, Record, response_of
from localeval.judgements.support import DirectReply
from localeval.judgements.windows import probability_of_yes, windows
from localeval.samples import Sample
from localeval.text.language import language
from localeval.text.sentences import has_words


class UsefulRecord(Record):
    """The probability for each context, 0 to 1, in the order of retrieval; and what it was held against."""

    contexts: tuple[float, ...]
    against: Literal["reference", "response"]


def against(sample: Sample) -> Literal["reference", "response"]:
    """Choose the reference where the sample has one that says something, else its response."""
    return "reference" if has_words(sample.reference or "") else "response"


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    prompt = context.options.prompt("useful", language(sample.user_input or ""))
    return {"prompt": prompt.sha256, "against": against(sample)}


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> UsefulRecord:
    """Ask about each context behind question and answer. One without a word is of no use.

    Where one is too long, each is cut into windows, and its best one decides.
    """
    question, to, engine = sample.user_input or "", against(sample), context.engine
    answer = (sample.reference or "") if to == "reference" else response_of(sample)
    contexts = sample.retrieved_contexts or []
    readable = [text for text in contexts if has_words(text)]
    prompt = context.options.prompt("useful", language(question))
    prefix = prompt.prefix("useful", DirectReply)
    before = prompt.render_context(user_input=question, answer=answer)

    def asked(texts: Sequence[str]) -> list[float]:
        items = [prompt.render_item("useful", context=text) for text in texts]
        return [*map(probability_of_yes, engine.generate(prefix, before, items, DirectReply, budget=0))]

    try:
        shares = asked(readable) if readable else []
    except ContextTooLong:  # which is found before anything is computed
        bare = [prompt.render_item("useful", context="")]
        parts = [windows(engine, prefix, [text], bare, bare=before) for text in readable]
        of_parts = iter(asked([*chain.from_iterable(parts)]))
        shares = [max(next(of_parts) for _ in own) for own in parts]
    found = iter(shares)
    return UsefulRecord(
        contexts=tuple(next(found) if has_words(text) else 0.0 for text in contexts), against=to
    )
