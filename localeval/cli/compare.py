"""The command `compare`: two finished runs, or more."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from localeval.analysis.compare import Comparison, compare
from localeval.analysis.compare_runs import RunsComparison, compare_runs
from localeval.analysis.compare_slices import ComparedSlices, compare_slices
from localeval.analysis.gates import Drop, Limits, drop_gates
from localeval.cli.compare_by_judge import BY_JUDGE, compared_by_judge, is_question
from localeval.cli.options import JSON, print_json
from localeval.cli.output_files import COMPARISON_PAGE, check_output_file
from localeval.cli.runs import LIMITS, some_missed
from localeval.errors import InputError
from localeval.runs import folder
from localeval.system.files import atomic_write, writing_to
from localeval.system.terminal import say


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
@click.argument("runs", nargs=-1, metavar="A B [RUN]...", type=click.Path(path_type=Path))
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
    Of three runs or more, each is compared with the first.
    """
    for run in runs:
        folder.register_criteria_of(run)
    if compared_by_judge(runs, as_json, by_judge):
        return
    if len(runs) < 2:
        raise click.UsageError(f"compare takes two runs or more, and {len(runs)} are given.")
    page: Path | None = by_judge["output"]
    check_output_file("output", COMPARISON_PAGE)
    drops = [Drop.read(text) for text in fail_on_drop if text]
    limits = Limits.read(max_failed, max_undefined)
    if len(runs) > 2:
        if by or fail_on_drop:
            raise InputError(f"--by and --fail-on-drop compare two runs, and {len(runs)} are given.")
        _compare_many(runs, force, as_json, page)
        return
    pair = _compare_two(runs, force, by, as_json, page)
    if fail_on_drop and some_missed(drop_gates(pair, str(runs[0]), drops, limits)):
        sys.exit(1)


def _compare_two(
    runs: Sequence[Path], force: bool, by: Sequence[str], as_json: bool, page: Path | None
) -> Comparison:
    """Print the comparison of two runs, and write its page if asked."""
    first, second = map(folder.load, runs)
    pair = replace(compare(first, second, force=force), a=str(runs[0]), b=str(runs[1]))
    slices = compare_slices(first, second, [*pair.metrics], by)
    _show(pair, as_json, slices)
    if page is not None:
        _write_page(page, compare_runs([first, second], runs, force=force), slices)
    return pair


def _compare_many(runs: Sequence[Path], force: bool, as_json: bool, page: Path | None) -> None:
    """Print the comparison of three runs or more, and write its page if asked."""
    comparison = compare_runs([folder.load(run) for run in runs], runs, force=force)
    _show(comparison, as_json)
    if page is not None:
        _write_page(page, comparison)


def _write_page(page: Path, comparison: RunsComparison, slices: Sequence[ComparedSlices] = ()) -> None:
    # The template engine is not needed before a page is made.
    from localeval.analysis import compare_page

    with writing_to(page, "comparison"):
        atomic_write(page, compare_page.pieces(comparison, slices=slices), "replace")
    say(f"page: {page}")


def _show(
    comparison: Comparison | RunsComparison, as_json: bool, slices: Sequence[ComparedSlices] = ()
) -> None:
    """Print a comparison, and behind it the slices."""
    if not as_json:
        tables = ["\n".join(["", *sliced.lines()]) for sliced in slices]
        click.echo("\n".join([str(comparison), *tables]))
        return
    found = comparison.to_dict()
    if slices:
        found["slices"] = [sliced.to_dict() for sliced in slices]
    print_json(found)
