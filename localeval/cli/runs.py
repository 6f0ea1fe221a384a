"""Commands for one finished run, and what `evaluate` shares with them: printing a result, checking gates."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from localeval.analysis.gates import (
    Bound,
    Drop,
    Limits,
    Outcome,
    as_junit,
    count_gates,
    gates_against,
)
from localeval.cli.options import JSON, RESCORING, pop_options
from localeval.cli.output_files import JUNIT, OUTPUT_FILE, PAGE, SCORES, check_output_file
from localeval.errors import InputError, ModelMissing
from localeval.judge import Judge
from localeval.metrics import METRICS
from localeval.options import Options
from localeval.report import formats
from localeval.report.progress import live_line
from localeval.report.text import as_text, explain_reasons
from localeval.runs import folder
from localeval.runs.cost import cost_table, judgement_costs
from localeval.runs.rescore import rescore
from localeval.runs.result import Result
from localeval.runs.results_file import results_text
from localeval.runs.shards import merge
from localeval.runs.verify import verify
from localeval.system.files import atomic_write, writing_to
from localeval.system.terminal import drop_output, say
from localeval.text.display import escaped_json

LIMITS = [
    click.Option(
        ["--max-failed"],
        metavar="SHARE|NUMBER",
        help="A gate is missed if more samples failed or were skipped; 0.05 is a share, 3 a number.  "
        "[default: 0.05]",
    ),
    click.Option(
        ["--max-undefined"],
        metavar="SHARE|NUMBER",
        help="A gate is missed if more samples are undefined.  [default: 0.5; 0.05 for samples that the run "
        "of --fail-on-drop scored]",
    ),
]
GATES = [
    click.Option(
        ["--fail-under"],
        multiple=True,
        metavar="METRIC=NUMBER",
        help="Exit 1 if the mean is below, or too many samples have no score; METRIC:lower is the lower end "
        "of its interval, METRIC:soft the mean of soft, METRIC:corrected and METRIC:corrected:lower what "
        "labels or a card correct (`rescore`). May be given several times.",
    ),
    click.Option(
        ["--fail-over"],
        multiple=True,
        metavar="METRIC=NUMBER",
        help="For metrics where lower is better: exit 1 if the mean is above; METRIC:upper, METRIC:soft.",
    ),
    click.Option(
        ["--fail-on-drop"],
        multiple=True,
        metavar="RUN|METRIC:drop=NUMBER",
        help="Exit 1 if a metric is worse than in RUN by more than chance (p < 0.05) or not computed, or "
        "too many of the samples scored there were not scored again. Given again as METRIC:drop=NUMBER: if "
        "its mean is worse by more than that.",
    ),
    *LIMITS,
    click.Option(["--junit"], type=OUTPUT_FILE, metavar="FILE", help="Write the gates as JUnit XML."),
]


def show(result: Result, as_json: bool = False) -> None:
    """Print a result, and explain its reason codes on stderr. A closed pipe is no error."""
    try:
        click.echo(escaped_json(result.to_json()) if as_json else as_text(result), nl=not as_json)
    except BrokenPipeError:
        drop_output()
    for line in explain_reasons(result):
        say(line)


def exit_unless_scored(result: Result) -> None:
    """Name the metrics by which no sample was scored on stderr; exit 1 if these are all."""
    unscored = [metric for metric in result.metrics if not result[metric].scored]
    if not unscored:
        return
    samples = f"none of {len(result.samples)} samples"
    if len(unscored) < len(result.metrics):
        say(f"{samples} was scored by {', '.join(unscored)}")
        return
    say(f"{samples} was scored; the reasons are above")
    sys.exit(1)


class Gates:
    """The gates of a command. They are read, with the baseline, before anything is judged."""

    def __init__(
        self,
        fail_under: Sequence[str],
        fail_over: Sequence[str],
        fail_on_drop: Sequence[str],
        junit: Path | None,
        max_failed: str | None,
        max_undefined: str | None,
    ) -> None:
        if junit is not None:
            check_output_file("junit", JUNIT)
        lower_bounds = [Bound.read(text) for text in fail_under]
        upper_bounds = [Bound.read(text, over=True) for text in fail_over]
        self._bounds = [*lower_bounds, *upper_bounds]
        self._drops, runs = _drops_and_runs(fail_on_drop)
        self._baseline = _baseline(runs, self._drops)
        self._limits = Limits.read(max_failed, max_undefined)
        self._counts = max_failed is not None or max_undefined is not None
        self._junit = junit
        if junit is not None and not (self._bounds or self._baseline or self._counts):
            raise InputError("--junit lists gates, and there is none; add --fail-under or --fail-over.")

    def check(self, metrics: Sequence[str]) -> None:
        """Raise InputError for a bound on a metric that is not computed."""
        for name in self._named():
            if name not in metrics:
                raise InputError(
                    f"a gate names {name}, which is not computed here ({', '.join(metrics)}); "
                    "add it with -m, or leave the gate out."
                )

    def check_uncorrected(self) -> None:
        """Raise InputError for a bound on a corrected number: a run that is judged now has none."""
        for bound in self._bounds:
            if bound.corrected:
                raise InputError(
                    f"a gate names the corrected number of {bound.metric}, which needs labels or a card; "
                    "give the gate to `rescore`, with --labels or --card."
                )

    def check_models(self, judge: Judge, options: Mapping[str, Any]) -> None:
        """Raise InputError for a bound on a metric that `evaluate` leaves out, as its model is not here."""
        if not judge.auxiliary_models.auto:
            return
        for name in self._named():
            try:
                judge.check_requirements([METRICS[name]], Options.read(options))
            except ModelMissing as error:
                raise InputError(f"a gate names {name}, which is left out: {error}") from error

    def _named(self) -> list[str]:
        """Return the metrics that have a bound."""
        return [*(bound.metric for bound in self._bounds), *(drop.metric for drop in self._drops)]

    def enforce(self, result: Result) -> None:
        """Report each gate on stderr, and write JUnit XML if asked; exit 1 if a gate was missed."""
        outcomes = [bound.check(result, self._limits) for bound in self._bounds]
        if self._counts:
            bounded = {bound.metric for bound in self._bounds}
            others = [metric for metric in result.metrics if metric not in bounded]
            outcomes += count_gates(result, others, self._limits)
        if self._baseline is not None:
            path, baseline = self._baseline
            drop_outcomes, warnings = gates_against(result, baseline, path, self._drops, self._limits)
            outcomes += drop_outcomes
            for warning in warnings:
                say(f"{path}: {warning}")
        missed = some_missed(outcomes)
        if self._junit is not None:
            with writing_to(self._junit, "gates"):
                atomic_write(self._junit, [as_junit(outcomes, "localeval")])
        if missed:
            sys.exit(1)


def _drops_and_runs(texts: Sequence[str]) -> tuple[list[Drop], list[str]]:
    """Tell the bounds of --fail-on-drop from the paths of runs."""
    drops = []
    runs = []
    for text in texts:
        if Drop.is_one(text):
            drops.append(Drop.read(text))
        else:
            runs.append(text)
    return drops, runs


def _baseline(paths: Sequence[str], drops: Sequence[Drop]) -> tuple[str, Result] | None:
    """Load the run of --fail-on-drop. Raises InputError for several, or for bounds without a run."""
    if len(paths) > 1:
        raise InputError(f"--fail-on-drop names {len(paths)} runs; name one.")
    if not paths:
        if drops:
            raise InputError("--fail-on-drop has a bound and no run; add --fail-on-drop RUN.")
        return None
    return paths[0], folder.load(Path(paths[0]))


def some_missed(outcomes: Sequence[Outcome]) -> bool:
    """Report each gate on stderr, and return whether one was missed."""
    for outcome in outcomes:
        say(str(outcome))
    return any(outcome.missed for outcome in outcomes)


_RUN = click.argument("run", type=click.Path(path_type=Path))


@click.command("report", params=[JSON])
@_RUN
@click.option(
    "--html",
    type=OUTPUT_FILE,
    help="Path of the page.  [default: report.html in the run's folder]",
)
@click.option(
    "--cost",
    "only_cost",
    is_flag=True,
    help="Show the time and the tokens of each judgement instead; write nothing.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Also show means, intervals and counts by the values of this column of the data; lang is found "
    "where the data does not have it. May be given several times.",
)
def report_command(run: Path, html: Path | None, only_cost: bool, by: tuple[str, ...], as_json: bool) -> None:
    """RUN is the folder of a finished run; no model is needed."""
    if only_cost:
        click.echo(cost_table(judgement_costs(run)))
        return
    check_output_file("html", PAGE, own=run / folder.REPORT)
    result = folder.load(run)
    result.slice_by(*by)
    title = run.resolve().name
    show(result, as_json)
    if html is None:
        written = formats.write_pages(result, run, title)
    else:
        result.to_html(html, title=title)
        written = [(formats.REPORT.name, html)]
    for name, path in written:
        say(f"{name}: {path}")


@click.command("rescore", params=[*RESCORING, JSON, *GATES])
@_RUN
@click.option(
    "--labels",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Labels of samples that were drawn at random (`label` makes such a file): they correct the metric.",
)
@click.option("--label-metric", metavar="METRIC", help="What the labels are of.  [default: as the file says]")
@click.option(
    "--labels-are-random",
    is_flag=True,
    help="The labels are of a random draw from this run, which the file does not say.",
)
@click.option(
    "--card",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A card of the same judge on other samples corrects its metric, where it is not too uncertain.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT_FILE,
    help="Also write a file like results.json; the run's own is overwritten only if it is named here.",
)
def rescore_command(
    run: Path, metrics: list[str] | None, output: Path | None, as_json: bool, **values: Any
) -> None:
    """RUN is the folder of a run, with its journal. Options that are not given stay as the run had them."""
    check_output_file("output", SCORES, own=run / folder.RESULTS)
    folder.register_criteria_of(run)
    gates = Gates(**pop_options(values, GATES))
    options = {name: value for name, value in values.items() if value is not None}
    replaces_own = output is not None and output.resolve() == (run / folder.RESULTS).resolve()
    # Locked before it is read: what another process writes in between would be replaced by older scores.
    with folder.locked(run) if replaces_own else nullcontext():
        result = rescore(run, metrics, **options)
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
    exit_unless_scored(result)


@click.command("merge")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The folder of the merged run."
)
def merge_command(runs: tuple[Path, ...], output: Path) -> None:
    """RUNS are the folders of the shards; no model is needed."""
    result = merge(runs, output)
    show(result)
    say(f"records and scores: {output / folder.RESULTS}")
    exit_unless_scored(result)


@click.command("verify")
@_RUN
@click.option("--share", default=0.1, show_default=True, help="Share of the samples, above 0 and up to 1.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draw.")
@click.option("-q", "--quiet", is_flag=True, help="Show no live line.")
def verify_command(run: Path, share: float, seed: int, quiet: bool) -> None:
    """RUN is the folder of a finished run; exit 1 if a judgement differs."""
    with live_line(quiet, "Verifying") as progress:
        result = verify(run, share, seed, progress=progress)
    if result.difference:
        say(f"{run}: {result.difference}")
        sys.exit(1)
    message = f"{result.again} of {result.judged} samples were judged again: the same, byte for byte"
    if result.left_out:
        message += f" ({result.left_out} left out, as the engine failed there; `evaluate` judges them again)"
    click.echo(message)
