"""Compare two runs of the same samples, paired by id: what changed, and whether it is more than chance."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Any, Literal, cast

from rich.text import Text

from localeval.errors import InputError, NotComparable
from localeval.metrics import Score
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.signature import differences
from localeval.metrics.summary import (
    SIGNIFICANT,
    GroupNumbers,
    group_of,
    min_differing,
    shared_groups,
)
from localeval.report.text import MAX_NAMED, new_table, number, printed
from localeval.runs.folder import load
from localeval.runs.result import Result
from localeval.text.display import digits, join_some, printable

MOST_MOVED = 5
LEAST_P = 0.0001  # a smaller one is shown as "< 0.0001"

Conclusion = Literal["better", "worse", "differs", "no difference shown", "nothing to compare"]


@dataclass(frozen=True)
class Difference:
    """The means of one kind of score over the same samples in both runs.

    a, b        means over the pairs, 0 to 1; `difference` is b - a
    interval    the 95 % interval of `difference`; None for one pair or group, and where no pair differs
    p           of `paired_permutation_test`; not corrected for the number of metrics
    differing   number of pairs, or of groups, that differ: fewer than six can't show a difference
    """

    a: float
    b: float
    difference: float
    interval: tuple[float, float] | None
    p: float
    differing: int


@dataclass(frozen=True)
class LargestChange:
    """A sample and its scores in both runs."""

    id: str
    a: float
    b: float
    soft_a: float
    soft_b: float


@dataclass(frozen=True)
class Compared:
    """One metric in both runs.

    value, soft        None when no sample was scored in both
    finding            for `value`, at p < 0.05; "differs" where it is not known whether more is better
    pairs              number of samples scored in both runs; the means are over these alone
    scored             (in the first run, in the second), of all samples of that run
    undefined, failed  (in the first run, in the second), of the samples that both runs have
    moved              the samples whose `soft` changed most, at most five, the largest change first
    stopped            of the samples scored in the first run, number of those undefined in the second
    broken             of these samples, number of those that failed in the second
    groups             number of groups of the pairs, which interval and p take as units; None where no two
                       pairs share the column `group` of the first run
    higher_is_better   whether more is better; None where that is not known
    """

    value: Difference | None
    soft: Difference | None
    finding: Conclusion
    pairs: int
    scored: tuple[int, int]
    undefined: tuple[int, int]
    failed: tuple[int, int]
    moved: tuple[LargestChange, ...]
    stopped: int = 0
    broken: int = 0
    groups: int | None = None
    higher_is_better: bool | None = None


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`; `print(comparison)` shows a table.

    metrics   metric -> its comparison, for the metrics of both runs
    paired    number of samples in both runs; `only_a` and `only_b` count those in one run only
    forced    fields of the signature that change scores and differ, where the runs were compared by `force`
    warnings  other caveats, one sentence each
    missing   the metrics of the first run that the second does not have
    """

    a: str
    b: str
    metrics: Mapping[str, Compared]
    paired: int
    only_a: int
    only_b: int
    forced: tuple[str, ...]
    warnings: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def worse(self) -> list[str]:
        """List the metrics that got worse by more than chance, or may have: "worse" or "differs"."""
        return [name for name, metric in self.metrics.items() if metric.finding in ("worse", "differs")]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {"schema": 1, **asdict(self)}  # another number is another form

    def __str__(self) -> str:
        """Show the value and the soft score of each metric in a row, then the samples that moved most."""
        table = new_table("metric", "A", "B", "B - A", "95 %", "p")
        table.add_column("finding")
        moved = new_table("moved most", "sample", "A", "B", "soft A", "soft B", "soft B - A")
        sample_column = moved.columns[1]
        sample_column.justify, sample_column.overflow, sample_column.max_width = "left", "fold", 40
        counts = []
        for name, metric in self.metrics.items():
            table.add_row(Text(printable(name)), *_cells(metric.value), metric.finding)
            table.add_row("  soft", *_cells(metric.soft), "")
            undefined, failed = (f"{a} in A, {b} in B" for a, b in (metric.undefined, metric.failed))
            counts.append(f"{name}: {metric.pairs} scored in both; undefined {undefined}; failed {failed}")
            counts += [f"{name}: {note}" for note in notes_on(metric)]
            for i, change in enumerate(metric.moved):
                label = "" if i else printable(name)
                scores = map(number, (change.a, change.b, change.soft_a, change.soft_b))
                difference = _signed(change.soft_b - change.soft_a)
                moved.add_row(Text(label), Text(printable(change.id)), *scores, difference)
        notes = [f"{self.paired} samples in both; {self.only_a} only in A, {self.only_b} only in B"]
        if self.forced:
            notes.append(f"compared by force, though made differently: {'; '.join(self.forced)}")
        notes += [*self.warnings, f"A {self.a}", f"B {self.b}"]
        changes = ["", *printed(moved, 110)] if moved.row_count else []
        lines = [*printed(table, 110), *map(printable, counts), *changes, "", *map(printable, notes)]
        return "\n".join(lines)


def notes_on(metric: Compared) -> list[str]:
    """List what a reader of a metric's interval and p-value must know, one sentence each."""
    notes = []
    if metric.groups is not None:
        notes.append(f"interval and p take the {metric.groups} groups of the column group as units")
    if metric.stopped:
        notes.append(f"{metric.stopped} of {metric.scored[0]} samples scored in A are undefined in B")
    if metric.value is None:
        return notes
    fewest, units = min_differing(SIGNIFICANT), "groups" if metric.groups else "pairs"
    if metric.value.differing == 0:
        notes.append(f"no {units[:-1]} differs, so there is no interval")
    elif metric.value.differing < fewest:
        notes.append(
            f"{metric.value.differing} of the {units} differ; a difference can be shown from {fewest} on"
        )
    return notes


def compare(a: str | Path | Result, b: str | Path | Result, *, force: bool = False) -> Comparison:
    """Compute the paired differences of two runs (their folders, or results), `b` minus `a`.

    Raises NotComparable, with the fields, where the signatures differ in what changes scores, unless `force`;
    InputError where the runs share no metric or sample. Threads, machine and package versions only warn.

    >>> compare("runs/before", "runs/after").worse()                         # doctest: +SKIP
    ['faithfulness']
    """
    first, second = (run if isinstance(run, Result) else load(run) for run in (a, b))
    shared = [name for name in first.metrics if name in second.metrics]
    if not shared:
        metrics = f"{', '.join(first.metrics)}, and the second {', '.join(second.metrics)}"
        raise InputError(f"the runs have no metric in common: the first has {metrics}.")
    incompatible, environment = differences(first.signature, second.signature)
    if incompatible and not force:
        raise NotComparable(
            "these runs were made differently, so their difference would say little: "
            f"{'; '.join(incompatible)}. Judge one of them again as the other was, or compare them all the "
            "same (`compare --force`)."
        )
    pairs = {name: _Pairs() for name in shared}
    changed, paired = _collect(first, second, pairs)
    if not paired:
        raise InputError("the runs have no sample in common: no id of the first is in the second.")
    warnings = [f"not made in the same surroundings: {'; '.join(environment)}"] if environment else []
    not_shared = [
        f"only in {side}: {', '.join(name for name in run.metrics if name not in shared)}"
        for side, run in (("A", first), ("B", second))
        if len(run.metrics) > len(shared)
    ]
    if not_shared:
        warnings.append(f"metrics that are not compared: {'; '.join(not_shared)}")
    if changed:
        subject = f"{len(changed)} of {paired} samples with the same id"
        warnings.append(f"{subject} ask another question in each run: {join_some(changed, MAX_NAMED)}")
    return Comparison(
        a="A" if isinstance(a, Result) else str(a),
        b="B" if isinstance(b, Result) else str(b),
        metrics={name: _compared(name, first, second, pairs[name]) for name in shared},
        missing=tuple(name for name in first.metrics if name not in shared),
        paired=paired,
        only_a=len(first.samples) - paired,
        only_b=len(second.samples) - paired,
        forced=tuple(incompatible),
        warnings=tuple(warnings),
    )


class _Pairs:
    """The scores of one metric for the samples that both runs have.

    ids, groups        of the pairs that both runs scored: the sample's id, and the number of its group
    scores             of these pairs: `value` in both runs, then `soft` in both
    statuses           (status in the first run, in the second) -> number of pairs
    scored             number of scored samples (in the first run, in the second), paired or not
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.groups = array("q")
        self.scores = (array("d"), array("d"), array("d"), array("d"))
        self.statuses = Counter[tuple[str, str]]()
        self.scored = [0, 0]

    def add(self, sample_id: str, group: int, a: Score, b: Score) -> None:
        self.statuses[a.status, b.status] += 1
        numbers = (a.value, b.value, a.soft, b.soft)
        if None in numbers:
            return
        self.ids.append(sample_id)
        self.groups.append(group)
        for column, number_of_score in zip(self.scores, numbers, strict=True):
            column.append(cast("float", number_of_score))

    def count(self, first: str = "", second: str = "") -> int:
        """Count the pairs with these statuses; "" is any."""
        return sum(count for (a, b), count in self.statuses.items() if first in ("", a) and second in ("", b))


def _collect(first: Result, second: Result, pairs: Mapping[str, _Pairs]) -> tuple[list[str], int]:
    """Read both runs once, into `pairs`; return the ids whose question changed, and the number of pairs.

    Where the samples have the same order in both, as runs of one file have, no sample is looked for.
    """
    changed: list[str] = []
    paired = 0
    numbers = GroupNumbers()
    # The samples of the second run that were read before their turn came, or not yet.
    positions: dict[str, int] = {}
    ahead = iter(enumerate(second.samples))
    for item in first.samples:
        other = None
        if item.sample.id in positions:
            other = second.samples[positions.pop(item.sample.id)]
        else:
            for index, candidate in ahead:
                _count_scored(candidate, 1, pairs)
                if candidate.sample.id == item.sample.id:
                    other = candidate
                    break
                positions[candidate.sample.id] = index
        _count_scored(item, 0, pairs)
        if other is None:
            continue
        paired += 1
        if item.sample.user_input != other.sample.user_input:
            changed.append(item.sample.id)
        group = numbers.of(group_of(item.sample))
        for name, pairs_of_metric in pairs.items():
            pairs_of_metric.add(item.sample.id, group, item.scores[name], other.scores[name])
    for _, candidate in ahead:
        _count_scored(candidate, 1, pairs)
    return changed, paired


def _count_scored(item: SampleResult, run: int, pairs: Mapping[str, _Pairs]) -> None:
    for name, pairs_of_metric in pairs.items():
        pairs_of_metric.scored[run] += item.scores[name].status == "scored"


def _compared(metric: str, first: Result, second: Result, pairs: _Pairs) -> Compared:
    """Compare a metric by its scores for the samples that both runs have."""
    before, after, soft_before, soft_after = pairs.scores
    groups = shared_groups(pairs.groups)
    value = _difference(before, after, groups)
    higher = {**first.higher_is_better, **second.higher_is_better}.get(metric)
    finding: Conclusion
    if value is None:
        finding = "nothing to compare"
    elif value.p >= SIGNIFICANT:
        finding = "no difference shown"
    elif higher is None:
        finding = "differs"
    else:
        finding = "better" if (value.difference > 0) == higher else "worse"
    return Compared(
        value=value,
        soft=_difference(soft_before, soft_after, groups),
        finding=finding,
        pairs=len(pairs.ids),
        scored=(pairs.scored[0], pairs.scored[1]),
        undefined=(pairs.count("undefined", ""), pairs.count("", "undefined")),
        failed=(pairs.count("failed", ""), pairs.count("", "failed")),
        moved=_moved_most(pairs),
        stopped=pairs.count("scored", "undefined"),
        broken=pairs.count("scored", "failed"),
        groups=None if groups is None else len(set(groups)),
        higher_is_better=higher,
    )


def _moved_most(pairs: _Pairs) -> tuple[LargestChange, ...]:
    before, after, soft_before, soft_after = pairs.scores
    differing = [i for i in range(len(pairs.ids)) if soft_before[i] != soft_after[i]]
    # Of equal changes the first ones come first.
    largest = nsmallest(MOST_MOVED, differing, key=lambda i: -abs(soft_after[i] - soft_before[i]))
    return tuple(
        LargestChange(pairs.ids[i], before[i], after[i], soft_before[i], soft_after[i]) for i in largest
    )


def _difference(
    before: Sequence[float], after: Sequence[float], groups: Sequence[int] | None
) -> Difference | None:
    from localeval.metrics.statistics import difference_interval, differing, paired_permutation_test

    if not before:
        return None
    changes = [b - a for a, b in zip(before, after, strict=True)]
    a, b, difference = (sum(numbers) / len(changes) for numbers in (before, after, changes))
    return Difference(
        a,
        b,
        difference,
        interval=difference_interval(changes, groups),
        p=paired_permutation_test(changes, groups),
        differing=len(differing(changes, groups)),
    )


def _cells(difference: Difference | None) -> list[str]:
    if difference is None:
        return ["-"] * 5
    interval = " to ".join(map(_signed, difference.interval)) if difference.interval else "-"
    p = f"< {LEAST_P}" if difference.p < LEAST_P else digits(difference.p, SIGNIFICANT)
    return [number(difference.a), number(difference.b), _signed(difference.difference), interval, p]


def _signed(value: float) -> str:
    return f"{value:+.3f}" if round(value, 3) else "0.000"
