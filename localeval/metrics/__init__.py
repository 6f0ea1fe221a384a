"""The metrics: a table of rows, each with a pure function from a sample's judgement records to its score."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS
from localeval.metrics import formulas
from localeval.metrics.score import REASONS, Score, Status
from localeval.options import Options
from localeval.text.display import shorten, suggested

__all__ = ["DEFAULT_METRICS", "METRICS", "REASONS", "Metric", "Score", "Status", "register"]


@dataclass(frozen=True)
class Metric:
    """A metric of `METRICS`.

    version           to be raised when `compute` changes: `compare` refuses runs of two versions
    columns           the sample's fields that it needs; the score is undefined without one of them
    judgements        those whose records `compute` reads, in the order in which they are made
    compute           (records by judgement, options) -> Score
    definition        what it measures, in a line; the report shows it
    higher_is_better  False where lower is better; report, `compare` and gates tell better from worse by it
    either            fields of which it needs at least one
    """

    name: str
    version: str
    columns: tuple[str, ...]
    judgements: tuple[str, ...]
    compute: Callable[[Mapping[str, Any], Options], Score]
    definition: str
    _: KW_ONLY
    higher_is_better: bool = True
    either: tuple[str, ...] = ()


METRICS: dict[str, Metric] = {}

DEFAULT_METRICS = ("faithfulness", "full_support", "answer_relevance", "context_relevance")
"""The metrics that `evaluate` computes if none are named, as far as the columns allow."""


def register(metric: Metric) -> Metric:
    """Add a metric, so that `evaluate` and `score` find it by its name, and replace one of the same name.

    Raises InputError for a judgement that does not exist, and for a name that is no word, or a column's.

    >>> def brevity(records, options):
    ...     return Score(*2 * [1 / max(1, len(records["support"].verdicts))])
    >>> metric = register(Metric("brevity", "1", ("response", "retrieved_contexts"), ("support",), brevity,
    ...                          "1 / statements of the response"))
    >>> METRICS.pop("brevity").name
    'brevity'
    """
    if not re.fullmatch(r"[\w.-]+", metric.name) or re.search("^id$|_(soft|status|reason)$", metric.name):
        raise InputError(
            f"{shorten(repr(metric.name))} can't be a metric's name; choose a word that is not id and does "
            "not end in _soft, _status or _reason, as columns of scores.csv do."
        )
    for name in metric.judgements:
        if name not in JUDGEMENTS:
            raise InputError(f"{metric.name} reads the judgement {name!r}; {suggested(name, [*JUDGEMENTS])}")
    METRICS[metric.name] = metric
    return metric


_RESPONSE = ("response", "retrieved_contexts")
_ALL = (*_RESPONSE, "reference")
_SUPPORT = ("statements", "support")
_BOTH_WAYS = ("statements", "support", "response_in_reference")

# fmt: off
for _metric in (
    Metric("faithfulness", "1", _RESPONSE, _SUPPORT, formulas.share,
           "supported statements / all statements of the response"),
    Metric("full_support", "2", _RESPONSE, _SUPPORT, formulas.full_support,
           "1 if every statement of the response is supported, else 0; soft is P(all supported)"),
    Metric("groundedness", "2", _RESPONSE, ("grounding",), formulas.groundedness,
           "1 if P(every sentence is supported), by a head, is at least the threshold, else 0; soft is P"),
    Metric("faithfulness_hhem", "1", _RESPONSE, ("statements", "support_hhem"),
           partial(formulas.share, judgement="support_hhem"),
           "supported statements / all statements of the response, decided by HHEM-2.1-Open"),
    Metric("answer_relevance", "2", ("user_input", "response"), ("questions", "similarity"),
           formulas.answer_relevance,
           "mean over n questions drawn from the response of cos(user_input, question) x sufficiency"),
    Metric("context_relevance", "3", ("user_input", "retrieved_contexts"), ("needed",),
           formulas.context_relevance,
           "needed sentences / all sentences of the contexts; 0 if they can't answer the question"),
    Metric("context_precision", "1", ("user_input", "retrieved_contexts"), ("useful",),
           formulas.context_precision,
           "mean over the useful contexts' ranks k of precision@k",
           either=("reference", "response")),
    Metric("context_recall", "1", ("reference", "retrieved_contexts"),
           ("reference_statements", "reference_in_contexts"),
           partial(formulas.share, judgement="reference_in_contexts", none="no_reference_statements"),
           "statements of the reference that the contexts support / all of them"),
    Metric("factual_correctness", "1", ("response", "reference"),
           ("statements", "reference_statements", "response_in_reference", "reference_in_response"),
           formulas.factual_correctness,
           "F1 (or precision, recall, F-beta) of the response's statements against the reference's"),
    Metric("context_utilization", "1", _ALL,
           ("reference_statements", "reference_in_contexts", "reference_in_response"),
           formulas.context_utilization,
           "statements of the reference that contexts and response support / "
           "those that the contexts support"),
    Metric("noise_sensitivity", "1", _ALL, _BOTH_WAYS,
           partial(formulas.share_of_kind, in_contexts=True, in_reference=False),
           "statements of the response that the contexts support and the reference does not / all of them",
           higher_is_better=False),
    Metric("hallucination", "1", _ALL, _BOTH_WAYS,
           partial(formulas.share_of_kind, in_contexts=False, in_reference=False),
           "statements of the response that neither contexts nor reference support / all of them",
           higher_is_better=False),
    Metric("self_knowledge", "1", _ALL, _BOTH_WAYS,
           partial(formulas.share_of_kind, in_contexts=False, in_reference=True),
           "statements of the response that the reference supports and the contexts do not / all of them"),
):
    register(_metric)
# fmt: on
