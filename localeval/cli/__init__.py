"""The command line: its commands and their exit codes. Data goes to stdout, messages to stderr."""

from __future__ import annotations

import codecs
import io
import json
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

from localeval.errors import LocalevalError
from localeval.system.offline import attempts, offline, set_switches
from localeval.system.terminal import drop_lost_messages, drop_output, say
from localeval.text.display import printable

EXIT_CODES = """\b
Exit codes:
  0    done, also with undefined or failed samples (their counts are printed)
  1    no sample was scored, a run stopped as every sample failed, a gate was missed, compare refused,
       verify found a difference, a judge is not certified, or an error not listed here
  2    wrong usage, input that can't be used, output or a run's folder that can't be written, a folder
       that is in use, or too little memory for the model
  3    a model or a file of a pack is missing or broken, or doctor found a fault
  130  interrupted (143: by SIGTERM); finished judgements are kept"""

# Command -> its module, imported on use, and the first line of its help; the docstring is the rest.
COMMANDS = {
    "card": ("card", "Measure how far the judge agrees with people's labels."),
    "compare": ("compare", "Compare two runs or more, sample by sample."),
    "criteria": ("criteria", "Check questions of your own for the judge."),
    "doctor": ("models", "Check machine, installation and models."),
    "evaluate": ("evaluate", "Score the samples of a file."),
    "fit": ("card", "Fit a head to labelled answers."),
    "label": ("label", "Label samples or statements of a run, on a page or in the terminal."),
    "merge": ("runs", "Merge the shards of a run."),
    "metrics": ("samples", "List the metrics, and what each needs."),
    "models": ("models", "List, fetch, verify and locate model files."),
    "pack": ("models", "Collect all that a machine without a network needs."),
    "power": ("power", "Tell how many samples show a change."),
    "report": ("runs", "Print the table of a run, and write its HTML page."),
    "rescore": ("runs", "Score a run again, without a model."),
    "samples": ("samples", "Show what would be read of a file, and what could be computed."),
    "score": ("evaluate", "Score one sample, given as options."),
    "verify": ("runs", "Judge part of a run again, and compare the results."),
}
# They may use the network; `models` refuses it in all subcommands but `fetch`.
_ONLINE = ("models", "pack")
# They continue where the last call stopped.
_RESUMABLE = ("evaluate", "card", "fit", "label", "models fetch", "pack")


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module, summary = COMMANDS[cmd_name]
            command = getattr(import_module(f"localeval.cli.{module}"), f"{cmd_name}_command")
            command.help = f"{summary}\n\n{cleandoc(command.help or '')}"
            self.add_command(command)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=_Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="localeval")
@click.pass_context
def commands(context: click.Context) -> None:
    """Evaluate RAG answers on this machine, without a network."""
    set_switches()
    if context.invoked_subcommand not in _ONLINE:
        offline()


def main(arguments: list[str] | None = None) -> None:
    """Run a command. Returns where the exit code is 0, else raises SystemExit.

    Every expected error is one line on stderr, never a traceback. In a program of your own,
    `main(["report", "runs/data"])` knows what the program registered.
    """
    attempts_before = attempts()
    words = sys.argv[1:] if arguments is None else arguments
    _prepare_streams()
    _check_current_folder()
    try:
        _handle_termination()
        commands.main(arguments, prog_name="localeval", standalone_mode=False)
    except click.ClickException as error:
        _say_usage(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        say(f"\nInterrupted.{_resume_hint(words)}")
        sys.exit(143 if isinstance(error.__cause__ or error, _Terminated) else 130)
    except LocalevalError as error:
        say(f"localeval: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if not _is_of_output(error):
            raise
        drop_output()
        say(f"localeval: the output can't be written ({error.strerror}); make room, or write elsewhere.")
        sys.exit(2)
    finally:
        refused = attempts() - attempts_before
        if refused:
            say(f"localeval: something tried to use the network; refused: {refused} attempts")
        drop_lost_messages()


def _prepare_streams() -> None:
    """Escape the characters that the output's encoding lacks, and let no write be lost in silence."""
    codecs.register_error("localeval.escaped", _escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="localeval.escaped")
    out = sys.stdout
    # Unbuffered, as by PYTHONUNBUFFERED: what a full disk or a closed pipe does not take would be dropped
    # without an error.
    if isinstance(out, io.TextIOWrapper) and isinstance(out.buffer, io.RawIOBase):
        sys.stdout = open(out.fileno(), "w", encoding=out.encoding, errors=out.errors, closefd=False)  # noqa: SIM115


def _escaped(error: Any) -> tuple[str, int]:
    """Replace characters that the output's encoding does not have by their JSON escapes."""
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _check_current_folder() -> None:
    try:
        Path.cwd()
    except OSError:
        say("localeval: the current folder is gone; change to another one.")
        sys.exit(2)


def _handle_termination() -> None:
    """Let SIGTERM end the command as Ctrl-C does; a caller's own handler is kept."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


class _Terminated(KeyboardInterrupt):
    """Raised on SIGTERM, which ends a command as Ctrl-C does."""


def _terminate(*_: Any) -> None:
    raise _Terminated


def _say_usage(error: click.ClickException) -> None:
    """Say what is wrong with the command's words, or its help, where it has no argument."""
    message = error.format_message()
    is_help = "\n" in message
    if is_help:
        say(message)
        return
    context = getattr(error, "ctx", None)
    hint = f" See `{context.command_path} --help`." if context else ""
    say(f"localeval: {message}{hint}")


def _resume_hint(words: Sequence[str]) -> str:
    """Return a sentence on how an interrupted command goes on; "" for one that keeps no work."""
    # `models fetch` is a command of two words.
    length = 2 if words[:1] == ["models"] else 1
    command = " ".join(words[:length])
    if command not in _RESUMABLE or "--plan" in words:
        return ""
    full_command = printable(shlex.join(["localeval", *words]))
    return f" Finished work is kept; the same command goes on from there: {full_command}"


def _is_of_output(error: OSError) -> bool:
    """Report whether the error came from printing."""
    return traceback.extract_tb(error.__traceback__)[-1].name == click.echo.__name__
