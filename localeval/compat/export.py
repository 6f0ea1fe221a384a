"""The records of one sample of any result in the original schemas, by judgement.

A failed judgement is left out. A verdict is 1 where the probability behind the score (calibrated, where a
calibration is in force) reaches the threshold, so the mean of the verdicts is the score. A reason is ""
except with `explain=True` (for the response and the contexts) or `verdict="reasoned"`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from localeval.judgements.decision import Decision, DecisionList
from localeval.metrics.sample_result import SampleResult


def to_original(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """Return the records as the original replies; `threshold` is by default the score's."""
    return _replies(sample.decisions(threshold), _ORIGINAL)


def to_ragas(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """Return the records in ragas' own schemas, which exist for statements and verdicts."""
    return _replies(sample.decisions(threshold), _RAGAS)


def _replies(lists: Sequence[DecisionList], forms: dict[str, Form]) -> dict[str, Any]:
    return {
        listed.judgement: forms[listed.kind](listed.decisions)
        for listed in lists
        if listed.kind in forms and not listed.failure
    }


def _sentences(decisions: Sequence[Decision]) -> dict[str, Any]:
    """Return the statements by sentence, in the order of the sentences."""
    sentences: dict[int | None, dict[str, Any]] = {}
    for one in decisions:
        if not one.unjudged:
            row = sentences.setdefault(one.start, {"origin_sentence": one.sentence, "statements": []})
            if one.text:
                row["statements"].append({"description": one.text})
    return {"sentence_and_statements": list(sentences.values())}


def _verdications(decisions: Sequence[Decision]) -> dict[str, Any]:
    return {
        "statement_verdications": [
            {
                "statement": one.text,
                "verdication_reasoning": one.reason,
                "verdication_result": int(one.is_yes),
            }
            for one in decisions
        ]
    }


def _queries(decisions: Sequence[Decision]) -> list[dict[str, Any]]:
    """Return the drawn questions, without the real one."""
    return [
        {
            "query": one.text,
            "answer_sufficiency": one.reason,
            "answer_sufficiency_result": int(one.is_yes),
        }
        for one in decisions
        if one.column != "user_input"
    ]


def _needed_sentences(decisions: Sequence[Decision]) -> str:
    needed = [one.text for one in decisions if one.is_yes and one.column != "user_input"]
    return "\n".join(needed) or "Insufficient Information"


def _statements(decisions: Sequence[Decision]) -> dict[str, Any]:
    return {"statements": [one.text for one in decisions if one.text and not one.unjudged]}


def _verdicts(decisions: Sequence[Decision]) -> dict[str, Any]:
    return {
        "statements": [
            {"statement": one.text, "reason": one.reason, "verdict": int(one.is_yes)} for one in decisions
        ]
    }


Form = Callable[[Sequence[Decision]], Any]

# The kind of a judgement's decisions -> its form in the original, and in ragas.
_ORIGINAL: dict[str, Form] = {
    "statement": _sentences,
    "verdict": _verdications,
    "question": _queries,
    "passage": _needed_sentences,
}
_RAGAS: dict[str, Form] = {"statement": _statements, "verdict": _verdicts}
