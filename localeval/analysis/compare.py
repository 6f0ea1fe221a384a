"""Compare two runs of the same samples, paired by id: what changed, and whether it is more than chance."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import Any, Literal, cast

from rich.table import Table
from rich.text import Text

from localeval.analysis.corrected_difference import (
    CorrectedDifference,
    corrected_differences,
    corrected_notes,
)
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

MAX_MOVED = 5
TABLE_WIDTH = 110
# A smaller p-value is shown as "< 0.0001".
MIN_SHOWN_P = 0.0001

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
    detectable         the smallest difference of `value` that these pairs show with 80 % power; None where
                       fewer pairs differ than must, and where not even 1 would be shown
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
    detectable: float | None = None


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`; `print(comparison)` shows a table.

    metrics   metric -> its comparison, for the metrics of both runs
    paired    number of samples in both runs; `only_a` and `only_b` count those in one run only
    forced    fields of the signature that change scores and differ, where the runs were compared by `force`
    warnings  other caveats, one sentence each
    missing   the metrics of the first run that the second does not have
    corrected  metric -> the difference of its corrected numbers, where both runs have one
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
    corrected: Mapping[str, CorrectedDifference] = field(default_factory=dict)

    def worse(self) -> list[str]:
        """List the metrics that got worse by more than chance, or may have: "worse" or "differs"."""
        return [name for name, metric in self.metrics.items() if metric.finding in ("worse", "differs")]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        # Another number is another form.
        return {"schema": 1, **asdict(self)}

    def __str__(self) -> str:
        """Show the value and the soft score of each metric in a row, then the samples that moved most."""
        table = new_table("metric", "A", "B", "B - A", "95 %", "p")
        table.add_column("finding")
        counts = []
        for name, metric in self.metrics.items():
            table.add_row(Text(printable(name)), *difference_cells(metric.value), metric.finding)
            table.add_row("  soft", *difference_cells(metric.soft), "")
            counts += [printable(line) for line in _counts_of(name, metric)]
        lines = [*printed(table, TABLE_WIDTH), *counts]
        moved = _table_of_moved(self.metrics)
        if moved.row_count:
            lines += ["", *printed(moved, TABLE_WIDTH)]
        lines += ["", *(printable(note) for note in self._notes())]
        return "\n".join(lines)

    def _notes(self) -> list[str]:
        notes = [f"{self.paired} samples in both; {self.only_a} only in A, {self.only_b} only in B"]
        notes += corrected_notes(self.corrected)
        if self.forced:
            notes.append(f"compared by force, though made differently: {'; '.join(self.forced)}")
        return [*notes, *self.warnings, f"A {self.a}", f"B {self.b}"]


def _counts_of(name: str, metric: Compared) -> list[str]:
    """List how many samples of a metric are compared, and what a reader must know of its interval."""
    undefined = f"undefined {metric.undefined[0]} in A, {metric.undefined[1]} in B"
    failed = f"failed {metric.failed[0]} in A, {metric.failed[1]} in B"
    notes = [f"{name}: {note}" for note in notes_on(metric)]
    return [f"{name}: {metric.pairs} scored in both; {undefined}; {failed}", *notes]


def _table_of_moved(metrics: Mapping[str, Compared]) -> Table:
    """Make a table of the samples whose soft score changed most, by metric."""
    table = new_table("moved most", "sample", "A", "B", "soft A", "soft B", "soft B - A")
    sample_column = table.columns[1]
    sample_column.justify = "left"
    sample_column.overflow = "fold"
    sample_column.max_width = 40
    for name, metric in metrics.items():
        label = printable(name)
        for change in metric.moved:
            scores = [number(score) for score in (change.a, change.b, change.soft_a, change.soft_b)]
            difference = signed(change.soft_b - change.soft_a)
            table.add_row(Text(label), Text(printable(change.id)), *scores, difference)
            # Only the first row of a metric has its name.
            label = ""
    return table


def notes_on(metric: Compared) -> list[str]:
    """List what a reader of a metric's interval and p-value must know, one sentence each."""
    notes = []
    if metric.groups is not None:
        notes.append(f"interval and p take the {metric.groups} groups of the column group as units")
    if metric.stopped:
        notes.append(f"{metric.stopped} of {metric.scored[0]} samples scored in A are undefined in B")
    if metric.value is None:
        return notes
    unit = "group" if metric.groups else "pair"
    minimum = min_differing(SIGNIFICANT)
    if metric.value.differing == 0:
        notes.append(f"no {unit} differs, so there is no interval")
    elif metric.value.differing < minimum:
        notes.append(
            f"{metric.value.differing} of the {unit}s differ; a difference can be shown from {minimum} on"
        )
    elif metric.finding == "no difference shown" and metric.detectable is not None:
        notes.append(f"could have seen a difference of {metric.detectable:.3f} or more, with 80 % power")
    return notes


def compare(a: str | Path | Result, b: str | Path | Result, *, force: bool = False) -> Comparison:
    """Compute the paired differences of two runs (their folders, or results), `b` minus `a`.

    Raises NotComparable, with the fields, where the signatures differ in what changes scores, unless `force`;
    InputError where the runs share no metric or sample. Threads, machine and package versions only warn.

    >>> compare("runs/before", "runs/after").worse()                         # doctest: +SKIP
    ['faithfulness']
    """
    first = a if isinstance(a, Result) else load(a)
    second = b if isinstance(b, Result) else load(b)
    shared = _shared_metrics(first, second)
    incompatible, environment = differences_allowed(first, second, force)
    pairs = {name: _Pairs() for name in shared}
    changed, paired = _collect(first, second, pairs)
    if not paired:
        raise InputError("the runs have no sample in common: no id of the first is in the second.")
    return Comparison(
        a="A" if isinstance(a, Result) else str(a),
        b="B" if isinstance(b, Result) else str(b),
        metrics={name: _compared(name, first, second, pairs[name]) for name in shared},
        missing=tuple(name for name in first.metrics if name not in shared),
        corrected=corrected_differences(first, second),
        paired=paired,
        only_a=len(first.samples) - paired,
        only_b=len(second.samples) - paired,
        forced=tuple(incompatible),
        warnings=tuple(_warnings(first, second, environment, changed, paired)),
    )


def differences_allowed(first: Result, second: Result, force: bool = False) -> tuple[list[str], list[str]]:
    """Return the fields of the signatures that differ: those that change scores, and the others.

    Raises NotComparable for any of the first kind, unless `force`.
    """
    incompatible, environment = differences(first.signature, second.signature)
    if incompatible and not force:
        raise NotComparable(
            "these runs were made differently, so their difference would say little: "
            f"{'; '.join(incompatible)}. Judge one of them again as the other was, or compare them all the "
            "same (`compare --force`)."
        )
    return incompatible, environment


def paired_samples(first: Result, second: Result) -> Iterator[tuple[SampleResult, SampleResult]]:
    """Yield the samples that both runs have, by id, in the order of the first."""
    others = _ById(second, {})
    for item in first.samples:
        other = others.take(item.sample.id)
        if other is not None:
            yield item, other


def _shared_metrics(first: Result, second: Result) -> list[str]:
    """Return the metrics of both runs. Raises InputError for none."""
    shared = [name for name in first.metrics if name in second.metrics]
    if not shared:
        metrics = f"{', '.join(first.metrics)}, and the second {', '.join(second.metrics)}"
        raise InputError(f"the runs have no metric in common: the first has {metrics}.")
    return shared


def _warnings(
    first: Result, second: Result, environment: Sequence[str], changed: Sequence[str], paired: int
) -> list[str]:
    """List what a reader of the comparison must know, one sentence each.

    environment  the fields of the signatures that differ and change no score
    changed      ids of the samples that ask another question in each run, of `paired`
    """
    warnings = [
        f"{side}: {stamp.text}" for side, run in (("A", first), ("B", second)) for stamp in run.certificates
    ]
    if environment:
        warnings.append(f"not made in the same surroundings: {'; '.join(environment)}")
    not_shared = []
    for side, run, other in (("A", first, second), ("B", second, first)):
        alone = [name for name in run.metrics if name not in other.metrics]
        if alone:
            not_shared.append(f"only in {side}: {', '.join(alone)}")
    if not_shared:
        warnings.append(f"metrics that are not compared: {'; '.join(not_shared)}")
    if changed:
        subject = f"{len(changed)} of {paired} samples with the same id"
        warnings.append(f"{subject} ask another question in each run: {join_some(changed, MAX_NAMED)}")
    return warnings


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
        return sum(
            count
            for (status_a, status_b), count in self.statuses.items()
            if first in ("", status_a) and second in ("", status_b)
        )


def _collect(first: Result, second: Result, pairs: Mapping[str, _Pairs]) -> tuple[list[str], int]:
    """Read both runs once, into `pairs`; return the ids whose question changed, and the number of pairs."""
    changed: list[str] = []
    paired = 0
    groups = GroupNumbers()
    others = _ById(second, pairs)
    for item in first.samples:
        _count_scored(item, 0, pairs)
        other = others.take(item.sample.id)
        if other is None:
            continue
        paired += 1
        if not item.sample.asks_the_same(other.sample):
            changed.append(item.sample.id)
        group = groups.of(group_of(item.sample))
        for name, pairs_of_metric in pairs.items():
            pairs_of_metric.add(item.sample.id, group, item.scores[name], other.scores[name])
    others.read_the_rest()
    return changed, paired


class _ById:
    """The samples of the second run, each read in its turn and counted as it is read.

    Where both runs have the samples in the same order, as runs of one file have, none is looked for.
    """

    def __init__(self, run: Result, pairs: Mapping[str, _Pairs]) -> None:
        self._samples = run.samples
        self._pairs = pairs
        self._unread = iter(enumerate(run.samples))
        # The positions of the samples that were read before their turn came.
        self._passed: dict[str, int] = {}

    def take(self, sample_id: str) -> SampleResult | None:
        """Return the sample with this id, or None; each can be taken once."""
        if sample_id in self._passed:
            return self._samples[self._passed.pop(sample_id)]
        for index, candidate in self._unread:
            _count_scored(candidate, 1, self._pairs)
            if candidate.sample.id == sample_id:
                return candidate
            self._passed[candidate.sample.id] = index
        return None

    def read_the_rest(self) -> None:
        """Count the samples that were not read yet."""
        for _, candidate in self._unread:
            _count_scored(candidate, 1, self._pairs)


def _count_scored(item: SampleResult, run: int, pairs: Mapping[str, _Pairs]) -> None:
    for name, pairs_of_metric in pairs.items():
        if item.scores[name].status == "scored":
            pairs_of_metric.scored[run] += 1


def _compared(metric: str, first: Result, second: Result, pairs: _Pairs) -> Compared:
    """Compare a metric by its scores for the samples that both runs have."""
    before, after, soft_before, soft_after = pairs.scores
    groups = shared_groups(pairs.groups)
    value = paired_difference(before, after, groups)
    higher = {**first.higher_is_better, **second.higher_is_better}.get(metric)
    return Compared(
        value=value,
        soft=paired_difference(soft_before, soft_after, groups),
        finding=conclusion(value, higher),
        pairs=len(pairs.ids),
        scored=(pairs.scored[0], pairs.scored[1]),
        undefined=(pairs.count("undefined", ""), pairs.count("", "undefined")),
        failed=(pairs.count("failed", ""), pairs.count("", "failed")),
        moved=_moved_most(pairs),
        stopped=pairs.count("scored", "undefined"),
        broken=pairs.count("scored", "failed"),
        groups=None if groups is None else len(set(groups)),
        higher_is_better=higher,
        detectable=_detectable(value, before, after, groups),
    )


def _detectable(
    value: Difference | None, before: Sequence[float], after: Sequence[float], groups: Sequence[int] | None
) -> float | None:
    from localeval.statistics.power import detectable_difference

    if value is None or value.differing < min_differing(SIGNIFICANT):
        return None
    return detectable_difference(_changes(before, after), groups)


def conclusion(value: Difference | None, higher_is_better: bool | None) -> Conclusion:
    """Return what the difference shows, at p < 0.05."""
    if value is None:
        return "nothing to compare"
    if value.p >= SIGNIFICANT:
        return "no difference shown"
    if higher_is_better is None:
        return "differs"
    return "better" if (value.difference > 0) == higher_is_better else "worse"


def _moved_most(pairs: _Pairs) -> tuple[LargestChange, ...]:
    before, after, soft_before, soft_after = pairs.scores
    differing = [i for i in range(len(pairs.ids)) if soft_before[i] != soft_after[i]]
    # Of equal changes the first ones come first.
    largest = nsmallest(MAX_MOVED, differing, key=lambda i: -abs(soft_after[i] - soft_before[i]))
    return tuple(
        LargestChange(pairs.ids[i], before[i], after[i], soft_before[i], soft_after[i]) for i in largest
    )


def paired_difference(
    before: Sequence[float], after: Sequence[float], groups: Sequence[int] | None
) -> Difference | None:
    """Compare the scores of the same samples in two runs; None for no sample."""
    from localeval.statistics.intervals import difference_interval, differing, paired_permutation_test

    if not before:
        return None
    changes = _changes(before, after)
    count = len(changes)
    return Difference(
        a=sum(before) / count,
        b=sum(after) / count,
        difference=sum(changes) / count,
        interval=difference_interval(changes, groups),
        p=paired_permutation_test(changes, groups),
        differing=len(differing(changes, groups)),
    )


def _changes(before: Sequence[float], after: Sequence[float]) -> list[float]:
    return [b - a for a, b in zip(before, after, strict=True)]


def difference_cells(difference: Difference | None) -> list[str]:
    """Format a difference as cells of a table: both means, their difference, its interval, and p."""
    if difference is None:
        return ["-"] * 5
    interval = " to ".join(map(signed, difference.interval)) if difference.interval else "-"
    change = signed(difference.difference)
    return [number(difference.a), number(difference.b), change, interval, shown_p(difference.p)]


def shown_p(p: float) -> str:
    """Format a p-value with as many decimals as show whether it is below 0.05.

    >>> shown_p(0.00001), shown_p(0.0625), shown_p(0.04999)
    ('< 0.0001', '0.0625', '0.04999')
    """
    return f"< {MIN_SHOWN_P}" if p < MIN_SHOWN_P else digits(p, SIGNIFICANT)


def signed(value: float) -> str:
    """Format a difference with its sign and three decimals.

    >>> signed(0.25), signed(-0.25), signed(0.0)
    ('+0.250', '-0.250', '0.000')
    """
    return f"{value:+.3f}" if round(value, 3) else "0.000"
