"""`--fail-under`, `--fail-over`, `--fail-on-drop` and `--junit`, for every command that ends in a result."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from localeval.cli.places import place_of
from localeval.cli.talk import say
from localeval.errors import InputError
from localeval.system.files import write_whole, writing_to

if TYPE_CHECKING:
    from localeval.runs.gates import Bound, Outcome
    from localeval.runs.result import Result

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--fail-under",
        multiple=True,
        metavar="METRIC=NUMBER",
        help="Exit 1 if the mean is below; METRIC:lower is the lower end of its interval, METRIC:soft the "
        "mean of soft. May be given several times.",
    ),
    click.option(
        "--fail-over",
        multiple=True,
        metavar="METRIC=NUMBER",
        help="The same for a rate of a fault: exit 1 if it is above; METRIC:upper, METRIC:soft.",
    ),
    click.option(
        "--fail-on-drop",
        type=click.Path(path_type=Path),
        metavar="RUN",
        help="Exit 1 if a metric is worse than in this run by more than chance (p < 0.05), or fewer than "
        "half of the samples that it scored were scored again.",
    ),
    click.option("--junit", type=click.Path(), metavar="FILE", help="Write the gates as JUnit XML."),
)


@dataclass(frozen=True)
class Gates:
    """The bounds that a result will be held against."""

    bounds: Sequence[Bound]

    def check(self, metrics: Sequence[str]) -> None:
        """Raises InputError for one on a metric that is not among those that are computed."""
        for bound in self.bounds:
            if bound.metric not in metrics:
                raise InputError(
                    f"a gate names {bound.metric}, which is not computed here ({', '.join(metrics)}); "
                    "add it with -m, or leave the gate out."
                )


def gated(command: F) -> F:
    """Add the options to a command that returns a `Result` or None, and hold the result against them.

    They are read, with the baseline, before the command begins: what is wrong with them costs no judging.
    The command gets them as `gates`, and checks them as soon as it knows which metrics it computes. A missed
    gate is named on stderr, and the exit code is 1. A command that returns None made no run, and no gate is
    looked at.
    """

    @functools.wraps(command)
    def checked(
        *arguments: Any,
        fail_under: Sequence[str],
        fail_over: Sequence[str],
        fail_on_drop: Path | None,
        junit: str | None,
        **rest: Any,
    ) -> Any:
        bounds = _bounds(fail_under, fail_over)
        baseline = _baseline(fail_on_drop)
        place = None if junit is None else place_of(junit, "--junit", "gates.xml", rest.get("file"))
        if place is not None and not bounds and baseline is None:
            raise InputError("--junit lists gates, and there is none; add --fail-under METRIC=NUMBER, say.")
        result = command(*arguments, gates=Gates(bounds), **rest)
        if result is None:
            return None
        outcomes = [bound.check(result) for bound in bounds]
        if baseline is not None:
            outcomes += _drops(result, baseline, str(fail_on_drop))
        missed = some_missed(outcomes)
        if place is not None:
            _write(place, outcomes)
        if missed:
            sys.exit(1)
        return result

    function: Any = checked
    for option in reversed(_OPTIONS):
        function = option(function)
    gated_command: F = function
    return gated_command


def some_missed(outcomes: Sequence[Outcome]) -> bool:
    """Name each gate on stderr, and tell whether one was missed."""
    for outcome in outcomes:
        say(str(outcome))
    return any(outcome.missed for outcome in outcomes)


def _bounds(under: Sequence[str], over: Sequence[str]) -> list[Bound]:
    from localeval.runs.gates import Bound

    return [*map(Bound.read, under), *(Bound.read(text, over=True) for text in over)]


def _baseline(folder: Path | None) -> Result | None:
    from localeval.runs.folder import load

    return None if folder is None else load(folder)


def _drops(result: Result, baseline: Result, where: str) -> list[Outcome]:
    from localeval.runs.gates import drops

    outcomes, warnings = drops(result, baseline, where)
    for warning in warnings:
        say(f"{where}: {warning}")
    return outcomes


def _write(path: Path, outcomes: Sequence[Outcome]) -> None:
    from localeval.runs.gates import as_junit

    with writing_to(path, "gates"):
        write_whole(path, [as_junit(outcomes, "localeval")])
