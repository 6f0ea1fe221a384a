"""Which questions does the response answer, and does it answer them sufficiently?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, Literal

from pydantic import BaseModel

from localeval.claims.foreign_words import decision_of, foreign_word
from localeval.claims.question_words import content_terms
from localeval.engine.interface import TreeEngine
from localeval.judgements import statements
from localeval.judgements.base import Choices, Inputs, Judgement, Models, Record, Records, register_judgement
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.judged_text import JudgedText
from localeval.prompts import Prompt, PromptBySha256, PromptForm, PromptPrefix
from localeval.samples import Sample
from localeval.system.versions import digest
from localeval.text.display import one_line
from localeval.text.sentences import has_words

# UTF-8 bytes of a response that is rewritten as sentences first, 45 letters or 15 Chinese characters at most:
# small judges call it insufficient otherwise.
MAX_BRIEF_BYTES = 45
QUESTION_TOKENS = 64
ANALYSIS_TOKENS = 120
# How often a question is drawn, where it has a word that the response does not have.
MAX_TRIES = 3


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


PROMPT = PromptForm("questions", replies={"given": ReasonedGivenReply, "question": ReasonedDrawnReply})


class Completion(Inputs):
    """How a brief response is written in whole sentences: as the judgement of statements does it."""

    version: str
    prompt: PromptBySha256


class QuestionsInputs(Inputs):
    """The response with its question, how questions are drawn from it, and the prompt.

    draws       how many questions
    reasoned    whether the model writes an analysis before it decides
    completion  for a brief response, which is shown in whole sentences with the real question; else None
    """

    response: JudgedText
    draws: int
    temperature: float
    seed: int
    reasoned: bool
    prompt: PromptBySha256
    completion: Completion | None


class Questions(Judgement[QuestionsInputs, QuestionsRecord]):
    """Which questions the response answers, and whether it answers the real one."""

    name = "questions"
    version = "4"
    record = QuestionsRecord
    prompts = (PROMPT, statements.PROMPT)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> QuestionsInputs:  # noqa: ARG002
        options = choices.options
        response = JudgedText.of(sample)
        completion = None
        if is_brief(response.text):
            completion = Completion(
                version=statements.Statements.version,
                prompt=options.prompt(statements.PROMPT.name, response.language),
            )
        return QuestionsInputs(
            response=response,
            draws=options.questions,
            temperature=options.temperature,
            seed=options.seed,
            reasoned=options.verdict == "reasoned",
            prompt=options.prompt(PROMPT.name, response.language),
            completion=completion,
        )

    def ask(self, inputs: QuestionsInputs, models: Models) -> QuestionsRecord:
        """Ask about the real question after the response, then draw questions without showing the real one.

        Beside the real question a brief response stands in whole sentences: "1820" as "The mill was built in
        1820." A response without a letter or digit answers nothing, and no question is drawn. A question
        with a word that the response does not have is drawn again (see `_QuestionDrawer`).
        """
        response = inputs.response.text
        if not has_words(response):
            return QuestionsRecord(draws=(), distinct=0.0, sufficient=0.0)
        given_schema: type[BaseModel] = ReasonedGivenReply if inputs.reasoned else GivenReply
        drawn_schema: type[DrawnReply | ReasonedDrawnReply] = (
            ReasonedDrawnReply if inputs.reasoned else DrawnReply
        )
        prompt = inputs.prompt
        prefix = prompt.prefix("given", given_schema, question=drawn_schema)
        analysis_budget = ANALYSIS_TOKENS if inputs.reasoned else 0
        completed = _complete(inputs, models.engine)
        [real] = models.engine.generate(
            prefix,
            prompt.render_context(response=completed or response),
            [prompt.render_item("given", user_input=inputs.response.question)],
            given_schema,
            budget=analysis_budget,
        )
        drawer = _QuestionDrawer(inputs, models.engine, prefix, drawn_schema)
        draws = drawer.draw(QUESTION_TOKENS + analysis_budget)
        return QuestionsRecord(
            draws=tuple(draws),
            distinct=len({draw.question for draw in draws}) / len(draws),
            sufficient=real.probabilities["sufficient"]["yes"],
            analysis=getattr(real.value, "analysis", None),
            completed=completed,
        )


def is_brief(response: str) -> bool:
    """Return whether the response is so short that the judge reads it as the statements that it makes."""
    return len(response.encode("utf-8", "replace")) <= MAX_BRIEF_BYTES


def _complete(inputs: QuestionsInputs, engine: TreeEngine) -> str:
    """Write a brief response in whole sentences; "" for a longer one, or one that makes no statement."""
    if inputs.completion is None:
        return ""
    written = statements.write_statements(inputs.response, inputs.completion.prompt, engine)
    return _completed(inputs.response.text, [text for listed in written for text in listed.statements])


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

    inputs: QuestionsInputs
    engine: TreeEngine
    prefix: PromptPrefix
    schema: type[DrawnReply | ReasonedDrawnReply]

    def draw(self, budget: int) -> list[Drawn]:
        """Return as many questions as the inputs say; `budget` tokens for each."""
        numbers = list(range(self.inputs.draws))
        draws = self._generate(numbers, 0, budget)
        for attempt in range(1, MAX_TRIES):
            numbers = [i for i, draw in enumerate(draws) if draw.foreign]
            if not numbers:
                break
            for i, draw in zip(numbers, self._generate(numbers, attempt, budget), strict=True):
                draws[i] = draw
        return [draw.model_copy(update={"sufficient": 0.0}) if draw.foreign else draw for draw in draws]

    def _generate(self, numbers: Sequence[int], attempt: int, budget: int) -> list[Drawn]:
        """Draw the questions of these numbers; `attempt` counts from 0."""
        inputs = self.inputs
        response = inputs.response.text
        is_last = attempt == MAX_TRIES - 1
        content_seed = int(digest(response)[:16], 16)
        attempt_seed = [attempt] if attempt else []
        replies = self.engine.generate(
            PromptPrefix(self.prefix.system, ()) if is_last else self.prefix,
            inputs.prompt.render_context(response=response),
            [inputs.prompt.render_item("question") for _ in numbers],
            self.schema,
            budget=budget,
            temperature=inputs.temperature,
            seeds=[[inputs.seed, content_seed, i, *attempt_seed] for i in numbers],
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
        response = self.inputs.response
        if response.language == "other":
            return ""
        examples = content_terms(example_texts(self.inputs.prompt))
        return foreign_word(question, response.text, examples, brief=is_brief(response.text))


def example_texts(prompt: Prompt) -> tuple[str, ...]:
    """Return the responses and questions of the worked examples, from which a model may take words."""
    texts = []
    for example in prompt.examples:
        texts += [text for text in (example.model_extra or {}).values() if isinstance(text, str)]
        for item in example.items:
            texts += [item[name] for name in ("user_input", "question") if name in item]
    return tuple(texts)


register_judgement(Questions())
