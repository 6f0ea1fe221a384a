"""Compare several runs of the same samples: each with the first, and where the samples differ most."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from heapq import nlargest
from pathlib import Path
from typing import Any

from rich.text import Text

from localeval.analysis.compare import (
    Comparison,
    Conclusion,
    Difference,
    compare,
    conclusion,
    difference_cells,
    shown_p,
)
from localeval.errors import InputError, NotComparable
from localeval.metrics.score import Score
from localeval.metrics.summary import Summary
from localeval.report.corrected import corrected_text
from localeval.report.text import new_table, number, printed, span
from localeval.runs.result import Result
from localeval.statistics.holm import holm
from localeval.text.display import printable, shorten

MAX_CHANGED = 10
"""Samples of each metric that changed most."""
_MAX_PRINTED = 5
_TABLE_WIDTH = 130
_MAX_NAME = 24  # characters of a run's name in a table


@dataclass(frozen=True)
class MetricInRun:
    """One metric in one of the runs.

    mean        over all samples that this run scored
    pairs       number of samples that the first run scored, too; None for the first run
    difference  from the first run, over these samples, with the uncorrected p; None for the first run and
                where there is no such sample
    p           corrected by Holm for the number of runs that are compared with the first
    finding     by the corrected p; None for the first run
    detectable  as in `Compared`, without a correction; None for the first run
    """

    mean: Summary
    pairs: int | None = None
    difference: Difference | None = None
    p: float | None = None
    finding: Conclusion | None = None
    detectable: float | None = None


@dataclass(frozen=True)
class SampleInRun:
    """A sample in one of the runs; without a score where it was not scored, or the run does not have it.

    response  of this run's sample; None where it is not there
    """

    value: float | None = None
    soft: float | None = None
    response: str | None = None


@dataclass(frozen=True)
class ChangedSample:
    """A sample whose `soft` differs between two of the runs.

    lowest, highest  positions (from 0) of the runs with the lowest and the highest `soft`
    change           the difference of the two
    question         of the first run that has the sample
    runs             the sample in each run
    """

    metric: str
    id: str
    lowest: int
    highest: int
    change: float
    question: str
    runs: tuple[SampleInRun, ...]


@dataclass(frozen=True)
class RunsComparison:
    """The result of `compare_runs`; `print(comparison)` shows tables.

    runs      the folders, in the order given
    names     a short name for each
    metrics   metric -> what it is in each run, for the metrics that all runs have
    changed   the samples that changed most, by metric, at most ten of each, the largest change first
    corrected the numbers that are corrected by labels or a card, a sentence each
    looks     number of runs that are compared with the first, for which p is corrected
    warnings  caveats, one sentence each
    forced    fields of the signature that change scores and differ, where the runs were compared by force
    """

    runs: tuple[str, ...]
    names: tuple[str, ...]
    metrics: Mapping[str, tuple[MetricInRun, ...]]
    changed: tuple[ChangedSample, ...]
    looks: int
    corrected: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    forced: tuple[str, ...] = ()
    higher_is_better: Mapping[str, bool] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {"schema": 1, **asdict(self)}  # another number is another form

    def __str__(self) -> str:
        """Show each metric with a row for each run, then the samples that changed most."""
        lines = self._table_of_means()
        if self.changed:
            lines += ["", *self._table_of_changed()]
        lines += ["", *map(printable, self.notes())]
        lines += [f"{place} {printable(run)}" for place, run in enumerate(self.runs, 1)]
        return "\n".join(lines)

    def _table_of_means(self) -> list[str]:
        table = new_table("metric")
        table.add_column("run", no_wrap=True)
        for heading in ("mean", "95 %", "scored", "- first", "95 %", "p (Holm)"):
            table.add_column(heading, justify="right")
        table.add_column("finding")
        for metric, in_runs in self.metrics.items():
            label = printable(metric)
            for place, in_run in enumerate(in_runs):
                mean = in_run.mean
                cells = [label, self._label(place), number(mean.value), span(mean.interval), str(mean.scored)]
                if place:
                    _, _, *change, _ = difference_cells(in_run.difference)
                    p = "-" if in_run.p is None else shown_p(in_run.p)
                    cells += [*change, p, in_run.finding or ""]
                table.add_row(*map(Text, cells))
                # Only the first row of a metric has its name.
                label = ""
        return printed(table, _TABLE_WIDTH)

    def _table_of_changed(self) -> list[str]:
        table = new_table("changed most")
        table.add_column("sample", overflow="fold", max_width=40)
        for heading in ("lowest soft", "highest soft", "difference"):
            table.add_column(heading, justify="right")
        for metric in self.metrics:
            label = printable(metric)
            for one in [one for one in self.changed if one.metric == metric][:_MAX_PRINTED]:
                ends = [
                    f"{number(one.runs[place].soft)} in {self._label(place)}"
                    for place in (one.lowest, one.highest)
                ]
                table.add_row(*map(Text, [label, printable(one.id), *ends, number(one.change)]))
                label = ""
        return printed(table, _TABLE_WIDTH)

    def _label(self, place: int) -> str:
        return f"{place + 1} {shorten(self.names[place], _MAX_NAME)}"

    def notes(self) -> list[str]:
        """List what a reader must know of the numbers, one sentence each."""
        notes = ["a mean is over all samples that the run scored, a difference over those of both runs"]
        if self.looks > 1:
            runs = f"the {self.looks} runs that are compared with the first"
            notes.append(f"p is corrected for {runs} (Holm 1979), not for the number of metrics")
        if self.forced:
            notes.append(f"compared by force, though made differently: {'; '.join(self.forced)}")
        return [*notes, *self.corrected, *self.warnings]


def compare_runs(
    runs: Sequence[Result], paths: Sequence[str | Path], *, force: bool = False
) -> RunsComparison:
    """Compare each run with the first one, paired by id, as `compare` does, with Holm's correction of p.

    paths  the folder of each run

    Raises InputError for fewer than two runs, and as `compare`; NotComparable where a signature differs from
    the first in what changes scores, unless `force`.
    """
    if len(runs) < 2:
        raise InputError(f"a comparison takes two runs or more, and {len(runs)} are given.")
    first, *others = runs
    names = short_names(paths)
    metrics = [name for name in first.metrics if all(name in run.metrics for run in others)]
    if not metrics:
        raise InputError("the runs have no metric that all of them have.")
    comparisons = _with_first(runs, names, force)
    higher: dict[str, bool] = {}
    for run in runs:
        higher |= run.higher_is_better
    return RunsComparison(
        runs=tuple(map(str, paths)),
        names=tuple(names),
        metrics={name: _in_runs(name, runs, comparisons, higher.get(name)) for name in metrics},
        changed=tuple(_changed_most(runs, metrics)),
        looks=len(others),
        corrected=tuple(_corrected_numbers(runs, names, metrics)),
        warnings=(*_not_compared(runs, names, metrics), *_warnings(comparisons, names)),
        forced=tuple(dict.fromkeys(one for comparison in comparisons for one in comparison.forced)),
        higher_is_better={name: higher[name] for name in metrics if name in higher},
    )


def _with_first(runs: Sequence[Result], names: Sequence[str], force: bool) -> list[Comparison]:
    """Compare each other run with the first. An error names both."""
    first, *others = runs
    comparisons = []
    for run, name in zip(others, names[1:], strict=True):
        try:
            comparisons.append(compare(first, run, force=force))
        except (InputError, NotComparable) as error:
            raise type(error)(f"{names[0]} and {name}: {error}") from error
    return comparisons


def _in_runs(
    metric: str, runs: Sequence[Result], comparisons: Sequence[Comparison], higher_is_better: bool | None
) -> tuple[MetricInRun, ...]:
    """Return one metric in each run, with its corrected difference from the first."""
    first, *others = runs
    row = [MetricInRun(first[metric])]
    for run, comparison in zip(others, comparisons, strict=True):
        compared = comparison.metrics[metric]
        in_run = MetricInRun(run[metric], compared.pairs, compared.value, detectable=compared.detectable)
        row.append(in_run)
    return _corrected(row, higher_is_better)


def _corrected_numbers(runs: Sequence[Result], names: Sequence[str], metrics: Sequence[str]) -> Iterator[str]:
    for metric in metrics:
        for run, name in zip(runs, names, strict=True):
            if metric in run.corrected:
                yield f"{metric} of {name}, corrected: {corrected_text(run.corrected[metric])}"


def _warnings(comparisons: Sequence[Comparison], names: Sequence[str]) -> Iterator[str]:
    """Yield the warnings of each comparison, but for the metrics that it leaves out."""
    for comparison, name in zip(comparisons, names[1:], strict=True):
        for warning in comparison.warnings:
            if not warning.startswith("metrics that are not compared"):
                yield f"{names[0]} and {name}: {warning}"


def short_names(paths: Sequence[str | Path]) -> list[str]:
    """Return the names of the folders, or the paths as given where two names are the same.

    >>> short_names(["runs/before", "runs/after"]), short_names(["a/run", "b/run"])
    (['before', 'after'], ['a/run', 'b/run'])
    """
    names = [Path(path).resolve().name for path in paths]
    if len(set(names)) == len(names):
        return names
    return [str(path) for path in paths]


def _not_compared(runs: Sequence[Result], names: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """Say which metrics are not in all runs; a line or none."""
    alone = []
    for run, name in zip(runs, names, strict=True):
        others = [metric for metric in run.metrics if metric not in metrics]
        if others:
            alone.append(f"{', '.join(others)} of {name}")
    return [f"metrics that not all runs have, and that are not compared: {'; '.join(alone)}"] if alone else []


def _corrected(row: Sequence[MetricInRun], higher_is_better: bool | None) -> tuple[MetricInRun, ...]:
    """Add the corrected p and its finding to the differences of one metric."""
    first, *others = row
    p_values = iter(holm([one.difference.p for one in others if one.difference is not None]))
    corrected = [first]
    for one in others:
        if one.difference is None:
            corrected.append(replace(one, finding=conclusion(None, higher_is_better)))
            continue
        p = next(p_values)
        finding = conclusion(replace(one.difference, p=p), higher_is_better)
        corrected.append(replace(one, p=p, finding=finding))
    return tuple(corrected)


class _Softs:
    """The lowest and the highest `soft` of each sample over the runs, for one metric."""

    def __init__(self) -> None:
        self._lowest = array("d")
        self._highest = array("d")

    def add(self, position: int, score: Score) -> None:
        """Take the score of the sample at `position`; positions grow by one at most."""
        while len(self._lowest) <= position:
            self._lowest.append(float("inf"))
            self._highest.append(float("-inf"))
        if score.soft is not None:
            self._lowest[position] = min(self._lowest[position], score.soft)
            self._highest[position] = max(self._highest[position], score.soft)

    def changed_most(self) -> list[int]:
        """Return the positions with the largest changes, the largest first, and of equal ones the first."""
        changes = {
            position: high - low
            for position, (low, high) in enumerate(zip(self._lowest, self._highest, strict=True))
            if high > low
        }
        return nlargest(MAX_CHANGED, changes, key=lambda position: (changes[position], -position))


def _changed_most(runs: Sequence[Result], metrics: Sequence[str]) -> list[ChangedSample]:
    """Find the samples of each metric whose `soft` differs most between any two runs.

    The runs are read twice, so that only two numbers of each sample are in memory.
    """
    positions: dict[str, int] = {}
    softs = {name: _Softs() for name in metrics}
    for run in runs:
        for item in run.samples:
            position = positions.setdefault(item.sample.id, len(positions))
            for name, softs_of_metric in softs.items():
                softs_of_metric.add(position, item.scores[name])
    chosen = {name: softs_of_metric.changed_most() for name, softs_of_metric in softs.items()}
    wanted = {position for places in chosen.values() for position in places}
    ids = {position: name for name, position in positions.items() if position in wanted}
    found = _read_again(runs, {*ids.values()}, metrics)
    return [
        _changed(name, ids[position], found[ids[position]])
        for name, places in chosen.items()
        for position in places
    ]


@dataclass
class _Wanted:
    """A sample in all runs: its question, and metric -> the sample in each run."""

    question: str
    in_runs: dict[str, list[SampleInRun]]


def _read_again(runs: Sequence[Result], ids: set[str], metrics: Sequence[str]) -> dict[str, _Wanted]:
    """Read the samples with these ids in all runs."""
    found: dict[str, _Wanted] = {}
    for place, run in enumerate(runs):
        for item in run.samples:
            sample = item.sample
            if sample.id not in ids:
                continue
            if sample.id not in found:
                in_no_run = {name: [SampleInRun()] * len(runs) for name in metrics}
                found[sample.id] = _Wanted(sample.user_input or "", in_no_run)
            for name in metrics:
                score = item.scores[name]
                in_run = SampleInRun(score.value, score.soft, sample.response or "")
                found[sample.id].in_runs[name][place] = in_run
    return found


def _changed(metric: str, sample_id: str, wanted: _Wanted) -> ChangedSample:
    in_runs = wanted.in_runs[metric]
    softs = {place: in_run.soft for place, in_run in enumerate(in_runs) if in_run.soft is not None}
    lowest = min(softs, key=softs.__getitem__)
    highest = max(softs, key=softs.__getitem__)
    change = softs[highest] - softs[lowest]
    return ChangedSample(metric, sample_id, lowest, highest, change, wanted.question, tuple(in_runs))
