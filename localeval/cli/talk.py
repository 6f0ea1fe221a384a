"""What the command line says beside its data: one line on stderr each."""

from __future__ import annotations

import click


def say(line: str) -> None:
    click.echo(line, err=True)
