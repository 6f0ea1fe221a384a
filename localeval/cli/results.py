"""Functions of commands that end in a result: print it, and check it against gates."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from localeval.cli.options import OutputFile
from localeval.errors import InputError, ModelMissing
from localeval.judge import Judge
from localeval.metrics import METRICS
from localeval.prompts.options import Options
from localeval.report.text import as_text, reasons_told
from localeval.runs.folder import load
from localeval.runs.gates import Bound, Outcome, as_junit, gates_against
from localeval.runs.result import Result
from localeval.system.files import atomic_write, writing_to
from localeval.system.terminal import say

GATES = [
    click.Option(
        ["--fail-under"],
        multiple=True,
        metavar="METRIC=NUMBER",
        help="Exit 1 if the mean is below; METRIC:lower is the lower end of its interval, METRIC:soft the "
        "mean of soft. May be given several times.",
    ),
    click.Option(
        ["--fail-over"],
        multiple=True,
        metavar="METRIC=NUMBER",
        help="For metrics where lower is better: exit 1 if the mean is above; METRIC:upper, METRIC:soft.",
    ),
    click.Option(
        ["--fail-on-drop"],
        type=click.Path(path_type=Path),
        metavar="RUN",
        help="Exit 1 if a metric is worse than in RUN by more than chance (p < 0.05) or not computed, or "
        "fewer than half of the samples scored there were scored again.",
    ),
    click.Option(["--junit"], type=OutputFile(), metavar="FILE", help="Write the gates as JUnit XML."),
]


def show(result: Result, as_json: bool = False) -> None:
    """Print a result, and explain its reason codes on stderr."""
    click.echo(result.to_json() if as_json else as_text(result), nl=not as_json)
    for line in reasons_told(result):
        say(line)


class Gates:
    """The gates of a command. They are read, with the baseline, before anything is judged."""

    def __init__(
        self,
        fail_under: Sequence[str],
        fail_over: Sequence[str],
        fail_on_drop: Path | None,
        junit: Path | None,
    ) -> None:
        self._bounds = [*map(Bound.read, fail_under), *(Bound.read(text, over=True) for text in fail_over)]
        self._baseline = None if fail_on_drop is None else (str(fail_on_drop), load(fail_on_drop))
        self._junit = junit
        if junit is not None and not self._bounds and self._baseline is None:
            raise InputError("--junit lists gates, and there is none; add --fail-under or --fail-over.")

    def check(self, metrics: Sequence[str]) -> None:
        """Raise InputError for a bound on a metric that is not computed."""
        for bound in self._bounds:
            if bound.metric not in metrics:
                raise InputError(
                    f"a gate names {bound.metric}, which is not computed here ({', '.join(metrics)}); "
                    "add it with -m, or leave the gate out."
                )

    def check_models(self, judge: Judge, options: Mapping[str, Any]) -> None:
        """Raise InputError for a bound on a metric that `evaluate` leaves out, as its model is not here."""
        for bound in self._bounds if judge.auxiliary_models.auto else ():
            try:
                judge.ready([METRICS[bound.metric]], Options.read(options))
            except ModelMissing as error:
                raise InputError(f"a gate names {bound.metric}, which is left out: {error}") from error

    def enforce(self, result: Result) -> None:
        """Report each gate on stderr, and write JUnit XML if asked; exit 1 if a gate was missed."""
        outcomes = [bound.check(result) for bound in self._bounds]
        if self._baseline is not None:
            path, baseline = self._baseline
            drop_outcomes, warnings = gates_against(result, baseline, path)
            outcomes += drop_outcomes
            for warning in warnings:
                say(f"{path}: {warning}")
        missed = some_missed(outcomes)
        if self._junit is not None:
            with writing_to(self._junit, "gates"):
                atomic_write(self._junit, [as_junit(outcomes, "localeval")])
        if missed:
            sys.exit(1)


def some_missed(outcomes: Sequence[Outcome]) -> bool:
    """Report each gate on stderr, and return whether one was missed."""
    for outcome in outcomes:
        say(str(outcome))
    return any(outcome.missed for outcome in outcomes)
