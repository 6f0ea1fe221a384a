"""`localeval evaluate` and `localeval score`: judge samples, and print what came out."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import click

from localeval.cli.gates import GATES, Gates
from localeval.cli.options import JUDGING, split, take
from localeval.cli.talk import say, show
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics.score import explained
from localeval.metrics.summary import choose_metrics
from localeval.models.catalog import AUTO, EMBEDDERS
from localeval.report.progress import live_line
from localeval.runs.evaluate import evaluate as run
from localeval.runs.evaluate import metrics_for, plan
from localeval.runs.folder import REPORT, RESULTS, other_questions
from localeval.runs.workers import threads_each
from localeval.samples import FORMATS, Samples, read_samples
from localeval.text.display import shorten

EXAMPLE = resources.files("localeval") / "examples" / "answers.jsonl"
_MOST_SHOWN = 20
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


def _number_or_auto(given: str) -> int | str:
    if given != "auto" and not (given.isdecimal() and int(given)):
        raise click.BadParameter(f"{shorten(given)} is neither a number from 1 on nor auto.")
    return given if given == "auto" else int(given)


@click.command(params=[*_READING, *JUDGING, *GATES])
@click.argument("file", required=False, is_eager=True)
@click.option("--example", is_flag=True, help="Score the shipped samples instead of a FILE.")
@click.option(
    "-o",
    "--output",
    envvar="LOCALEVAL_OUTPUT",
    show_envvar=True,
    type=click.Path(),
    help="The run's folder; a second call goes on where the first ended.  [default: runs/NAME-OF-FILE]",
)
@click.option(
    "--workers",
    type=_number_or_auto,
    default="1",
    metavar="NUMBER|auto",
    envvar="LOCALEVAL_WORKERS",
    show_envvar=True,
    show_default=True,
    help="Processes that judge side by side; auto: as many as cores and memory allow. They share the cores, "
    "unless --threads says how many each has.",
)
@click.option(
    "--ray", metavar="ADDRESS", help="Judge on the Ray cluster there; auto: on the one that is here."
)
@click.option("--shard", metavar="N/OF", help="Judge only this part of the data, as 2/5; see `merge`.")
@click.option("--plan", "plan_only", is_flag=True, help="Tell what the run would take, and end.")
@click.option("-q", "--quiet", is_flag=True, help="No plan, no live line.")
def evaluate(
    file: str | None,
    example: bool,
    output: str | None,
    plan_only: bool,
    quiet: bool,
    workers: int | Literal["auto"],
    ray: str | None,
    shard: str | None,
    as_json: bool,
    metrics: list[str] | None,
    **given: Any,
) -> None:
    """Score the samples of FILE (JSONL, JSON, CSV, TSV or Parquet; - is stdin)."""
    gates, reading = Gates(**take(given, GATES)), take(given, _READING)
    judge, options = split(given)
    if example == (file is not None):
        raise InputError("give a FILE, or --example for the shipped samples: one of the two.")
    samples = _read(file or str(EXAMPLE), options["seed"], **reading)
    gates.check([metric.name for metric in metrics_for(metrics, samples)])
    folder = _folder(output, file or "example", samples)
    if ray is None:
        judge["n_threads"] = judge["n_threads"] or threads_each(workers)
    if plan_only:
        with Judge.load(**judge) as loaded:
            planned = plan(samples, metrics, loaded, folder, **options)
        click.echo(json.dumps(planned.to_dict(), indent=1) if as_json else str(planned))
        if not planned.fits:
            sys.exit(2)
        return
    with Judge.load(**judge) as loaded, live_line(quiet) as line:
        result = run(
            samples,
            metrics,
            loaded,
            folder,
            watch=None if quiet else line,
            workers=workers,
            shard=shard,
            ray=ray,
            **options,
        )
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
        field, equals, name = (part.strip() for part in pair.partition("="))
        if not (field and equals and name):
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


def _folder(given: str | None, file: str, samples: Samples) -> Path:
    """The run's folder. Raises InputError where the one by the file's name holds a run of other data."""
    if given is not None:
        if not given:
            raise InputError("-o is empty; name a folder, or leave it out.")
        return Path(given)
    stem = "stdin" if file == "-" else Path(file).stem
    if stem in (".", ".."):
        raise InputError(f"{shorten(file)}: no folder can be called {stem}; name one with -o.")
    folder = Path("runs") / stem
    if had := other_questions(folder, samples):
        raise InputError(
            f"{folder} holds a finished run of {had} other samples, perhaps of another file of this name; "
            f"name another folder with -o, or give -o {folder} to replace its results."
        )
    return folder


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
    """Score one sample, given as options."""
    judge, options = split(given)
    sample = {
        "user_input": user_input,
        "response": response,
        "retrieved_contexts": list(contexts),
        "reference": reference,
    }
    if response is None and not contexts:
        raise InputError("there is nothing to score; give --response, --context, or both.")
    for metric in choose_metrics(metrics) if metrics else []:
        for column in metric.columns:
            if sample.get(column) is None:
                option = "--" + column.replace("_", "-")
                raise InputError(f"{metric.name} needs {option}; give it, or leave the metric out.")
    with Judge.load(**judge) as loaded:
        result = run([sample], metrics, loaded, **options)
    if as_json:
        click.echo(result.to_json(), nl=False)
        return
    for name, found in result.samples[0].scores.items():
        if found.status == "scored":
            click.echo(f"{name} {found.value:.4f} soft {found.soft:.4f}")
        else:
            click.echo(f"{name} {found.status} {explained(found.reason)}")
