"""May another judge replace the one of a run? It judges samples of the run again, and both are compared.

It is told whether they differ, never which is better: that takes people's labels (`localeval card`).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics import Metric, Score
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.signature import differences, needs_judge
from localeval.metrics.summary import GroupNumbers, choose_metrics, group_of, shared_groups
from localeval.options import Options
from localeval.report.text import new_table, number, printed
from localeval.runs.evaluate import Progress, Watch, evaluate
from localeval.runs.folder import StoredRunConfig, load, read_run
from localeval.runs.result import Result
from localeval.statistics.equivalence import (
    MIN_KAPPA,
    Drawn,
    Outcome,
    agreement,
    equivalence,
    flips_at,
    kappa,
    kappa_interval,
    mcnemar_mid_p,
    pabak,
    shift_interval,
    weighted_shift,
)
from localeval.system.arguments import whole_number
from localeval.system.versions import digest
from localeval.text.display import join_some, printable

SAMPLE = 200
MARGIN = 0.03
CUT = 0.5
MAX_CHANGED = 5
TABLE_WIDTH = 110

_COMMON, _RARE = 0, 1
# Fields of a signature that belong to the judge.
_OF_JUDGE = ("judge.", "heads", "calibration")


@dataclass(frozen=True)
class Replaced:
    """One metric as both judges score it, over the samples that both scored, weighted to the whole run.

    pairs             number of samples that both judges scored
    old, new          means of the values
    shift             new less old; `shift_interval` is its 90 % interval, of the two one-sided tests, and
                      `wide_interval` its 95 % interval; None for fewer than two samples or groups
    spread            standard deviation of the differences
    yes_to_no, no_to_yes, both_yes, both_no
                      number of samples by both verdicts, unweighted: a value of `cut` or more is a yes
    agreement         weighted share of the samples with the same verdict
    kappa             weighted; None where only one verdict occurs. `kappa_interval` (95 %) is then of `pabak`
    mcnemar           mid-p of as many flips either way; None where the samples were drawn unevenly
    outcome, needed   see `statistics.equivalence.Equivalence`
    stopped, started  number of samples that only the old judge scored, and only the new one
    groups            number of groups that the intervals take as units; None where no two samples share one
    changed           ids of the samples whose value changed most, at most five
    """

    pairs: int
    old: float
    new: float
    shift: float
    shift_interval: tuple[float, float] | None
    wide_interval: tuple[float, float] | None
    spread: float | None
    both_yes: int
    yes_to_no: int
    no_to_yes: int
    both_no: int
    agreement: float
    kappa: float | None
    kappa_interval: tuple[float, float] | None
    pabak: float
    mcnemar: float | None
    outcome: Outcome
    needed: int | None
    stopped: int
    started: int
    groups: int | None
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Replacement:
    """The result of `compare_under`; `print(replacement)` shows a table.

    metrics  metric -> its comparison
    drawn    number of samples that were judged again, of `in_run`; `rare` of them have a rare verdict, of
             `rare_in_run`
    lacking  metrics that no sample was scored by with both judges
    notes    what a reader must know of how the new judge was asked, one sentence each
    """

    run: str
    old_judge: str
    new_judge: str
    metrics: Mapping[str, Replaced]
    drawn: int
    in_run: int
    rare: int
    rare_in_run: int
    margin: float
    cut: float
    lacking: tuple[str, ...]
    notes: tuple[str, ...]
    signature: str

    @property
    def is_safe(self) -> bool:
        """Whether the judges are equivalent in every metric."""
        outcomes = {metric.outcome for metric in self.metrics.values()}
        return outcomes == {"equivalent"} and not self.lacking

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        # Another number is another form.
        return {"schema": 1, "is_safe": self.is_safe, **asdict(self)}

    def __str__(self) -> str:
        """Show a row for each metric, then what each outcome rests on."""
        table = new_table("metric", "old", "new", "new - old", "90 %", "kappa", "95 %")
        table.add_column("outcome")
        for name, metric in self.metrics.items():
            table.add_row(Text(printable(name)), *_cells(metric), metric.outcome)
        lines = [*printed(table, TABLE_WIDTH), ""]
        for name, metric in self.metrics.items():
            lines += [f"{name}: {note}" for note in self._notes_on(metric)]
        lines += ["", *self._notes(), f"run {self.run}", f"old judge {self.old_judge}"]
        return "\n".join(printable(line) for line in [*lines, f"new judge {self.new_judge}"])

    def _notes_on(self, metric: Replaced) -> Iterator[str]:
        yield self._conclusion(metric)
        yield (
            f"{metric.pairs} samples scored by both: {metric.both_yes} yes and {metric.both_no} no by both, "
            f"{metric.yes_to_no} yes to no, {metric.no_to_yes} no to yes (yes: {self.cut:g} or more)"
        )
        p = "" if metric.mcnemar is None else f", McNemar's mid-p {metric.mcnemar:.4f}"
        yield f"same verdict on {metric.agreement:.1%}, PABAK {metric.pabak:.3f}{p}"
        if metric.kappa is None:
            yield "only one verdict occurs, so kappa has no meaning; the interval is that of PABAK"
        if metric.stopped or metric.started:
            yield f"scored by only one judge: {metric.stopped} by the old, {metric.started} by the new"
        if metric.groups is not None:
            yield f"intervals take the {metric.groups} groups of the column group as units"
        if metric.changed:
            yield f"changed most: {join_some(metric.changed, MAX_CHANGED)}"

    def _conclusion(self, metric: Replaced) -> str:
        """Say what the outcome means, and what would tell where it is open."""
        margin = f"{self.margin:g}"
        if metric.outcome == "equivalent":
            return f"equivalent: the mean shifts by less than {margin}, kappa is {MIN_KAPPA:g} or more"
        if metric.outcome == "different":
            return f"different: {_why_different(metric)}; which judge is right, only labels can tell"
        if metric.needed is None:
            return "too few: fewer than two samples, or groups, that both judges scored"
        more = metric.needed - metric.pairs
        left = self.in_run - self.drawn
        within = f"--sample {self.drawn + more}" if more <= left else f"the run has {left or 'no'} more"
        return f"too few: about {more} more samples would tell ({within})"

    def _notes(self) -> Iterator[str]:
        share = f"{self.drawn} of {self.in_run} samples were judged again"
        if self.rare_in_run and self.drawn < self.in_run:
            share += (
                f": {self.rare} of the {self.rare_in_run} with the rarer verdict by some metric, and "
                f"{self.drawn - self.rare} of the others; the numbers are weighted to the whole run"
            )
        yield share
        for name in self.lacking:
            yield f"{name}: no sample was scored by both judges"
        yield from self.notes


def _why_different(metric: Replaced) -> str:
    """Say by what the judges were found to differ: the mean, the single verdicts, or both."""
    reasons = []
    if metric.wide_interval is not None and not metric.wide_interval[0] <= 0 <= metric.wide_interval[1]:
        low, high = map(_signed, metric.wide_interval)
        reasons.append(f"the mean shifts by {_signed(metric.shift)} (95 % {low} to {high})")
    if metric.kappa_interval is not None and metric.kappa_interval[1] < MIN_KAPPA:
        reasons.append(f"the verdicts agree too little, with kappa below {MIN_KAPPA:g}")
    return " and ".join(reasons)


def _cells(metric: Replaced) -> list[str]:
    return [
        number(metric.old),
        number(metric.new),
        _signed(metric.shift),
        "-" if metric.shift_interval is None else " to ".join(map(_signed, metric.shift_interval)),
        number(metric.kappa),
        "-" if metric.kappa_interval is None else " to ".join(map(number, metric.kappa_interval)),
    ]


def _signed(value: float) -> str:
    return f"{value:+.3f}" if round(value, 3) else "0.000"


def compare_under(
    run: str | Path,
    judge: Judge | str | os.PathLike[str],
    output: str | Path | None = None,
    *,
    metrics: Sequence[str] | None = None,
    sample: int = SAMPLE,
    margin: float = MARGIN,
    cut: float = CUT,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Replacement:
    """Judge samples of a finished run by another judge, with the run's options, and compare both.

    run      the folder of the run
    judge    the other judge: a `Judge`, a catalog name, or the path of a GGUF file
    output   the folder of the new judge's run; a second call with it goes on where the first ended
    metrics  of the run, of those that ask the judge; by default all of these
    sample   number of samples: drawn by a hash of their ids, half of them with the rarer verdict by some
             metric, as far as there are so many. A larger number holds the samples of a smaller one
    margin   a shift of the mean within it does not matter
    cut      value from which a sample counts as a yes

    Raises InputError for a folder without a finished run, a run without a metric that asks the judge, and
    numbers out of range; and what `Judge.load` and `evaluate` raise.

    >>> print(compare_under("runs/answers", "qwen2.5-7b", "runs/answers-7b"))  # doctest: +SKIP
    """
    folder = Path(run)
    wanted = whole_number("sample", sample, 2)
    _check_share("margin", margin, highest=0.5)
    _check_share("cut", cut, highest=1.0)
    samples, config = read_run(folder)
    before = load(folder)
    options, notes = _options_for_another(config)
    names = _judged_metrics(before, options, metrics)
    plan = _Draw(before, names, wanted, cut)
    opened = judge if isinstance(judge, Judge) else load_judge_for(config, judge)
    try:
        if opened.model["sha256"] == config.engine.model:
            notes.append("it is the judge of the run, so that only settings and versions can differ")
        after = evaluate(
            samples.choose(plan.positions), names, opened, output, progress, watch, **vars(options)
        )
    finally:
        if opened is not judge:
            opened.close()
    notes += _other_differences(before, after)
    compared = {name: _replaced(name, before, after, plan, margin, cut) for name in names}
    return Replacement(
        run=str(run),
        old_judge=_name_of(before.signature.judge),
        new_judge=_name_of(after.signature.judge),
        metrics={name: metric for name, metric in compared.items() if metric is not None},
        drawn=len(plan.positions),
        in_run=len(plan.strata),
        rare=sum(plan.strata[position] == _RARE for position in plan.positions),
        rare_in_run=sum(stratum == _RARE for stratum in plan.strata.values()),
        margin=margin,
        cut=cut,
        lacking=tuple(name for name, metric in compared.items() if metric is None),
        notes=tuple(notes),
        signature=str(after.signature),
    )


def load_judge_for(config: StoredRunConfig, judge: str | os.PathLike[str], **settings: Any) -> Judge:
    """Load a judge with the run's embedder, classifier and length of context; `settings` may have others."""
    chosen = {"n_ctx": config.engine.settings["n_ctx"], **settings}
    return Judge.load(judge, embedder=config.embedder, classifier=config.classifier, **chosen)


def default_folder(run: Path, judge: str) -> Path:
    """Return the folder of the new judge's run where none is named: beside the run.

    >>> default_folder(Path("runs/answers"), "models/big.gguf").as_posix()
    'runs/answers-under-big'
    >>> default_folder(Path("runs/answers"), "ollama:qwen2.5:7b").as_posix()
    'runs/answers-under-ollama-qwen2.5-7b'
    """
    name = Path(judge).name.removesuffix(".gguf")
    return run.with_name(f"{run.resolve().name}-under-{name.replace(':', '-')}")


def _check_share(name: str, value: float, highest: float) -> None:
    """Raise InputError for a number that is not above 0 and at most `highest`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= highest:
        raise InputError(f"{name} is {value!r}; choose a number above 0 and up to {highest:g}.")


def _name_of(model: Mapping[str, Any]) -> str:
    return f"{model.get('name', '')}@{str(model.get('sha256', ''))[:8]}"


def _options_for_another(config: StoredRunConfig) -> tuple[Options, list[str]]:
    """Return the run's options for another judge, without what was fitted for the run's own."""
    options = Options.read(config.options)
    notes = []
    for name in ("calibration", "head"):
        if getattr(options, name) not in ("auto", "none"):
            options = replace(options, **{name: "auto"})  # type: ignore[arg-type]
            notes.append(f"the file of the run's option {name} was fitted for the old judge: left out")
    return options, notes


def _other_differences(before: Result, after: Result) -> list[str]:
    """Say in what else than the judge, and what was fitted for it, the two runs differ."""
    fields, _ = differences(before.signature, after.signature)
    others = [field for field in fields if not field.startswith(_OF_JUDGE)]
    if not others:
        return []
    return [f"not only the judge differs: {'; '.join(others)}"]


def _judged_metrics(run: Result, options: Options, wanted: Sequence[str] | None) -> list[str]:
    """Return the metrics of the run that ask the judge, of those that are wanted."""
    judged = [metric.name for metric in choose_metrics(run.metrics) if _asks(metric, options)]
    if not judged:
        raise InputError(
            f"no metric of the run asks the judge ({', '.join(run.metrics)}); there is nothing to compare."
        )
    if wanted is None:
        return judged
    names = [metric.name for metric in choose_metrics(wanted)]
    for name in names:
        if name not in judged:
            raise InputError(
                f"{name} is no metric of the run that asks the judge; choose from: {', '.join(judged)}."
            )
    return names


def _asks(metric: Metric, options: Options) -> bool:
    return needs_judge([metric], options)


class _Draw:
    """The samples that are judged again.

    positions  in the run, in order
    strata     position -> stratum, of every sample that the old judge scored by some metric
    sizes      metric -> number of the samples that it scored in each stratum
    """

    def __init__(self, run: Result, metrics: Sequence[str], wanted: int, cut: float) -> None:
        verdicts: dict[str, dict[int, bool]] = {name: {} for name in metrics}
        keys: dict[int, str] = {}
        for position, item in enumerate(run.samples):
            for name, by_position in verdicts.items():
                value = item.scores[name].value
                if value is not None:
                    by_position[position] = value >= cut
                    keys[position] = digest(["under", item.sample.id])
        if not keys:
            raise InputError(f"no sample of the run was scored by {', '.join(metrics)}.")
        rare = set[int]()
        for by_position in verdicts.values():
            rare |= _rarer(by_position)
        self.strata = {position: _RARE if position in rare else _COMMON for position in sorted(keys)}
        self.positions = self._drawn(keys, wanted)
        self.sizes = {
            name: [sum(self.strata[position] == stratum for position in by_position) for stratum in (0, 1)]
            for name, by_position in verdicts.items()
        }

    def _drawn(self, keys: Mapping[int, str], wanted: int) -> list[int]:
        """Draw by the keys: half of them rare, as far as there are so many, and the rest of the others."""
        by_key = sorted(keys, key=lambda position: keys[position])
        rare = [position for position in by_key if self.strata[position] == _RARE]
        common = [position for position in by_key if self.strata[position] == _COMMON]
        number_of_rare = min(len(rare), max(wanted // 2, wanted - len(common)))
        return sorted([*rare[:number_of_rare], *common[: wanted - number_of_rare]])


def _rarer(verdicts: Mapping[int, bool]) -> set[int]:
    """Return the positions with the verdict that occurs less often; of equals, with no."""
    counts = Counter(verdicts.values())
    is_yes_rarer = counts[True] < counts[False]
    return {position for position, is_yes in verdicts.items() if is_yes == is_yes_rarer}


@dataclass(frozen=True)
class _Pair:
    """A sample as both judges scored it; `group` is its number."""

    id: str
    old: Score
    new: Score
    stratum: int
    group: int

    @property
    def has_old(self) -> bool:
        return self.old.value is not None

    @property
    def has_new(self) -> bool:
        return self.new.value is not None


def _pairs_of(metric: str, before: Result, after: Result, plan: _Draw) -> list[_Pair]:
    groups = GroupNumbers()
    pairs = []
    for position, new in zip(plan.positions, after.samples, strict=True):
        old: SampleResult = before.samples[position]
        group = groups.of(group_of(old.sample))
        scores = (old.scores[metric], new.scores[metric])
        pairs.append(_Pair(old.sample.id, *scores, plan.strata[position], group))
    return pairs


def _replaced(
    metric: str, before: Result, after: Result, plan: _Draw, margin: float, cut: float
) -> Replaced | None:
    """Compare the scores of a metric by both judges; None where no sample was scored by both."""
    pairs = _pairs_of(metric, before, after, plan)
    both = [pair for pair in pairs if pair.has_old and pair.has_new]
    if not both:
        return None
    drawn = _drawn_of(both, plan.sizes[metric])
    groups = drawn.groups
    weights = drawn.weights
    shares = flips_at(drawn, cut, weights)
    counts = [round(count) for count in flips_at(drawn, cut, np.ones(len(both)))]
    both_yes, yes_to_no, no_to_yes, both_no = counts
    beyond_chance = kappa(shares)
    shift = weighted_shift(drawn)
    found = equivalence(drawn, cut, margin)
    return Replaced(
        pairs=len(both),
        old=float(weights @ drawn.old),
        new=float(weights @ drawn.new),
        shift=float(weights @ drawn.differences),
        shift_interval=shift_interval(drawn, 0.90),
        wide_interval=shift_interval(drawn, 0.95),
        spread=None if shift is None else shift.spread,
        both_yes=both_yes,
        yes_to_no=yes_to_no,
        no_to_yes=no_to_yes,
        both_no=both_no,
        agreement=agreement(shares),
        kappa=None if math.isnan(beyond_chance) else beyond_chance,
        kappa_interval=kappa_interval(drawn, cut),
        pabak=pabak(shares),
        mcnemar=mcnemar_mid_p(yes_to_no, no_to_yes) if drawn.is_evenly_drawn and groups is None else None,
        outcome=found.outcome,
        needed=found.needed,
        stopped=sum(pair.has_old and not pair.has_new for pair in pairs),
        started=sum(pair.has_new and not pair.has_old for pair in pairs),
        groups=None if groups is None else len(set(groups)),
        changed=_changed_most(both),
    )


def _drawn_of(pairs: Sequence[_Pair], sizes: Sequence[int]) -> Drawn:
    """Return the values of pairs that both judges scored; `sizes` are those of the strata."""
    return Drawn(
        old=np.array([pair.old.value for pair in pairs], dtype=np.float64),
        new=np.array([pair.new.value for pair in pairs], dtype=np.float64),
        strata=np.array([pair.stratum for pair in pairs], dtype=np.int64),
        sizes=np.array(sizes, dtype=np.float64),
        groups=shared_groups([pair.group for pair in pairs]),
    )


def _changed_most(pairs: Sequence[_Pair]) -> tuple[str, ...]:
    """Return the ids of the samples whose value changed most, the largest change first."""

    def change(pair: _Pair) -> float:
        return abs((pair.new.value or 0.0) - (pair.old.value or 0.0))

    # Of equal changes the first ones come first.
    ordered = sorted(pairs, key=change, reverse=True)
    return tuple(pair.id for pair in ordered[:MAX_CHANGED] if change(pair) > 0)
