"""`localeval compare`: what changed from one run to another."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from localeval.cli.gates import some_missed


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Compare runs that were made differently, too.")
@click.option(
    "--fail-on-drop",
    is_flag=True,
    help="Exit 1 if a metric got worse by more than chance, or fewer than half of the samples that A scored "
    "were scored in B.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare(a: Path, b: Path, force: bool, fail_on_drop: bool, as_json: bool) -> None:
    """Compare the runs in the folders A and B, sample by sample: B minus A.

    Runs that differ in what moves numbers (judge, prompts, versions, options, seed) are refused, with the
    fields that differ: exit 1.
    """
    from localeval.runs.compare import compare as compared

    found = compared(a, b, force=force)
    click.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=1) if as_json else str(found))
    if fail_on_drop:
        from localeval.runs.gates import dropped

        if some_missed(dropped(found, str(a))):
            sys.exit(1)
