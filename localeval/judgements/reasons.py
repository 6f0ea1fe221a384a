"""Why was each statement decided so? Asked after the verdicts, which it can't change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from localeval.judgements.calibration import calibrate
from localeval.judgements.context import JudgeContext, Record, response_of
from localeval.judgements.support import REASON_TOKENS, DirectReply
from localeval.judgements.windows import windows
from localeval.samples import Sample
from localeval.text.language import language


class ReasonsRecord(Record):
    """A reason for each verdict of the support record, in its order, as it was when it was asked for."""

    reasons: tuple[str, ...]


class ReasonReply(BaseModel):
    reason: str


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    spoken, options = language(response_of(sample)), context.options
    made = {
        "verdict": options.verdict,
        "threshold": options.threshold,
        "prompt": options.prompt("support", spoken).sha256,
    }
    curve = context.curves.get(spoken)
    return {**made, "calibration": curve.model_dump(mode="json")} if curve else made


def ask(context: JudgeContext, sample: Sample, records: Mapping[str, Any]) -> ReasonsRecord:
    """Ask for one reason a verdict; a reasoned verdict has its own already.

    The judge is told the verdict that counts, which a calibration may have turned. Where the contexts take
    several windows, it has that in view which holds the evidence sentence, or the first one.
    """
    support = calibrate(records, context.curves)["support"]
    verdicts = support.verdicts
    if not verdicts or (context.options.verdict == "reasoned" and support.by == "llm"):
        return ReasonsRecord(reasons=tuple(v.reason or "" for v in verdicts))
    prompt = context.options.prompt("support", language(response_of(sample)))
    prefix = prompt.prefix("verdict", DirectReply)  # prefix and context of the verdicts: no new prefill
    least, items = context.options.threshold, []
    for v in verdicts:
        word = prompt.words["supported" if v.probability >= least else "unsupported"]
        items.append(prompt.render_item("reason", statement=v.statement, verdict=word))
    contexts, bare = sample.retrieved_contexts or [], prompt.render_context(contexts="")
    parts = windows(context.engine, prefix, contexts, items, bare=bare, budget=REASON_TOKENS)
    evidence = [v.evidence.text if v.evidence else "" for v in verdicts]
    places = [next((n for n, part in enumerate(parts) if text in part), 0) for text in evidence]
    reasons = [""] * len(items)
    for n in sorted({*places}):
        own = [i for i, place in enumerate(places) if place == n]
        before, asked = prompt.render_context(contexts=parts[n]), [items[i] for i in own]
        replies = context.engine.generate(prefix, before, asked, ReasonReply, budget=REASON_TOKENS)
        for i, reply in zip(own, replies, strict=True):
            reasons[i] = reply.value.reason
    return ReasonsRecord(reasons=tuple(reasons))
