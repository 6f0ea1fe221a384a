"""Compare two runs of the same samples, paired by id: what changed, and whether it is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.text import Text

from localeval.errors import InputError, NotComparable
from localeval.metrics import Score
from localeval.metrics.signature import differences
from localeval.metrics.summary import SIGNIFICANT
from localeval.report.text import MOST_NAMED, new_table, number, printed
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
    interval    the 95 % interval of `difference`; None for one pair
    p           of `paired_permutation_test`; not corrected for the number of metrics
    """

    a: float
    b: float
    difference: float
    interval: tuple[float, float] | None
    p: float


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
    """

    value: Difference | None
    soft: Difference | None
    finding: Conclusion
    pairs: int
    scored: tuple[int, int]
    undefined: tuple[int, int]
    failed: tuple[int, int]
    moved: tuple[LargestChange, ...]


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
    positions = {item.sample.id: index for index, item in enumerate(second.samples)}
    paired, changed = 0, []
    scores: dict[str, list[tuple[str, Score, Score]]] = {name: [] for name in shared}
    for item in first.samples:
        if item.sample.id in positions:
            other = second.samples[positions[item.sample.id]]
            paired += 1
            if item.sample.user_input != other.sample.user_input:
                changed.append(item.sample.id)
            for name in shared:
                scores[name].append((item.sample.id, item.scores[name], other.scores[name]))
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
        warnings.append(f"{subject} ask another question in each run: {join_some(changed, MOST_NAMED)}")
    return Comparison(
        a="A" if isinstance(a, Result) else str(a),
        b="B" if isinstance(b, Result) else str(b),
        metrics={name: _compared(name, first, second, scores[name]) for name in shared},
        missing=tuple(name for name in first.metrics if name not in shared),
        paired=paired,
        only_a=len(first.samples) - paired,
        only_b=len(second.samples) - paired,
        forced=tuple(incompatible),
        warnings=tuple(warnings),
    )


def _compared(
    metric: str, first: Result, second: Result, pairs: Sequence[tuple[str, Score, Score]]
) -> Compared:
    """Compare a metric by its scores for the samples that both runs have."""
    scored = [
        LargestChange(sample_id, a.value, b.value, a.soft, b.soft)
        for sample_id, a, b in pairs
        if a.value is not None and a.soft is not None and b.value is not None and b.soft is not None
    ]
    value = _difference([s.a for s in scored], [s.b for s in scored])
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

    def count_status(status: str) -> tuple[int, int]:
        return sum(a.status == status for _, a, _ in pairs), sum(b.status == status for _, _, b in pairs)

    def count_scored(run: Result) -> int:
        return sum(item.scores[metric].status == "scored" for item in run.samples)

    moved = sorted((s for s in scored if s.soft_a != s.soft_b), key=lambda s: -abs(s.soft_b - s.soft_a))
    return Compared(
        value=value,
        soft=_difference([s.soft_a for s in scored], [s.soft_b for s in scored]),
        finding=finding,
        pairs=len(scored),
        scored=(count_scored(first), count_scored(second)),
        undefined=count_status("undefined"),
        failed=count_status("failed"),
        moved=tuple(moved[:MOST_MOVED]),
    )


def _difference(before: Sequence[float], after: Sequence[float]) -> Difference | None:
    from localeval.metrics.statistics import bootstrap_ci, paired_permutation_test

    if not before:
        return None
    changes = [b - a for a, b in zip(before, after, strict=True)]
    a, b, difference = (sum(numbers) / len(changes) for numbers in (before, after, changes))
    return Difference(a, b, difference, bootstrap_ci(changes, -1, 1), paired_permutation_test(changes))


def _cells(difference: Difference | None) -> list[str]:
    if difference is None:
        return ["-"] * 5
    interval = " to ".join(map(_signed, difference.interval)) if difference.interval else "-"
    p = f"< {LEAST_P}" if difference.p < LEAST_P else digits(difference.p, SIGNIFICANT)
    return [number(difference.a), number(difference.b), _signed(difference.difference), interval, p]


def _signed(value: float) -> str:
    return f"{value:+.3f}" if round(value, 3) else "0.000"
