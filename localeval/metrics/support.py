"""Shares of statements that another text supports, or that none does, all from the same verdicts; 0 to 1.

`value` counts the statements whose probability is at least `options.threshold`, `soft` takes the
probabilities themselves. Sources and directions stand in the table `METRICS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localeval.judgements.calibration import all_supported
from localeval.metrics.score import Score
from localeval.prompts.options import DEFAULTS, Options

Records = Mapping[str, Any]


def _probabilities(records: Records, judgement: str) -> list[float]:
    return [verdict.probability for verdict in records[judgement].verdicts]


def share(
    records: Records,
    options: Options = DEFAULTS,
    judgement: str = "support",
    none: str = "no_statements",
) -> Score:
    """Supported statements / all statements that a judgement decided; undefined (`none`) without one.

    >>> from localeval.judgements.support import SupportRecord, Verdict
    >>> a, b = (Verdict(statement="S.", sentence=0, probability=p) for p in (0.9, 0.2))
    >>> share({"support": SupportRecord(verdicts=(a, b))})
    Score(value=0.5, soft=0.55, status='scored', reason='')
    """
    if not (probabilities := _probabilities(records, judgement)):
        return Score.undefined(none)
    n = len(probabilities)
    return Score(sum(p >= options.threshold for p in probabilities) / n, sum(probabilities) / n)


def full_support(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if every statement of the response is supported, else 0; undefined (`no_statements`) without one.

    `soft` is P(all supported): of a response that was read, what the head says; else the product of the n
    probabilities to the power 1 / sqrt(n), which a calibration is fitted to.

    >>> from localeval.judgements.support import SupportRecord, Verdict
    >>> a, b = (Verdict(statement="S.", sentence=0, probability=p) for p in (0.9, 0.2))
    >>> full_support({"support": SupportRecord(verdicts=(a, b))}).value
    0.0
    """
    if not (probabilities := _probabilities(records, "support")):
        return Score.undefined("no_statements")
    by_head = records["support"].all_supported
    soft = all_supported(probabilities) if by_head is None else by_head
    return Score(float(min(probabilities) >= options.threshold), soft)


def groundedness(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if P(all sentences of the response are supported), as a head reads it, is the threshold at least.

    `soft` is that probability. Undefined (`no_statements`) when no sentence claims anything. Source: a probe
    on hidden states (Azaria and Mitchell 2023; see localeval/judgements/calibration/README.md).
    """
    record = records["grounding"]
    if not record.sentences:
        return Score.undefined("no_statements")
    return Score(float(record.all_supported >= options.threshold), record.all_supported)


def factual_correctness(records: Records, options: Options = DEFAULTS) -> Score:
    """Precision, recall or F-beta (`options.mode`, `options.beta`) of the response's statements.

    Precision: statements of the response that the reference supports / all of them. Recall: statements of
    the reference that the response supports / all of them. F is 0 where both are. A response without
    statements has recall 0 and F 0, and no precision (undefined, `no_statements`). Undefined
    (`no_reference_statements`) when the reference makes none.
    """
    recall = share(records, options, "reference_in_response", "no_reference_statements")
    precision = share(records, options, "response_in_reference")
    if recall.status != "scored":
        return recall
    if options.mode == "precision":
        return precision
    if precision.status != "scored":  # whatever the judge finds in a response that claims nothing
        return Score(0.0, 0.0)
    if options.mode == "recall":
        return recall
    weight, made = options.beta * options.beta, list[float]()
    for p, r in ((precision.value or 0.0, recall.value or 0.0), (precision.soft or 0.0, recall.soft or 0.0)):
        below = weight * p + r
        made.append((1 + weight) * p * r / below if below else 0.0)
    return Score(made[0], made[1])


def context_utilization(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements of the reference that contexts and response support / those that the contexts support.

    Undefined: `no_reference_statements`, or `nothing_retrieved` where the contexts support none.
    """
    found = _probabilities(records, "reference_in_contexts")
    told = _probabilities(records, "reference_in_response")
    if not found:
        return Score.undefined("no_reference_statements")
    used = [t >= options.threshold for f, t in zip(found, told, strict=True) if f >= options.threshold]
    if not used or not any(found):  # at a threshold of 0 even what is not there at all would count
        return Score.undefined("nothing_retrieved")
    both = sum(f * t for f, t in zip(found, told, strict=True))
    return Score(sum(used) / len(used), both / sum(found))


def share_of_kind(records: Records, options: Options, *, in_contexts: bool, in_reference: bool) -> Score:
    """Statements of the response that are (not) in the contexts and (not) in the reference / all of them.

    `soft` multiplies. Noise sensitivity counts RAGChecker's of relevant and irrelevant contexts together.
    """
    supported = _probabilities(records, "support")
    correct = _probabilities(records, "response_in_reference")
    if not supported:
        return Score.undefined("no_statements")
    pairs, threshold, n = list(zip(supported, correct, strict=True)), options.threshold, len(supported)
    value = sum((c >= threshold) is in_contexts and (r >= threshold) is in_reference for c, r in pairs) / n
    soft = sum((c if in_contexts else 1 - c) * (r if in_reference else 1 - r) for c, r in pairs) / n
    return Score(value, soft)
