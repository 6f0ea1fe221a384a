"""Is each statement supported by the contexts?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from localeval.judgements.desk import Desk, Record, prompt_language
from localeval.judgements.evidence import Evidence, context_sentences, evidence_for
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.windows import windows
from localeval.samples import Sample

REASON_TOKENS = 120


class Verdict(Record):
    """One statement decided.

    sentence     number of its sentence in the response
    probability  of "supported", 0 to 1; with several windows that of the best one
    evidence     the context sentence that shares most with the statement; None where none does
    reason       what the model wrote before a reasoned verdict
    """

    statement: str
    sentence: int
    probability: float
    evidence: Evidence | None = None
    reason: str | None = None


class SupportRecord(Record):
    verdicts: tuple[Verdict, ...]
    windows: int = 1


class DirectReply(BaseModel):
    verdict: Literal["yes", "no"]


class ReasonedReply(BaseModel):
    reason: str
    verdict: Literal["yes", "no"]


def recipe(desk: Desk, sample: Sample) -> dict[str, Any]:
    form = desk.options.verdict
    return {"verdict": form, "prompt": _prompt(desk, prompt_language(sample)).sha256}


def ask(desk: Desk, sample: Sample, records: Mapping[str, Any]) -> SupportRecord:
    """Each statement of the response as a leaf on the branch of the contexts."""
    made: StatementsRecord = records["statements"]
    contexts = sample.retrieved_contexts or []
    statements = [text for _, text in made.flat()]
    decided, count = decide(desk, contexts, statements, made.language)
    evidence = evidence_for(statements, context_sentences(contexts))
    return SupportRecord(
        verdicts=tuple(
            Verdict(statement=text, sentence=i, probability=p, evidence=seen, reason=reason)
            for (i, text), (p, reason), seen in zip(made.flat(), decided, evidence, strict=True)
        ),
        windows=count,
    )


def decide(
    desk: Desk, premise: Sequence[str], statements: Sequence[str], language: str
) -> tuple[list[tuple[float, str | None]], int]:
    """((probability, reason) for each statement, number of windows). No statements: no call."""
    if not statements:
        return [], 0
    prompt = _prompt(desk, language)
    leaves = [prompt.render_leaf("verdict", statement=text) for text in statements]
    schema = ReasonedReply if desk.options.verdict == "reasoned" else DirectReply
    trunk = prompt.trunk("verdict", schema)
    parts = windows(desk.engine, trunk, premise, leaves)
    by_window = [
        [
            (reply.probabilities["verdict"]["yes"], getattr(reply.value, "reason", None))
            for reply in desk.engine.generate(
                trunk, prompt.render_branch(contexts=part), leaves, schema, budget=REASON_TOKENS
            )
        ]
        for part in parts
    ]
    best = [max(found, key=lambda pair: pair[0]) for found in zip(*by_window, strict=True)]
    return best, len(parts)


def _prompt(desk: Desk, language: str) -> Any:
    return desk.options.prompt(
        "support_reasoned" if desk.options.verdict == "reasoned" else "support", language
    )
