"""Records in the original schemas.

`to_original` and `to_ragas` take one sample of any result: `result.samples[0]` of `localeval.runs.evaluate`,
`result.judged["faithfulness"][0]` of `localeval.compat.evaluate`, or what a metric's `judged` returns. They
give a dict by judgement ("statements", "support", "response_in_reference", ...); one that could not be made
is left out.

A verdict is 1 where the probability that the score was counted from reaches the threshold: the calibrated
one, where a calibration is in force. So their mean is that score. The flags of drawn questions
are what the score counted only with `relevance="draws"`, the default here: with "question" it counted that of
the real question, with "ragas" whether any of them is 1.

A reason is "" unless it was asked for: with `explain=True` a verdict of the response on the contexts has one,
with `verdict="reasoned"` every verdict on a statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, repeat
from typing import Any

from localeval.judgements.needed import NeededRecord
from localeval.judgements.questions import QuestionsRecord
from localeval.judgements.reasons import ReasonsRecord
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord
from localeval.runs.result import SampleResult

INSUFFICIENT = "Insufficient Information"


def to_original(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """The records of one sample as the original replies.

    threshold  the probability from which a verdict counts as 1; that of the score, unless said
    """
    found: dict[str, Any] = {}
    threshold = sample.threshold if threshold is None else threshold
    records = sample.as_scored()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            found[name] = sentence_and_statements(record)
        elif isinstance(record, SupportRecord):
            found[name] = statement_verdications(record, _reasons(records, name), threshold)
        elif isinstance(record, QuestionsRecord):
            found[name] = answer_sufficiencies(record, threshold)
        elif isinstance(record, NeededRecord):
            found[name] = extraction(record, threshold)
    return found


def to_ragas(sample: SampleResult, threshold: float | None = None) -> dict[str, Any]:
    """The same in ragas' own schemas, which there are for statements and verdicts."""
    found: dict[str, Any] = {}
    threshold = sample.threshold if threshold is None else threshold
    records = sample.as_scored()
    for name, record in records.items():
        if isinstance(record, StatementsRecord):
            found[name] = {"statements": [text for _, text in record.flat()]}
        elif isinstance(record, SupportRecord):
            found[name] = {
                "statements": [
                    {"statement": statement, "reason": reason, "verdict": verdict}
                    for statement, reason, verdict in _verdicts(record, _reasons(records, name), threshold)
                ]
            }
    return found


def sentence_and_statements(record: StatementsRecord) -> dict[str, Any]:
    """Each sentence of the text with the statements that it makes.

    >>> from localeval.judgements.statements import SentenceStatements
    >>> made = SentenceStatements(sentence="It grows.", start=0, end=9, statements=("Tea grows.",))
    >>> sentence_and_statements(StatementsRecord(sentences=(made,), language="en"))["sentence_and_statements"]
    [{'origin_sentence': 'It grows.', 'statements': [{'description': 'Tea grows.'}]}]
    """
    return {
        "sentence_and_statements": [
            {
                "origin_sentence": made.sentence,
                "statements": [{"description": text} for text in made.statements],
            }
            for made in record.sentences
        ]
    }


def statement_verdications(
    record: SupportRecord, reasons: Sequence[str] = (), threshold: float = 0.5
) -> dict[str, Any]:
    """Each statement with its reason, then its verdict: 1 from `threshold`, else 0.

    >>> from localeval.judgements.support import Verdict
    >>> made = SupportRecord(verdicts=(Verdict(statement="Tea grows.", sentence=0, probability=0.9),))
    >>> statement_verdications(made, ["It says so."])["statement_verdications"]
    [{'statement': 'Tea grows.', 'verdication_reasoning': 'It says so.', 'verdication_result': 1}]
    """
    return {
        "statement_verdications": [
            {"statement": statement, "verdication_reasoning": reason, "verdication_result": verdict}
            for statement, reason, verdict in _verdicts(record, reasons, threshold)
        ]
    }


def answer_sufficiencies(record: QuestionsRecord, threshold: float = 0.5) -> list[dict[str, Any]]:
    """Each drawn question, the analysis of the answer to it, and 1 where that is sufficient, else 0."""
    return [
        {
            "query": draw.question,
            "answer_sufficiency": draw.analysis or "",
            "answer_sufficiency_result": int(draw.sufficient >= threshold),
        }
        for draw in record.draws
    ]


def extraction(record: NeededRecord, threshold: float = 0.5) -> str:
    """The needed sentences, unchanged, one a line; "Insufficient Information" where there is none.

    >>> extraction(NeededRecord(sentences=(), answerable=0.0))
    'Insufficient Information'
    """
    needed = compress(record.sentences, record.decided(threshold))
    return "\n".join(sentence.text for sentence in needed) or INSUFFICIENT


def _reasons(records: Mapping[str, Any], judgement: str) -> Sequence[str]:
    """The reasons that were written after the verdicts; there are such of one judgement only."""
    record = records.get("reasons")
    return record.reasons if judgement == "support" and isinstance(record, ReasonsRecord) else ()


def _verdicts(record: SupportRecord, reasons: Sequence[str], threshold: float) -> list[tuple[str, str, int]]:
    return [
        (verdict.statement, reason or verdict.reason or "", int(verdict.probability >= threshold))
        for verdict, reason in zip(record.verdicts, reasons or repeat(""), strict=False)
    ]
