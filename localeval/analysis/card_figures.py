"""The figures of a judge card: what they are, and how they are measured over all items and over parts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NoReturn, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, PlainSerializer

from localeval.analysis.labels import group, judged_column, user_column
from localeval.claims.terms import terms
from localeval.errors import InputError
from localeval.judgements.judged_text import response_of
from localeval.metrics import Metric, Score
from localeval.runs.result import Result
from localeval.samples import Sample
from localeval.statistics import agreement

# In JSON null stands for an undefined value.
Estimate = Annotated[
    agreement.Figure, PlainSerializer(lambda figure: [None if math.isnan(x) else x for x in figure])
]


class ScoreFigures(BaseModel):
    """Agreement of one score with the labels: figure -> estimate; see `localeval.statistics.agreement`.

    gain  its first figure (AUROC, pair accuracy or F1) minus the baseline's, paired
    """

    model_config = ConfigDict(frozen=True)

    figures: dict[str, Estimate]
    gain: Estimate | None = None


class Part(BaseModel):
    """A part of the samples: all of them, or the samples of a language or of a source.

    good, bad  numbers of labels 1 and 0; for pairs and rows with labelled sentences, `good` is their number
    scores     "soft" and "value" as the judge gives them; "... raw" without the calibration in force;
               "... refitted" with one fitted on the other folds of this data; and the baseline
    """

    model_config = ConfigDict(frozen=True)

    name: str
    good: int
    bad: int = 0
    scores: dict[str, ScoreFigures]


@dataclass
class LabelledItem:
    """What a figure counts: a labelled sample, a pair, or a row of labelled sentences.

    row       the row of the data
    label     1 or 0 for a sample; 1 for all others
    language  of a sample's judged text, where it is known
    """

    row: Sample
    label: int = 1
    language: str | None = None


Item = TypeVar("Item", bound=LabelledItem)


@dataclass(frozen=True)
class PartRule:
    """Which parts have figures of their own: a part for each value of these columns, if it has enough items.

    min_of_each_label  0 where the items have no labels of their own
    """

    columns: tuple[str, ...]
    min_items: int
    min_of_each_label: int = 0


def measure_parts(
    items: Sequence[Item],
    rule: PartRule,
    measure: Callable[[Sequence[Item]], dict[str, ScoreFigures]],
) -> list[Part]:
    """Measure all items, then the items of each part that has enough of them, but not all."""
    parts = [_part("all", items, measure)]
    by_title: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        for column in rule.columns:
            value = user_column(item.row, column, item.language if column == "lang" else None)
            if value is not None:
                by_title[f"{column} {value}"].append(item)
    for title, members in sorted(by_title.items()):
        good = sum(item.label for item in members)
        has_both_labels = min(good, len(members) - good) >= rule.min_of_each_label
        if rule.min_items <= len(members) < len(items) and has_both_labels:
            parts.append(_part(title, members, measure))
    return parts


def _part(
    title: str, items: Sequence[Item], measure: Callable[[Sequence[Item]], dict[str, ScoreFigures]]
) -> Part:
    good = sum(item.label for item in items)
    return Part(name=title, good=good, bad=len(items) - good, scores=measure(items))


def mean_figures(
    items: Sequence[LabelledItem], values: Mapping[str, Mapping[str, list[float]]], baseline: str
) -> dict[str, ScoreFigures]:
    """Average each score's figures over the items; `values`: score -> figure -> a value per item."""
    groups = [group(item.row) for item in items]
    means = {}
    for name, figures in values.items():
        gain = None
        if name != baseline:
            first = next(iter(figures))
            gains = np.subtract(figures[first], values[baseline][first]).tolist()
            gain = agreement.mean(gains, groups, lowest=-1)
        means[name] = ScoreFigures(
            figures={key: agreement.mean(numbers, groups) for key, numbers in figures.items()},
            gain=gain,
        )
    return means


def oriented(score: Score, metric: Metric) -> dict[str, float]:
    """Return how far `soft` and `value` are from the worst, 0 to 1; 0 for a sample without a score.

    A higher one means "more likely good".
    """
    worst = 0.0 if metric.higher_is_better else 1.0
    scores = {"soft": score.soft, "value": score.value}
    return {name: abs((worst if value is None else value) - worst) for name, value in scores.items()}


def baseline_score(sample: Sample, metric: Metric) -> float:
    """Return the metric's `baseline`, which needs no model, 0 to 1; 0 where there is no word to look for.

    lexical precision  the share of the response's words (pairs of Han characters) that the contexts have
    question overlap   the share of the question's words that the response has, or the contexts, for metrics
                       that read no response
    """
    contexts = "\n".join(sample.retrieved_contexts or [])
    if metric.baseline == "lexical precision":
        return share_of_words(response_of(sample), contexts)
    judged = response_of(sample) if judged_column(metric) == "response" else contexts
    return share_of_words(sample.user_input or "", judged)


def share_of_words(expected: str, text: str) -> float:
    """Return the share of the words of `expected` that `text` has.

    >>> share_of_words("Who grows tea?", "Ann grows it.")
    0.3333333333333333
    """
    words = terms(expected)
    return len(words & terms(text)) / len(words) if words else 0.0


def not_scored(result: Result, metric: str) -> dict[str, int]:
    """Count the samples without a score, by reason."""
    scores = [sample.scores[metric] for sample in result.samples]
    return dict(Counter(score.reason for score in scores if score.status != "scored"))


def refuse(result: Result, metric: str, fault: str) -> NoReturn:
    """Raise InputError: too few samples have a score, by this fault; it names the reasons of the others."""
    reasons = ", ".join(not_scored(result, metric))
    raise InputError(f"of {len(result.samples)} samples {fault}; the others: {reasons}.")
