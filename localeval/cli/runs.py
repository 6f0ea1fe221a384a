"""Commands for finished runs, and what `evaluate` shares with them: to print a result, and to check gates."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from localeval.cli.options import JSON, JUNIT, PAGE, RESCORING, SCORES, OutputFile, take_options
from localeval.errors import InputError, ModelMissing
from localeval.judge import Judge
from localeval.metrics import METRICS
from localeval.prompts.options import Options
from localeval.report.progress import live_line
from localeval.report.text import as_text, reasons_told
from localeval.runs import folder
from localeval.runs import verify as verification
from localeval.runs.compare import compare as compare_runs
from localeval.runs.gates import Bound, Outcome, as_junit, drop_gates, gates_against
from localeval.runs.rescore import rescore as rescore_run
from localeval.runs.result import Result, results_text
from localeval.runs.shards import merge as merge_runs
from localeval.system.files import atomic_write, writing_to
from localeval.system.terminal import drop_output, say
from localeval.text.display import escaped_json

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
    click.Option(["--junit"], type=OutputFile(JUNIT), metavar="FILE", help="Write the gates as JUnit XML."),
]


def show(result: Result, as_json: bool = False) -> None:
    """Print a result, and explain its reason codes on stderr. A closed pipe is no error."""
    try:
        click.echo(escaped_json(result.to_json()) if as_json else as_text(result), nl=not as_json)
    except BrokenPipeError:
        drop_output()
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
        self._baseline = None if fail_on_drop is None else (str(fail_on_drop), folder.load(fail_on_drop))
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


_RUN = click.argument("run", type=click.Path(path_type=Path))


@click.command()
@_RUN
@click.option(
    "--html",
    type=OutputFile(PAGE, folder.REPORT),
    help="Path of the page.  [default: report.html in the run's folder]",
)
def report(run: Path, html: Path | None) -> None:
    """RUN is the folder of a finished run; no model is needed."""
    result, path = folder.load(run), html or run / folder.REPORT
    show(result)
    result.to_html(path, title=run.resolve().name)
    say(f"report: {path}")


@click.command(params=[*RESCORING, JSON, *GATES])
@_RUN
@click.option(
    "-o",
    "--output",
    type=OutputFile(SCORES, folder.RESULTS),
    help="Also write a file like results.json; the run's own is overwritten only if it is named here.",
)
def rescore(run: Path, metrics: list[str] | None, output: Path | None, as_json: bool, **values: Any) -> None:
    """RUN is the folder of a run, with its journal. Options that are not given are those of the run."""
    gates = Gates(**take_options(values, GATES))
    options = {name: value for name, value in values.items() if value is not None}
    replaces_own = output is not None and output.resolve() == (run / folder.RESULTS).resolve()
    # Locked before it is read: what another process writes in between would be replaced by older scores.
    with folder.locked(run) if replaces_own else nullcontext():
        result = rescore_run(run, metrics, **options)
        gates.check(result.metrics)
        show(result, as_json)
        if replaces_own:
            folder.replace_results(run, result)
        elif output is not None:
            with writing_to(output, "scores"):
                atomic_write(output, results_text(result))
    if output is not None:
        say(f"scores: {output}")
    gates.enforce(result)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the merged run."
)
def merge(runs: tuple[Path, ...], output: Path) -> None:
    """RUNS are the folders of the shards; no model is needed."""
    show(merge_runs(runs, output))
    say(f"records and scores: {output / folder.RESULTS}")


@click.command()
@_RUN
@click.option("--share", default=0.1, show_default=True, help="Share of the samples, above 0 and up to 1.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draw.")
@click.option("-q", "--quiet", is_flag=True, help="Show no live line.")
def verify(run: Path, share: float, seed: int, quiet: bool) -> None:
    """RUN is the folder of a finished run; exit 1 if a judgement differs."""
    with live_line(quiet, "Verifying") as progress:
        result = verification.verify(run, share, seed, progress=progress)
    if result.difference:
        say(f"{run}: {result.difference}")
        sys.exit(1)
    message = f"{result.again} of {result.judged} samples were judged again: the same, byte for byte"
    if result.left_out:
        message += f" ({result.left_out} left out, as the engine failed there; `evaluate` judges them again)"
    click.echo(message)


@click.command(params=[JSON])
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Also compare runs that differ in what moves numbers.")
@click.option(
    "--fail-on-drop",
    is_flag=True,
    help="Exit 1 if a metric got worse by more than chance, fewer than half of the samples that A scored "
    "were scored in B, or B lacks a metric of A.",
)
def compare(a: Path, b: Path, force: bool, fail_on_drop: bool, as_json: bool) -> None:
    """A and B are the folders of the runs, and a difference is B minus A. Runs that differ in what moves
    numbers (judge, prompts, versions, options, seed) are refused with exit 1 and the fields that differ.
    """
    comparison = compare_runs(a, b, force=force)
    if as_json:
        click.echo(escaped_json(json.dumps(comparison.to_dict(), ensure_ascii=False, indent=1)))
    else:
        click.echo(str(comparison))
    if fail_on_drop and some_missed(drop_gates(comparison, str(a))):
        sys.exit(1)
