"""`localeval card`: how far the judge agrees with people's labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from localeval.cli.options import judging_options, names, opened, split
from localeval.cli.talk import say
from localeval.errors import InputError


@click.command()
@click.argument("labelled")
@judging_options
@click.option(
    "-o",
    "--output",
    envvar="LOCALEVAL_OUTPUT",
    type=click.Path(path_type=Path),
    help="The run's folder; a second call goes on where the first ended.  [default: cards/NAME-METRIC]",
)
@click.option(
    "-n",
    "--number",
    default=0,
    help="At most so many samples, half of each label; so many pairs of each part.",
)
@click.option(
    "--sentences",
    is_flag=True,
    help="Of context_relevance: hold the needed sentences against sentence_labels.",
)
@click.option("--html", type=click.Path(path_type=Path), help="Also write the card as a page of its own.")
@click.option("-q", "--quiet", is_flag=True, help="No live line.")
def card(
    labelled: str,
    output: Path | None,
    number: int,
    sentences: bool,
    html: Path | None,
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
    from localeval.card import CALIBRATION, CARD, make
    from localeval.card import as_json as json_of
    from localeval.report.card import as_html, as_text
    from localeval.report.progress import live_line

    chosen = names(metrics) or ["faithfulness"]
    if len(chosen) != 1:
        raise InputError(f"a card is of one metric; -m names {len(chosen)}.")
    stem = "stdin" if labelled == "-" else Path(labelled).stem
    folder = output or Path("cards") / f"{stem}-{chosen[0]}{'-sentences' if sentences else ''}"
    judge, options = split(rest)
    with opened(judge) as loaded, live_line(quiet, "Judging") as progress:
        made = make(labelled, chosen[0], loaded, folder, number, progress, sentences, **options)
    click.echo(json_of(made) if as_json else as_text(made), nl=not as_json)
    if html is not None:
        try:
            html.write_text(as_html(made), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{html}: the card can't be written there ({error.strerror}).") from error
        say(f"page: {html}")
    say(f"card: {folder / CARD}")
    if made.calibrations:
        say(f"calibration: {folder / CALIBRATION}; use it with --calibration")
