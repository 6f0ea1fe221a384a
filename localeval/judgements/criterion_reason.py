"""Why does the sample meet a criterion, or not? Asked after the verdict, which the answer can't change."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

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
from localeval.judgements.criterion import PROMPT, REASON_SUFFIX, CriterionJudgement, texts_of
from localeval.prompts import PromptBySha256
from localeval.prompts.criteria import Criterion, criterion_prefix, render_reason_item, render_texts
from localeval.samples import Sample
from localeval.text.display import one_line

MAX_TOKENS = 60


class CriterionReasonRecord(Record):
    """One sentence on why the criterion was answered as it was, at the run's threshold."""

    reason: str


class ReasonReply(BaseModel):
    reason: str


class CriterionReasonInputs(Inputs):
    """What the judge was shown, and the answer that it is to give a reason for: "yes", "no" or a level."""

    criterion: Criterion
    texts: tuple[str, ...]
    language: str
    answer: str
    prompt: PromptBySha256


class CriterionReason(Judgement[CriterionReasonInputs, CriterionReasonRecord]):
    """The reason for the answer to one criterion."""

    version = "1"
    record = CriterionReasonRecord
    prompts = (PROMPT,)

    def __init__(self, judgement: CriterionJudgement) -> None:
        self.criterion = judgement.criterion
        self.name = judgement.name + REASON_SUFFIX
        self.needs = (judgement.name,)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> CriterionReasonInputs:
        """Take what was shown, and the answer as it counts at the threshold."""
        verdict = records[self.needs[0]]
        if verdict.levels:
            answer = verdict.levels[verdict.best_level]
        else:
            answer = "yes" if verdict.expected >= choices.options.threshold else "no"
        return CriterionReasonInputs(
            criterion=self.criterion.model_copy(update={"name": ""}),
            texts=tuple(texts_of(self.criterion, sample).values()),
            language=verdict.language,
            answer=answer,
            prompt=choices.options.prompt(PROMPT.name, verdict.language),
        )

    def ask(self, inputs: CriterionReasonInputs, models: Models) -> CriterionReasonRecord:
        """Ask behind the same examples and texts as the verdict, which are not computed again."""
        criterion = inputs.criterion
        [reply] = models.engine.generate(
            criterion_prefix(criterion, inputs.prompt, inputs.language),
            render_texts(criterion, inputs.prompt, inputs.texts),
            [render_reason_item(criterion, inputs.prompt, inputs.language, inputs.answer)],
            ReasonReply,
            budget=MAX_TOKENS,
        )
        return CriterionReasonRecord(reason=one_line(reply.value.reason))


def register_criterion_reason(judgement: CriterionJudgement) -> None:
    """Add the judgement of the reason for a criterion's answer, unless it is there."""
    if judgement.name + REASON_SUFFIX not in JUDGEMENTS:
        register_judgement(CriterionReason(judgement))


def reasons_of(names: Sequence[str]) -> list[str]:
    """Return the judgements of reasons for those of these judgements that are of criteria."""
    return [name + REASON_SUFFIX for name in names if name + REASON_SUFFIX in JUDGEMENTS]
