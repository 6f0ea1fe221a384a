"""Gates: what a run must reach, so that a script can stop where it does not.

    faithfulness=0.8              the mean of value is at least 0.8
    faithfulness:lower=0.75       so is the lower end of its 95 % interval
    faithfulness:soft=0.8         the mean of soft; faithfulness:soft:lower likewise
    hallucination=0.1             for a rate of a fault, with `over`: the mean is at most 0.1
    hallucination:upper=0.15      so is the upper end of its interval

A gate is missed, too, where no sample was scored, or where there is no interval: it can't be said to hold.
"""

from __future__ import annotations

from dataclasses import dataclass

from localeval.compare import compare, higher_is_better
from localeval.errors import InputError, LocalevalError
from localeval.result import Result
from localeval.scoring import choose_metrics
from localeval.texts import printable, said


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
        if higher_is_better(metric) == over:
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
        return Outcome(str(self), f"{found:.4f}", missed)

    def __str__(self) -> str:
        end = ("upper" if self.over else "lower") + " end of the 95 % interval of the " if self.end else ""
        soft = "soft " if self.soft else ""
        return f"{self.metric}: {end}{soft}mean {'at most' if self.over else 'at least'} {self.limit:g}"


_ROUNDING = 1e-9  # a mean of 0.8 may be stored as 0.7999999999999999
_UNDER = ("--fail-under", "lower", "--fail-over")


def drops(result: Result, baseline: Result, where: str) -> tuple[list[Outcome], tuple[str, ...]]:
    """(a gate for each metric that both runs have, warnings): none got worse than in `baseline`.

    Worse is a lower mean of value, or a higher one of a rate of a fault, with p < 0.05 (`localeval.compare`).
    Where the runs can't be compared, that is one missed gate. `where` is the baseline as the caller knows it.
    """
    name = f"no drop from {printable(where)}"
    try:
        compared = compare(baseline, result)
    except LocalevalError as error:
        return [Outcome(name, str(error), missed=True)], ()
    outcomes = []
    for metric, found in compared.metrics.items():
        seen = "no sample was scored in both runs"
        if found.value is not None:
            change = f"{found.value.a:.4f} before, {found.value.b:.4f} now, p = {found.value.p:.4f}"
            seen = f"{found.finding} ({change})"
        missed = found.finding in ("worse", "differs", "nothing to compare")
        outcomes.append(Outcome(f"{metric}: {name}", seen, missed))
    return outcomes, compared.warnings
