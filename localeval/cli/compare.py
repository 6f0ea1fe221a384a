"""The command `compare`: two finished runs."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from localeval.analysis.compare import compare
from localeval.analysis.compare_slices import compare_slices
from localeval.analysis.gates import Drop, Limits, drop_gates
from localeval.cli.compare_by_judge import BY_JUDGE, compared_by_judge, is_question
from localeval.cli.options import JSON
from localeval.cli.runs import LIMITS, some_missed
from localeval.runs import folder
from localeval.text.display import escaped_json


class _Compare(click.Command):
    """A command whose --fail-on-drop may stand with a bound or alone, and --prefer with a question."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put "" after each of these that stands alone, so that a run behind it is not its value."""
        words: list[str] = []
        for word, following in zip(args, [*args[1:], ""], strict=True):
            words.append(word)
            if word == "--fail-on-drop" and not Drop.is_one(following):
                words.append("")
            if word == "--prefer" and not is_question(following):
                words.append("")
        return super().parse_args(ctx, words)


@click.command("compare", cls=_Compare, params=[JSON, *LIMITS, *BY_JUDGE])
@click.argument("runs", nargs=-1, metavar="A B", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Also compare runs that differ in what moves numbers.")
@click.option(
    "--fail-on-drop",
    multiple=True,
    metavar="[METRIC:drop=NUMBER]",
    help="Exit 1 if a metric got worse by more than chance, too many of the samples that A scored were not "
    "scored in B, or B lacks a metric of A. With METRIC:drop=NUMBER: if its mean is worse by more than that.",
)
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Also compare by the values of this column of the data; lang is found where the data does not have "
    "it. May be given several times.",
)
def compare_command(
    runs: tuple[Path, ...],
    force: bool,
    by: tuple[str, ...],
    fail_on_drop: tuple[str, ...],
    as_json: bool,
    max_failed: str | None,
    max_undefined: str | None,
    **by_judge: Any,
) -> None:
    """A and B are the folders of the runs, and a difference is B minus A. Runs that differ in what moves
    numbers (judge, prompts, versions, options, seed) are refused with exit 1 and the fields that differ.
    """
    for run in runs:
        folder.register_criteria_of(run)
    if compared_by_judge(runs, as_json, by_judge):
        return
    if len(runs) != 2:
        raise click.UsageError(f"compare takes two runs, and {len(runs)} are given.")
    a, b = runs
    drops = [Drop.read(text) for text in fail_on_drop if text]
    limits = Limits.read(max_failed, max_undefined)
    first = folder.load(a)
    second = folder.load(b)
    comparison = replace(compare(first, second, force=force), a=str(a), b=str(b))
    slices = compare_slices(first, second, [*comparison.metrics], by)
    if as_json:
        found = comparison.to_dict()
        if slices:
            found["slices"] = [sliced.to_dict() for sliced in slices]
        click.echo(escaped_json(json.dumps(found, ensure_ascii=False, indent=1)))
    else:
        click.echo(str(comparison))
        for sliced in slices:
            click.echo("\n".join(["", *sliced.lines()]))
    if fail_on_drop and some_missed(drop_gates(comparison, str(a), drops, limits)):
        sys.exit(1)
