"""Gates: what a run must reach, so that a script can stop where it does not; also as JUnit XML, for CI.

How they are written, and when they are missed: localeval/runs/README.md.
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
_LEAST_SHARE = 0.5  # of the samples that the baseline scored: fewer say little of the whole


@dataclass(frozen=True)
class Outcome:
    """A gate, as it was asked for, and what was found; `missed` or met."""

    gate: str
    found: str
    missed: bool

    def __str__(self) -> str:
        return f"gate {'missed' if self.missed else 'met'}: {self.gate}: {self.found}"


@dataclass(frozen=True)
class Bound:
    """A bound on one number of a metric: the mean, or the `end` of its interval that is worse.

    over  the number may not lie above the limit, instead of below it
    """

    metric: str
    limit: float
    soft: bool = False
    end: bool = False
    over: bool = False

    @classmethod
    def read(cls, text: str, over: bool = False) -> Bound:
        """Read a bound. Raises InputError for another form, no metric, or the side that is not the bad one.

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
        """Hold it against a result. Raises InputError where that has no such metric."""
        mean = result[self.metric]
        interval = mean.soft_interval if self.soft else mean.interval
        at_end = interval and interval[self.over]
        found = at_end if self.end else mean.soft if self.soft else mean.value
        if found is None:
            counted = f"{mean.scored} scored, {mean.undefined} undefined, {mean.failed} failed"
            return Outcome(str(self), f"nothing to hold it against ({counted})", missed=True)
        beyond = found - self.limit if self.over else self.limit - found
        shown = digits(found, self.limit) if abs(beyond) > _ROUNDING else f"{found:.4f}"
        return Outcome(str(self), shown, missed=beyond > _ROUNDING)

    def __str__(self) -> str:
        end = ("upper" if self.over else "lower") + " end of the 95 % interval of the " if self.end else ""
        soft = "soft " if self.soft else ""
        limit = str(self.limit).removesuffix(".0")
        return f"{self.metric}: {end}{soft}mean {'at most' if self.over else 'at least'} {limit}"


def gates_against(result: Result, baseline: Result, where: str) -> tuple[list[Outcome], tuple[str, ...]]:
    """Give (the gates of `drop_gates`, warnings) against `baseline`, which the caller knows as `where`.

    Where the runs can't be compared, that is one missed gate.
    """
    try:
        compared = compare(baseline, result)
    except LocalevalError as error:
        return [Outcome(f"no drop from {printable(where)}", str(error), missed=True)], ()
    warnings, none = list(compared.warnings), "none of them is compared"
    if compared.only_a or compared.only_b:
        alone = f"samples in that run alone: {compared.only_a}, in this one alone: {compared.only_b}"
        warnings.append(f"{alone}; {none}")
    for metric, found in compared.metrics.items():
        if any(found.failed):
            before, now = found.failed
            warnings.append(f"{metric}: failed in that run: {before}, in this one: {now}; {none}")
    return drop_gates(compared, where), tuple(warnings)


def drop_gates(compared: Comparison, where: str) -> list[Outcome]:
    """Give a gate for each metric that both runs have: it did not get worse than in `where`, the first."""
    outcomes = []
    for metric, found in compared.metrics.items():
        few = found.pairs < _LEAST_SHARE * found.scored[0]
        seen = "no sample was scored in both runs"
        if found.value is not None:
            seen = "fewer than half of the samples were scored again: " if few else ""
            seen += f"{found.finding} over {found.pairs} of {found.scored[0]} samples "
            p = digits(found.value.p, SIGNIFICANT)
            seen += f"({found.value.a:.4f} before, {found.value.b:.4f} now, p = {p})"
        missed = few or found.finding in ("worse", "differs", "nothing to compare")
        outcomes.append(Outcome(f"{metric}: no drop from {printable(where)}", seen, missed))
    return outcomes


def as_junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """Give JUnit XML: one test case a gate, a missed one as a failure; `suite` names what was evaluated."""
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
