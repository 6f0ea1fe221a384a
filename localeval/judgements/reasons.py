"""Why was each verdict given? Asked after the verdicts, which the answer can't change."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from localeval.judgements.base import Choices, Inputs, Judgement, Models, Record, Records, register_judgement
from localeval.judgements.calibration import calibrate
from localeval.judgements.deciders import ASKED_PROMPT, MAX_REASON_TOKENS
from localeval.judgements.judged_text import language_of
from localeval.judgements.replies import YesOrNo
from localeval.judgements.support import Verdict
from localeval.judgements.windows import windows
from localeval.prompts import PromptBySha256
from localeval.samples import Sample


class ReasonsRecord(Record):
    """One reason per verdict of the `support` record, in the same order.

    It explains the calibrated verdict at the run's threshold.
    """

    reasons: tuple[str, ...]


class ReasonReply(BaseModel):
    reason: str


class ExplainedVerdict(Inputs):
    """A verdict to explain: the statement, whether it counts as supported, and its evidence, or ""."""

    statement: str
    is_supported: bool
    evidence: str


class ReasonsInputs(Inputs):
    """The verdicts, and what the judge is asked with.

    written  the reasons of verdicts for which the judge wrote one before; None where it is to be asked
    """

    contexts: tuple[str, ...]
    verdicts: tuple[ExplainedVerdict, ...]
    written: tuple[str, ...] | None
    prompt: PromptBySha256


class Reasons(Judgement[ReasonsInputs, ReasonsRecord]):
    """Why the contexts support each statement of the response, or do not."""

    name = "reasons"
    version = "7"
    needs = ("statements", "support")
    record = ReasonsRecord
    prompts = (ASKED_PROMPT,)

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> ReasonsInputs:
        """Take the verdicts that count, which a calibration may have reversed."""
        support = calibrate(records, choices.curves)["support"]
        verdicts: Sequence[Verdict] = support.verdicts
        is_written = choices.options.verdict == "reasoned" and support.by == "llm"
        return ReasonsInputs(
            contexts=tuple(sample.retrieved_contexts or ()),
            verdicts=tuple(
                ExplainedVerdict(
                    statement=verdict.statement,
                    is_supported=verdict.probability >= choices.options.threshold,
                    evidence=verdict.evidence.text if verdict.evidence else "",
                )
                for verdict in verdicts
            ),
            written=tuple(verdict.reason or "" for verdict in verdicts) if is_written else None,
            prompt=choices.options.prompt(ASKED_PROMPT.name, language_of(sample)),
        )

    def ask(self, inputs: ReasonsInputs, models: Models) -> ReasonsRecord:
        """Ask for one reason for each verdict; a reasoned verdict already has one.

        Where the contexts take several windows, the judge sees the one with the evidence, or the first one.
        """
        if inputs.written is not None or not inputs.verdicts:
            return ReasonsRecord(reasons=inputs.written or ())
        prompt = inputs.prompt
        prefix = prompt.prefix("verdict", YesOrNo)  # prefix and context of the verdicts: no new prefill
        items = [_render(verdict, inputs) for verdict in inputs.verdicts]
        empty_context = prompt.render_context(contexts="")
        parts = windows(
            models.engine, prefix, inputs.contexts, items, bare=empty_context, budget=MAX_REASON_TOKENS
        )
        part_of = [_part_with(verdict.evidence, parts) for verdict in inputs.verdicts]
        reasons = [""] * len(items)
        for number in sorted(set(part_of)):
            indices = [i for i, of_item in enumerate(part_of) if of_item == number]
            replies = models.engine.generate(
                prefix,
                prompt.render_context(contexts=parts[number]),
                [items[i] for i in indices],
                ReasonReply,
                budget=MAX_REASON_TOKENS,
            )
            for i, reply in zip(indices, replies, strict=True):
                reasons[i] = reply.value.reason
        return ReasonsRecord(reasons=tuple(reasons))


def _render(verdict: ExplainedVerdict, inputs: ReasonsInputs) -> str:
    """Render the question for the reason of a verdict."""
    word = inputs.prompt.words["supported" if verdict.is_supported else "unsupported"]
    return inputs.prompt.render_item("reason", statement=verdict.statement, verdict=word)


def _part_with(evidence: str, parts: Sequence[str]) -> int:
    """Return the number of the first window that has the evidence; 0 for none.

    >>> _part_with("It grows.", ["Tea is old.", "It grows."]), _part_with("No.", ["Tea."])
    (1, 0)
    """
    for number, part in enumerate(parts):
        if evidence in part:
            return number
    return 0


register_judgement(Reasons())
