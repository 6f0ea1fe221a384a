"""Is each context, taken alone, of use for the answer that is given?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from localeval.engine.interface import ContextTooLong, Reply
from localeval.judgements.context import JudgeContext, Record, response_of
from localeval.judgements.support import DirectReply
from localeval.judgements.windows import windows, yes
from localeval.samples import Sample
from localeval.text.language import language
from localeval.text.sentences import has_words

Against = Literal["reference", "response"]


class UsefulRecord(Record):
    """The probability for each context, in the order of retrieval, 0 to 1; and what it was held against."""

    contexts: tuple[float, ...]
    against: Against


def against(sample: Sample) -> Against:
    """The reference where the sample has one that says something, else its response."""
    return "reference" if has_words(sample.reference or "") else "response"


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    prompt = context.options.prompt("useful", language(sample.user_input or ""))
    return {"prompt": prompt.sha256, "against": against(sample)}


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> UsefulRecord:
    """Each context as a leaf on the branch of question and answer. One without a word is of no use.

    Where one is too long, it is cut into windows, and the best one decides.
    """
    to = against(sample)
    answer = (sample.reference or "") if to == "reference" else response_of(sample)
    contexts = sample.retrieved_contexts or []
    read = [text for text in contexts if has_words(text)]
    shares = iter(_shares(context, sample.user_input or "", answer, read) if read else ())
    found = tuple(next(shares) if has_words(text) else 0.0 for text in contexts)
    return UsefulRecord(contexts=found, against=to)


def _shares(context: JudgeContext, question: str, answer: str, contexts: Sequence[str]) -> list[float]:
    """Of each context, one at least, the probability that it is of use."""
    prompt = context.options.prompt("useful", language(question))
    trunk = prompt.trunk("useful", DirectReply)
    branch = prompt.render_branch(user_input=question, answer=answer)

    def asked(texts: Sequence[str]) -> list[Reply[DirectReply]]:
        leaves = [prompt.render_leaf("useful", context=text) for text in texts]
        return context.engine.generate(trunk, branch, leaves, DirectReply, budget=0)

    try:
        return [*map(yes, asked(contexts))]
    except ContextTooLong:  # which is found before anything is computed
        bare = [prompt.render_leaf("useful", context="")]
        parts = [windows(context.engine, trunk, [text], bare, branch=branch) for text in contexts]
        replies = iter(asked([*chain.from_iterable(parts)]))
        return [max(yes(next(replies)) for _ in own) for own in parts]
