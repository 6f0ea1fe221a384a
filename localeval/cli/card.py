"""`localeval card`: how far the judge agrees with people's labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from localeval.cli.options import given_as, judging_options, names, opened, split
from localeval.cli.places import folder_of, place_of
from localeval.cli.talk import say
from localeval.errors import InputError
from localeval.system.files import write_whole, writing_to


@click.command()
@click.argument("labelled")
@judging_options
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="The run's folder; a second call goes on where the first ended.  [default: cards/NAME-METRIC]",
)
@click.option(
    "-n",
    "--number",
    type=click.IntRange(min=0),
    default=0,
    help="At most so many samples (20 at least), half of each label; so many pairs of each part; 0: all.",
)
@click.option(
    "--sentences",
    is_flag=True,
    help="Of context_relevance: hold the needed sentences against sentence_labels.",
)
@click.option("--html", type=click.Path(), help="Also write the card as a page of its own.")
@click.option("-q", "--quiet", is_flag=True, help="No live line.")
def card(
    labelled: str,
    output: str | None,
    number: int,
    sentences: bool,
    html: str | None,
    quiet: bool,
    as_json: bool,
    metrics: str | None,
    **rest: Any,
) -> None:
    """Say how far the judge's scores agree with the labels in LABELLED (JSONL; - is stdin).

    A sample has a `label`, 1 (good) or 0 (bad), or a row is a pair: good_response and bad_response, or
    contexts_more_relevant and contexts_less_relevant. With --sentences a row has `sentences`, parts of its
    contexts in order, and `sentence_labels`, 1 for what the question needs, else 0. With 40 labels of
    faithfulness in a language it also fits a calibration: FOLDER/calibration.json, for --calibration.
    """
    from localeval.report.progress import live_line
    from localeval.runs.card import CALIBRATION, CARD, make
    from localeval.runs.card import as_json as json_of
    from localeval.runs.card.render import as_html, as_text

    chosen = names(metrics) or ["faithfulness"]
    if len(chosen) != 1:
        given = given_as("metrics")
        raise InputError(f"a card is of one metric, and {given} names {len(chosen)}; give one with -m.")
    stem = "stdin" if labelled == "-" else Path(labelled).stem
    page = None if html is None else place_of(html, "--html", "card.html", labelled)
    own = f"{stem}-{chosen[0]}{'-sentences' if sentences else ''}"
    folder = folder_of(output) or Path("cards") / own
    judge, options = split(rest)
    with opened(judge) as loaded, live_line(quiet, "Judging") as progress:
        made = make(labelled, chosen[0], loaded, folder, number, progress, sentences, **options)
    click.echo(json_of(made) if as_json else as_text(made), nl=not as_json)
    if page is not None:
        with writing_to(page, "card"):
            write_whole(page, [as_html(made)])
        say(f"page: {page}")
    say(f"card: {folder / CARD}")
    if made.calibrations:
        say(f"calibration: {folder / CALIBRATION}; use it with --calibration")
    elif (folder / CALIBRATION).exists():
        say(f"calibration: none; {folder / CALIBRATION} is of an earlier card")
