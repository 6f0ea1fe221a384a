"""The records of one sample of any result in the original schemas, by judgement.

One that could not be made is left out. A verdict is 1 where the probability that the score was counted from
(calibrated, where a calibration is in force) reaches the threshold: the mean of them is that score. A reason
is "" unless `explain=True` (of the response on the contexts) or `verdict="reasoned"` asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, repeat
from typing import Any

from localeval.judgements.questions import QuestionsRecord
from localeval.judgements.sentence_relevance import NeededRecord
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord
from localeval.runs.result import SampleResult


def to_original(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """Give the records as the original replies; `threshold` is that of the score, unless said."""
    found: dict[str, Any] = {}
    least = sample.threshold if threshold is None else threshold
    records = sample.calibrated()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            sentences = [
                {"origin_sentence": s.sentence, "statements": [{"description": one} for one in s.statements]}
                for s in record.sentences
            ]
            found[name] = {"sentence_and_statements": sentences}
        elif isinstance(record, SupportRecord):
            own = ("statement", "verdication_reasoning", "verdication_result")
            found[name] = {"statement_verdications": _verdicts(records, name, least, own)}
        elif isinstance(record, QuestionsRecord):
            found[name] = [
                {
                    "query": draw.question,
                    "answer_sufficiency": draw.analysis or "",
                    "answer_sufficiency_result": int(draw.sufficient >= least),
                }
                for draw in record.draws
            ]
        elif isinstance(record, NeededRecord):
            needed = compress(record.sentences, record.decided(least))
            found[name] = "\n".join(one.text for one in needed) or "Insufficient Information"
    return found


def to_ragas(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """Give the same in ragas' own schemas, which there are for statements and verdicts."""
    found: dict[str, Any] = {}
    least = sample.threshold if threshold is None else threshold
    records = sample.calibrated()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            found[name] = {"statements": [text for _, text in record.flat()]}
        elif isinstance(record, SupportRecord):
            found[name] = {"statements": _verdicts(records, name, least, ("statement", "reason", "verdict"))}
    return found


def _verdicts(
    records: Mapping[str, Any], name: str, least: float, keys: tuple[str, str, str]
) -> list[dict[str, Any]]:
    """List statement, reason and 1 or 0 under these keys; written reasons are of `support` only."""
    written = getattr(records.get("reasons"), "reasons", ()) if name == "support" else ()
    found = []
    for one, reason in zip(records[name].verdicts, written or repeat(""), strict=False):
        row = (one.statement, reason or one.reason or "", int(one.probability >= least))
        found.append(dict(zip(keys, row, strict=True)))
    return found
