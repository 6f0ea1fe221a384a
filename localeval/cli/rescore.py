"""`localeval rescore`: other metrics, or another threshold, from a run's journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from localeval.cli.gates import Gates, gated
from localeval.cli.options import metrics_option, named_as_given, names
from localeval.cli.places import in_a_run, place_of
from localeval.cli.talk import say
from localeval.errors import InputError
from localeval.prompts.options import Mode, Relevance

if TYPE_CHECKING:
    from localeval.runs.result import Result


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@metrics_option
@click.option("--threshold", type=float, help="Probability from which a verdict counts as yes.")
@click.option("--relevance", type=click.Choice(get_args(Relevance)), help="Of answer_relevance.")
@click.option("--mode", type=click.Choice(get_args(Mode)), help="Of factual_correctness.")
@click.option("--beta", type=float, help="Of factual_correctness: above 1, recall weighs more.")
@click.option("--calibration", help="auto, none, or the file that `localeval card` wrote.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Also write a file in the form of results.json; the run's own is overwritten only if it is named.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@gated
def rescore(
    run: Path, metrics: str | None, output: str | None, as_json: bool, gates: Gates, **options: Any
) -> Result:
    """Score a RUN again from its journal, with no model. What is not said is as in the run."""
    from localeval.report.text import as_text, reasons_told
    from localeval.runs.folder import RESULTS, finish, write_results
    from localeval.runs.rescore import rescore as again

    place = None if output is None else place_of(output, "-o", RESULTS)
    own = place is not None and _is_own(place, run)
    given = {name: value for name, value in options.items() if value is not None}
    with named_as_given():
        result = again(run, names(metrics), **given)
    gates.check(result.metrics)
    click.echo(result.to_json() if as_json else as_text(result), nl=not as_json)
    for line in reasons_told(result):
        say(line)
    if own:
        finish(run, result)
    elif place is not None:
        write_results(place, result)
    if place is not None:
        say(f"scores: {place}")
    return result


def _is_own(place: Path, run: Path) -> bool:
    """Whether this is the run's own results.json. Raises InputError for that of another run."""
    from localeval.runs.folder import RESULTS

    if place.name != RESULTS or not in_a_run(place):
        return False
    if place.parent.resolve() != run.resolve():
        raise InputError(f"{place}: these are the results of another run; choose another -o.")
    return True
