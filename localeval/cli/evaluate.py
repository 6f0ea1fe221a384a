"""`localeval evaluate` and `localeval score`: judge samples, and print what came out."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import click

from localeval.cli.options import JUDGING, OutputFolder, option, split_options, take_options
from localeval.cli.results import GATES, Gates, show
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics.score import explain
from localeval.models.catalog import AUTO, EMBEDDERS
from localeval.report.progress import live_line
from localeval.runs.evaluate import evaluate as run
from localeval.runs.evaluate import metrics_for, plan
from localeval.runs.folder import REPORT, RESULTS, check_default
from localeval.runs.workers import threads_each
from localeval.samples import FORMATS, Samples, read_samples
from localeval.system.terminal import say

EXAMPLE = resources.files("localeval") / "examples" / "answers.jsonl"
_MOST_SHOWN = 20  # of what was skipped
_READING = [
    click.Option(
        ["--format"], type=click.Choice(FORMATS), help="Of FILE.  [default: by its name, else jsonl]"
    ),
    click.Option(["--encoding"], help="Of FILE, as gb18030.  [default: utf-8, or by its byte order mark]"),
    click.Option(["--columns"], multiple=True, help="Where a field stands: user_input=q,response=a,..."),
    click.Option(["--limit"], type=click.IntRange(min=1), help="Read the first so many samples."),
    click.Option(["--id", "ids"], multiple=True, help="Of these only this one; may be given several times."),
    click.Option(["--sample"], type=click.IntRange(min=1), help="Of these draw so many, by --seed."),
    click.Option(["--skip-bad"], is_flag=True, help="Leave out what can't be read, and list it."),
]


_WHERE = [
    option(
        "--workers",
        type=lambda given: int(given) if given.isdecimal() else given,
        default="1",
        metavar="NUMBER|auto",
        show_default=True,
        help="Processes that judge side by side; auto: as many as cores and memory allow, of four "
        "threads each. They share the cores, unless --threads says how many each has.",
    ),
    click.Option(
        ["--ray"], metavar="ADDRESS", help="Judge on the Ray cluster there; auto: on the one that is here."
    ),
    click.Option(["--shard"], metavar="N/OF", help="Judge only this part of the data, as 2/5; see `merge`."),
]
_OUTPUT = option(
    *("--output", "-o"),
    type=OutputFolder(),
    help="The run's folder; a second call goes on where the first ended.  [default: runs/NAME-OF-FILE]",
)


@click.command(params=[*_READING, *JUDGING, *GATES, _OUTPUT, *_WHERE])
@click.argument("file", required=False)
@click.option("--example", is_flag=True, help="Score the shipped samples instead of a FILE.")
@click.option("--plan", "plan_only", is_flag=True, help="Tell what the run would take, and end.")
@click.option("-q", "--quiet", is_flag=True, help="No plan, no live line.")
def evaluate(
    file: str | None,
    example: bool,
    plan_only: bool,
    quiet: bool,
    output: Path | None,
    as_json: bool,
    metrics: list[str] | None,
    **given: Any,
) -> None:
    """FILE is JSONL, JSON, CSV, TSV or Parquet; - is stdin."""
    gates = Gates(**take_options(given, GATES))
    reading, where = take_options(given, _READING), take_options(given, _WHERE)
    judge, options = split_options(given)
    if example == (file is not None):
        raise InputError("give a FILE, or --example for the shipped samples: one of the two.")
    if file == "":
        raise InputError("FILE is empty; name one.")
    samples = _read(str(EXAMPLE) if file is None else file, options["seed"], **reading)
    gates.check([metric.name for metric in metrics_for(metrics, samples)])
    folder = output or Path("runs") / ("stdin" if file == "-" else Path(file or "example").stem)
    if output is None:
        check_default(folder, samples)
    threads = threads_each(where["workers"])
    if where["ray"] is None:
        judge["n_threads"] = judge["n_threads"] or threads
    if plan_only:
        with Judge.load(**judge) as loaded:
            planned = plan(samples, metrics, loaded, folder, where["shard"], **options)
        click.echo(json.dumps(planned.to_dict(), indent=1) if as_json else str(planned))
        if not planned.fits:
            sys.exit(2)
        return
    with Judge.load(**judge) as loaded, live_line(quiet) as line:
        watch = None if quiet else line
        result = run(samples, metrics, loaded, folder, watch=watch, **where, **options)
    show(result, as_json)
    used, best = result.signature.embedder.get("name"), EMBEDDERS[0]
    if judge["embedder"] == AUTO and used and used != best:
        say(f"questions were compared by {used}; a larger embedder: localeval models fetch {best}")
    say(f"records and scores: {folder / RESULTS}")
    say(f"report: {folder / REPORT}")
    gates.enforce(result)


def _read(file: str, seed: int, columns: tuple[str, ...], **reading: Any) -> Samples:
    """Read the samples; what was skipped is listed on stderr."""
    names: dict[str, str] = {}
    for pair in ",".join(columns).split(",") if columns else []:
        field, _, name = (part.strip() for part in pair.partition("="))
        if not (field and name):
            raise InputError(f"--columns: {pair.strip()!r} is not FIELD=NAME; write user_input=q,response=a.")
        if field in names:
            raise InputError(f"--columns: {field} is named twice; keep one.")
        names[field] = name
    samples = read_samples(file, columns=names, seed=seed, **reading)
    for skipped in samples.skipped[:_MOST_SHOWN]:
        say(f"skipped: {skipped.reason}")
    if samples.skipped:
        more = len(samples.skipped) - _MOST_SHOWN
        say(f"skipped: {len(samples.skipped)} in all" + f", {more} of them not shown" * (more > 0))
    return samples


@click.command(params=[*JUDGING])
@click.option("--user-input", "--question", help="The question.")
@click.option("--response", "--answer", help="The answer.")
@click.option("--context", "contexts", multiple=True, help="A retrieved context; may be given several times.")
@click.option("--reference", help="What the answer should have been.")
def score(
    user_input: str | None,
    response: str | None,
    contexts: tuple[str, ...],
    reference: str | None,
    as_json: bool,
    metrics: list[str] | None,
    **given: Any,
) -> None:
    judge, options = split_options(given)
    sample = {"user_input": user_input, "response": response, "reference": reference}
    if response is None and not contexts:
        raise InputError("there is nothing to score; give --response, --context, or both.")
    samples = read_samples([{**sample, "retrieved_contexts": list(contexts)}])
    metrics_for(metrics, samples)  # what they need and is not given is told before a model is looked for
    with Judge.load(**judge) as loaded:
        result = run(samples, metrics, loaded, **options)
    if as_json:
        click.echo(result.to_json(), nl=False)
        return
    for name, found in result.samples[0].scores.items():
        if found.status == "scored":
            click.echo(f"{name} {found.value:.4f} soft {found.soft:.4f}")
        else:
            click.echo(f"{name} {found.status} {explain(found.reason)}")
