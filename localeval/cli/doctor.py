"""`localeval doctor`: check the machine, the installation and the models, a line each."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from localeval.cli.options import model_options


@click.command()
@model_options
@click.option("--only", multiple=True, metavar="NAME", help="One check; may be given several times.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(
    judge: str, embedder: str, classifier: str, threads: int, only: tuple[str, ...], as_json: bool
) -> None:
    """Check machine, installation and models; exit 3 if something is wrong.

    The judge is asked about three shipped samples. An embedder and HHEM are checked where they are here.
    """
    from localeval.doctor import CheckContext, examine

    findings = []
    for finding in examine(CheckContext(judge, embedder, classifier, threads, Path.cwd()), only):
        findings.append(finding)
        if not as_json:
            click.echo(str(finding))
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False))
    if any(finding.status == "fault" for finding in findings):
        sys.exit(3)
