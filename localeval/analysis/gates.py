"""Gates: bounds that a run must meet, so that a script can stop where it does not; also as JUnit XML, for CI.

Their syntax, and when they are missed: localeval/runs/README.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from xml.etree import ElementTree

from localeval.analysis.compare import Compared, Comparison, Difference, compare
from localeval.errors import InputError, LocalevalError
from localeval.metrics import find_metric
from localeval.metrics.summary import SIGNIFICANT, Summary, min_differing
from localeval.runs.result import Result
from localeval.text.display import digits, printable, shorten

# A mean of 0.8 may be stored as 0.7999999999999999.
_ROUNDING = 1e-9
# Of the samples that the baseline scored: fewer do not represent the whole.
_MIN_SHARE_COMPARED = 0.5

# Where too few pairs differ for a test, a mean that fell by more than this is a miss. One sample of 20 that
# falls from 1 to 0 moves the mean as far.
_UNTESTED_DROP = 0.05


@dataclass(frozen=True)
class Outcome:
    """The outcome of a gate: its description, what was found, and whether it was missed.

    shown  False where it is not missed, but these samples can't show that it is met
    """

    gate: str
    found: str
    missed: bool
    shown: bool = True

    def __str__(self) -> str:
        state = "met" if self.shown else "not shown"
        if self.missed:
            state = "missed"
        return f"gate {state}: {self.gate}: {self.found}"


@dataclass(frozen=True)
class MaxCount:
    """The most samples of a kind that a gate allows: a share of the samples, or a number of them.

    >>> MaxCount.read("--max-failed", "0.1").exceeded(2, of=16)
    True
    >>> MaxCount.read("--max-failed", "2").exceeded(2, of=16)
    False
    """

    limit: float
    is_share: bool = True

    @classmethod
    def read(cls, option: str, text: str) -> MaxCount:
        """Parse "0.05" or "5%" as a share, and "3" as a number. Raises InputError for another form."""
        text = text.strip()
        if text.isdecimal():
            return cls(int(text), is_share=False)
        limit = _number_of(text.removesuffix("%"))
        if text.endswith("%"):
            limit /= 100
        if not 0 <= limit <= 1:
            raise InputError(
                f"{option} {shorten(text)}: write a share of the samples, as 0.05 or 5%, or a number of "
                "them, as 3."
            )
        return cls(limit)

    def exceeded(self, count: int, of: int) -> bool:
        """Report whether `count` of so many samples are too many."""
        maximum = self.limit * of if self.is_share else self.limit
        return count > maximum + _ROUNDING

    def __str__(self) -> str:
        return f"{100 * self.limit:g} %" if self.is_share else f"{self.limit:g}"


@dataclass(frozen=True)
class Limits:
    """How many samples may have no score before a gate is missed.

    failed     of all samples of the run, the rows that were skipped included
    undefined  of all samples of the run
    stopped    of the samples that the baseline scored, those that are undefined now
    broken     of these samples, those that failed now
    """

    failed: MaxCount = MaxCount(0.05)
    undefined: MaxCount = MaxCount(0.5)
    stopped: MaxCount = MaxCount(0.05)
    broken: MaxCount = MaxCount(0.05)

    @classmethod
    def read(cls, max_failed: str | None = None, max_undefined: str | None = None) -> Limits:
        """Parse the options --max-failed and --max-undefined; None is the default. Raises InputError."""
        limits = cls()
        if max_failed is not None:
            failed = MaxCount.read("--max-failed", max_failed)
            limits = replace(limits, failed=failed, broken=failed)
        if max_undefined is not None:
            undefined = MaxCount.read("--max-undefined", max_undefined)
            limits = replace(limits, undefined=undefined, stopped=undefined)
        return limits


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Bound:
    """A bound on the mean of a metric, or on the worse `end` of its interval.

    over       the number must not lie above the limit, instead of below it
    corrected  it is on the number that labels or a card correct (`rescore --labels`), not on the judge's mean
    """

    metric: str
    limit: float
    soft: bool
    end: bool
    over: bool
    corrected: bool = False

    @classmethod
    def read(cls, text: str, over: bool = False) -> Bound:
        """Parse a bound. Raises InputError for another form, an unknown metric, or the better side.

        >>> Bound.read("faithfulness:lower=0.75")
        Bound(metric='faithfulness', limit=0.75, soft=False, end=True, over=False, corrected=False)
        """
        option = "--fail-over" if over else "--fail-under"
        side = "upper" if over else "lower"
        name, _, number = text.partition("=")
        metric_name, *parts = name.strip().split(":")
        limit = _number_of(number)
        known: list[list[str]] = [[], ["soft"], [side], ["soft", side], ["corrected"], ["corrected", side]]
        if not 0 <= limit <= 1 or parts not in known:
            raise InputError(
                f"{option} {shorten(text)}: write METRIC=NUMBER, METRIC:soft=NUMBER, METRIC:{side}=NUMBER or "
                f"METRIC:corrected:{side}=NUMBER, with a number from 0 to 1."
            )
        metric = find_metric(metric_name)
        if metric.higher_is_better and over:
            raise InputError(
                f"{option} {shorten(text)}: of {metric_name}, higher is better; use --fail-under."
            )
        if not metric.higher_is_better and not over:
            raise InputError(f"{option} {shorten(text)}: of {metric_name}, lower is better; use --fail-over.")
        return cls(
            metric=metric.name,
            limit=limit,
            soft="soft" in parts,
            end=side in parts,
            over=over,
            corrected="corrected" in parts,
        )

    def check(self, result: Result, limits: Limits = DEFAULT_LIMITS) -> Outcome:
        """Check the bound on a result. Raises InputError where the result has no such metric.

        It is missed, too, where more samples than `limits` have no score.
        """
        mean = result[self.metric]
        skipped = len(result.skipped)
        counts = (
            f"({mean.scored} scored, {mean.undefined} undefined, {mean.failed} failed, {skipped} skipped)"
        )
        measured = self._corrected(result) if self.corrected else self._measured(mean)
        if isinstance(measured, str):
            return Outcome(str(self), measured, missed=True)
        if measured is None:
            return Outcome(str(self), f"no value to check {counts}", missed=True)
        excess = measured - self.limit if self.over else self.limit - measured
        too_many = _too_many(mean, skipped, limits)
        found = "; ".join([f"{_against(measured, self.limit)} {counts}", *too_many])
        return Outcome(str(self), found, missed=excess > _ROUNDING or bool(too_many))

    def _corrected(self, result: Result) -> float | str:
        """Return the corrected number that is held against the limit, or why there is none."""
        corrected = result.corrected.get(self.metric)
        if corrected is None:
            return "there is no corrected number; give `rescore` labels (--labels) or a card (--card)"
        if corrected.value is None or corrected.interval is None:
            return f"there is no corrected number: {corrected.reason}"
        if not self.end:
            return corrected.value
        low, high = corrected.interval
        return high if self.over else low

    def _measured(self, mean: Summary) -> float | None:
        """Return the number that is held against the limit; None where no sample, or only one, was scored."""
        if not self.end:
            return mean.soft if self.soft else mean.value
        interval = mean.soft_interval if self.soft else mean.interval
        if interval is None:
            return None
        low, high = interval
        return high if self.over else low

    def __str__(self) -> str:
        number = "soft mean" if self.soft else "mean"
        if self.corrected:
            number = "corrected number"
        if self.end:
            side = "upper" if self.over else "lower"
            number = f"{side} end of the 95 % interval of the {number}"
        relation = "at most" if self.over else "at least"
        limit = str(self.limit).removesuffix(".0")
        return f"{self.metric}: {number} {relation} {limit}"


def count_gates(result: Result, metrics: Sequence[str], limits: Limits) -> list[Outcome]:
    """Return a gate for each of the metrics: not too many samples of it failed, or are undefined."""
    outcomes = []
    for metric in metrics:
        mean = result[metric]
        skipped = len(result.skipped)
        gate = f"{metric}: at most {limits.failed} failed or skipped, {limits.undefined} undefined"
        found = f"{mean.scored} scored, {mean.undefined} undefined, {mean.failed} failed, {skipped} skipped"
        too_many = _too_many(mean, skipped, limits)
        outcomes.append(Outcome(gate, "; ".join([found, *too_many]), missed=bool(too_many)))
    return outcomes


def _number_of(text: str) -> float:
    """Return the number in a text, or nan, which lies in no range."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _against(number: float, limit: float) -> str:
    """Format a number so that it shows on which side of the limit it is."""
    return digits(number, limit) if abs(number - limit) > _ROUNDING else f"{number:.4f}"


def _too_many(mean: Summary, skipped: int, limits: Limits) -> list[str]:
    """List the kinds of samples without a score of which there are more than the limits allow."""
    rows = mean.scored + mean.undefined + mean.failed + skipped
    found = []
    if limits.failed.exceeded(mean.failed + skipped, rows):
        found.append(f"more than {limits.failed} failed or were skipped (--max-failed)")
    if limits.undefined.exceeded(mean.undefined, rows):
        found.append(f"more than {limits.undefined} are undefined (--max-undefined)")
    return found


@dataclass(frozen=True)
class Drop:
    """The most by which the mean of a metric may get worse from one run to the next."""

    metric: str
    limit: float
    soft: bool = False

    @staticmethod
    def is_one(text: str) -> bool:
        """Report whether a value of --fail-on-drop is a bound, and not a run.

        >>> Drop.is_one("faithfulness:drop=0.05"), Drop.is_one("runs/before")
        (True, False)
        """
        return re.fullmatch(r"[\w.-]+(:soft)?:drop=[^/\\]*", text.strip()) is not None

    @classmethod
    def read(cls, text: str) -> Drop:
        """Parse a bound. Raises InputError for another form, or an unknown metric.

        >>> Drop.read("faithfulness:drop=0.05")
        Drop(metric='faithfulness', limit=0.05, soft=False)
        """
        name, _, number = text.strip().partition("=")
        metric, *parts = name.split(":")
        limit = _number_of(number)
        if not 0 <= limit <= 1:
            raise InputError(
                f"--fail-on-drop {shorten(text)}: write METRIC:drop=NUMBER or METRIC:soft:drop=NUMBER, with "
                "a number from 0 to 1."
            )
        return cls(find_metric(metric).name, limit, soft="soft" in parts)


def gates_against(
    result: Result,
    baseline: Result,
    where: str,
    drops: Sequence[Drop] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[list[Outcome], tuple[str, ...]]:
    """Return the gates of `drop_gates`, and warnings of what they do not compare.

    Where the runs can't be compared, the result is one missed gate.

    where  the name of the baseline for messages: its folder, for example
    """
    try:
        compared = compare(baseline, result)
    except LocalevalError as error:
        not_comparable = Outcome(f"no drop from {printable(where)}", str(error), missed=True)
        return [not_comparable], ()
    warnings = list(compared.warnings)
    not_compared = "none of them is compared"
    if compared.only_a or compared.only_b:
        unpaired = f"samples in that run alone: {compared.only_a}, in this one alone: {compared.only_b}"
        warnings.append(f"{unpaired}; {not_compared}")
    for metric, comparison in compared.metrics.items():
        failed_then, failed_now = comparison.failed
        if failed_then or failed_now:
            failed = f"failed in that run: {failed_then}, in this one: {failed_now}"
            warnings.append(f"{metric}: {failed}; {not_compared}")
        if comparison.stopped:
            stopped = f"scored in that run and undefined in this one: {comparison.stopped}"
            warnings.append(f"{metric}: {stopped}; {not_compared}")
    return drop_gates(compared, where, drops, limits), tuple(warnings)


def drop_gates(
    compared: Comparison, where: str, drops: Sequence[Drop] = (), limits: Limits = DEFAULT_LIMITS
) -> list[Outcome]:
    """Return a gate for each metric of the first run, `where`: in the second it is there and not worse.

    A metric with bounds in `drops` has a gate for each of these instead of a test.
    """
    outcomes = []
    for metric, comparison in compared.metrics.items():
        bounds: list[Drop | None] = [drop for drop in drops if drop.metric == metric]
        for bound in bounds or [None]:
            lost = _lost(comparison, compared.paired, limits)
            outcomes.append(_drop_gate(metric, comparison, printable(where), bound, lost))
    gate = f"no drop from {printable(where)}"
    for metric in compared.missing:
        outcomes.append(Outcome(f"{metric}: {gate}", "it is not computed in this run", missed=True))
    for drop in drops:
        if drop.metric not in compared.metrics and drop.metric not in compared.missing:
            outcomes.append(Outcome(f"{drop.metric}: {gate}", "that run has no such metric", missed=True))
    return outcomes


def _drop_gate(metric: str, comparison: Compared, where: str, bound: Drop | None, lost: list[str]) -> Outcome:
    """Check the mean of one metric, against `bound` or by a test; `lost` are other reasons for a miss."""
    gate = f"{metric}: no drop from {where}"
    difference = comparison.value
    if bound is not None:
        soft = "soft " if bound.soft else ""
        gate = f"{metric}: {soft}mean at most {bound.limit:g} worse than in {where}"
        difference = comparison.soft if bound.soft else comparison.value
    if difference is None:
        return Outcome(gate, "; ".join(["no sample was scored in both runs", *lost]), missed=True)
    means = (
        f"over {comparison.pairs} of {comparison.scored[0]} samples ({difference.a:.4f} before, "
        f"{difference.b:.4f} now, p = {digits(difference.p, SIGNIFICANT)})"
    )
    drop = _drop_of(difference, comparison.higher_is_better)
    if bound is not None:
        exceeds = drop - bound.limit > _ROUNDING
        found = f"{_against(drop, bound.limit)} worse" if drop > _ROUNDING else "not worse"
        return Outcome(gate, "; ".join([f"{found} {means}", *lost]), missed=exceeds or bool(lost))
    is_small = drop - _UNTESTED_DROP <= _ROUNDING
    if difference.differing < min_differing(SIGNIFICANT) and drop > _ROUNDING:
        if not is_small:
            lost = [f"so a mean that fell by more than {_UNTESTED_DROP} is a miss", *lost]
        found = f"{_not_tested(comparison, difference)}; {_against(drop, _UNTESTED_DROP)} worse {means}"
        return Outcome(gate, "; ".join([found, *lost]), missed=bool(lost), shown=False)
    found = f"{comparison.finding} {means}"
    worse = comparison.finding in ("worse", "differs")
    # Where the mean fell, and the test did not show that this is more than chance, it is not shown either
    # that it is no more than chance.
    return Outcome(gate, "; ".join([found, *lost]), missed=worse or bool(lost), shown=is_small)


def _drop_of(difference: Difference, higher_is_better: bool | None) -> float:
    """Return by how much the mean got worse, below 0 where it got better.

    Where it is not known what is better, it is how much the mean changed.
    """
    if higher_is_better is None:
        return abs(difference.difference)
    return -difference.difference if higher_is_better else difference.difference


def _not_tested(comparison: Compared, difference: Difference) -> str:
    units = "groups" if comparison.groups else "samples"
    minimum = min_differing(SIGNIFICANT)
    return f"a drop can't be shown, as {difference.differing} {units} differ, and {minimum} must"


def _lost(comparison: Compared, paired: int, limits: Limits) -> list[str]:
    """List why too many samples have no score: of those in both runs, and of those that the first scored."""
    before = comparison.scored[0]
    lost = []
    for run, failed in zip(("in that run", "now"), comparison.failed, strict=True):
        if limits.failed.exceeded(failed, paired):
            lost.append(f"{failed} of {paired} failed {run}, more than {limits.failed} (--max-failed)")
    if limits.undefined.exceeded(comparison.undefined[1], paired):
        undefined = f"{comparison.undefined[1]} of {paired} are undefined now"
        lost.append(f"{undefined}, more than {limits.undefined} (--max-undefined)")
    if comparison.pairs < _MIN_SHARE_COMPARED * before:
        lost.append("fewer than half of the samples were scored again")
    if limits.stopped.exceeded(comparison.stopped, before):
        lost.append(
            f"{comparison.stopped} that were scored are undefined now, more than {limits.stopped} "
            "(--max-undefined)"
        )
    if limits.broken.exceeded(comparison.broken, before):
        lost.append(
            f"{comparison.broken} that were scored failed now, more than {limits.broken} (--max-failed)"
        )
    return lost


def as_junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """Return JUnit XML: a test case per gate; `suite` names what was evaluated.

    A missed gate is a failure, and one that can't be shown is skipped.
    """
    missed = sum(outcome.missed for outcome in outcomes)
    not_shown = sum(not (outcome.missed or outcome.shown) for outcome in outcomes)
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(missed),
        "errors": "0",
        "skipped": str(not_shown),
    }
    root = ElementTree.Element("testsuites", counts)
    cases = ElementTree.SubElement(root, "testsuite", {"name": printable(suite), **counts})
    for outcome in outcomes:
        name = printable(outcome.gate)
        case = ElementTree.SubElement(
            cases, "testcase", {"classname": "localeval.analysis.gates", "name": name}
        )
        if outcome.missed:
            ElementTree.SubElement(case, "failure", {"message": printable(str(outcome))})
        elif not outcome.shown:
            ElementTree.SubElement(case, "skipped", {"message": printable(outcome.found)})
        else:
            ElementTree.SubElement(case, "system-out").text = printable(outcome.found)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
