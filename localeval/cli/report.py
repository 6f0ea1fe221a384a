"""`localeval report`: a finished run on the terminal and as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from localeval.cli.places import place_of
from localeval.cli.talk import say


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--html",
    type=click.Path(),
    help="Where the page is written.  [default: report.html in the run's folder]",
)
def report(run: Path, html: str | None) -> None:
    """Print the table of a finished run, and write its HTML page. Needs no model."""
    from localeval.report.text import as_text, reasons_told
    from localeval.runs.folder import REPORT, load, write_report

    place = run / REPORT if html is None else place_of(html, "--html", REPORT)
    result = load(run)
    click.echo(as_text(result))
    for line in reasons_told(result):
        say(line)
    write_report(run, result, place)
    say(f"report: {place}")
