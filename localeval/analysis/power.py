"""How many samples show a change: from one finished run, or from two runs of the same samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from rich.text import Text

from localeval.analysis.compare import differences_allowed, paired_samples
from localeval.errors import InputError
from localeval.metrics.signature import differences
from localeval.metrics.summary import SIGNIFICANT, GroupNumbers, group_of, min_differing, shared_groups
from localeval.report.text import new_table, number, printed
from localeval.runs.correct import CardRates
from localeval.runs.result import Result
from localeval.statistics import power as statistics
from localeval.text.display import printable

DIFFERENCE = 0.05
# Of the scores of one run nobody knows how alike another run's will be; these are usual correlations.
CORRELATIONS = (0.5, 0.8)
TABLE_WIDTH = 110


class Case(NamedTuple):
    """A number of samples, and what it takes for granted.

    assumption   on the other run, in words
    correlation  of the scores of both runs; None where it is not known, or not assumed
    deviation    standard deviation of the paired differences
    samples      number of samples, each in both runs
    groups       number of groups with so many samples; None where no two samples share one
    """

    assumption: str
    correlation: float | None
    deviation: float
    samples: int
    groups: int | None


@dataclass(frozen=True)
class JudgeAccuracy:
    """How often the judge is right, by a card.

    sensitivity  of answers with label 1, the share that it calls good
    specificity  of answers with label 0, the share that it calls bad
    """

    sensitivity: float
    specificity: float

    @property
    def dilution(self) -> float:
        """The change of the raw mean for a true change of 1; 0 or less for a judge no better than chance."""
        return self.sensitivity + self.specificity - 1


@dataclass(frozen=True)
class MetricPower:
    """How many samples show a change of one metric.

    samples        number of samples that were scored, with two runs in both
    mean           of the first run's scores; None without any
    deviation      standard deviation of the first run's scores; None for fewer than two
    design_effect  so many times as many samples are needed because samples share groups
    groups         number of groups; None where no two samples share one
    cases          what the number hangs on, and the number; empty where nothing can be said
    note           why nothing can be said, or what a reader must know; "" for nothing
    accuracy       how often the judge is right, where a card says so and the scores are 0 or 1
    """

    metric: str
    samples: int
    mean: float | None
    deviation: float | None
    design_effect: float
    groups: int | None
    cases: tuple[Case, ...]
    note: str = ""
    accuracy: JudgeAccuracy | None = None


@dataclass(frozen=True)
class Power:
    """The result of `needed_samples`; `print(power)` shows a table and a sentence for each metric."""

    difference: float
    is_paired: bool
    metrics: tuple[MetricPower, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        metrics = []
        for metric in self.metrics:
            fields = asdict(metric)
            fields["cases"] = [case._asdict() for case in metric.cases]
            metrics.append(fields)
        return {
            "schema": 1,  # another number is another form
            "difference": self.difference,
            "power": statistics.POWER,
            "level": statistics.LEVEL,
            "paired": self.is_paired,
            "metrics": metrics,
        }

    def __str__(self) -> str:
        has_groups = any(metric.groups is not None for metric in self.metrics)
        table = new_table("metric", "spread of a difference", "samples")
        if has_groups:
            table.add_column("groups", justify="right")
        table.add_column("the other run")
        for metric in self.metrics:
            for position, case in enumerate(metric.cases):
                # Only the first row of a metric has its name.
                name = "" if position else printable(metric.metric)
                cells = [number(case.deviation), f"{case.samples:,}"]
                if has_groups:
                    cells.append("-" if case.groups is None else f"{case.groups:,}")
                table.add_row(Text(name), *cells, case.assumption)
        lines = [*printed(table, TABLE_WIDTH), ""] if table.row_count else []
        for metric in self.metrics:
            lines += [printable(f"{metric.metric}: {line}") for line in self._sentences(metric)]
        if not self.is_paired:
            lines.append("with a run of the other system the number is closer: --paired-with RUN")
        return "\n".join(lines)

    def _sentences(self, metric: MetricPower) -> list[str]:
        sentences = []
        if metric.cases:
            least = min(case.samples for case in metric.cases)
            most = max(case.samples for case in metric.cases)
            numbers_of_samples = " to ".join(f"{samples:,}" for samples in dict.fromkeys((least, most)))
            change = f"a change of {self.difference:g} with 80 % power at p < {SIGNIFICANT}"
            has = "these runs share" if self.is_paired else "this run has"
            sentences.append(f"{numbers_of_samples} samples show {change}; {has} {metric.samples:,}")
        if metric.design_effect > 1:
            sentences.append(
                f"samples of one group are alike, so {metric.design_effect:.1f} times as many are needed"
            )
        if metric.note:
            sentences.append(metric.note)
        if metric.accuracy is not None:
            sentences.append(_dilution_sentence(metric.accuracy, self.difference))
        return sentences


def _dilution_sentence(accuracy: JudgeAccuracy, difference: float) -> str:
    judge = (
        f"with this judge (sensitivity {accuracy.sensitivity:.2f}, specificity {accuracy.specificity:.2f})"
    )
    dilution = accuracy.dilution
    if dilution <= 0:
        return f"{judge} no true change shows: by the card it is no better than chance"
    shown = f"a true change of {difference:g} shows as {difference * dilution:.3f}"
    if difference / dilution > 1:
        return f"{judge} {shown}, and none shows as {difference:g}"
    return (
        f"{judge} {shown}, and one of {difference / dilution:.3f} shows as {difference:g}; for a true change "
        f"of {difference:g}, multiply the number of samples by {1 / dilution**2:.1f}"
    )


def needed_samples(
    run: Result,
    difference: float = DIFFERENCE,
    *,
    paired_with: Result | None = None,
    metrics: Sequence[str] | None = None,
    card: CardRates | None = None,
) -> Power:
    """Compute how many samples show a change of the mean with 80 % power, by a paired test at p < 0.05.

    difference   the change, above 0 and at most 1
    paired_with  a run of the same samples by another system: the spread of the differences is measured then;
                 from one run alone it is a span
    metrics      names; by default all of the run, or of both
    card         a card of this judge, for metrics whose scores are 0 or 1

    Raises InputError for an unknown metric and for runs without a common sample; NotComparable as `compare`.
    """
    if not 0 < difference <= 1:
        raise InputError(f"a change of {difference:g} can't be shown; give one above 0 and up to 1.")
    names = _metric_names(run, paired_with, metrics)
    if card is not None:
        _check_card(card, run, names)
    if paired_with is None:
        found = [_of_one_run(run, name, difference) for name in names]
    else:
        differences_allowed(run, paired_with)
        found = _of_two_runs(run, paired_with, names, difference)
    if card is not None:
        found = [
            _with_card(metric, card, run) if metric.metric == card.metric else metric for metric in found
        ]
    return Power(difference, paired_with is not None, tuple(found))


def _metric_names(run: Result, other: Result | None, chosen: Sequence[str] | None) -> list[str]:
    """Return the metrics to look at. Raises InputError for one that a run does not have, and for none."""
    for result in (run, other):
        for name in chosen or ():
            if result is not None and name not in result.metrics:
                raise InputError(f"a run has no metric {name!r}; it has: {', '.join(result.metrics)}.")
    names = [*(chosen or run.metrics)]
    if other is not None:
        names = [name for name in names if name in other.metrics]
    if not names:
        raise InputError("the runs have no metric in common.")
    return names


def _of_one_run(run: Result, metric: str, difference: float) -> MetricPower:
    values: list[float] = []
    group_numbers: list[int] = []
    numbers = GroupNumbers()
    for item in run.samples:
        value = item.scores[metric].value
        if value is not None:
            values.append(value)
            group_numbers.append(numbers.of(group_of(item.sample)))
    groups = shared_groups(group_numbers)
    needed = _Needed(difference, values, groups)
    cases = []
    deviation = statistics.deviation_of(values) if len(values) > 1 else None
    if deviation:
        for correlation in CORRELATIONS:
            spread = statistics.paired_deviation(deviation, correlation)
            cases.append(needed.case(f"correlates with this one by {correlation}", correlation, spread))
    if values and statistics.are_zero_or_one(values):
        best = math.sqrt(difference - difference**2)
        cases.append(needed.case("differs in one direction alone (best case)", None, best))
    note = ""
    if not deviation:
        note = "fewer than two samples are scored" if len(values) < 2 else "all samples have the same score"
        note += ", so nothing is known of the spread"
    return needed.metric_power(metric, values, cases, note)


def _of_two_runs(
    first: Result, second: Result, metrics: Sequence[str], difference: float
) -> list[MetricPower]:
    """Measure the spread of the paired differences. Raises InputError where the runs share no sample."""
    before: dict[str, list[float]] = {name: [] for name in metrics}
    after: dict[str, list[float]] = {name: [] for name in metrics}
    group_numbers: dict[str, list[int]] = {name: [] for name in metrics}
    numbers = GroupNumbers()
    paired = 0
    for item, other in paired_samples(first, second):
        paired += 1
        group = numbers.of(group_of(item.sample))
        for name in metrics:
            a = item.scores[name].value
            b = other.scores[name].value
            if a is not None and b is not None:
                before[name].append(a)
                after[name].append(b)
                group_numbers[name].append(group)
    if not paired:
        raise InputError("the runs have no sample in common: no id of the first is in the second.")
    return [_of_pairs(name, before[name], after[name], group_numbers[name], difference) for name in metrics]


def _of_pairs(
    metric: str,
    before: Sequence[float],
    after: Sequence[float],
    group_numbers: Sequence[int],
    difference: float,
) -> MetricPower:
    changes = [b - a for a, b in zip(before, after, strict=True)]
    needed = _Needed(difference, changes, shared_groups(group_numbers))
    cases = []
    note = ""
    deviation = statistics.deviation_of(changes) if len(changes) > 1 else 0.0
    differing = sum(abs(change) > _EQUAL for change in changes)
    if deviation < _EQUAL:
        note = (
            "the paired differences are all the same, or fewer than two, so nothing is known of their spread"
        )
    else:
        correlation = _correlation(before, after)
        assumption = "as measured"
        if correlation is not None:
            assumption = f"as measured: correlates by {correlation:.2f}"
        cases.append(needed.case(assumption, correlation, deviation))
        if differing < min_differing(SIGNIFICANT):
            note = f"only {differing} of {len(changes)} pairs differ, so this is a rough number"
    return needed.metric_power(metric, before, cases, note)


# Numbers within this are equal: they differ by rounding alone.
_EQUAL = 1e-9


def _correlation(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None where the scores of a run are all the same."""
    if min(np.ptp(before), np.ptp(after)) < _EQUAL:
        return None
    return float(np.corrcoef(before, after)[0, 1])


class _Needed:
    """Numbers of samples for one difference.

    values  scores, or paired differences, from which the effect of groups is taken
    groups  the number of each value's group; None where no two share one
    """

    def __init__(self, difference: float, values: Sequence[float], groups: Sequence[int] | None) -> None:
        self._difference = difference
        self._zero_or_one = bool(values) and statistics.are_zero_or_one(values)
        self._effect = 1.0 if groups is None else statistics.design_effect_by_variance(values, groups)
        self._groups = None if groups is None else len(set(groups))
        self._size = 1.0 if self._groups is None else len(values) / self._groups

    def case(self, assumption: str, correlation: float | None, deviation: float) -> Case:
        """Return how many samples are needed where the paired differences have this deviation."""
        if self._zero_or_one and self._groups is None:
            flips = deviation**2 + self._difference**2
            pairs = statistics.needed_flips(min(1.0, max(self._difference, flips)), self._difference)
        else:
            pairs = statistics.needed_pairs(deviation, self._difference)
        # An error of rounding, which differs between processors, must not add a sample.
        samples = math.ceil(self._effect * pairs - _EQUAL)
        groups = None if self._groups is None else math.ceil(samples / self._size)
        return Case(assumption, correlation, deviation, samples, groups)

    def metric_power(
        self, metric: str, scores: Sequence[float], cases: Sequence[Case], note: str
    ) -> MetricPower:
        return MetricPower(
            metric=metric,
            samples=len(scores),
            mean=math.fsum(scores) / len(scores) if scores else None,
            deviation=statistics.deviation_of(scores) if len(scores) > 1 else None,
            design_effect=self._effect,
            groups=self._groups,
            cases=tuple(cases),
            note=note,
        )


def _check_card(card: CardRates, run: Result, metrics: Sequence[str]) -> None:
    """Raise InputError for a card of another metric, or that was made otherwise than the run."""
    if card.metric not in metrics:
        raise InputError(
            f"the card is of {card.metric}, and not of {', '.join(metrics)}; give a card of this metric."
        )
    decisive, _ = differences(card.signature, run.signature)
    if decisive:
        raise InputError(
            "the card was made otherwise than this run, so its rates are not those of this judge: "
            f"{'; '.join(decisive)}. Make a card as the run was made."
        )


def _with_card(metric: MetricPower, card: CardRates, run: Result) -> MetricPower:
    """Add how often the judge is right, where the scores are 0 or 1, as the labels of a card are."""
    values = (item.scores[metric.metric].value for item in run.samples)
    if not statistics.are_zero_or_one([value for value in values if value is not None]):
        note = "the card is not used, as it counts whole answers, and these scores lie between 0 and 1"
        return replace(metric, note=f"{metric.note}; {note}" if metric.note else note)
    of_all = card.rates[0]
    accuracy = JudgeAccuracy(of_all.right_of_good / of_all.good, of_all.right_of_bad / of_all.bad)
    return replace(metric, accuracy=accuracy)
