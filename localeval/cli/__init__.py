"""The command line: its commands and their exit codes. Data on stdout, talk on stderr."""

from __future__ import annotations

import sys

import click

from localeval.cli.doctor import doctor
from localeval.cli.evaluate import evaluate, score
from localeval.cli.models import models
from localeval.cli.talk import say
from localeval.cli.verify import verify
from localeval.errors import LocalevalError
from localeval.offline import attempts, offline, set_switches

EXIT_CODES = """\b
Exit codes:
  0    done, also with undefined or failed samples (their counts are said)
  1    verify found a difference; or something went wrong that is none of the below
  2    usage, input that can't be used, or too little memory for the model
  3    a model is missing or broken, or doctor found a fault
  130  interrupted; what was judged is kept"""

MAY_USE_IT = ("models", "pack")
"""Commands that may use the network; `models` refuses it for all of its own but `fetch`."""


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="localeval")
@click.pass_context
def commands(context: click.Context) -> None:
    """Evaluate RAG answers on this machine, with no network."""
    set_switches()
    if context.invoked_subcommand not in MAY_USE_IT:
        offline()


for command in (
    evaluate,
    score,
    verify,
    models,
    doctor,
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
    finally:
        if refused := attempts():
            say(f"localeval: something tried to use the network; refused: {refused} attempts")
