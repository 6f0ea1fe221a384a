"""Two runs over the same samples, paired by their ids: what changed, and whether it is more than chance."""

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
from localeval.report.text import new_table, number, printed
from localeval.runs.folder import load
from localeval.runs.result import Result
from localeval.text.display import digits, join_some, printable

MOST_MOVED = MOST_NAMED = 5
LEAST_P = 0.0001  # a smaller one is shown as "< 0.0001"
SCHEMA = 1  # of `Comparison.to_dict`; another number is another form

Finding = Literal["better", "worse", "differs", "no difference shown", "nothing to compare"]


@dataclass(frozen=True)
class Difference:
    """The same number of the same samples in both runs.

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
    finding            of `value`, at p < 0.05; it "differs" where nobody tells whether more is better
    pairs              samples scored in both runs; no other enters the means
    scored             (in the first run, in the second), of all samples of that run
    undefined, failed  the same of the samples that both runs have
    moved              the samples whose `soft` changed most, at most five, the largest change first
    """

    value: Difference | None
    soft: Difference | None
    finding: Finding
    pairs: int
    scored: tuple[int, int]
    undefined: tuple[int, int]
    failed: tuple[int, int]
    moved: tuple[LargestChange, ...]


@dataclass(frozen=True)
class Comparison:
    """What `compare` finds; `print(comparison)` shows a table.

    metrics   by name, those that both runs have
    paired    samples that both runs have; `only_a` and `only_b` are how many only one has
    forced    fields of the signature that move numbers and differ, compared all the same
    warnings  what else to know: one sentence each
    """

    a: str
    b: str
    metrics: Mapping[str, Compared]
    paired: int
    only_a: int
    only_b: int
    forced: tuple[str, ...]
    warnings: tuple[str, ...]

    def worse(self) -> list[str]:
        """Name the metrics that got worse by more than chance, or may have: found "worse" or "differs"."""
        return [name for name, found in self.metrics.items() if found.finding in ("worse", "differs")]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain JSON values."""
        return {"schema": SCHEMA, **asdict(self)}

    def __str__(self) -> str:
        """Show the value and the soft score of each metric in a row, then the samples that moved most."""
        table = new_table("metric", "A", "B", "B - A", "95 %", "p")
        table.add_column("finding")
        moved = new_table("moved most", "sample", "A", "B", "soft A", "soft B", "soft B - A")
        names = moved.columns[1]
        names.justify, names.overflow, names.max_width = "left", "fold", 40
        counts = []
        for name, found in self.metrics.items():
            table.add_row(Text(printable(name)), *_cells(found.value), found.finding)
            table.add_row("  soft", *_cells(found.soft), "")
            undefined, failed = (f"{a} in A, {b} in B" for a, b in (found.undefined, found.failed))
            counts.append(f"{name}: {found.pairs} scored in both; undefined {undefined}; failed {failed}")
            for i, one in enumerate(found.moved):
                label = "" if i else printable(name)
                scores = map(number, (one.a, one.b, one.soft_a, one.soft_b))
                change = _signed(one.soft_b - one.soft_a)
                moved.add_row(Text(label), Text(printable(one.id)), *scores, change)
        notes = [f"{self.paired} samples in both; {self.only_a} only in A, {self.only_b} only in B"]
        if self.forced:
            notes.append(f"compared by force, though made differently: {'; '.join(self.forced)}")
        notes += [*self.warnings, f"A {self.a}", f"B {self.b}"]
        changes = ["", *printed(moved, 110)] if moved.row_count else []
        lines = [*printed(table, 110), *map(printable, counts), *changes, "", *map(printable, notes)]
        return "\n".join(lines)


def compare(a: str | Path | Result, b: str | Path | Result, *, force: bool = False) -> Comparison:
    """Find the paired differences of two runs (their folders, or results), `b` minus `a`.

    Raises NotComparable, with the fields, where the signatures differ in what moves numbers, unless `force`;
    InputError where nothing is in both. Threads, machine and package versions only warn.

    >>> compare("runs/before", "runs/after").worse()                         # doctest: +SKIP
    ['faithfulness']
    """
    first, second = (run if isinstance(run, Result) else load(run) for run in (a, b))
    names = [name for name in first.metrics if name in second.metrics]
    if not names:
        metrics = f"{', '.join(first.metrics)}, and the second {', '.join(second.metrics)}"
        raise InputError(f"the runs have no metric in common: the first has {metrics}.")
    moving, surroundings = differences(first.signature, second.signature)
    if moving and not force:
        raise NotComparable(
            f"these runs were made differently, so their difference would say little: {'; '.join(moving)}. "
            "Judge one of them again as the other was, or compare them all the same (`compare --force`)."
        )
    places = {one.sample.id: at for at, one in enumerate(second.samples)}
    paired, changed = 0, []
    scores: dict[str, list[tuple[str, Score, Score]]] = {name: [] for name in names}
    for one in first.samples:
        if one.sample.id in places:
            other = second.samples[places[one.sample.id]]
            paired += 1
            if one.sample.user_input != other.sample.user_input:
                changed.append(one.sample.id)
            for name in names:
                scores[name].append((one.sample.id, one.scores[name], other.scores[name]))
    if not paired:
        raise InputError("the runs have no sample in common: no id of the first is in the second.")
    warnings = []
    if surroundings:
        warnings.append(f"not made in the same surroundings: {'; '.join(surroundings)}")
    alone = [
        f"only in {side}: {', '.join(name for name in run.metrics if name not in names)}"
        for side, run in (("A", first), ("B", second))
        if len(run.metrics) > len(names)
    ]
    if alone:
        warnings.append(f"metrics that are not compared: {'; '.join(alone)}")
    if changed:
        who = f"{len(changed)} of {paired} samples with the same id"
        warnings.append(f"{who} ask another question in each run: {join_some(changed, MOST_NAMED)}")
    return Comparison(
        a="A" if isinstance(a, Result) else str(a),
        b="B" if isinstance(b, Result) else str(b),
        metrics={name: _compared(name, first, second, scores[name]) for name in names},
        paired=paired,
        only_a=len(first.samples) - paired,
        only_b=len(second.samples) - paired,
        forced=tuple(moving),
        warnings=tuple(warnings),
    )


def _compared(
    metric: str, first: Result, second: Result, both: Sequence[tuple[str, Score, Score]]
) -> Compared:
    """Compare a metric by its scores of the samples that both runs have."""
    scored = [
        LargestChange(name, a.value, b.value, a.soft, b.soft)
        for name, a, b in both
        if a.value is not None and a.soft is not None and b.value is not None and b.soft is not None
    ]
    value = _difference([m.a for m in scored], [m.b for m in scored])
    higher = {**first.higher_is_better, **second.higher_is_better}.get(metric)
    finding: Finding
    if value is None:
        finding = "nothing to compare"
    elif value.p >= SIGNIFICANT:
        finding = "no difference shown"
    elif higher is None:
        finding = "differs"
    else:
        finding = "better" if (value.difference > 0) == higher else "worse"

    def counted(status: str) -> tuple[int, int]:
        return sum(a.status == status for _, a, _ in both), sum(b.status == status for _, _, b in both)

    moved = sorted((m for m in scored if m.soft_a != m.soft_b), key=lambda m: -abs(m.soft_b - m.soft_a))
    return Compared(
        value=value,
        soft=_difference([m.soft_a for m in scored], [m.soft_b for m in scored]),
        finding=finding,
        pairs=len(scored),
        scored=(first[metric].scored, second[metric].scored),
        undefined=counted("undefined"),
        failed=counted("failed"),
        moved=tuple(moved[:MOST_MOVED]),
    )


def _difference(before: Sequence[float], after: Sequence[float]) -> Difference | None:
    from localeval.metrics.statistics import bootstrap_ci, paired_permutation_test

    if not before:
        return None
    apart = [b - a for a, b in zip(before, after, strict=True)]
    a, b, difference = (sum(numbers) / len(apart) for numbers in (before, after, apart))
    return Difference(a, b, difference, bootstrap_ci(apart, -1, 1), paired_permutation_test(apart))


def _cells(difference: Difference | None) -> list[str]:
    if difference is None:
        return ["-"] * 5
    between = " to ".join(map(_signed, difference.interval)) if difference.interval else "-"
    p = f"< {LEAST_P}" if difference.p < LEAST_P else digits(difference.p, SIGNIFICANT)
    return [number(difference.a), number(difference.b), _signed(difference.difference), between, p]


def _signed(value: float) -> str:
    return f"{value:+.3f}" if round(value, 3) else "0.000"
