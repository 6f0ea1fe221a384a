"""What the command line says beside its data: one line on stderr each, with nothing a terminal would obey."""

from __future__ import annotations

import click

from localeval.text.display import printable_lines


def say(line: str) -> None:
    click.echo(printable_lines(line), err=True)
