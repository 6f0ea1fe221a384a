"""Citations: are the statements supported by the contexts that they cite, and are these citations right?

ALCE (Gao et al. 2023), by statements.
"""

from __future__ import annotations

from localeval.judgements import Records
from localeval.judgements.citations import CitationsRecord
from localeval.metrics.formulas import f_score, why_none
from localeval.metrics.metric import Metric, register
from localeval.metrics.score import Score
from localeval.options import DEFAULTS, Options


def citation_recall(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements that the contexts cited for them support together / all statements; 0 to 1.

    `soft` is the mean probability. A statement that cites nothing counts as 0. Undefined without a statement
    (see `why_none`), and where the marks name no context by its number (`unreadable_citations`).
    """
    record: CitationsRecord = records["citations"]
    undefined = _why_undefined(records, record)
    if undefined:
        return Score.undefined(undefined)
    statements = record.statements
    supported = sum(
        statement.probability >= options.threshold
        for statement in statements
        if record.sentences[statement.sentence].cited
    )
    soft = sum(statement.probability for statement in statements)
    return Score(supported / len(statements), soft / len(statements))


def citation_precision(records: Records, options: Options = DEFAULTS) -> Score:
    """Right citations / all citations, each context once a sentence; 0 to 1.

    A citation is right if, for a statement of its sentence, the cited contexts together support it, and this
    one does so alone or the others do not. A number that no context has is wrong. `soft` multiplies.
    Undefined as `citation_recall`, and without a citation (`no_citations`).
    """
    record: CitationsRecord = records["citations"]
    undefined = _why_undefined(records, record)
    if undefined:
        return Score.undefined(undefined)
    citations = 0
    right = 0
    soft = 0.0
    for sentence, statements in record.by_sentence():
        citations += len(sentence.cited) + len(sentence.out_of_range)
        for place in range(len(sentence.cited)):
            right += any(statement.needs(place, options.threshold) for statement in statements)
            soft += max(statement.need(place) for statement in statements)
    if not citations:
        return Score.undefined("no_citations")
    return Score(right / citations, soft / citations)


def citation_f1(records: Records, options: Options = DEFAULTS) -> Score:
    """Harmonic mean of citation_recall and citation_precision, 0 if both are; undefined as the precision."""
    recall = citation_recall(records, options)
    precision = citation_precision(records, options)
    if precision.status != "scored":
        return precision
    return Score(
        f_score(precision.value or 0.0, recall.value or 0.0),
        f_score(precision.soft or 0.0, recall.soft or 0.0),
    )


def _why_undefined(records: Records, record: CitationsRecord) -> str:
    """Return why neither recall nor precision has a meaning, or ""."""
    if not record.statements:
        return why_none(records)
    return "unreadable_citations" if _are_unreadable(record) else ""


def _are_unreadable(record: CitationsRecord) -> bool:
    """Return whether there are marks, and none of them names a context by its number."""
    has_numbers = any(sentence.cited or sentence.out_of_range for sentence in record.sentences)
    return not has_numbers and any(sentence.unreadable for sentence in record.sentences)


_COLUMNS = ("response", "retrieved_contexts")
_JUDGEMENTS = ("statements", "citations")
_SOURCE = "ALCE (Gao et al. 2023), by statements"

register(
    Metric(
        name="citation_recall",
        version="1",
        columns=_COLUMNS,
        judgements=_JUDGEMENTS,
        compute=citation_recall,
        definition="statements that the contexts cited for them support / all statements of the response",
        definition_zh="由所引用的上下文支持的陈述 / 回答中的全部陈述",
        source=_SOURCE,
        undefined=("no_statements", "unreadable_citations"),
        baseline="lexical precision",
    )
)
register(
    Metric(
        name="citation_precision",
        version="1",
        columns=_COLUMNS,
        judgements=_JUDGEMENTS,
        compute=citation_precision,
        definition="citations that support a statement of their sentence and are needed / all citations",
        definition_zh="支持所在句子的陈述、且并非多余的引用 / 全部引用",
        source=_SOURCE,
        undefined=("no_statements", "no_citations", "unreadable_citations"),
        baseline="lexical precision",
    )
)
register(
    Metric(
        name="citation_f1",
        version="1",
        columns=_COLUMNS,
        judgements=_JUDGEMENTS,
        compute=citation_f1,
        definition="harmonic mean of citation_recall and citation_precision",
        definition_zh="citation_recall 与 citation_precision 的调和平均",
        source=_SOURCE,
        undefined=("no_statements", "no_citations", "unreadable_citations"),
        baseline="lexical precision",
    )
)
