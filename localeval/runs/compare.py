"""Two runs over the same samples: what changed, and whether it is more than chance.

    before, after = load("runs/before"), load("runs/after")
    compare(before, after).metrics["faithfulness"].value.p

Samples are paired by their ids. A difference is always the second run minus the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from localeval.errors import InputError, NotComparable
from localeval.metrics.signature import differing
from localeval.metrics.summary import SIGNIFICANT
from localeval.runs.folder import load
from localeval.runs.result import Result, SampleResult
from localeval.text.display import listed

MOST_MOVED = 5
_SHOWN = 5
SCHEMA = 1
"""Of `Comparison.to_dict`; another number is another form."""

Finding = Literal["better", "worse", "differs", "no difference shown", "nothing to compare"]


@dataclass(frozen=True)
class Difference:
    """The same number of the same samples in both runs.

    a, b        means over the pairs, 0 to 1
    difference  b - a, -1 to 1
    interval    its 95 % interval (`localeval.metrics.statistics.mean_interval`); None for one pair
    p           of a paired permutation test (`localeval.metrics.statistics.sign_flip`, a mid-p value): how
                often chance alone would differ as much; two-sided, not corrected for the number of metrics
    """

    a: float
    b: float
    difference: float
    interval: tuple[float, float] | None
    p: float


@dataclass(frozen=True)
class Moved:
    """A sample and its scores in both runs."""

    id: str
    a: float
    b: float
    soft_a: float
    soft_b: float


@dataclass(frozen=True)
class Compared:
    """One metric in both runs.

    value, soft  None when no sample was scored in both
    finding      of `value`, at p < 0.05; for a rate of a fault a higher one is "worse". It "differs" where
                 nobody tells whether more is better: a metric of the caller's that is not registered here, in
                 runs of an older version
    pairs        samples scored in both runs; no other enters the means
    scored       (in the first run, in the second), of all samples of that run
    undefined    (in the first run, in the second) of the samples that both runs have
    failed       likewise
    moved        the samples whose `soft` changed most, at most five, the largest change first
    """

    value: Difference | None
    soft: Difference | None
    finding: Finding
    pairs: int
    scored: tuple[int, int]
    undefined: tuple[int, int]
    failed: tuple[int, int]
    moved: tuple[Moved, ...]


@dataclass(frozen=True)
class Comparison:
    """What `compare` finds; `print(comparison)` shows a table.

    metrics    by name, those that both runs have
    paired     samples that both runs have; `only_a` and `only_b` are how many only one has
    forced     fields of the signature that move numbers and differ, compared all the same
    warnings   what else to know: one sentence each
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
        """The metrics that got worse by more than chance, or may have: found "worse" or "differs"."""
        return [name for name, found in self.metrics.items() if found.finding in ("worse", "differs")]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {"schema": SCHEMA, **asdict(self)}

    def __str__(self) -> str:
        from localeval.report.compared import as_text

        return as_text(self)


def compare(a: str | Path | Result, b: str | Path | Result, *, force: bool = False) -> Comparison:
    """The paired differences of two runs (their folders, or results), `b` minus `a`.

    Raises NotComparable, naming the fields, where the signatures differ in what moves numbers (judge,
    prompts, versions of metrics and judgements, options with seed and threshold, the engine's settings),
    unless `force`; InputError where nothing is in both. Threads, machine and package versions only warn.

    >>> compare("runs/before", "runs/after").worse()                         # doctest: +SKIP
    ['faithfulness']
    """
    first, second = (run if isinstance(run, Result) else load(run) for run in (a, b))
    names = [name for name in first.metrics if name in second.metrics]
    if not names:
        metrics = f"{', '.join(first.metrics)}, and the second {', '.join(second.metrics)}"
        raise InputError(f"the runs have no metric in common: the first has {metrics}.")
    moving, surroundings = differing(first.signature, second.signature)
    if moving and not force:
        raise NotComparable(
            f"these runs were made differently, so their difference would say little: {'; '.join(moving)}. "
            "Judge one of them again as the other was, or compare them all the same (`compare --force`)."
        )
    others = {one.sample.id: one for one in second.samples}
    pairs = [(one, others[one.sample.id]) for one in first.samples if one.sample.id in others]
    if not pairs:
        raise InputError("the runs have no sample in common: no id of the first is in the second.")
    made_elsewhere = f"not made in the same surroundings: {'; '.join(surroundings)}" if surroundings else ""
    compared = {name: _compared(name, first, second, pairs) for name in names}
    told = (made_elsewhere, _alone(first, second), _strangers(pairs), _without_direction(compared))
    return Comparison(
        a="A" if isinstance(a, Result) else str(a),
        b="B" if isinstance(b, Result) else str(b),
        metrics=compared,
        paired=len(pairs),
        only_a=len(first.samples) - len(pairs),
        only_b=len(second.samples) - len(pairs),
        forced=tuple(moving),
        warnings=tuple(filter(None, told)),
    )


def _direction(metric: str, first: Result, second: Result) -> bool | None:
    """Whether more is better, as the runs tell; None where neither does, or they tell two things."""
    told = {run.higher_is_better[metric] for run in (first, second) if metric in run.higher_is_better}
    return told.pop() if len(told) == 1 else None


def _compared(
    metric: str, first: Result, second: Result, pairs: Sequence[tuple[SampleResult, SampleResult]]
) -> Compared:
    scored: list[Moved] = []
    counts = {status: [0, 0] for status in ("scored", "undefined", "failed")}
    for one, other in pairs:
        a, b = one.scores[metric], other.scores[metric]
        counts[a.status][0] += 1
        counts[b.status][1] += 1
        if a.value is not None and a.soft is not None and b.value is not None and b.soft is not None:
            scored.append(Moved(one.sample.id, a.value, b.value, a.soft, b.soft))
    value = _difference([(m.a, m.b) for m in scored])
    moved = sorted((m for m in scored if m.soft_a != m.soft_b), key=lambda m: -abs(m.soft_b - m.soft_a))
    return Compared(
        value=value,
        soft=_difference([(m.soft_a, m.soft_b) for m in scored]),
        finding=_finding(value, _direction(metric, first, second)),
        pairs=len(scored),
        scored=(first[metric].scored, second[metric].scored),
        undefined=(counts["undefined"][0], counts["undefined"][1]),
        failed=(counts["failed"][0], counts["failed"][1]),
        moved=tuple(moved[:MOST_MOVED]),
    )


def _difference(pairs: Sequence[tuple[float, float]]) -> Difference | None:
    from localeval.metrics.statistics import mean_interval, sign_flip

    if not pairs:
        return None
    apart = [b - a for a, b in pairs]
    n = len(pairs)
    return Difference(
        sum(a for a, _ in pairs) / n,
        sum(b for _, b in pairs) / n,
        sum(apart) / n,
        mean_interval(apart, -1, 1),
        sign_flip(apart),
    )


def _finding(value: Difference | None, higher: bool | None) -> Finding:
    if value is None:
        return "nothing to compare"
    if value.p >= SIGNIFICANT:
        return "no difference shown"
    if higher is None:
        return "differs"
    return "better" if (value.difference > 0) == higher else "worse"


def _without_direction(compared: Mapping[str, Compared]) -> str:
    """A sentence on the metrics of which no run tells the direction; "" where none differs."""
    if not (names := [name for name, found in compared.items() if found.finding == "differs"]):
        return ""
    remedy = "give the `evaluate` command of both runs again where it is registered"
    return f"whether more is better is not known here of: {', '.join(names)}; {remedy}"


def _alone(first: Result, second: Result) -> str:
    """A sentence on the metrics that only one run has; "" where both have the same."""
    sides = (("A", first, second), ("B", second, first))
    alone = [
        f"only in {side}: {', '.join(names)}"
        for side, run, other in sides
        if (names := [name for name in run.metrics if name not in other.metrics])
    ]
    return f"metrics that are not compared: {'; '.join(alone)}" if alone else ""


def _strangers(pairs: Sequence[tuple[SampleResult, SampleResult]]) -> str:
    """A sentence where the same id stands for another question; "" where it never does."""
    met = [a.sample.id for a, b in pairs if a.sample.user_input != b.sample.user_input]
    if not met:
        return ""
    who = listed(met, _SHOWN)
    return f"{len(met)} of {len(pairs)} samples with the same id ask another question in each run: {who}"
