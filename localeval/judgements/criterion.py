"""Does the sample meet a criterion of the caller's own, or which of its levels fits best?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, create_model

from localeval.engine.interface import Reply
from localeval.judgements.base import (
    JUDGEMENTS,
    Choices,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.decision import Decision, DecisionContext
from localeval.judgements.judged_text import response_of
from localeval.judgements.replies import YesOrNo, probability_of_yes
from localeval.prompts import Prompt, PromptBySha256, PromptForm, register_prompt
from localeval.prompts.criteria import (
    LETTERS,
    ORDERS,
    Criterion,
    criterion_prefix,
    render_question,
    render_texts,
    shown_text,
)
from localeval.samples import Sample
from localeval.text.language import language

PROMPT = PromptForm("criterion", replies={})
_LEAST_PROBABILITY = 1e-6
REASON_SUFFIX = ".reason"
"""Behind the name of this judgement, of the one that asks for its reason (see `criterion_reason`)."""


class CriterionRecord(Record):
    """The probabilities of the answers, in each of the two orders in which the question was asked.

    levels    the sentences of the levels, from worst to best; empty for a question of yes or no
    by_order  for each order, the probability of each level from worst to best, or of no and of yes
    lean      log-odds of yes that are subtracted, as the judge has them for neutral texts, too
    mass      the lower of both orders; see `Reply.mass`
    language  in which the judge was asked, "en" or "zh"
    """

    question: str
    levels: tuple[str, ...] = ()
    by_order: tuple[tuple[float, ...], ...]
    lean: float = 0.0
    mass: float = 1.0
    language: str

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The mean of both orders: of each level from worst to best, or of no and of yes."""
        columns = zip(*self.by_order, strict=True)
        return tuple(math.fsum(column) / len(self.by_order) for column in columns)

    @property
    def best_level(self) -> int:
        """The number of the most probable level, from 0 (the worst); of equals the lower one."""
        probabilities = self.probabilities
        return probabilities.index(max(probabilities))

    @property
    def expected(self) -> float:
        """P(yes) without the judge's leaning to it, or the expected level, from 0 (worst) to 1 (best)."""
        probabilities = self.probabilities
        if self.lean:
            return without_lean(probabilities[1], self.lean)
        highest = len(probabilities) - 1
        weighted = math.fsum(number * share for number, share in enumerate(probabilities))
        # Shares that do not sum to 1 exactly could lead out of 0 to 1.
        return min(1.0, max(0.0, weighted / (highest * math.fsum(probabilities))))

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List the answer to a question of yes or no, or the probability of each level.

        With the reason for the answer, where it was asked for.
        """
        reason: str = getattr(context.records.get(context.judgement + REASON_SUFFIX), "reason", "")
        if self.levels:
            return tuple(
                Decision(
                    text=level,
                    label="fitting best",
                    probability=probability,
                    is_yes=number == self.best_level,
                    threshold=context.threshold,
                    mass=self.mass,
                    reason=reason if number == self.best_level else "",
                )
                for number, (level, probability) in enumerate(
                    zip(self.levels, self.probabilities, strict=True)
                )
            )
        decided = Decision(
            text=self.question,
            label="answered with yes",
            probability=self.expected,
            is_yes=self.expected >= context.threshold,
            threshold=context.threshold,
            mass=self.mass,
            reason=reason,
        )
        return (decided,)


class CriterionInputs(Inputs):
    """The criterion, the texts that are shown, and the prompt that both are put into.

    lean       see `CriterionRecord`

    criterion  without its name, which changes no answer
    texts      of the columns, in their order; a response without `<think>...</think>`
    language   in which the judge is asked
    """

    criterion: Criterion
    texts: tuple[str, ...]
    language: str
    prompt: PromptBySha256
    lean: float = 0.0


class NeutralRecord(Record):
    """The log-odds of yes for each neutral text, by the mean probability of both orders."""

    log_odds: tuple[float, ...]

    @property
    def lean(self) -> float:
        """How far the judge leans to yes where nothing speaks for it; 0 where it leans to no.

        >>> NeutralRecord(log_odds=(1.0, 2.0)).lean, NeutralRecord(log_odds=(-3.0, 1.0)).lean
        (1.5, 0.0)
        """
        return max(0.0, math.fsum(self.log_odds) / len(self.log_odds))


class NeutralInputs(Inputs):
    """The criterion, the language, and the prompt with the neutral texts: nothing of the sample."""

    criterion: Criterion
    language: str
    prompt: PromptBySha256


class Neutral(Judgement[NeutralInputs, NeutralRecord]):
    """What the judge answers to a question of yes or no about texts that say nothing to it.

    A small judge says yes too easily, more to some questions than to others. What it says of neutral texts is
    subtracted from what it says of a sample (as contextual calibration does, Zhao et al. 2021). The inputs
    are the same for all samples of a language, so it is asked once for each run.
    """

    version = "1"
    record = NeutralRecord
    prompts = (PROMPT,)

    def __init__(self, criterion: Criterion) -> None:
        self.criterion = criterion
        self.name = f"{_name(criterion)}.neutral"

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> NeutralInputs:  # noqa: ARG002
        code = self.criterion.language_for(_language(texts_of(self.criterion, sample)))
        return NeutralInputs(
            criterion=self.criterion.model_copy(update={"name": ""}),
            language=code,
            prompt=choices.options.prompt(PROMPT.name, code),
        )

    def ask(self, inputs: NeutralInputs, models: Models) -> NeutralRecord:
        """Ask the question in both orders about each text; of several columns each has another text."""
        texts = [text for name, text in inputs.prompt.words.items() if name.startswith("neutral")]
        log_odds = []
        for number in range(len(texts)):
            shown = [texts[(number + i) % len(texts)] for i in range(len(inputs.criterion.columns))]
            replies = _ask(inputs.criterion, shown, inputs.language, inputs.prompt, models, YesOrNo)
            probabilities = [probability_of_yes(reply) for reply in replies]
            log_odds.append(_log_odds(math.fsum(probabilities) / len(probabilities)))
        return NeutralRecord(log_odds=tuple(log_odds))


class CriterionJudgement(Judgement[CriterionInputs, CriterionRecord]):
    """The judgement of one criterion. Its name has a digest of the criterion, so that two questions of one
    name, as of two runs, are never taken for each other.
    """

    version = "2"
    record = CriterionRecord
    prompts = (PROMPT,)

    def __init__(self, criterion: Criterion) -> None:
        self.criterion = criterion
        self.name = _name(criterion)
        self.needs = () if criterion.is_scale else (f"{self.name}.neutral",)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> CriterionInputs:
        """Take the columns, and the question in the language of the sample."""
        texts = texts_of(self.criterion, sample)
        code = self.criterion.language_for(_language(texts))
        return CriterionInputs(
            criterion=self.criterion.model_copy(update={"name": ""}),
            texts=tuple(texts.values()),
            language=code,
            prompt=choices.options.prompt(PROMPT.name, code),
            lean=records[self.needs[0]].lean if self.needs else 0.0,
        )

    def ask(self, inputs: CriterionInputs, models: Models) -> CriterionRecord:
        """Ask the question in both orders, behind the same texts."""
        criterion = inputs.criterion
        levels = criterion.levels_in(inputs.language)
        schema = _scale(len(levels)) if levels else YesOrNo
        replies = _ask(criterion, inputs.texts, inputs.language, inputs.prompt, models, schema)
        [field] = schema.model_fields
        by_order = [
            _distribution(reply.probabilities[field], is_reverse=order == "reverse")
            for order, reply in zip(ORDERS, replies, strict=True)
        ]
        return CriterionRecord(
            question=criterion.question_in(inputs.language),
            levels=levels,
            by_order=tuple(by_order),
            lean=inputs.lean,
            mass=min(reply.mass.get(field, 1.0) for reply in replies),
            language=inputs.language,
        )


def _name(criterion: Criterion) -> str:
    return f"{criterion.name}.{criterion.sha256()[:8]}"


def _ask(
    criterion: Criterion,
    texts: Sequence[str],
    code: str,
    prompt: Prompt,
    models: Models,
    schema: type[BaseModel],
) -> list[Reply[Any]]:
    """Ask the question in both orders, behind the same texts."""
    prefix = criterion_prefix(criterion, prompt, code)
    context = render_texts(criterion, prompt, texts)
    items = [render_question(criterion, prompt, code, order) for order in ORDERS]
    return models.engine.generate(prefix, context, items, schema, budget=0)


def without_lean(probability: float, lean: float) -> float:
    """Return P(yes) after `lean` is subtracted from its log-odds.

    >>> without_lean(0.5, 0.0), round(without_lean(0.8, math.log(4)), 6), without_lean(1.0, 2.0)
    (0.5, 0.5, 1.0)
    """
    if not 0 < probability < 1:
        return probability
    return 1 / (1 + math.exp(lean - _log_odds(probability)))


def _log_odds(probability: float) -> float:
    """Return the log-odds; those of 0 and 1 as of a number that is nearly so."""
    kept = min(max(probability, _LEAST_PROBABILITY), 1 - _LEAST_PROBABILITY)
    return math.log(kept / (1 - kept))


def texts_of(criterion: Criterion, sample: Sample) -> dict[str, str]:
    """Return the columns of a criterion, each with its text as the judge is shown it."""
    return {column: text_of_column(sample, column) for column in criterion.columns}


def text_of_column(sample: Sample, column: str) -> str:
    """Return a column of a sample as the judge is shown it."""
    if column == "response":
        return response_of(sample)
    if column in Sample.model_fields:
        return shown_text(getattr(sample, column))
    return shown_text((sample.model_extra or {}).get(column))


def _language(texts: dict[str, str]) -> str:
    """Return the language of the sample: of its response, or of what is shown without one."""
    return language(texts.get("response") or "\n".join(texts.values()), texts.get("user_input", ""))


@lru_cache
def _scale(size: int) -> type[BaseModel]:
    """Return the schema of a reply that names one of so many levels by its letter."""
    letters: Any = Literal[tuple(LETTERS[:size])]
    return create_model(f"LevelOf{size}", level=(letters, ...))


def _distribution(probabilities: dict[Any, float], is_reverse: bool) -> tuple[float, ...]:
    """Return the probabilities from worst to best, or of no and of yes.

    >>> _distribution({"A": 0.7, "B": 0.2, "C": 0.1}, is_reverse=True)
    (0.1, 0.2, 0.7)
    >>> _distribution({"yes": 0.9, "no": 0.1}, is_reverse=True)
    (0.1, 0.9)
    """
    if "yes" in probabilities:
        return probabilities["no"], probabilities["yes"]
    in_listed_order = tuple(probabilities[letter] for letter in LETTERS if letter in probabilities)
    return in_listed_order[::-1] if is_reverse else in_listed_order


register_prompt(PROMPT)


def register_criterion_judgement(criterion: Criterion) -> CriterionJudgement:
    """Add the judgement of a criterion, unless it is there."""
    judgement = CriterionJudgement(criterion)
    if judgement.needs and judgement.needs[0] not in JUDGEMENTS:
        register_judgement(Neutral(criterion))
    known = JUDGEMENTS.get(judgement.name)
    return known if isinstance(known, CriterionJudgement) else register_judgement(judgement)
