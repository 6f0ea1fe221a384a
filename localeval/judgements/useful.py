"""Is each context, taken alone, of use for the answer that is given?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from localeval.judgements.desk import Desk, Record, response_of
from localeval.judgements.support import DirectReply
from localeval.judgements.windows import yes
from localeval.samples import Sample
from localeval.texts import language

Against = Literal["reference", "response"]


class UsefulRecord(Record):
    """The probability for each context, in the order of retrieval, 0 to 1; and what it was held against."""

    contexts: tuple[float, ...]
    against: Against


def against(sample: Sample) -> Against:
    """The reference where the sample has one, else its response."""
    return "reference" if (sample.reference or "").strip() else "response"


def recipe(desk: Desk, sample: Sample) -> dict[str, Any]:
    prompt = desk.options.prompt("useful", language(sample.user_input or ""))
    return {"prompt": prompt.sha256, "against": against(sample)}


def ask(desk: Desk, sample: Sample, _: Mapping[str, Any]) -> UsefulRecord:
    """Each context as a leaf on the branch of question and answer. One without a word is of no use."""
    to = against(sample)
    answer = (sample.reference or "") if to == "reference" else response_of(sample)
    contexts = sample.retrieved_contexts or []
    read = [text for text in contexts if text.strip()]
    prompt = desk.options.prompt("useful", language(sample.user_input or ""))
    replies = iter(
        desk.engine.generate(
            prompt.trunk("useful", DirectReply),
            prompt.render_branch(user_input=sample.user_input or "", answer=answer),
            [prompt.render_leaf("useful", context=text) for text in read],
            DirectReply,
            budget=0,
        )
        if read
        else ()
    )
    shares = [yes(next(replies)) if text.strip() else 0.0 for text in contexts]
    return UsefulRecord(contexts=tuple(shares), against=to)
