"""`localeval pack`: carry localeval over an air gap on a disk."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from localeval.errors import InputError
from localeval.models.files import whole_path
from localeval.system.terminal import say


@click.command()
@click.option("--to", "target", required=True, type=click.Path(path_type=Path), help="A new or empty folder.")
@click.option(
    "--judge", metavar="NAME", help="A judge of the catalog.  [default: that of `evaluate`, if it is here]"
)
@click.option("--embedder", metavar="NAME", help="An embedder of the catalog, likewise.")
@click.option("--models", "names", metavar="A,B", help="Pack these models of the catalog instead.")
@click.option("--no-models", is_flag=True, help="Pack the program without models.")
@click.option(
    "--native", is_flag=True, help="Compile llama.cpp for this processor: faster, but it runs on no other."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before fetching.")
def pack(
    target: Path,
    judge: str | None,
    embedder: str | None,
    names: str | None,
    no_models: bool,
    native: bool,
    yes: bool,
) -> None:
    """The pack is a folder with program, models and an installer, for machines with this Python version,
    system and processor type. After an interruption remove the folder, and pack again.
    """
    from localeval.pack import collect, install
    from localeval.pack.build import LlamaBuild

    if no_models + bool(names) + bool(judge or embedder) > 1:
        raise InputError(
            "--models, --no-models, and --judge with --embedder exclude one another; give one of them."
        )
    models = [name.strip() for name in names.split(",")] if names else []
    if not (names or no_models):
        models = collect.default_models(judge, embedder)
        if not models:
            say("the default models are not here (localeval models fetch); the pack will have no models")
    target = whole_path(target)
    collect.check_empty(target)  # before anything is printed
    contents = collect.choose_contents(models, LlamaBuild(native))
    for line in contents.lines(target):
        say(line)
    if not yes:
        if not sys.stdin.isatty():
            raise InputError("nothing was fetched yet; add --yes to go on.")
        click.confirm("Go on?", default=True, abort=True, err=True)
    manifest = collect.pack(contents, target)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    say(f"{target} is complete: {size:,} bytes. On the other machine:\n  python3 {target.name}/install.py")
    say("sha256 of its manifest.json, for a check there (install.py --sha256 SUM):")
    click.echo(install.file_sha256(manifest))
