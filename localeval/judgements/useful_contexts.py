"""Is each context, by itself, useful for the given answer?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal

from localeval.claims.foreign_words import only_repeats
from localeval.engine.interface import ContextTooLong
from localeval.judgements.context import JudgeContext, Record, response_of
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.support import DirectReply
from localeval.judgements.windows import probability_of_yes, windows
from localeval.samples import Sample
from localeval.text.language import language
from localeval.text.sentences import has_words


class UsefulRecord(Record):
    """The probability for each context, 0 to 1, in retrieval order; and the text it was compared with.

    repeats  numbers of the contexts, from 0, that only repeat the question: their probability is 0, unasked
    """

    contexts: tuple[float, ...]
    against: Literal["reference", "response"]
    repeats: tuple[int, ...] = ()

    decides: ClassVar[Kind] = "context"
    texts_of: ClassVar[str] = "retrieved_contexts"

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List whether each context is useful; of one that only repeats the question, no model was asked."""
        texts = context.sample.retrieved_contexts or []
        return tuple(
            Decision(
                text=text,
                label="useful",
                probability=probability,
                is_yes=probability >= context.threshold,
                threshold=context.threshold,
                unjudged="repeats" if i in self.repeats else "",
                column="retrieved_contexts",
                context=i,
                start=0,
                end=len(text),
                against=self.against,
            )
            for i, (text, probability) in enumerate(zip(texts, self.contexts, strict=False))
        )


def against(sample: Sample) -> Literal["reference", "response"]:
    """Return "reference" where the sample has one with a word in it, else "response"."""
    return "reference" if has_words(sample.reference or "") else "response"


def key_fields(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    prompt = context.options.prompt("useful", language(sample.user_input or ""))
    return {"prompt": prompt.sha256, "against": against(sample)}


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> UsefulRecord:
    """Ask about each context after the question and the answer, as far as it says anything.

    A context without a word is not useful, nor is one that only repeats the question (see `only_repeats`).
    Where one is too long, each is cut into windows, and its best window decides.
    """
    question, target, engine = sample.user_input or "", against(sample), context.engine
    answer = (sample.reference or "") if target == "reference" else response_of(sample)
    contexts = sample.retrieved_contexts or []
    repeats = {i for i, text in enumerate(contexts) if has_words(text) and only_repeats(text, question)}
    readable = [text for i, text in enumerate(contexts) if has_words(text) and i not in repeats]
    prompt = context.options.prompt("useful", language(question))
    prefix = prompt.prefix("useful", DirectReply)
    rendered = prompt.render_context(user_input=question, answer=answer)

    def probabilities_of(texts: Sequence[str]) -> list[float]:
        items = [prompt.render_item("useful", context=text) for text in texts]
        replies = engine.generate(prefix, rendered, items, DirectReply, budget=0)
        return [*map(probability_of_yes, replies)]

    try:
        probabilities = probabilities_of(readable) if readable else []
    except ContextTooLong:  # raised before anything is computed
        empty_item = [prompt.render_item("useful", context="")]
        parts = [windows(engine, prefix, [text], empty_item, bare=rendered) for text in readable]
        by_window = iter(probabilities_of([*chain.from_iterable(parts)]))
        probabilities = [max(next(by_window) for _ in text_parts) for text_parts in parts]
    remaining = iter(probabilities)
    by_context = tuple(
        next(remaining) if has_words(text) and i not in repeats else 0.0 for i, text in enumerate(contexts)
    )
    return UsefulRecord(contexts=by_context, against=target, repeats=tuple(sorted(repeats)))
