"""`localeval evaluate` and `localeval score`: judge samples, and print what came out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localeval.cli.gates import Gates, gated
from localeval.cli.options import judging_options, names, opened, split
from localeval.cli.places import folder_of
from localeval.cli.reading import Reading, reading_options
from localeval.cli.talk import say
from localeval.errors import InputError
from localeval.text.display import said

if TYPE_CHECKING:
    from localeval.runs.plan import Plan
    from localeval.runs.result import Result
    from localeval.samples import Samples


@click.command()
@click.argument("file")
@reading_options
@judging_options
@click.option(
    "-o",
    "--output",
    envvar="LOCALEVAL_OUTPUT",
    show_envvar=True,
    type=click.Path(),
    help="The run's folder; a second call goes on where the first ended.  [default: runs/NAME-OF-FILE]",
)
@click.option("--plan", "plan_only", is_flag=True, help="Tell what the run would take, and end.")
@click.option("-q", "--quiet", is_flag=True, help="No plan, no live line.")
@gated
def evaluate(
    file: str,
    output: str | None,
    plan_only: bool,
    quiet: bool,
    as_json: bool,
    metrics: str | None,
    reading: Reading,
    gates: Gates,
    **rest: Any,
) -> Result | None:
    """Score the samples of FILE (JSONL, JSON, CSV, TSV or Parquet; - is stdin)."""
    from localeval.report.progress import live_line
    from localeval.report.text import as_text, reasons_told
    from localeval.runs.evaluate import evaluate as run
    from localeval.runs.evaluate import metrics_for, plan
    from localeval.runs.folder import REPORT, RESULTS

    judge, options = split(rest)
    chosen, samples = names(metrics), reading.read(file, options["seed"])
    gates.check([metric.name for metric in metrics_for(chosen, samples)])
    folder = _folder(output, file, samples)
    if plan_only:
        with opened(judge) as loaded:
            _tell_plan(plan(samples, chosen, loaded, folder, **options), as_json)
        return None
    with opened(judge) as loaded, live_line(quiet) as line:
        result = run(samples, chosen, loaded, folder, watch=None if quiet else line, **options)
    click.echo(result.to_json() if as_json else as_text(result), nl=not as_json)
    for reason in reasons_told(result):
        say(reason)
    say(f"records and scores: {folder / RESULTS}")
    say(f"report: {folder / REPORT}")
    return result


def _folder(given: str | None, file: str, samples: Samples) -> Path:
    """The run's folder. Raises InputError where the one by the file's name holds a run of other data."""
    from localeval.runs.folder import other_questions

    if (chosen := folder_of(given)) is not None:
        return chosen
    stem = "stdin" if file == "-" else Path(file).stem
    if stem in (".", ".."):
        raise InputError(f"{said(file)}: no folder can be called {stem}; name one with -o.")
    folder = Path("runs") / stem
    if had := other_questions(folder, samples):
        raise InputError(
            f"{folder} holds a finished run of {had} other samples, perhaps of another file of this name; "
            f"name another folder with -o, or give -o {folder} to replace its results."
        )
    return folder


def _tell_plan(plan: Plan, as_json: bool) -> None:
    """Print it; exit 2 where the judge does not fit into the memory that is there."""
    click.echo(json.dumps(plan.to_dict(), indent=1) if as_json else str(plan))
    if not plan.fits:
        sys.exit(2)


@click.command()
@judging_options
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
    metrics: str | None,
    **rest: Any,
) -> None:
    """Score one sample, given as options."""
    from localeval.metrics.score import explained
    from localeval.runs.evaluate import evaluate as run

    judge, options = split(rest)
    sample = {
        "user_input": user_input,
        "response": response,
        "retrieved_contexts": list(contexts),
        "reference": reference,
    }
    chosen = names(metrics)
    if response is None and not contexts:
        raise InputError("there is nothing to score; give --response, --context, or both.")
    if chosen is not None:
        _check_given(sample, chosen)
    with opened(judge) as loaded:
        result = run([sample], chosen, loaded, **options)
    if as_json:
        click.echo(result.to_json(), nl=False)
        return
    for name, found in result.samples[0].scores.items():
        if found.status == "scored":
            click.echo(f"{name} {found.value:.4f} soft {found.soft:.4f}")
        else:
            click.echo(f"{name} {found.status} {explained(found.reason)}")


def _check_given(sample: dict[str, Any], metrics: list[str]) -> None:
    """Raises InputError for a metric without an option that it needs."""
    from localeval.metrics.summary import choose_metrics

    for metric in choose_metrics(metrics):
        for column in metric.columns:
            if sample.get(column) is None:
                option = "--" + column.replace("_", "-")
                raise InputError(f"{metric.name} needs {option}; give it, or leave the metric out.")
