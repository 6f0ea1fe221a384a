"""Gates: what a run must reach, so that a script can stop where it does not.

    faithfulness=0.8              the mean of value is at least 0.8
    faithfulness:lower=0.75       so is the lower end of its 95 % interval
    faithfulness:soft=0.8         the mean of soft; faithfulness:soft:lower likewise
    hallucination=0.1             for a rate of a fault, with `over`: the mean is at most 0.1
    hallucination:upper=0.15      so is the upper end of its interval

A gate is missed, too, where no sample was scored, or where there is no interval: it can't be said to hold.
So is "no drop" where fewer than half of what the baseline scored was scored again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from localeval.errors import InputError, LocalevalError
from localeval.metrics import METRICS
from localeval.metrics.summary import SIGNIFICANT, choose_metrics
from localeval.runs.compare import Compared, Comparison, compare
from localeval.runs.result import Result
from localeval.text.display import digits, printable, said


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
    """A bound on one number of a metric: the mean, or the end of its interval that is worse.

    over  the number may not lie above the limit, instead of below it
    """

    metric: str
    limit: float
    soft: bool = False
    end: bool = False
    over: bool = False

    @classmethod
    def read(cls, text: str, over: bool = False) -> Bound:
        """The bound that `text` describes. Raises InputError for another form, or a metric that there is
        none of, or one for which this side is not the bad one.

        >>> Bound.read("faithfulness:lower=0.75")
        Bound(metric='faithfulness', limit=0.75, soft=False, end=True, over=False)
        """
        option, side, other = ("--fail-over", "upper", "--fail-under") if over else _UNDER
        name, _, number = text.partition("=")
        metric, *parts = name.strip().split(":")
        try:
            limit = float(number)
        except ValueError:
            limit = -1.0
        if not 0 <= limit <= 1 or parts not in ([], ["soft"], [side], ["soft", side]):
            raise InputError(
                f"{option} {said(text)}: write METRIC=NUMBER, METRIC:soft=NUMBER or METRIC:{side}=NUMBER, "
                "with a number from 0 to 1."
            )
        choose_metrics([metric])
        if METRICS[metric].higher_is_better == over:
            better = "higher" if over else "lower"
            raise InputError(f"{option} {said(text)}: of {metric}, {better} is better; use {other}.")
        return cls(metric, limit, "soft" in parts, side in parts, over)

    def check(self, result: Result) -> Outcome:
        if self.metric not in result.metrics:
            return Outcome(str(self), "the run has no such metric", missed=True)
        mean = result[self.metric]
        interval = mean.soft_interval if self.soft else mean.interval
        at_end = interval and interval[self.over]
        found = at_end if self.end else mean.soft if self.soft else mean.value
        if found is None:
            counted = f"{mean.scored} scored, {mean.undefined} undefined, {mean.failed} failed"
            return Outcome(str(self), f"nothing to hold it against ({counted})", missed=True)
        beyond = found - self.limit if self.over else self.limit - found
        missed = beyond > _ROUNDING
        shown = digits(found, self.limit) if abs(beyond) > _ROUNDING else f"{found:.4f}"
        return Outcome(str(self), shown, missed)

    def __str__(self) -> str:
        end = ("upper" if self.over else "lower") + " end of the 95 % interval of the " if self.end else ""
        soft = "soft " if self.soft else ""
        limit = str(self.limit).removesuffix(".0")
        return f"{self.metric}: {end}{soft}mean {'at most' if self.over else 'at least'} {limit}"


_ROUNDING = 1e-9  # a mean of 0.8 may be stored as 0.7999999999999999
_LEAST_SHARE = 0.5  # of the samples that the baseline scored: fewer say little of the whole
_UNDER = ("--fail-under", "lower", "--fail-over")


def drops(result: Result, baseline: Result, where: str) -> tuple[list[Outcome], tuple[str, ...]]:
    """(the gates of `dropped`, warnings) against `baseline`, which the caller knows as `where`.

    Where the runs can't be compared, that is one missed gate.
    """
    try:
        compared = compare(baseline, result)
    except LocalevalError as error:
        return [Outcome(_no_drop(where), str(error), missed=True)], ()
    return dropped(compared, where), (*compared.warnings, *_left_out(compared))


def dropped(compared: Comparison, where: str) -> list[Outcome]:
    """A gate for each metric that both runs have: it did not get worse than in the first run, `where`.

    Worse is a lower mean of value, or a higher one of a rate of a fault, with p < 0.05
    (`localeval.runs.compare`), of the samples that were scored in both. Where these are fewer than
    half of those that the first run scored, the gate is missed.
    """
    outcomes = []
    for metric, found in compared.metrics.items():
        few = found.pairs < _LEAST_SHARE * found.scored[0]
        missed = few or found.finding in ("worse", "differs", "nothing to compare")
        outcomes.append(Outcome(f"{metric}: {_no_drop(where)}", _seen(found, few), missed))
    return outcomes


def _no_drop(where: str) -> str:
    return f"no drop from {printable(where)}"


def _seen(found: Compared, few: bool) -> str:
    if found.value is None:
        return "no sample was scored in both runs"
    over = f"over {found.pairs} of {found.scored[0]} samples"
    p = digits(found.value.p, SIGNIFICANT)
    change = f"{found.value.a:.4f} before, {found.value.b:.4f} now, p = {p}"
    too_few = "fewer than half of the samples were scored again: " if few else ""
    return f"{too_few}{found.finding} {over} ({change})"


def _left_out(compared: Comparison) -> Iterator[str]:
    """A sentence on the samples of one run alone, and one for each metric in which samples failed."""
    if compared.only_a or compared.only_b:
        yield (
            f"samples in that run alone: {compared.only_a}, in this one alone: {compared.only_b}; "
            "none of them is compared"
        )
    for metric, found in compared.metrics.items():
        if any(found.failed):
            before, now = found.failed
            yield f"{metric}: failed in that run: {before}, in this one: {now}; none of them is compared"
