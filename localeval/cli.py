"""The command line: arguments and exit codes. Data on stdout, talk on stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from localeval.cli_options import judging_options
from localeval.errors import InputError, LocalevalError
from localeval.models_cli import models
from localeval.options import Options

EXIT_CODES = """\b
Exit codes:
  0    done, also with undefined or failed samples (their counts are said)
  1    verify found a difference; or something went wrong that is none of the below
  2    usage, input that can't be used, or too little memory for the model
  3    a model is missing or broken
  130  interrupted; what was judged is kept"""


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="localeval")
def commands() -> None:
    """Evaluate RAG answers on this machine, with no network."""


commands.add_command(models)


@commands.command()
@click.argument("file")
@judging_options
@click.option(
    "-o",
    "--output",
    envvar="LOCALEVAL_OUTPUT",
    type=click.Path(path_type=Path),
    help="The run's folder; a second call goes on where the first ended.  [default: runs/NAME-OF-FILE]",
)
@click.option("-q", "--quiet", is_flag=True, help="No live line.")
def evaluate(
    file: str, output: Path | None, quiet: bool, as_json: bool, metrics: str | None, **rest: Any
) -> None:
    """Score the samples of FILE (JSONL; - is stdin)."""
    from localeval.evaluate import evaluate as run
    from localeval.report.progress import live_line
    from localeval.report.text import as_text, reasons_told
    from localeval.run import RESULTS

    folder = output or Path("runs") / ("stdin" if file == "-" else Path(file).stem)
    judge, options = _split(rest)
    with _opened(judge) as opened, live_line(quiet) as progress:
        result = run(file, _names(metrics), opened, folder, progress, **options)
    click.echo(result.to_json() if as_json else as_text(result), nl=not as_json)
    for line in reasons_told(result):
        _say(line)
    _say(f"records and scores: {folder / RESULTS}")


@commands.command()
@judging_options
@click.option("--user-input", "--question", help="The question.")
@click.option("--response", "--answer", required=True, help="The answer to score.")
@click.option("--context", "contexts", multiple=True, help="A retrieved context; may be given several times.")
@click.option("--reference", help="What the answer should have been.")
def score(
    user_input: str | None,
    response: str,
    contexts: tuple[str, ...],
    reference: str | None,
    as_json: bool,
    metrics: str | None,
    **rest: Any,
) -> None:
    """Score one sample, given as options."""
    from localeval.evaluate import evaluate as run
    from localeval.metrics import REASONS

    judge, options = _split(rest)
    sample = {
        "user_input": user_input,
        "response": response,
        "retrieved_contexts": list(contexts),
        "reference": reference,
    }
    with _opened(judge) as opened:
        result = run([sample], _names(metrics), opened, **options)
    if as_json:
        click.echo(result.to_json(), nl=False)
        return
    for name, found in result.samples[0].scores.items():
        if found.status == "scored":
            click.echo(f"{name} {found.value:.4f} soft {found.soft:.4f}")
        else:
            click.echo(
                f"{name} {found.status} {found.reason}: {REASONS.get(found.reason, 'a column is missing')}"
            )


@commands.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--share", default=0.1, show_default=True, help="Of the judgements, above 0 and up to 1.")
@click.option("--seed", default=0, show_default=True, help="Of the draw.")
@click.option("-q", "--quiet", is_flag=True, help="No live line.")
def verify(run: Path, share: float, seed: int, quiet: bool) -> None:
    """Make a share of a run's judgements again; exit 1 if one of them comes out differently."""
    from localeval.report.progress import live_line
    from localeval.verify import verify as check

    with live_line(quiet, "Verifying") as progress:
        found = check(run, share, seed, progress=progress)
    if found.difference:
        _say(f"{run}: {found.difference}")
        sys.exit(1)
    click.echo(f"{found.again} of {found.judged} judgements made again: the same, byte for byte")


def _split(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(what `Judge.load` takes, what `Options` takes); the options are checked before a model loads."""
    judge = {
        "model": given.pop("judge"),
        "embedder": given.pop("embedder"),
        "classifier": given.pop("classifier"),
        "n_threads": given.pop("threads"),
        "n_ctx": given.pop("n_ctx"),
        "n_gpu_layers": given.pop("gpu_layers"),
    }
    Options.read(given)
    return judge, given


def _opened(judge: dict[str, Any]) -> Any:
    from localeval.judge import Judge

    return Judge.load(**judge)


def _names(metrics: str | None) -> list[str] | None:
    from localeval.scoring import choose_metrics

    names = [name.strip() for name in metrics.split(",") if name.strip()] if metrics is not None else None
    if names == []:
        raise InputError("-m names no metric; give one, or leave it out.")
    if names:
        choose_metrics(names)
    return names


def _say(line: str) -> None:
    click.echo(line, err=True)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; every expected error is one line on stderr and an exit code, never a traceback."""
    try:
        commands.main(arguments, prog_name="localeval", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _say("\nInterrupted. What was judged is kept; the same command goes on from there.")
        sys.exit(130)
    except LocalevalError as error:
        _say(f"localeval: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
