"""Which questions does the response answer, and does it answer them sufficiently?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel

from localeval.judgements import statements
from localeval.judgements.context import JudgeContext, Record, language_of, response_of
from localeval.samples import Sample
from localeval.system.versions import digest
from localeval.text.display import one_line
from localeval.text.sentences import has_words

# Bytes of a response that a small judge takes for too little: as many letters, or 15 Chinese characters.
BRIEF = 45
QUESTION_TOKENS = 64
ANALYSIS_TOKENS = 120


class Drawn(Record):
    """One question drawn from the response, and P(the response answers it sufficiently), 0 to 1.

    analysis  what the model wrote before it decided, if it was asked to
    """

    question: str
    sufficient: float
    analysis: str | None = None


class QuestionsRecord(Record):
    """The draws, the share of distinct ones, and `sufficient` and `analysis` for the real question.

    completed  the brief response in whole sentences, as it was shown with the real question, or ""
    """

    draws: tuple[Drawn, ...]
    distinct: float
    sufficient: float
    analysis: str | None = None
    completed: str = ""


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


def key_fields(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    options, language_code = context.options, language_of(sample)
    fields: dict[str, Any] = {
        "questions": options.questions,
        "temperature": options.temperature,
        "seed": options.seed,
        "verdict": options.verdict,
        "prompt": options.prompt("questions", language_code).sha256,
    }
    if is_brief(sample):
        fields["completed_by"] = [statements.VERSION, options.prompt("statements", language_code).sha256]
    return fields


def is_brief(sample: Sample) -> bool:
    """Return whether the response is so short that the judge reads it as the statements that it makes."""
    return len(response_of(sample).encode("utf-8", "replace")) <= BRIEF


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> QuestionsRecord:
    """Ask about the real question after the response, then draw questions without showing the real one.

    Beside the real question a brief response stands in whole sentences: "1820" as "The mill was built in
    1820." A response without a letter or digit answers nothing, and no question is drawn.
    """
    response = response_of(sample)
    if not has_words(response):
        return QuestionsRecord(draws=(), distinct=0.0, sufficient=0.0)
    options = context.options
    reasoned = options.verdict == "reasoned"
    given_schema: type[BaseModel] = ReasonedGivenReply if reasoned else GivenReply
    drawn_schema: type[DrawnReply | ReasonedDrawnReply] = ReasonedDrawnReply if reasoned else DrawnReply
    prompt = options.prompt("questions", language_of(sample))
    prefix = prompt.prefix("given", given_schema, question=drawn_schema)
    written = statements.write_statements(context, sample) if is_brief(sample) else []
    completed = " ".join(text for texts, _ in written for text in texts)
    rendered = prompt.render_context(response=response)
    analysis_budget = ANALYSIS_TOKENS if reasoned else 0
    item = prompt.render_item("given", user_input=sample.user_input or "")
    shown = prompt.render_context(response=completed) if completed else rendered
    real = context.engine.generate(prefix, shown, [item], given_schema, budget=analysis_budget)[0]
    content_seed = int(digest(response)[:16], 16)
    replies = context.engine.generate(
        prefix,
        rendered,
        [prompt.render_item("question")] * options.questions,
        drawn_schema,
        budget=QUESTION_TOKENS + analysis_budget,
        temperature=options.temperature,
        seeds=[[options.seed, content_seed, i] for i in range(options.questions)],
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
        completed=completed,
    )
