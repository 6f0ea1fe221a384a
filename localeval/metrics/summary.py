"""From records to scores, and from scores to means: arithmetic only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localeval.errors import InputError
from localeval.judgements import Failure
from localeval.judgements.calibration import Curves, as_scored
from localeval.judgements.context import response_of
from localeval.metrics import METRICS, Metric, Score
from localeval.prompts.options import Options
from localeval.samples import Sample
from localeval.text.display import said, suggested
from localeval.text.sentences import has_words

SIGNIFICANT = 0.05
"""A difference with a p-value below it is one."""


@dataclass(frozen=True)
class Summary:
    """One metric over a run: means of the scored samples, how sure they are, and the counts by status.

    value, soft              means, 0 to 1; None when no sample was scored
    interval, soft_interval  (low, high): the 95 % intervals of these means (`localeval.metrics.statistics`),
                             for other samples of the same kind; of the judge's own mistakes they know
                             nothing. None below two scored samples
    lowest, highest          the mean of value if every failed sample were 0, or 1; equal to `value` where
                             none failed, None when no sample was scored or failed
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
    """The rows of `names`, each once. Raises InputError for none, or an unknown one, with its nearest."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f'metrics is {said(repr(names), 60)}; give a list, as ["faithfulness"].')
    chosen = {name: _row(name) for name in names}  # once: a generator is used up by it
    if not chosen:
        raise InputError('metrics is empty; give one at least, as ["faithfulness"].')
    return [*chosen.values()]


def _row(name: Any) -> Metric:
    if not isinstance(name, str):
        raise InputError(f'{said(repr(name), 60)} is no metric; give it by its name, as "faithfulness".')
    if name not in METRICS:
        raise InputError(f"there is no metric {name!r}; {suggested(name, list(METRICS))}")
    return METRICS[name]


def check_heads(metrics: Sequence[Metric], heads: Mapping[str, Any], options: Options) -> None:
    """Raises InputError where a metric can only be read, and no head was fitted for the judge."""
    for metric in metrics:
        read = "grounding" in metric.judgements
        read |= "support" in metric.judgements and options.support_by == "head"
        if read and not heads:
            raise InputError(
                f"{metric.name} needs a head that was fitted for this judge, and none is in force; make one "
                "with `localeval fit` and give it with --head, or leave the metric out."
            )


def nothing_to_judge(metric: Metric, sample: Sample) -> Score | None:
    """The undefined score of a sample that lacks a column, or has no context; None if it can be judged.

    An empty question or reference counts as missing. An empty response does not: it makes no statement. A
    context without a word is none, and so is what a metric reads either of.
    """
    for column in metric.columns:
        value = getattr(sample, column, None)
        if value is None or (column in ("user_input", "reference") and not value.strip()):
            return Score.undefined(f"missing_{column}")
        if column == "retrieved_contexts" and not any(map(has_words, value)):
            return Score.undefined("no_contexts")
    if metric.either and not any(_told(sample, column) for column in metric.either):
        return Score.undefined(f"missing_{metric.either[0]}")
    return None


def to_judge(metrics: Iterable[Metric], sample: Sample) -> tuple[dict[str, Score], list[Metric]]:
    """(By metric the scores that are undefined beforehand, the metrics with something to judge)."""
    undefined: dict[str, Score] = {}
    judged = []
    for metric in metrics:
        if (score := nothing_to_judge(metric, sample)) is not None:
            undefined[metric.name] = score
        else:
            judged.append(metric)
    return undefined, judged


def _told(sample: Sample, column: str) -> bool:
    """Whether a column of text says something; of a response, outside of its `<think>` blocks."""
    value = response_of(sample) if column == "response" else getattr(sample, column, None)
    return has_words(value) if isinstance(value, str) else value is not None


def judgements_for(metrics: Sequence[Metric], options: Options) -> list[str]:
    """The judgements that the metrics need, and the reasons where they were asked for."""
    wanted = [name for metric in metrics for name in metric.judgements]
    return [*wanted, "reasons"] if options.explain and "support" in wanted else wanted


def compute(metric: Metric, records: Mapping[str, Any], options: Options, curves: Curves) -> Score:
    """The metric's score from raw records, or the failure of a judgement that it needs.

    `curves` calibrate what the metric reads: those of `Judge.curves`, or of a result's signature.
    """
    for name in metric.judgements:
        if isinstance(records[name], Failure):
            return Score.failed(records[name].failed)
    return _checked(metric, metric.compute(as_scored(records, curves), options))


def _checked(metric: Metric, score: Any) -> Score:
    """The score, its numbers as plain ones. Raises InputError where a metric of the caller's gave none."""
    if isinstance(score, Score) and score.status != "scored":
        return score
    try:
        value, soft = float(score.value), float(score.soft)
    except (AttributeError, TypeError, ValueError):
        value = soft = math.nan
    if not (0 <= value <= 1 and 0 <= soft <= 1):
        raise InputError(
            f"the metric {metric.name} gave {said(score)}; it has to give Score(value, soft), two numbers "
            "from 0 to 1, or Score.undefined(reason)."
        )
    return Score(value, soft)


def summarize(scores: Iterable[Score]) -> Summary:
    """Means over the scored samples only; the others are counted, never averaged in.

    >>> scores = [Score(1.0, 0.9), Score(0.5, 0.4), Score.undefined("no_contexts"), Score.failed("timeout")]
    >>> made = summarize(scores)
    >>> made.value, made.lowest, made.highest
    (0.75, 0.5, 0.8333333333333334)
    """
    from localeval.metrics.statistics import mean_interval

    values: list[float] = []
    softs: list[float] = []
    counts = {"scored": 0, "undefined": 0, "failed": 0}
    for score in scores:
        counts[score.status] += 1
        values += [score.value] if score.value is not None else []
        softs += [score.soft] if score.soft is not None else []
    failed = counts["failed"]
    return Summary(
        _mean(values),
        _mean(softs),
        **counts,
        interval=mean_interval(values),
        soft_interval=mean_interval(softs),
        lowest=_mean([*values, *[0.0] * failed]),
        highest=_mean([*values, *[1.0] * failed]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
