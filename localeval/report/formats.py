"""The output formats: the files that `evaluate` writes into a run's folder beside results.json.

results.json is no format: it is what a run is read from again. The gates have their own file (`--junit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from localeval.errors import InputError
from localeval.report import tables
from localeval.report.view import RunView
from localeval.system.files import atomic_write, writing_to
from localeval.text.display import shorten

Writer = Callable[[RunView, str], Iterable[str]]

# Files of a run that no format may replace.
RESERVED = frozenset(
    (
        "run.json",
        "samples.jsonl",
        "journal.jsonl",
        "results.json",
        "plan.json",
        "shard.json",
        "card.json",
        "calibration.json",
    )
)


@dataclass(frozen=True)
class Format:
    """An output format.

    name      of the format, as messages call it
    file      name of its file in a run's folder
    write     (run, title) -> the file's text, in parts; the title is the name of the folder
    is_table  whether other programs read it: it is written together with results.json, all files or none.
              The others follow, and `localeval report` writes them again
    """

    name: str
    file: str
    write: Writer
    is_table: bool = False


FORMATS: dict[str, Format] = {}


def register_format(name: str, file: str, write: Writer) -> Format:
    """Add an output format, which every later run writes into its folder; replace one of the same name.

    It is known in this program only. `localeval report`, as a command, writes the formats of localeval;
    `localeval.cli.main(["report", "runs/data"])` below the registration writes this one, too.

    file   a file name, such as "summary.md"
    write  (run, title) -> the file's text, in parts; `run` is as `RunView` says, and may have any metrics;
           `run[metric]` is the `Summary` of one. The title is the name of the folder

    Raises InputError for a file that is another format's, or the run's own, and for what is no file name.

    >>> register_format("summary", "summary.txt", lambda run, title: [f"{title}: {len(run.samples)}"]).file
    'summary.txt'
    >>> del FORMATS["summary"]
    """
    return _add(Format(name, file, write))


def _add(new: Format) -> Format:
    if not new.file or new.file != Path(new.file).name or new.file.startswith("."):
        raise InputError(
            f"{shorten(repr(new.file))} is no file name that a format can have; give one such as summary.md."
        )
    taken = {one.file.lower(): one.name for one in FORMATS.values() if one.name != new.name}
    if new.file.lower() in taken or new.file.lower() in RESERVED:
        owner = taken.get(new.file.lower(), "the run")
        raise InputError(f"{new.file} is a file of {owner}; give the format {new.name} another file name.")
    FORMATS[new.name] = new
    return new


def file_names() -> list[str]:
    """Return the file of each format."""
    return [one.file for one in FORMATS.values()]


def table_parts(run: RunView, title: str) -> list[tuple[str, Iterable[str]]]:
    """Return (file name, text in parts) of the tables, to be written together with results.json."""
    return [(one.file, one.write(run, title)) for one in FORMATS.values() if one.is_table]


def write_pages(run: RunView, folder: Path, title: str) -> list[tuple[str, Path]]:
    """Write all formats that are no tables, and return the name and the path of each.

    Raises InputError when one can't be written.
    """
    written = []
    for one in list(FORMATS.values()):
        if not one.is_table:
            write_format(run, one.name, folder / one.file, title)
            written.append((one.name, folder / one.file))
    return written


def write_format(run: RunView, name: str, path: str | Path, title: str = "") -> None:
    """Write one format to `path`, whole or not at all. Raises InputError when it can't be written."""
    with writing_to(path, name):
        # No character of a text, such as half of a pair, keeps a page from being written.
        atomic_write(Path(path), FORMATS[name].write(run, title), "replace")


def _scores(run: RunView, _: str) -> Iterable[str]:
    return tables.scores_csv(run)


def _statements(run: RunView, _: str) -> Iterable[str]:
    return tables.statements_csv(run)


def _page(run: RunView, title: str) -> Iterable[str]:
    # The template engine is not needed before a page is made.
    from localeval.report.html import pieces

    return pieces(run, title)


SCORES = _add(Format("scores", "scores.csv", _scores, is_table=True))
STATEMENTS = _add(Format("statements", "statements.csv", _statements, is_table=True))
REPORT = _add(Format("report", "report.html", _page))
