"""The command line: its commands and their exit codes. Data on stdout, talk on stderr."""

from __future__ import annotations

import sys

import click

from localeval.cli.evaluate import evaluate, score
from localeval.cli.models import models
from localeval.cli.pack import pack, unpack
from localeval.cli.talk import say
from localeval.cli.verify import verify
from localeval.errors import LocalevalError

EXIT_CODES = """\b
Exit codes:
  0    done, also with undefined or failed samples (their counts are said)
  1    verify found a difference; or something went wrong that is none of the below
  2    usage, input that can't be used, or too little memory for the model
  3    a model, or a file of a pack, is missing or broken
  130  interrupted; what was judged is kept"""


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="localeval")
def commands() -> None:
    """Evaluate RAG answers on this machine, with no network."""


for command in (
    evaluate,
    score,
    verify,
    models,
    pack,
    unpack,
):
    commands.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; every expected error is one line on stderr and an exit code, never a traceback."""
    try:
        commands.main(arguments, prog_name="localeval", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        say("\nInterrupted. What was judged is kept; the same command goes on from there.")
        sys.exit(130)
    except LocalevalError as error:
        say(f"localeval: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
