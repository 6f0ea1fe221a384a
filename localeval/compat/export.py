"""Records in the original schemas.

`to_original` and `to_ragas` take one sample of any result: `result.samples[0]` of `localeval.evaluate`,
`result.judged["faithfulness"][0]` of `localeval.compat.evaluate`, or what a metric's `judged` returns. They
give a dict by judgement ("statements", "support", ...); one that could not be made is left out.

A verdict is 1 where the probability that the score was counted from (calibrated, where a calibration is in
force) reaches the threshold: their mean is that score. The flags of drawn questions are what the score
counted with `relevance="draws"`, the default here. A reason is "" unless `explain=True` (of the response on
the contexts) or `verdict="reasoned"` asked for it.
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
    """Give the records of one sample as the original replies.

    threshold  the probability from which a verdict counts as 1; that of the score, unless said
    """
    found: dict[str, Any] = {}
    threshold = sample.threshold if threshold is None else threshold
    records = sample.as_scored()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            found[name] = {
                "sentence_and_statements": [
                    {
                        "origin_sentence": made.sentence,
                        "statements": [{"description": text} for text in made.statements],
                    }
                    for made in record.sentences
                ]
            }
        elif isinstance(record, SupportRecord):
            keys = ("statement", "verdication_reasoning", "verdication_result")
            found[name] = {"statement_verdications": _verdicts(records, name, threshold, keys)}
        elif isinstance(record, QuestionsRecord):
            found[name] = [
                {
                    "query": draw.question,
                    "answer_sufficiency": draw.analysis or "",
                    "answer_sufficiency_result": int(draw.sufficient >= threshold),
                }
                for draw in record.draws
            ]
        elif isinstance(record, NeededRecord):
            needed = compress(record.sentences, record.decided(threshold))
            found[name] = "\n".join(one.text for one in needed) or "Insufficient Information"
    return found


def to_ragas(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """Give the same in ragas' own schemas, which there are for statements and verdicts."""
    found: dict[str, Any] = {}
    threshold = sample.threshold if threshold is None else threshold
    records = sample.as_scored()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            found[name] = {"statements": [text for _, text in record.flat()]}
        elif isinstance(record, SupportRecord):
            keys = ("statement", "reason", "verdict")
            found[name] = {"statements": _verdicts(records, name, threshold, keys)}
    return found


def _verdicts(
    records: Mapping[str, Any], name: str, threshold: float, keys: tuple[str, str, str]
) -> list[dict[str, Any]]:
    """Name statement, reason and 1 or 0 of each verdict; reasons written afterwards are of `support` only."""
    written = getattr(records.get("reasons"), "reasons", ()) if name == "support" else ()
    rows = zip(records[name].verdicts, written or repeat(""), strict=False)
    return [
        dict(
            zip(
                keys,
                (one.statement, reason or one.reason or "", int(one.probability >= threshold)),
                strict=True,
            )
        )
        for one, reason in rows
    ]
