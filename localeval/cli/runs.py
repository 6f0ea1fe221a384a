"""What is done with a finished run: `report`, `rescore`, `verify` and `compare`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from localeval.cli.options import JSON, METRICS, RESCORING, OutputFile, OutputFolder, take_options
from localeval.cli.results import GATES, Gates, show, some_missed
from localeval.report.progress import live_line
from localeval.runs import folder
from localeval.runs import verify as verification
from localeval.runs.compare import compare as compare_runs
from localeval.runs.gates import drop_gates
from localeval.runs.rescore import rescore as rescore_run
from localeval.runs.shards import merge as merge_runs
from localeval.system.terminal import say

_RUN = click.argument("run", type=click.Path(path_type=Path))


@click.command()
@_RUN
@click.option(
    "--html",
    type=OutputFile(folder.REPORT),
    help="Where the page is written.  [default: report.html in the run's folder]",
)
def report(run: Path, html: Path | None) -> None:
    """RUN is the folder of a finished run; no model is needed."""
    result, place = folder.load(run), html or run / folder.REPORT
    show(result)
    folder.write_report(run, result, place)
    say(f"report: {place}")


@click.command(params=[METRICS, *RESCORING, JSON, *GATES])
@_RUN
@click.option(
    "-o",
    "--output",
    type=OutputFile(folder.RESULTS),
    help="Also write a file in the form of results.json; the run's own is overwritten only if it is named.",
)
def rescore(run: Path, metrics: list[str] | None, output: Path | None, as_json: bool, **given: Any) -> None:
    """RUN is the folder of a run, with its journal. What is not said is as in the run."""
    gates = Gates(**take_options(given, GATES))
    options = {name: value for name, value in given.items() if value is not None}
    result = rescore_run(run, metrics, **options)
    gates.check(result.metrics)
    show(result, as_json)
    if output is not None:
        if output.resolve() == (run / folder.RESULTS).resolve():
            folder.finish(run, result)
        else:
            folder.write_results(output, result)
        say(f"scores: {output}")
    gates.enforce(result)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=OutputFolder(), help="The whole run's folder.")
def merge(runs: tuple[Path, ...], output: Path) -> None:
    """RUNS are the folders of the shards; no model is needed."""
    show(merge_runs(runs, output))
    say(f"records and scores: {output / folder.RESULTS}")


@click.command()
@_RUN
@click.option("--share", default=0.1, show_default=True, help="Of the judgements, above 0 and up to 1.")
@click.option("--seed", default=0, show_default=True, help="Of the draw.")
@click.option("-q", "--quiet", is_flag=True, help="No live line.")
def verify(run: Path, share: float, seed: int, quiet: bool) -> None:
    """RUN is the folder of a finished run; exit 1 if a judgement comes out differently."""
    with live_line(quiet, "Verifying") as progress:
        found = verification.verify(run, share, seed, progress=progress)
    if found.difference:
        say(f"{run}: {found.difference}")
        sys.exit(1)
    told = f"{found.again} of {found.judged} judgements made again: the same, byte for byte"
    if found.left_out:
        told += f" ({found.left_out} left out: the engine failed there; the run's `evaluate` makes them anew)"
    click.echo(told)


@click.command(params=[JSON])
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Compare runs that were made differently, too.")
@click.option(
    "--fail-on-drop",
    is_flag=True,
    help="Exit 1 if a metric got worse by more than chance, or fewer than half of the samples that A scored "
    "were scored in B.",
)
def compare(a: Path, b: Path, force: bool, fail_on_drop: bool, as_json: bool) -> None:
    """A and B are the runs' folders, and a difference is B minus A. Runs that differ in what moves numbers
    (judge, prompts, versions, options, seed) are refused, with the fields that differ: exit 1.
    """
    found = compare_runs(a, b, force=force)
    click.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=1) if as_json else str(found))
    if fail_on_drop and some_missed(drop_gates(found, str(a))):
        sys.exit(1)
