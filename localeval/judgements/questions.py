"""Which questions does the response answer, and does it answer them sufficiently?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from localeval.claims.foreign_words import content_terms, decision_of, foreign_word
from localeval.judgements import statements
from localeval.judgements.context import JudgeContext, Record, language_of, response_of
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.prompts import Prompt, PromptPrefix
from localeval.samples import Sample
from localeval.system.versions import digest
from localeval.text.display import one_line
from localeval.text.sentences import has_words

# Bytes of a response that a small judge takes for too little: as many letters, or 15 Chinese characters.
BRIEF = 45
QUESTION_TOKENS = 64
ANALYSIS_TOKENS = 120
# How often a question is drawn at most, where it has a word that the response does not have.
TRIES = 3


class Drawn(Record):
    """One question drawn from the response, and P(the response answers it sufficiently), 0 to 1.

    analysis  what the model wrote before it decided, if it was asked to
    foreign   a word of the question by which it was not made from the response (see `foreign_word`), after
              all tries; "" where there is none. With one, `sufficient` is 0
    """

    question: str
    sufficient: float
    analysis: str | None = None
    foreign: str = ""


class QuestionsRecord(Record):
    """The draws, the share of distinct ones, and `sufficient` and `analysis` for the real question.

    completed  the brief response in whole sentences, as it was shown with the real question, or ""
    """

    draws: tuple[Drawn, ...]
    distinct: float
    sufficient: float
    analysis: str | None = None
    completed: str = ""

    decides: ClassVar[Kind] = "question"

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List whether the response answers the real question, then each drawn one; none without a draw."""
        if not self.draws:
            return ()
        cosines: tuple[float, ...] = getattr(context.records.get("similarity"), "cosines", ())
        real = Decision(
            text=context.sample.user_input or "",
            label="sufficient",
            probability=self.sufficient,
            is_yes=self.sufficient >= context.threshold,
            threshold=context.threshold,
            column="user_input",
            against="response",
            premise=self.completed,
            reason=self.analysis or "",
        )
        drawn = [
            Decision(
                text=draw.question,
                label="sufficient",
                probability=draw.sufficient,
                is_yes=draw.sufficient >= context.threshold,
                threshold=context.threshold,
                against="response",
                reason=draw.analysis or "",
                foreign_word=draw.foreign,
                cosine=cosine,
            )
            for draw, cosine in zip_longest(self.draws, cosines[: len(self.draws)])
        ]
        return (real, *drawn)


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
    1820." A response without a letter or digit answers nothing, and no question is drawn. A question with a
    word that the response does not have is drawn again (see `_QuestionDrawer`).
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
    completed = _completed(response, [text for texts, _ in written for text in texts])
    rendered = prompt.render_context(response=response)
    analysis_budget = ANALYSIS_TOKENS if reasoned else 0
    item = prompt.render_item("given", user_input=sample.user_input or "")
    shown = prompt.render_context(response=completed) if completed else rendered
    real = context.engine.generate(prefix, shown, [item], given_schema, budget=analysis_budget)[0]
    drawer = _QuestionDrawer(context, sample, prompt, prefix, drawn_schema)
    draws = drawer.draw(QUESTION_TOKENS + analysis_budget)
    return QuestionsRecord(
        draws=tuple(draws),
        distinct=len({draw.question for draw in draws}) / len(draws),
        sufficient=real.probabilities["sufficient"]["yes"],
        analysis=getattr(real.value, "analysis", None),
        completed=completed,
    )


def _completed(response: str, sentences: Sequence[str]) -> str:
    """Join the sentences that the model made of a brief response, "" for none.

    A "Yes." or "No." of the response stays, since it may be the whole answer: it makes no statement beside
    others.
    """
    completed = " ".join(sentences)
    decision = decision_of(response)
    if not completed or not decision or decision[:-1].lower() in completed.lower():
        return completed
    return f"{decision} {completed}"


@dataclass(frozen=True)
class _QuestionDrawer:
    """Draws questions from the response of a sample, and draws those with a foreign word again.

    A small model may ask about a subject of its worked examples. So such a question is drawn again with other
    seeds, the last time without any example. Where it has a foreign word then, too, the response does not
    answer it. The first draws do not depend on what comes of them: they have the same bits where one is drawn
    again.
    """

    context: JudgeContext
    sample: Sample
    prompt: Prompt
    prefix: PromptPrefix
    schema: type[DrawnReply | ReasonedDrawnReply]

    def draw(self, budget: int) -> list[Drawn]:
        """Return as many questions as `Options.questions` says; `budget` tokens for each."""
        numbers = list(range(self.context.options.questions))
        draws = self._generate(numbers, 0, budget)
        for attempt in range(1, TRIES):
            numbers = [i for i, draw in enumerate(draws) if draw.foreign]
            if not numbers:
                break
            for i, draw in zip(numbers, self._generate(numbers, attempt, budget), strict=True):
                draws[i] = draw
        return [draw.model_copy(update={"sufficient": 0.0}) if draw.foreign else draw for draw in draws]

    def _generate(self, numbers: Sequence[int], attempt: int, budget: int) -> list[Drawn]:
        """Draw the questions of these numbers; `attempt` counts from 0."""
        options, response = self.context.options, response_of(self.sample)
        last = attempt == TRIES - 1
        content_seed = int(digest(response)[:16], 16)
        attempt_seed = [attempt] if attempt else []
        replies = self.context.engine.generate(
            PromptPrefix(self.prefix.system, ()) if last else self.prefix,
            self.prompt.render_context(response=response),
            [self.prompt.render_item("question")] * len(numbers),
            self.schema,
            budget=budget,
            temperature=options.temperature,
            seeds=[[options.seed, content_seed, i, *attempt_seed] for i in numbers],
        )
        draws = []
        for reply in replies:
            question = one_line(reply.value.question)
            draws.append(
                Drawn(
                    question=question,
                    sufficient=reply.probabilities["sufficient"]["yes"],
                    analysis=getattr(reply.value, "analysis", None),
                    foreign=self._foreign_word(question),
                )
            )
        return draws

    def _foreign_word(self, question: str) -> str:
        """Return a foreign word of the question, or ""; the words of other languages are not known."""
        if language_of(self.sample) == "other":
            return ""
        examples = content_terms(example_texts(self.prompt))
        return foreign_word(question, response_of(self.sample), examples, brief=is_brief(self.sample))


def example_texts(prompt: Prompt) -> tuple[str, ...]:
    """Return the responses and questions of the worked examples, from which a model may take words."""
    texts = []
    for example in prompt.examples:
        texts += [text for text in (example.model_extra or {}).values() if isinstance(text, str)]
        for item in example.items:
            texts += [item[name] for name in ("user_input", "question") if name in item]
    return tuple(texts)
