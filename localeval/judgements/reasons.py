"""Why was each verdict given? Asked after the verdicts, which the answer can't change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from localeval.judgements.calibration import calibrate
from localeval.judgements.context import JudgeContext, Record, language_of
from localeval.judgements.support import REASON_TOKENS, DirectReply
from localeval.judgements.windows import windows
from localeval.samples import Sample


class ReasonsRecord(Record):
    """A reason for each verdict of the support record, in its order, as the verdict was when asked about."""

    reasons: tuple[str, ...]


class ReasonReply(BaseModel):
    reason: str


def key_fields(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    language_code, options = language_of(sample), context.options
    inputs = {
        "verdict": options.verdict,
        "threshold": options.threshold,
        "prompt": options.prompt("support", language_code).sha256,
    }
    curve = context.curves.get(language_code)
    return {**inputs, "calibration": curve.model_dump(mode="json")} if curve else inputs


def ask(context: JudgeContext, sample: Sample, records: Mapping[str, Any]) -> ReasonsRecord:
    """Ask for one reason for each verdict; a reasoned verdict already has one.

    The prompt states the verdict that counts, which a calibration may have reversed. Where the contexts take
    several windows, the judge sees the one with the evidence sentence, or else the first one.
    """
    support = calibrate(records, context.curves)["support"]
    verdicts = support.verdicts
    if not verdicts or (context.options.verdict == "reasoned" and support.by == "llm"):
        return ReasonsRecord(reasons=tuple(v.reason or "" for v in verdicts))
    prompt = context.options.prompt("support", language_of(sample))
    prefix = prompt.prefix("verdict", DirectReply)  # prefix and context of the verdicts: no new prefill
    threshold, items = context.options.threshold, []
    for v in verdicts:
        word = prompt.words["supported" if v.probability >= threshold else "unsupported"]
        items.append(prompt.render_item("reason", statement=v.statement, verdict=word))
    contexts, empty_context = sample.retrieved_contexts or [], prompt.render_context(contexts="")
    parts = windows(context.engine, prefix, contexts, items, bare=empty_context, budget=REASON_TOKENS)
    evidence = [v.evidence.text if v.evidence else "" for v in verdicts]
    part_numbers = [next((n for n, part in enumerate(parts) if text in part), 0) for text in evidence]
    reasons = [""] * len(items)
    for n in sorted({*part_numbers}):
        indices = [i for i, number in enumerate(part_numbers) if number == n]
        rendered, part_items = prompt.render_context(contexts=parts[n]), [items[i] for i in indices]
        replies = context.engine.generate(prefix, rendered, part_items, ReasonReply, budget=REASON_TOKENS)
        for i, reply in zip(indices, replies, strict=True):
            reasons[i] = reply.value.reason
    return ReasonsRecord(reasons=tuple(reasons))
