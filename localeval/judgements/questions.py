"""Which questions does the response answer, and does it answer them sufficiently?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from localeval.judgements.context import JudgeContext, Record, response_of
from localeval.samples import Sample
from localeval.system.versions import digest
from localeval.text.display import one_line
from localeval.text.language import language
from localeval.text.sentences import has_words

QUESTION_TOKENS = 64
ANALYSIS_TOKENS = 120


class Drawn(Record):
    """One question drawn for the response, and the probability that it answers it sufficiently, 0 to 1.

    analysis  what the model wrote before it decided, where it was asked to
    """

    question: str
    sufficient: float
    analysis: str | None = None


class QuestionsRecord(Record):
    """The draws, the share of different ones among them, and what holds of the real question as of a draw."""

    draws: tuple[Drawn, ...]
    distinct: float
    sufficient: float
    analysis: str | None = None


class GivenReply(BaseModel):
    sufficient: Literal["yes", "no"]


class ReasonedGivenReply(BaseModel):
    analysis: str
    sufficient: Literal["yes", "no"]


class DrawnReply(BaseModel):
    question: str
    sufficient: Literal["yes", "no"]


class ReasonedDrawnReply(BaseModel):
    question: str
    analysis: str
    sufficient: Literal["yes", "no"]


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    options = context.options
    return {
        "questions": options.questions,
        "temperature": options.temperature,
        "seed": options.seed,
        "verdict": options.verdict,
        "prompt": options.prompt("questions", language(response_of(sample))).sha256,
    }


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> QuestionsRecord:
    """Ask about the real question behind the response, then draw questions, which do not see it.

    A response without a letter or digit answers nothing: no draw.
    """
    response = response_of(sample)
    if not has_words(response):
        return QuestionsRecord(draws=(), distinct=0.0, sufficient=0.0)
    options = context.options
    reasoned = options.verdict == "reasoned"
    given: type[BaseModel] = ReasonedGivenReply if reasoned else GivenReply
    drawn: type[DrawnReply | ReasonedDrawnReply] = ReasonedDrawnReply if reasoned else DrawnReply
    prompt = options.prompt("questions", language(response))
    prefix = prompt.prefix("given", given, question=drawn)
    before = prompt.render_context(response=response)
    room = ANALYSIS_TOKENS if reasoned else 0
    item = prompt.render_item("given", user_input=sample.user_input or "")
    real = context.engine.generate(prefix, before, [item], given, budget=room)[0]
    content = int(digest(response)[:16], 16)
    replies = context.engine.generate(
        prefix,
        before,
        [prompt.render_item("question")] * options.questions,
        drawn,
        budget=QUESTION_TOKENS + room,
        temperature=options.temperature,
        seeds=[[options.seed, content, i] for i in range(options.questions)],
    )
    draws = tuple(
        Drawn(
            question=one_line(reply.value.question),
            sufficient=reply.probabilities["sufficient"]["yes"],
            analysis=getattr(reply.value, "analysis", None),
        )
        for reply in replies
    )
    return QuestionsRecord(
        draws=draws,
        distinct=len({draw.question for draw in draws}) / len(draws),
        sufficient=real.probabilities["sufficient"]["yes"],
        analysis=getattr(real.value, "analysis", None),
    )
