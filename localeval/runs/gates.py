"""Gates: bounds that a run must meet, so that a script can stop where it does not; also as JUnit XML, for CI.

Their syntax, and when they are missed: localeval/runs/README.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from localeval.errors import InputError, LocalevalError
from localeval.metrics import METRICS
from localeval.metrics.summary import SIGNIFICANT, choose_metrics
from localeval.runs.compare import Comparison, compare
from localeval.runs.result import Result
from localeval.text.display import digits, printable, shorten

_ROUNDING = 1e-9  # a mean of 0.8 may be stored as 0.7999999999999999
_LEAST_SHARE = 0.5  # of the samples that the baseline scored: fewer do not represent the whole


@dataclass(frozen=True)
class Outcome:
    """The outcome of a gate: its description, what was found, and whether it was missed."""

    gate: str
    found: str
    missed: bool

    def __str__(self) -> str:
        return f"gate {'missed' if self.missed else 'met'}: {self.gate}: {self.found}"


@dataclass(frozen=True)
class Bound:
    """A bound on the mean of a metric, or on the worse `end` of its interval.

    over  the number must not lie above the limit, instead of below it
    """

    metric: str
    limit: float
    soft: bool
    end: bool
    over: bool

    @classmethod
    def read(cls, text: str, over: bool = False) -> Bound:
        """Parse a bound. Raises InputError for another form, an unknown metric, or the better side.

        >>> Bound.read("faithfulness:lower=0.75")
        Bound(metric='faithfulness', limit=0.75, soft=False, end=True, over=False)
        """
        option, side = ("--fail-over", "upper") if over else ("--fail-under", "lower")
        name, _, number = text.partition("=")
        metric, *parts = name.strip().split(":")
        try:
            limit = float(number)
        except ValueError:
            limit = -1.0
        if not 0 <= limit <= 1 or parts not in ([], ["soft"], [side], ["soft", side]):
            raise InputError(
                f"{option} {shorten(text)}: write METRIC=NUMBER, METRIC:soft=NUMBER or METRIC:{side}=NUMBER, "
                "with a number from 0 to 1."
            )
        choose_metrics([metric])
        if METRICS[metric].higher_is_better == over:
            better, other = ("higher", "--fail-under") if over else ("lower", "--fail-over")
            raise InputError(f"{option} {shorten(text)}: of {metric}, {better} is better; use {other}.")
        return cls(metric, limit, "soft" in parts, side in parts, over)

    def check(self, result: Result) -> Outcome:
        """Check the bound on a result. Raises InputError where the result has no such metric."""
        mean = result[self.metric]
        interval = mean.soft_interval if self.soft else mean.interval
        center = mean.soft if self.soft else mean.value
        measured = (interval and interval[self.over]) if self.end else center
        if measured is None:
            counts = f"{mean.scored} scored, {mean.undefined} undefined, {mean.failed} failed"
            return Outcome(str(self), f"no value to check ({counts})", missed=True)
        excess = measured - self.limit if self.over else self.limit - measured
        text = digits(measured, self.limit) if abs(excess) > _ROUNDING else f"{measured:.4f}"
        return Outcome(str(self), text, missed=excess > _ROUNDING)

    def __str__(self) -> str:
        end = ("upper" if self.over else "lower") + " end of the 95 % interval of the " if self.end else ""
        soft = "soft " if self.soft else ""
        limit = str(self.limit).removesuffix(".0")
        return f"{self.metric}: {end}{soft}mean {'at most' if self.over else 'at least'} {limit}"


def gates_against(result: Result, baseline: Result, where: str) -> tuple[list[Outcome], tuple[str, ...]]:
    """Return (the gates of `drop_gates`, warnings) against `baseline`, which the caller knows as `where`.

    Where the runs can't be compared, the result is one missed gate.
    """
    try:
        compared = compare(baseline, result)
    except LocalevalError as error:
        return [Outcome(f"no drop from {printable(where)}", str(error), missed=True)], ()
    warnings, not_compared = list(compared.warnings), "none of them is compared"
    if compared.only_a or compared.only_b:
        unpaired = f"samples in that run alone: {compared.only_a}, in this one alone: {compared.only_b}"
        warnings.append(f"{unpaired}; {not_compared}")
    for metric, comparison in compared.metrics.items():
        if any(comparison.failed):
            before, after = comparison.failed
            warnings.append(f"{metric}: failed in that run: {before}, in this one: {after}; {not_compared}")
    return drop_gates(compared, where), tuple(warnings)


def drop_gates(compared: Comparison, where: str) -> list[Outcome]:
    """Return a gate for each metric of the first run, `where`: in the second it is there and not worse."""
    outcomes, gate = [], f"no drop from {printable(where)}"
    for metric, comparison in compared.metrics.items():
        few = comparison.pairs < _LEAST_SHARE * comparison.scored[0]
        text = "no sample was scored in both runs"
        if comparison.value is not None:
            text = "fewer than half of the samples were scored again: " if few else ""
            text += f"{comparison.finding} over {comparison.pairs} of {comparison.scored[0]} samples "
            p = digits(comparison.value.p, SIGNIFICANT)
            text += f"({comparison.value.a:.4f} before, {comparison.value.b:.4f} now, p = {p})"
        missed = few or comparison.finding in ("worse", "differs", "nothing to compare")
        outcomes.append(Outcome(f"{metric}: {gate}", text, missed))
    for metric in compared.missing:
        outcomes.append(Outcome(f"{metric}: {gate}", "it is not computed in this run", missed=True))
    return outcomes


def as_junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """Return JUnit XML: a test case per gate, a missed one as a failure; `suite` names what was evaluated."""
    missed = sum(outcome.missed for outcome in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(missed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    cases = ElementTree.SubElement(root, "testsuite", {"name": printable(suite), **counts})
    for outcome in outcomes:
        name = printable(outcome.gate)
        case = ElementTree.SubElement(cases, "testcase", {"classname": "localeval.runs.gates", "name": name})
        if outcome.missed:
            ElementTree.SubElement(case, "failure", {"message": printable(str(outcome))})
        else:
            ElementTree.SubElement(case, "system-out").text = printable(outcome.found)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
