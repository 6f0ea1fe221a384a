"""Why was each statement decided so? On leaves of its own, after the verdicts, which it can't change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from localeval.judgements.context import JudgeContext, Record, prompt_language
from localeval.judgements.support import REASON_TOKENS, DirectReply, SupportRecord, Verdict
from localeval.judgements.windows import windows
from localeval.samples import Sample


class ReasonsRecord(Record):
    """A reason for each verdict of the support record, in its order, as it was when it was asked for."""

    reasons: tuple[str, ...]


class ReasonReply(BaseModel):
    reason: str


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    prompt = context.options.prompt("support", prompt_language(sample))
    made = {
        "verdict": context.options.verdict,
        "threshold": context.options.threshold,
        "prompt": prompt.sha256,
    }
    curve = context.calibration.get(prompt_language(sample))
    return {**made, "calibration": curve} if curve is not None else made


def ask(context: JudgeContext, sample: Sample, records: Mapping[str, Any]) -> ReasonsRecord:
    """One reason a verdict; a reasoned verdict has its own already.

    The judge is told the verdict that counts, which a calibration may have turned. Where the contexts take
    several windows, it has that in view which holds the evidence sentence, or the first one.
    """
    made: SupportRecord = context.as_scored(records)["support"]
    if context.options.verdict == "reasoned" or not made.verdicts:
        return ReasonsRecord(reasons=tuple(v.reason or "" for v in made.verdicts))
    prompt = context.options.prompt("support", prompt_language(sample))
    trunk = prompt.trunk("verdict", DirectReply)  # the same trunk and branch as the verdicts: no new prefill
    leaves = [
        prompt.render_leaf(
            "reason", statement=v.statement, verdict=prompt.words[_word(v.probability, context)]
        )
        for v in made.verdicts
    ]
    contexts, bare = sample.retrieved_contexts or [], prompt.render_branch(contexts="")
    parts = windows(context.engine, trunk, contexts, leaves, branch=bare, budget=REASON_TOKENS)
    at = [_window(v, parts) for v in made.verdicts]
    found: dict[int, str] = {}
    for number in sorted({*at}):
        of_part = [i for i, own in enumerate(at) if own == number]
        branch, asked = prompt.render_branch(contexts=parts[number]), [leaves[i] for i in of_part]
        replies = context.engine.generate(trunk, branch, asked, ReasonReply, budget=REASON_TOKENS)
        found |= {i: reply.value.reason for i, reply in zip(of_part, replies, strict=True)}
    return ReasonsRecord(reasons=tuple(found[i] for i in range(len(at))))


def _window(verdict: Verdict, parts: Sequence[str]) -> int:
    """The number of the first window that holds the verdict's evidence; 0 where none does."""
    text = verdict.evidence.text if verdict.evidence else ""
    return next((number for number, part in enumerate(parts) if text in part), 0)


def _word(probability: float, context: JudgeContext) -> str:
    return "supported" if probability >= context.options.threshold else "unsupported"
