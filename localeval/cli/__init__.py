"""The command line: its commands and their exit codes. Data on stdout, talk on stderr."""

from __future__ import annotations

import codecs
import io
import json
import shlex
import signal
import sys
import traceback
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

from localeval.errors import LocalevalError
from localeval.system.offline import attempts, offline, set_switches
from localeval.system.terminal import say
from localeval.text.display import printable

EXIT_CODES = """\b
Exit codes:
  0    done, also with undefined or failed samples (their counts are said)
  1    a gate was missed, compare refused, or verify found a difference; or something went wrong that is
       none of the below
  2    usage, input that can't be used, output or a run's folder that can't be written, a folder that is
       in use, or too little memory for the model
  3    a model, or a file of a pack, is missing or broken, or doctor found a fault
  130  interrupted (143: by SIGTERM); what was judged is kept"""

# Command -> its module here, imported when it is called, and the first line of its help; then its docstring.
COMMANDS = {
    "card": ("card", "Say how far the judge agrees with people's labels."),
    "compare": ("runs", "Compare two runs, sample by sample."),
    "doctor": ("models", "Check machine, installation and models."),
    "evaluate": ("evaluate", "Score the samples of a file."),
    "fit": ("card", "Fit a head to labelled answers."),
    "merge": ("runs", "Make one run of its shards."),
    "models": ("models", "List, fetch, verify and locate model files."),
    "pack": ("pack", "Collect all that a machine with no network needs."),
    "report": ("runs", "Print the table of a run, and write its page."),
    "rescore": ("runs", "Score a run again, with no model."),
    "score": ("evaluate", "Score one sample, given as options."),
    "unpack": ("pack", "Put the models of a pack into this machine's folder."),
    "verify": ("runs", "Make judgements again: are they the same?"),
}
_ONLINE = ("models", "pack")  # may use the network; `models` refuses it for all of its own but `fetch`
_RESUMABLE = ("evaluate", "card", "pack", "unpack", "models fetch")  # go on where a call of them stopped


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module, does = COMMANDS[cmd_name]
            command = getattr(import_module(f"localeval.cli.{module}"), cmd_name)
            command.help = f"{does}\n\n{cleandoc(command.help or '')}"
            for one in command.params:  # what is read is known first, so that no output takes its place
                one.is_eager |= type(one.type) in (click.Path, type(click.STRING)) and not one.callback
            self.add_command(command)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, does) for name, (_, does) in COMMANDS.items()])


@click.group(cls=_Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="localeval")
@click.pass_context
def commands(context: click.Context) -> None:
    """Evaluate RAG answers on this machine, with no network."""
    set_switches()
    if context.invoked_subcommand not in _ONLINE:
        offline()


def main(arguments: list[str] | None = None) -> None:
    """Run a command; every expected error is one line on stderr and an exit code, never a traceback."""
    before = attempts()
    words = sys.argv[1:] if arguments is None else arguments
    codecs.register_error("localeval.escaped", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="localeval.escaped")
    try:
        Path.cwd()
    except OSError:
        say("localeval: the current folder is gone; change to another one.")
        sys.exit(2)
    try:
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:  # a caller's own handler stays
            signal.signal(signal.SIGTERM, _terminate)
        commands.main(arguments, prog_name="localeval", standalone_mode=False)
    except click.ClickException as error:
        told = error.format_message()
        if "\n" not in told:  # else it is the help, for want of any argument
            context = getattr(error, "ctx", None)
            told = f"localeval: {told}" + (f" See `{context.command_path} --help`." if context else "")
        say(told)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        command = " ".join(words[: 2 if words[:1] == ["models"] else 1])
        again = printable(shlex.join(["localeval", *words]))
        goes_on = f" What is done is kept; the same command goes on from there: {again}"
        say("\nInterrupted." + goes_on * (command in _RESUMABLE and "--plan" not in words))
        sys.exit(143 if isinstance(error.__cause__ or error, _Terminated) else 130)
    except LocalevalError as error:
        say(f"localeval: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if traceback.extract_tb(error.__traceback__)[-1].name != click.echo.__name__:
            raise
        say(f"localeval: the output can't be written ({error.strerror}); make room, or send it elsewhere.")
        sys.exit(2)
    finally:
        if refused := attempts() - before:
            say(f"localeval: something tried to use the network; refused: {refused} attempts")


def _escaped(error: Any) -> tuple[str, int]:
    """Give a character that the terminal's encoding does not have as JSON escapes it."""
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does."""


def _terminate(*_: Any) -> None:
    raise _Terminated
