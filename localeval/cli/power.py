"""The command `power`: how many samples show a change."""

from __future__ import annotations

from pathlib import Path

import click

from localeval.cli.options import JSON, METRIC_NAMES, print_json
from localeval.runs import folder


@click.command("power", params=[METRIC_NAMES, JSON])
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--paired-with",
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="A run of the same samples by another system; the spread of the differences is measured then.",
)
@click.option(
    "--difference",
    type=click.FloatRange(min=0, max=1, min_open=True),
    default=0.05,
    show_default=True,
    help="The change of the mean that is to be shown.",
)
@click.option(
    "--card",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A card.json of this judge: how far its errors hide a true change. For scores of 0 and 1.",
)
def power_command(
    run: Path,
    paired_with: Path | None,
    difference: float,
    card: Path | None,
    metrics: list[str] | None,
    as_json: bool,
) -> None:
    """RUN is the folder of a finished run. Shown is how many samples a comparison of two runs of the same
    samples needs, so that it finds a change of this size in 80 of 100 cases (two-sided, p < 0.05). From one
    run this is a span, as the spread of the differences depends on how alike the runs are.
    """
    from localeval.analysis.power import needed_samples
    from localeval.runs.correct import read_card

    for path in (run, paired_with):
        if path is not None:
            folder.register_criteria_of(path)
    found = needed_samples(
        folder.load(run),
        difference,
        paired_with=None if paired_with is None else folder.load(paired_with),
        metrics=metrics,
        card=None if card is None else read_card(card)[0],
    )
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found))
