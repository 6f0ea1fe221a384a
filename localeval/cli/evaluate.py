"""`localeval evaluate` and `localeval score`: judge samples, and print the result."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from localeval.cli.options import JUDGING, TIMEOUT, option, pop_options, split_options
from localeval.cli.reading import READ_OPTIONS, read_file, source_file
from localeval.cli.runs import GATES, Gates, exit_unless_scored, show
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics import Metric
from localeval.metrics.score import explain
from localeval.metrics.signature import needs_judge
from localeval.models.catalog import AUTO, EMBEDDERS
from localeval.options import Options
from localeval.prompts.criteria import as_criteria
from localeval.report.progress import live_line
from localeval.report.text import language_warnings, notes_on_texts
from localeval.runs.evaluate import evaluate, metrics_for, missing_models, plan
from localeval.runs.folder import REPORT, RESULTS, check_default
from localeval.runs.plan import Plan
from localeval.runs.pool import threads_each
from localeval.runs.result import Result
from localeval.samples import Samples, read_samples
from localeval.system.terminal import say
from localeval.text.display import escaped_json


def _number_or_text(value: str) -> int | str:
    return int(value) if value.isdecimal() else value


_PARALLEL_OPTIONS = [
    option(
        "--workers",
        type=_number_or_text,
        default="1",
        metavar="NUMBER|auto",
        show_default=True,
        help="Processes that judge in parallel; auto: as many as cores and memory allow, with about four "
        "threads each. They share the cores, unless --threads sets the threads of each.",
    ),
    click.Option(
        ["--ray"], metavar="ADDRESS", help="Judge on the Ray cluster at this address; auto: the local one."
    ),
    click.Option(["--shard"], metavar="N/OF", help="Judge only this part of the data, as 2/5; see `merge`."),
    TIMEOUT,
]
_OUTPUT = option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="The run's folder; a second call goes on where the first ended.  [default: runs/NAME-OF-FILE, "
    "with the number of the shard]",
)


@click.command("evaluate", params=[*READ_OPTIONS, *JUDGING, *GATES, _OUTPUT, *_PARALLEL_OPTIONS])
@click.argument("file", required=False)
@click.option("--example", is_flag=True, help="Score the shipped samples instead of FILE.")
@click.option("--plan", "plan_only", is_flag=True, help="Show what the run would take, and exit.")
@click.option(
    "--require-certified",
    multiple=True,
    metavar="CARD",
    help="Exit 1, where possible before anything is judged, unless the judge is certified for this run by "
    "CARD, a file or folder that `card --certify` wrote. May be given several times.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no plan and no live line.")
def evaluate_command(
    file: str | None,
    example: bool,
    plan_only: bool,
    require_certified: tuple[str, ...],
    quiet: bool,
    output: Path | None,
    as_json: bool,
    metrics: list[str] | None,
    **values: Any,
) -> None:
    """FILE is JSONL, JSON, CSV, TSV or Parquet; - is stdin."""
    gates = Gates(**pop_options(values, GATES))
    reading = pop_options(values, READ_OPTIONS)
    parallel = pop_options(values, _PARALLEL_OPTIONS)
    judge, options = split_options(values)
    samples = read_file(source_file(file, example), options["seed"], **reading)
    selected = metrics_for(metrics, samples, as_criteria(options["criteria"]))
    names = [metric.name for metric in selected]
    gates.check(names)
    gates.check_uncorrected()
    folder = output or _default_folder(file, parallel["shard"])
    if output is None:
        check_default(folder, samples, names)
    threads = threads_each(parallel["workers"])
    if parallel["ray"] is None:
        judge["n_threads"] = judge["n_threads"] or threads
    with _load_judge(judge, selected, options) as loaded:
        if metrics is None:
            gates.check_models(loaded, options)
        if metrics is None and output is None:
            _check_metrics_left_out(folder, samples, selected, loaded, options)
        if plan_only:
            _show_plan(plan(samples, metrics, loaded, folder, parallel["shard"], **options), as_json)
            return
        with live_line(quiet) as line:
            watch = None if quiet else line
            result = evaluate(
                samples,
                metrics,
                loaded,
                folder,
                watch=watch,
                require_certified=require_certified,
                **parallel,
                **options,
            )
    show(result, as_json)
    _suggest_embedder(result, judge["embedder"])
    say(f"records and scores: {folder / RESULTS}")
    say(f"report: {folder / REPORT}")
    gates.enforce(result)
    exit_unless_scored(result)
    _exit_unless_certified(result)


def _show_plan(run_plan: Plan, as_json: bool) -> None:
    """Print a plan; exit 2, as the run would, where the judge does not fit into memory."""
    click.echo(json.dumps(run_plan.to_dict(), indent=1) if as_json else str(run_plan))
    if not run_plan.fits:
        sys.exit(2)


def _exit_unless_certified(result: Result) -> None:
    """Exit 1 if a certificate that the run requires does not hold for all of it."""
    if not all(stamp.holds for stamp in result.certificates):
        say("the judge is not certified for all of this run; the reasons are above")
        sys.exit(1)


def _load_judge(judge: dict[str, Any], metrics: Sequence[Metric], options: Mapping[str, Any]) -> Judge:
    """Load the judge of the command's options, without its model where no metric asks one."""
    if needs_judge(metrics, Options.read(options)):
        return Judge.load(**judge)
    return Judge.load(**{**judge, "model": None})


def _default_folder(file: str | None, shard: str | None) -> Path:
    """Return the run's folder where none is named.

    >>> _default_folder("data.jsonl", "1/2").as_posix(), _default_folder("-", None).as_posix()
    ('runs/data-1-of-2', 'runs/stdin')
    """
    name = "stdin" if file == "-" else Path(file or "example").stem
    if shard:
        name += f"-{shard}".replace("/", "-of-")
    return Path("runs") / name


def _check_metrics_left_out(
    folder: Path, samples: Samples, selected: Sequence[Metric], judge: Judge, options: Mapping[str, Any]
) -> None:
    """Refuse a default folder whose finished run has a metric that is left out for want of its model."""
    if not judge.auxiliary_models.auto:
        return
    missing = missing_models(selected, judge, Options.read(options))
    if 0 < len(missing) < len(selected):
        check_default(folder, samples, [metric.name for metric in selected if metric.name not in missing])


def _suggest_embedder(result: Result, chosen: str) -> None:
    """Name the best embedder on stderr, where another one was found by itself."""
    used = result.signature.embedder.get("name")
    best = EMBEDDERS[0]
    if chosen == AUTO and used and used != best:
        say(f"questions were compared by {used}; a larger embedder: localeval models fetch {best}")


@click.command("score", params=[*JUDGING, TIMEOUT])
@click.option("--user-input", "--question", help="The question.")
@click.option("--response", "--answer", help="The answer.")
@click.option("--context", "contexts", multiple=True, help="A retrieved context; may be given several times.")
@click.option("--reference", help="The correct answer.")
def score_command(
    user_input: str | None,
    response: str | None,
    contexts: tuple[str, ...],
    reference: str | None,
    as_json: bool,
    metrics: list[str] | None,
    timeout: float | None,
    **values: Any,
) -> None:
    judge, options = split_options(values)
    sample = {"user_input": user_input, "response": response, "reference": reference}
    if response is None and not contexts:
        raise InputError("there is nothing to score; give --response, --context, or both.")
    samples = read_samples([{**sample, "retrieved_contexts": list(contexts)}])
    samples.name = "--user-input, --response, --context, --reference"
    # They are options here, and no columns that could be named.
    samples.columns = []
    # Raises for a missing column before a model is loaded.
    selected = metrics_for(metrics, samples, as_criteria(options["criteria"]))
    with _load_judge(judge, selected, options) as loaded:
        result = evaluate(samples, metrics, loaded, timeout=timeout, **options)
    if as_json:
        click.echo(escaped_json(result.to_json()), nl=False)
        _exit_if_failed(result)
        return
    for name, metric_score in result.samples[0].scores.items():
        if metric_score.status == "scored":
            click.echo(f"{name} {metric_score.value:.4f} soft {metric_score.soft:.4f}")
        else:
            click.echo(f"{name} {metric_score.status} {explain(metric_score.reason)}")
    for note in [*notes_on_texts(result.samples[0], result), *language_warnings(result)]:
        say(f"note: {note}")
    _exit_if_failed(result)


def _exit_if_failed(result: Result) -> None:
    """Exit 1 if the sample was scored by no metric and a judgement failed; undefined is an outcome."""
    statuses = {score.status for score in result.samples[0].scores.values()}
    if "failed" in statuses and "scored" not in statuses:
        sys.exit(1)
