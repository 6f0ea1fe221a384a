"""Scores from records, and means from scores: arithmetic only."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localeval.errors import InputError
from localeval.fitted.curves import Curves
from localeval.judgements import Failure
from localeval.judgements.calibration import calibrate
from localeval.judgements.criterion_reason import reasons_of
from localeval.judgements.judged_text import response_of
from localeval.metrics.metric import Metric, find_metric
from localeval.metrics.score import Score
from localeval.options import Options
from localeval.samples import Sample
from localeval.text.display import shorten
from localeval.text.sentences import has_words

SIGNIFICANT = 0.05
"""A difference with a p-value below this is significant."""


@dataclass(frozen=True)
class Summary:
    """One metric over a run: means of the scored samples, their intervals, and the counts by status.

    value, soft              means, 0 to 1; None when no sample was scored
    interval, soft_interval  95 % interval (low, high) for samples of this kind; None below two scored, or
                             below two groups
    lowest, highest          the mean of `value` if every failed sample scored 0, or 1
    groups                   number of groups of the scored samples, which the intervals take as units; None
                             where no two of them share the column `group`
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
    groups: int | None = None


def choose_metrics(names: Iterable[str]) -> list[Metric]:
    """Return the metrics of `names` or aliases, each once.

    Raises InputError for none, an unknown one, and one whose package is not installed.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f'metrics is {shorten(repr(names), 60)}; give a list, as ["faithfulness"].')
    chosen: dict[str, Metric] = {}
    for name in names:
        if not isinstance(name, str):
            raise InputError(f'{shorten(repr(name), 60)} is no metric; give its name, as "faithfulness".')
        metric = find_metric(name)
        metric.check_packages()
        chosen[metric.name] = metric
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
    if metric.either and not any(_has_text(sample, column) for column in metric.either):
        return Score.undefined(f"missing_{metric.either[0]}")
    return None


def _has_text(sample: Sample, column: str) -> bool:
    """Return whether the column has a word; a list, whether any of its texts has one."""
    if column == "response":
        return has_words(response_of(sample))
    value = getattr(sample, column, None)
    texts = value if isinstance(value, list) else [value or ""]
    return any(has_words(str(text)) for text in texts)


def scorable(metrics: Sequence[Metric], sample: Sample) -> list[Metric]:
    """Return the metrics that have something to judge in the sample."""
    return [metric for metric in metrics if undefined_reason(metric, sample) is None]


def judgements_of_sample(metrics: Sequence[Metric], options: Options, sample: Sample) -> list[str]:
    """Return the judgements that the sample's scores depend on."""
    return judgements_for(scorable(metrics, sample), options)


def judgements_for(metrics: Sequence[Metric], options: Options) -> list[str]:
    """Return the judgements that the metrics need, and reasons if `options.explain` asks for them."""
    names = [name for metric in metrics for name in metric.judgements]
    if not options.explain:
        return names
    reasons = ["reasons"] if "support" in names else []
    return [*names, *reasons, *reasons_of(names)]


def compute(
    metric: Metric, sample: Sample, records: Mapping[str, Any], options: Options, curves: Curves
) -> Score:
    """Compute the metric's score from raw records, or the failure of a judgement that it needs.

    A metric that reads the sample is computed from that.

    `curves`, from `Judge.curves` or a result's signature, calibrate what the metric reads. Where a metric
    gives no `soft`, it is `value`. Raises ValueError for a score that is not possible.
    """
    for name in metric.judgements:
        if isinstance(records[name], Failure):
            return Score.failed(records[name].failed)
    score = metric.compute(sample if metric.reads_sample else calibrate(records, curves), options)
    # A caller's own metric may give numpy's numbers, which are not JSON's.
    value = None if score.value is None else float(score.value)
    soft = None if score.soft is None else float(score.soft)
    return Score(value, soft, score.status, str(score.reason)).checked()


def compute_all(
    metrics: Sequence[Metric], sample: Sample, records: Mapping[str, Any], options: Options, curves: Curves
) -> dict[str, Score]:
    """Compute the sample's score by each metric; see `undefined_reason` and `compute`."""
    return {
        metric.name: undefined_reason(metric, sample) or compute(metric, sample, records, options, curves)
        for metric in metrics
    }


def summarize(
    metrics: Iterable[str], samples: Iterable[tuple[Mapping[str, Score], str | None]]
) -> dict[str, Summary]:
    """Average each metric over the scored samples only; the others are counted, never averaged in.

    samples  the scores of each, and its group (see `group_of`); read once: each may be read from a disk

    >>> scored, failed = [Score(1.0, 0.9), Score(0.5, 0.4)], [Score.failed("timeout")] * 2
    >>> scores = [*scored, Score.undefined("no_contexts"), *failed]
    >>> summary = summarize(["mine"], (({"mine": score}, None) for score in scores))["mine"]
    >>> summary.value, summary.lowest, summary.highest
    (0.75, 0.375, 0.875)
    """
    collected = CollectedScores(metrics)
    for scores, group in samples:
        collected.add(scores, group)
    return collected.summaries()


class CollectedScores:
    """The scores of samples by each metric, as they come; see `summarize`."""

    def __init__(self, metrics: Iterable[str]) -> None:
        self._by_metric = {name: _Collected() for name in metrics}
        self._numbers = GroupNumbers()

    def add(self, scores: Mapping[str, Score], group: str | None) -> None:
        number = self._numbers.of(group)
        for name, collected in self._by_metric.items():
            collected.add(scores[name], number)

    def summaries(self) -> dict[str, Summary]:
        return {name: collected.summary() for name, collected in self._by_metric.items()}


def group_of(sample: Sample) -> str | None:
    """Return the sample's column `group`; samples of one group are alike, such as answers to one question.

    >>> group_of(Sample(response="Tea.", group=7)), group_of(Sample(response="Tea."))
    ('7', None)
    """
    value = (sample.model_extra or {}).get("group")
    return None if value is None else str(value)


def min_differing(level: float) -> int:
    """Return how many differences other than 0 there must be for a p-value below `level`.

    >>> min_differing(0.05)  # of 5 all in one direction, p is 2 / 2 ** 5
    6
    """
    return math.floor(1 - math.log2(level)) + 1


class GroupNumbers:
    """Numbers groups from 0 on, in the order in which they come; a sample without a group is its own."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._count = 0

    def of(self, group: str | None) -> int:
        """Return the number of the group, a new one for None."""
        known = None if group is None else self._numbers.get(group)
        if known is not None:
            return known
        number = self._count
        self._count += 1
        if group is not None:
            self._numbers[group] = number
        return number


def shared_groups(numbers: Sequence[int]) -> Sequence[int] | None:
    """Return the numbers of groups; None where no two are equal, so that each sample is its own.

    >>> shared_groups([0, 1, 0]), shared_groups([0, 1, 2])
    ([0, 1, 0], None)
    """
    return numbers if len(set(numbers)) < len(numbers) else None


class _Collected:
    """The scores of one metric, as they come."""

    def __init__(self) -> None:
        self._values = array("d")
        self._softs = array("d")
        # The group of each scored sample.
        self._groups = array("q")
        self._count = Counter[str]()

    def add(self, score: Score, group: int) -> None:
        self._count[score.status] += 1
        if score.value is not None:
            self._values.append(score.value)
            self._softs.append(score.value if score.soft is None else score.soft)
            self._groups.append(group)

    def summary(self) -> Summary:
        from localeval.statistics.intervals import mean_interval

        failed = self._count["failed"]
        groups = shared_groups(self._groups)
        return Summary(
            _mean(self._values),
            _mean(self._softs),
            self._count["scored"],
            self._count["undefined"],
            failed,
            interval=mean_interval(self._values, groups=groups),
            soft_interval=mean_interval(self._softs, groups=groups),
            lowest=_mean([*self._values, *[0.0] * failed]),
            highest=_mean([*self._values, *[1.0] * failed]),
            groups=None if groups is None else len(set(groups)),
        )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
