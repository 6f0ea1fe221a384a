"""What needs no model: shares of words that two texts have in common."""

from __future__ import annotations

from localeval.judgements.context import response_of
from localeval.metrics import METRICS
from localeval.samples import Sample
from localeval.text.overlap import terms


def judged(metric: str) -> str:
    """The column that `metric` is a score of: the response where it reads one, else the contexts."""
    return "response" if "response" in METRICS[metric].columns else "retrieved_contexts"


def name(metric: str) -> str:
    return "lexical precision" if _of_response(metric) else "question overlap"


def score(sample: Sample, metric: str) -> float:
    """0 to 1; 0 where there is no word to look for.

    lexical precision  of metrics that hold the response against the contexts: the share of its words (pairs
                       of Han characters) that the contexts have
    question overlap   of all others: the share of the question's words that the response has, or for metrics
                       that read none the contexts
    """
    contexts = "\n".join(sample.retrieved_contexts or [])
    if _of_response(metric):
        return share(response_of(sample), contexts)
    return share(sample.user_input or "", response_of(sample) if judged(metric) == "response" else contexts)


def _of_response(metric: str) -> bool:
    return metric.startswith(("faithfulness", "full_support", "groundedness", "hallucination"))


def share(wanted: str, text: str) -> float:
    """The share of the words of `wanted` that `text` has.

    >>> share("Who grows tea?", "Ann grows it.")
    0.3333333333333333
    """
    words = terms(wanted)
    return len(words & terms(text)) / len(words) if words else 0.0
