"""`localeval verify`: make judgements of a run again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from localeval.cli.options import named_as_given
from localeval.cli.talk import say


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--share", default=0.1, show_default=True, help="Of the judgements, above 0 and up to 1.")
@click.option("--seed", default=0, show_default=True, help="Of the draw.")
@click.option("-q", "--quiet", is_flag=True, help="No live line.")
def verify(run: Path, share: float, seed: int, quiet: bool) -> None:
    """Make a share of a run's judgements again; exit 1 if one of them comes out differently."""
    from localeval.report.progress import live_line
    from localeval.runs.verify import verify as check

    with named_as_given(), live_line(quiet, "Verifying") as progress:
        found = check(run, share, seed, progress=progress)
    if found.difference:
        say(f"{run}: {found.difference}")
        sys.exit(1)
    told = f"{found.again} of {found.judged} judgements made again: the same, byte for byte"
    if found.left_out:
        told += f" ({found.left_out} left out: the engine failed there; the run's `evaluate` makes them anew)"
    click.echo(told)
