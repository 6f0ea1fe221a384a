"""Why was each statement decided so? Asked after the verdicts, which it can't change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from localeval.judgements.context import JudgeContext, Record, prompt_language
from localeval.judgements.support import REASON_TOKENS, DirectReply
from localeval.judgements.windows import windows
from localeval.samples import Sample


class ReasonsRecord(Record):
    """A reason for each verdict of the support record, in its order, as it was when it was asked for."""

    reasons: tuple[str, ...]


class ReasonReply(BaseModel):
    reason: str


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    spoken, options = prompt_language(sample), context.options
    made = {
        "verdict": options.verdict,
        "threshold": options.threshold,
        "prompt": options.prompt("support", spoken).sha256,
    }
    curve = context.calibration.get(spoken)
    return {**made, "calibration": curve} if curve is not None else made


def ask(context: JudgeContext, sample: Sample, records: Mapping[str, Any]) -> ReasonsRecord:
    """Ask for one reason a verdict; a reasoned verdict has its own already.

    The judge is told the verdict that counts, which a calibration may have turned. Where the contexts take
    several windows, it has that in view which holds the evidence sentence, or the first one.
    """
    verdicts = context.as_scored(records)["support"].verdicts
    if context.options.verdict == "reasoned" or not verdicts:
        return ReasonsRecord(reasons=tuple(v.reason or "" for v in verdicts))
    prompt = context.options.prompt("support", prompt_language(sample))
    prefix = prompt.prefix("verdict", DirectReply)  # prefix and context of the verdicts: no new prefill
    least, words = context.options.threshold, prompt.words
    decided = [words["supported" if v.probability >= least else "unsupported"] for v in verdicts]
    items = [
        prompt.render_item("reason", statement=v.statement, verdict=word)
        for v, word in zip(verdicts, decided, strict=True)
    ]
    contexts, bare = sample.retrieved_contexts or [], prompt.render_context(contexts="")
    parts = windows(context.engine, prefix, contexts, items, bare=bare, budget=REASON_TOKENS)
    evidence = [v.evidence.text if v.evidence else "" for v in verdicts]
    at = [next((number for number, part in enumerate(parts) if text in part), 0) for text in evidence]
    found: dict[int, str] = {}
    for number in sorted({*at}):
        own = [i for i, place in enumerate(at) if place == number]
        before, asked = prompt.render_context(contexts=parts[number]), [items[i] for i in own]
        replies = context.engine.generate(prefix, before, asked, ReasonReply, budget=REASON_TOKENS)
        found |= {i: reply.value.reason for i, reply in zip(own, replies, strict=True)}
    return ReasonsRecord(reasons=tuple(found[i] for i in range(len(at))))
