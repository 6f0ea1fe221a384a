"""Commands for finished runs: `report`, `rescore`, `merge`, `verify` and `compare`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from localeval.cli.options import JSON, RESCORING, OutputFile, OutputFolder, take_options
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
    help="Path of the page.  [default: report.html in the run's folder]",
)
def report(run: Path, html: Path | None) -> None:
    """RUN is the folder of a finished run; no model is needed."""
    result, path = folder.load(run), html or run / folder.REPORT
    show(result)
    folder.write_report(run, result, path)
    say(f"report: {path}")


@click.command(params=[*RESCORING, JSON, *GATES])
@_RUN
@click.option(
    "-o",
    "--output",
    type=OutputFile(folder.RESULTS),
    help="Also write a file like results.json; the run's own is overwritten only if it is named here.",
)
def rescore(run: Path, metrics: list[str] | None, output: Path | None, as_json: bool, **values: Any) -> None:
    """RUN is the folder of a run, with its journal. Options that are not given are those of the run."""
    gates = Gates(**take_options(values, GATES))
    options = {name: value for name, value in values.items() if value is not None}
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
@click.option("-o", "--output", required=True, type=OutputFolder(), help="The folder of the merged run.")
def merge(runs: tuple[Path, ...], output: Path) -> None:
    """RUNS are the folders of the shards; no model is needed."""
    show(merge_runs(runs, output))
    say(f"records and scores: {output / folder.RESULTS}")


@click.command()
@_RUN
@click.option("--share", default=0.1, show_default=True, help="Share of the judgements, above 0 and up to 1.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draw.")
@click.option("-q", "--quiet", is_flag=True, help="Show no live line.")
def verify(run: Path, share: float, seed: int, quiet: bool) -> None:
    """RUN is the folder of a finished run; exit 1 if a judgement differs."""
    with live_line(quiet, "Verifying") as progress:
        result = verification.verify(run, share, seed, progress=progress)
    if result.difference:
        say(f"{run}: {result.difference}")
        sys.exit(1)
    message = f"{result.again} of {result.judged} judgements were repeated: the same, byte for byte"
    if result.left_out:
        message += f" ({result.left_out} left out, as the engine failed there; `evaluate` judges them again)"
    click.echo(message)


@click.command(params=[JSON])
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Also compare runs that differ in what moves numbers.")
@click.option(
    "--fail-on-drop",
    is_flag=True,
    help="Exit 1 if a metric got worse by more than chance, fewer than half of the samples that A scored "
    "were scored in B, or B lacks a metric of A.",
)
def compare(a: Path, b: Path, force: bool, fail_on_drop: bool, as_json: bool) -> None:
    """A and B are the folders of the runs, and a difference is B minus A. Runs that differ in what moves
    numbers (judge, prompts, versions, options, seed) are refused with exit 1 and the fields that differ.
    """
    comparison = compare_runs(a, b, force=force)
    click.echo(json.dumps(comparison.to_dict(), ensure_ascii=False, indent=1) if as_json else str(comparison))
    if fail_on_drop and some_missed(drop_gates(comparison, str(a))):
        sys.exit(1)
