"""Faithfulness: how much of the response do the contexts support?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localeval.metrics.score import Score


def faithfulness(records: Mapping[str, Any], threshold: float = 0.5) -> Score:
    """Supported statements / all statements of the response; 0 to 1, higher is better.

    `value` counts the statements whose probability is at least `threshold`, `soft` is the mean
    probability. Undefined (`no_statements`) when the response makes none. Source: RAGAS (Es et al. 2023).

    >>> from localeval.judgements.support import SupportRecord, Verdict
    >>> a, b = (Verdict(statement="S.", sentence=0, probability=p) for p in (0.9, 0.2))
    >>> faithfulness({"support": SupportRecord(verdicts=(a, b))})
    Score(value=0.5, soft=0.55, status='scored', reason='')
    """
    probabilities = [verdict.probability for verdict in records["support"].verdicts]
    if not probabilities:
        return Score.undefined("no_statements")
    supported = sum(probability >= threshold for probability in probabilities)
    return Score(supported / len(probabilities), sum(probabilities) / len(probabilities))
