"""What the command line says: data on stdout, talk on stderr with nothing that a terminal would obey."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from localeval.text.display import printable_lines

if TYPE_CHECKING:
    from localeval.runs.result import Result


def say(line: str) -> None:
    click.echo(printable_lines(line), err=True)


def show(result: Result, as_json: bool = False) -> None:
    """Print a result, and say what the reasons in it mean."""
    from localeval.report.text import as_text, reasons_told

    click.echo(result.to_json() if as_json else as_text(result), nl=not as_json)
    for line in reasons_told(result):
        say(line)
