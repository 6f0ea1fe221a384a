"""Check the file that an option names for output: no input, no run's file and no other file is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from localeval.report.formats import file_names
from localeval.runs.folder import FILES, is_run
from localeval.system.files import is_same, stream_at


class FileKind(NamedTuple):
    """A kind of file that localeval writes, and how an existing one is known.

    name    of the kind, for messages
    begins  what the file begins with, in any case of letters and after white space
    holds   a text in its first `_BYTES_LOOKED_AT` bytes
    """

    name: str
    begins: str
    holds: str


_BYTES_LOOKED_AT = 4_000
PAGE = FileKind("page of a run", "<!doctype html>", "localeval</title>")
COMPARISON_PAGE = FileKind("page of a comparison", "<!doctype html>", "<title>Comparison: ")
CARD_PAGE = FileKind("page of a card", "<!doctype html>", "<title>Judge card: ")
LABEL_PAGE = FileKind("page of labels", "<!doctype html>", "<title>Labels: ")
# Whether it has labels of this run is seen when it is read.
LABELS = FileKind("file of labels", "{", "")
SCORES = FileKind("file of scores", "{", '"signature": {')
JUNIT = FileKind("file of gates", "<?xml", '<testsuite name="localeval"')
HEADS = FileKind("file of heads", "{", '"heads": [')

# The type of an option that names an output file; its command calls `check_output_file`.
OUTPUT_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)


def check_output_file(option: str, kind: FileKind, own: Path | None = None) -> None:
    """Check the output file that an option of the running command names, if it names one.

    option  the name of its parameter, as "html"
    kind    what will be written; an existing file of this kind, or an empty one, may be replaced
    own     a file of the given run that may be replaced, whatever is in it

    Raises click.BadParameter for an input of the command, for a file of a run, and for any other file.
    """
    context = click.get_current_context()
    path: Path | None = context.params[option]
    if path is None:
        return
    [parameter] = [param for param in context.command.params if param.name == option]
    fault = _fault(path, kind, own, [*_named_paths(context.params, option)])
    if fault:
        raise click.BadParameter(f"{path}: {fault}; choose another place.", context, parameter)


def _fault(path: Path, kind: FileKind, own: Path | None, named: Sequence[str | Path]) -> str:
    """Return why the file may not be written, "" if it may; `named` are the other paths of the command."""
    if any(is_same(path, other) for other in named):
        return "this is the file that is read"
    real = Path(os.path.realpath(path))
    if own is not None and real == Path(os.path.realpath(own)):
        return ""
    # In small letters, as not every file system tells them apart.
    if real.name.lower() in (*FILES, *file_names()) and _may_be_run_folder(real.parent, named):
        return "this is, or would be, a file of a run"
    if not _may_be_replaced(real, kind):
        return f"this file is there, and it is no {kind.name}"
    return ""


def _named_paths(values: Mapping[str, Any], option: str) -> Iterator[str | Path]:
    """Yield the texts and paths that the other options and arguments have."""
    for name, value in values.items():
        if name == option:
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str | Path):
                yield item


def _may_be_replaced(path: Path, kind: FileKind) -> bool:
    """Report whether the file is not there, empty, of this kind, no regular file, or stdout."""
    try:
        if not path.is_file() or stream_at(path) is not None:
            return True
        with path.open("rb") as file:
            start = file.read(_BYTES_LOOKED_AT).decode("utf-8", "replace")
    except OSError:
        # Writing it will tell.
        return True
    if not start:
        return True
    return start.lstrip().lower().startswith(kind.begins) and kind.holds in start


def _may_be_run_folder(folder: Path, named: Sequence[str | Path]) -> bool:
    """Report whether the folder has a run, or may have one when the command ends.

    named  the other paths of the command, of which one may be the folder of its run
    """
    try:
        if not folder.is_dir():
            # The command may make it.
            return True
        is_named = any(is_same(folder, path) for path in named)
        return is_named or is_run(folder)
    except OSError:
        # It can't be looked into.
        return True
