"""The records of one sample of any result in the original schemas, by judgement.

A failed judgement is left out. A verdict is 1 where the probability behind the score (calibrated, where a
calibration is in force) reaches the threshold, so the mean of the verdicts is the score. A reason is ""
except with `explain=True` (for the response and the contexts) or `verdict="reasoned"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, repeat
from typing import Any

from localeval.judgements.needed_sentences import NeededRecord
from localeval.judgements.questions import QuestionsRecord
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord
from localeval.runs.result import SampleResult


def to_original(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """Return the records as the original replies; `threshold` is by default that of the score."""
    replies: dict[str, Any] = {}
    threshold = sample.threshold if threshold is None else threshold
    records = sample.calibrated()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            sentences = [
                {"origin_sentence": s.sentence, "statements": [{"description": d} for d in s.statements]}
                for s in record.sentences
            ]
            replies[name] = {"sentence_and_statements": sentences}
        elif isinstance(record, SupportRecord):
            keys = ("statement", "verdication_reasoning", "verdication_result")
            replies[name] = {"statement_verdications": _verdicts(records, name, threshold, keys)}
        elif isinstance(record, QuestionsRecord):
            replies[name] = [
                {
                    "query": draw.question,
                    "answer_sufficiency": draw.analysis or "",
                    "answer_sufficiency_result": int(draw.sufficient >= threshold),
                }
                for draw in record.draws
            ]
        elif isinstance(record, NeededRecord):
            needed = compress(record.sentences, record.decided(threshold))
            replies[name] = "\n".join(s.text for s in needed) or "Insufficient Information"
    return replies


def to_ragas(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """Return the records in ragas' own schemas, which exist for statements and verdicts."""
    replies: dict[str, Any] = {}
    threshold = sample.threshold if threshold is None else threshold
    records = sample.calibrated()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            replies[name] = {"statements": [text for _, text in record.flat()]}
        elif isinstance(record, SupportRecord):
            keys = ("statement", "reason", "verdict")
            replies[name] = {"statements": _verdicts(records, name, threshold, keys)}
    return replies


def _verdicts(
    records: Mapping[str, Any], name: str, threshold: float, keys: tuple[str, str, str]
) -> list[dict[str, Any]]:
    """Return statement, reason and 1 or 0 under these keys; only `support` has separate reasons."""
    reasons = getattr(records.get("reasons"), "reasons", ()) if name == "support" else ()
    rows = []
    for verdict, reason in zip(records[name].verdicts, reasons or repeat(""), strict=False):
        row = (verdict.statement, reason or verdict.reason or "", int(verdict.probability >= threshold))
        rows.append(dict(zip(keys, row, strict=True)))
    return rows
