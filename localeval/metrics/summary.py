"""Scores from records, and means from scores: arithmetic only."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localeval.errors import InputError
from localeval.judgements import Failure
from localeval.judgements.calibration import Curves, calibrate
from localeval.judgements.context import response_of
from localeval.metrics import METRICS, Metric, Score
from localeval.prompts.options import Options
from localeval.samples import Sample
from localeval.text.display import shorten, suggested
from localeval.text.sentences import has_words

SIGNIFICANT = 0.05
"""A difference with a p-value below this is significant."""


@dataclass(frozen=True)
class Summary:
    """One metric over a run: means of the scored samples, their intervals, and the counts by status.

    value, soft              means, 0 to 1; None when no sample was scored
    interval, soft_interval  95 % interval (low, high) for samples of this kind; None below two scored
    lowest, highest          the mean of `value` if every failed sample scored 0, or 1
    """

    value: float | None
    soft: float | None
    scored: int
    undefined: int
    failed: int
    interval: tuple[float, float] | None = None
    soft_interval: tuple[float, float] | None = None
    lowest: float | None = None
    highest: float | None = None


def choose_metrics(names: Iterable[str]) -> list[Metric]:
    """Return the metrics of `names`, each once. Raises InputError for no name, or an unknown one."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f'metrics is {shorten(repr(names), 60)}; give a list, as ["faithfulness"].')
    chosen: dict[str, Metric] = {}
    for name in names:
        if not isinstance(name, str):
            raise InputError(f'{shorten(repr(name), 60)} is no metric; give its name, as "faithfulness".')
        if name not in METRICS:
            raise InputError(f"there is no metric {name!r}; {suggested(name, list(METRICS))}")
        chosen[name] = METRICS[name]
    if not chosen:
        raise InputError('metrics is empty; give one at least, as ["faithfulness"].')
    return [*chosen.values()]


def undefined_reason(metric: Metric, sample: Sample) -> Score | None:
    """Return the undefined score of a sample that lacks a column or a context; None if it can be judged.

    An empty response can be judged: it makes no statement. In `metric.either` it counts as missing.
    """
    for column in metric.columns:
        value = getattr(sample, column, None)
        if value is None or (column in ("user_input", "reference") and not value.strip()):
            return Score.undefined(f"missing_{column}")
        if column == "retrieved_contexts" and not any(map(has_words, value)):
            return Score.undefined("no_contexts")
    texts = [
        response_of(sample) if column == "response" else str(getattr(sample, column, None) or "")
        for column in metric.either
    ]
    if texts and not any(map(has_words, texts)):
        return Score.undefined(f"missing_{metric.either[0]}")
    return None


def scorable(metrics: Sequence[Metric], sample: Sample) -> list[Metric]:
    """Return the metrics that have something to judge in the sample."""
    return [metric for metric in metrics if undefined_reason(metric, sample) is None]


def judgements_of_sample(metrics: Sequence[Metric], options: Options, sample: Sample) -> list[str]:
    """Return the judgements that the sample's scores depend on."""
    return judgements_for(scorable(metrics, sample), options)


def judgements_for(metrics: Sequence[Metric], options: Options) -> list[str]:
    """Return the judgements that the metrics need, and "reasons" if `options.explain` asks for them."""
    names = [name for metric in metrics for name in metric.judgements]
    return [*names, "reasons"] if options.explain and "support" in names else names


def compute(metric: Metric, records: Mapping[str, Any], options: Options, curves: Curves) -> Score:
    """Compute the metric's score from raw records, or the failure of a judgement that it needs.

    `curves`, from `Judge.curves` or a result's signature, calibrate what the metric reads. Where a metric
    gives no `soft`, it is `value`. Raises ValueError for a score that is not possible.
    """
    for name in metric.judgements:
        if isinstance(records[name], Failure):
            return Score.failed(records[name].failed)
    score = metric.compute(calibrate(records, curves), options)
    # A caller's own metric may give numpy's numbers, which are not JSON's.
    value, soft = (None if number is None else float(number) for number in (score.value, score.soft))
    return Score(value, soft, score.status, str(score.reason)).checked()


def compute_all(
    metrics: Sequence[Metric], sample: Sample, records: Mapping[str, Any], options: Options, curves: Curves
) -> dict[str, Score]:
    """Compute the sample's score by each metric; see `undefined_reason` and `compute`."""
    return {m.name: undefined_reason(m, sample) or compute(m, records, options, curves) for m in metrics}


def summarize(metrics: Iterable[str], samples: Iterable[Mapping[str, Score]]) -> dict[str, Summary]:
    """Average each metric over the scored samples only; the others are counted, never averaged in.

    `samples` are read once: each may be read from a disk.

    >>> scored, failed = [Score(1.0, 0.9), Score(0.5, 0.4)], [Score.failed("timeout")] * 2
    >>> scores = [*scored, Score.undefined("no_contexts"), *failed]
    >>> summary = summarize(["mine"], ({"mine": score} for score in scores))["mine"]
    >>> summary.value, summary.lowest, summary.highest
    (0.75, 0.375, 0.875)
    """
    from localeval.metrics.statistics import bootstrap_ci

    collected = {name: (array("d"), array("d"), Counter[str]()) for name in metrics}
    for scores in samples:
        for name, (values, softs, count) in collected.items():
            score = scores[name]
            count[score.status] += 1
            if score.value is not None:
                values.append(score.value)
            if score.soft is not None:
                softs.append(score.soft)
    return {
        name: Summary(
            _mean(values),
            _mean(softs),
            count["scored"],
            count["undefined"],
            count["failed"],
            interval=bootstrap_ci(values),
            soft_interval=bootstrap_ci(softs),
            lowest=_mean([*values, *[0.0] * count["failed"]]),
            highest=_mean([*values, *[1.0] * count["failed"]]),
        )
        for name, (values, softs, count) in collected.items()
    }


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
