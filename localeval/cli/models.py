"""`localeval models`, `doctor` and `pack`: manage model files, check the installation, pack it for others."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from localeval.cli.options import CLASSIFIER, EMBEDDER, JSON, JUDGE, THREADS
from localeval.errors import InputError
from localeval.models import ModelFiles, listing, models_dir, resolve
from localeval.models.catalog import QUICK_START
from localeval.models.files import absolute_path
from localeval.models.found import find_models
from localeval.system.offline import offline
from localeval.system.terminal import say
from localeval.text.display import escaped_json, printable

if TYPE_CHECKING:
    from localeval.candidates import Candidate
    from localeval.models.fetch import ByteProgress

# Bytes between two lines of progress, if the total size is unknown.
BYTES_PER_LINE = 100_000_000


@click.group("models")
@click.pass_context
def models_command(context: click.Context) -> None:
    if context.invoked_subcommand != "fetch":
        offline()


@models_command.command("list", params=[JSON])
def list_models(as_json: bool) -> None:
    """List the models in the catalog, and below them those of Ollama, LM Studio, llama.cpp and the hub."""
    from localeval.candidates import describe

    rows = listing()
    found = find_models()
    candidates = describe(found)
    if as_json:
        rows += [candidate.row() for candidate in candidates]
        click.echo(escaped_json(json.dumps(rows, indent=2, ensure_ascii=False)))
    else:
        _print_table(_catalog_table(rows))
        if candidates:
            click.echo()
            _print_table(_found_table(candidates))
        say(f"models folder: {models_dir()}")
    for fault in found.unreadable:
        say(f"{fault}: its models are not listed")


def _catalog_table(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    table = [["NAME", "KIND", "SIZE", "RAM", "LANGUAGES", "STATE", "LICENCE"]]
    for row in rows:
        size = f"{row['size'] / 1e9:.2f} GB" if row["size"] else "unknown"
        memory = f"{row['ram_gb']} GB"
        languages = ",".join(row["languages"])
        table.append([row["name"], row["kind"], size, memory, languages, row["state"], row["licence"]])
    return table


def _found_table(candidates: Sequence[Candidate]) -> list[list[str]]:
    """Return a row for each model; the last column says what it is for, or why it is of no use."""
    table = [["FOUND", "SIZE", "QUANTIZATION", "PARAMETERS", "CONTEXT", "CAN"]]
    for candidate in candidates:
        use = {"judge": "judge", "embedder": "embed", None: f"not be used: {candidate.fault}"}[candidate.kind]
        if candidate.needed_n_ctx:
            use += f" with --n-ctx {candidate.needed_n_ctx}"
        row = [
            ", ".join(candidate.names),
            f"{candidate.size / 1e9:.2f} GB" if candidate.size else "",
            candidate.quantization,
            _parameters(candidate.parameters),
            str(candidate.context_length or ""),
            use,
        ]
        table.append([printable(cell) for cell in row])
    return table


def _parameters(number: int) -> str:
    """Write a number of parameters in billions or millions; "" for 0.

    >>> _parameters(1_777_088_000), _parameters(22_713_216), _parameters(0)
    ('1.78 B', '22.7 M', '')
    """
    if not number:
        return ""
    return f"{number / 1e9:.2f} B" if number >= 1e9 else f"{number / 1e6:.1f} M"


def _print_table(table: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        click.echo("  ".join(map(str.ljust, line, widths)).rstrip())


@models_command.command("fetch")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="A file, or a folder with the files, that is copied instead of asking the hub.",
)
def fetch_model(names: tuple[str, ...], source: Path | None) -> None:
    """Fetch the models NAME and check their bytes; without NAME, the models of the quick start."""
    # Here, so that `--help` loads no network modules.
    from localeval.models.fetch import fetch

    for name in names or QUICK_START:
        with draw_progress() as progress:
            files = fetch(name, source, progress=progress)
        say(_describe(files))


@models_command.command("verify")
@click.argument("name")
def verify_model(name: str) -> None:
    """Read every byte of NAME, a model or a path, again and check it."""
    say(_describe(resolve(name, read_again=True)))


@models_command.command("path")
@click.argument("name")
def model_path(name: str) -> None:
    """Print the path of the GGUF file or folder of NAME."""
    click.echo(resolve(name).path)


def _describe(files: ModelFiles) -> str:
    if files.found_as.startswith("ollama:"):
        status = "as its manifest says"
    elif files.entry is None:
        status = "not in the catalog: nothing to compare with"
    elif files.unpinned:
        status = "in part unpinned in the catalog"
    else:
        status = "as in the catalog"
    return f"{files.path}: {files.size:,} bytes, sha256 {files.sha256} ({status})"


@contextlib.contextmanager
def draw_progress() -> Iterator[ByteProgress]:
    """Show progress on stderr: a bar on a terminal, else a line at about every tenth."""
    # None where the shell closed it, as 2>&- does.
    if sys.stderr is None or not sys.stderr.isatty():
        yield _progress_lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fetch", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _progress_lines() -> ByteProgress:
    """Return a function that prints a line at about every tenth of the bytes."""
    last_step = 0

    def show_line(done: int, total: int) -> None:
        nonlocal last_step
        step = done * 10 // total if total else done // BYTES_PER_LINE
        if step > last_step:
            share = f" ({done * 100 // total} %)" if total else ""
            say(f"{done:,} bytes{share}")
        last_step = step

    return show_line


@click.command("doctor", params=[JUDGE, EMBEDDER, CLASSIFIER, THREADS, JSON])
@click.option("--only", multiple=True, metavar="NAME", help="Only this check; may be given several times.")
def doctor_command(
    model: str, embedder: str, classifier: str, n_threads: int, only: tuple[str, ...], as_json: bool
) -> None:
    """Each check prints a line; exit 3 if one finds a fault. The judge judges three shipped samples. An
    embedder and HHEM are checked if they are here.
    """
    from localeval.doctor import CheckContext, examine

    findings = []
    for finding in examine(CheckContext(model, embedder, classifier, n_threads, Path.cwd(), only)):
        findings.append(finding)
        if not as_json:
            click.echo(str(finding))
    if as_json:
        text = json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False)
        click.echo(escaped_json(text))
    if any(finding.status == "fault" for finding in findings):
        sys.exit(3)


@click.command("pack")
@click.option(
    "--to",
    "target",
    required=True,
    type=click.Path(path_type=Path),
    help="A new or empty folder, or an unfinished pack.",
)
@click.option(
    "--judge", metavar="NAME", help="A judge of the catalog.  [default: as `evaluate`, if it is here]"
)
@click.option("--embedder", metavar="NAME", help="An embedder of the catalog, likewise.")
@click.option("--models", "names", metavar="A,B", help="Pack these models of the catalog instead.")
@click.option("--no-models", is_flag=True, help="Pack the program without models.")
@click.option(
    "--native", is_flag=True, help="Compile llama.cpp for this processor: faster, but it runs on no other."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before fetching.")
def pack_command(
    target: Path,
    judge: str | None,
    embedder: str | None,
    names: str | None,
    no_models: bool,
    native: bool,
    yes: bool,
) -> None:
    """The pack is a folder with program, models and an installer, for machines with this Python version,
    system and processor type. After an interruption the same command goes on; files that are whole stay.
    """
    from localeval.pack import collect, install
    from localeval.pack.build import LlamaBuild
    from localeval.pack.unfinished import check_target

    if no_models + bool(names) + bool(judge or embedder) > 1:
        raise InputError(
            "--models, --no-models, and --judge with --embedder exclude one another; give one of them."
        )
    packed: list[str] = []
    if names:
        packed = [name.strip() for name in names.split(",")]
    elif not no_models:
        packed = collect.default_models(judge, embedder)
        if not packed:
            say("the default models are not here (localeval models fetch); the pack will have no models")
    target = absolute_path(target)
    # Before anything is printed.
    check_target(target)
    contents = collect.choose_contents(packed, LlamaBuild(native))
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
