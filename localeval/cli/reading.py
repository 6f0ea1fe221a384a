"""Read the samples of a file as commands do, and say what was guessed and skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import click

from localeval.errors import InputError
from localeval.samples import FORMATS, Samples, read_samples
from localeval.system.terminal import say
from localeval.text.display import shorten

EXAMPLE = resources.files("localeval") / "examples" / "answers.jsonl"
_MAX_SKIPPED_SHOWN = 20
READ_OPTIONS = [
    click.Option(
        ["--format"],
        type=click.Choice([*FORMATS]),
        help="Format of FILE.  [default: by its name, else jsonl]",
    ),
    click.Option(["--encoding"], help="Encoding of FILE.  [default: utf-8, or by its byte order mark]"),
    click.Option(
        ["--columns"],
        multiple=True,
        help="Column of each field: user_input=q,response=a,...; a name with a comma in double quotes.",
    ),
    click.Option(["--limit"], type=click.IntRange(min=1), help="Read at most this many samples."),
    click.Option(["--id", "ids"], multiple=True, help="Of these, only this id; may be given several times."),
    click.Option(["--sample"], type=click.IntRange(min=1), help="Of these, draw this many, by --seed."),
    click.Option(["--skip-bad"], is_flag=True, help="Skip rows that can't be read, and list them."),
]


def source_file(file: str | None, example: bool) -> str:
    """Return the file to read. Raises InputError unless either a file or the example is given."""
    if example == (file is not None):
        raise InputError("give either a FILE, or --example for the shipped samples.")
    if file == "":
        raise InputError("FILE is empty; name one.")
    return str(EXAMPLE) if file is None else file


def read_file(file: str, seed: int, columns: Sequence[str], **reading: Any) -> Samples:
    """Read the samples, and list skipped rows on stderr."""
    samples = read_samples(file, columns=_named_columns(columns), seed=seed, **reading)
    for line in samples.guesses:
        say(f"{samples.name}: {line}")
    for skipped in samples.skipped[:_MAX_SKIPPED_SHOWN]:
        say(f"skipped: {skipped.reason}")
    if samples.skipped:
        total = f"skipped: {len(samples.skipped)} in all"
        not_shown = len(samples.skipped) - _MAX_SKIPPED_SHOWN
        if not_shown > 0:
            total += f", {not_shown} of them not shown"
        say(total)
    return samples


def _named_columns(texts: Sequence[str]) -> dict[str, str]:
    """Return field -> column, as --columns names them. Raises InputError for a field that is named twice."""
    names: dict[str, str] = {}
    for text in texts:
        for field, name in _split_columns(text):
            if field in names:
                raise InputError(f"--columns: {field} is named twice; keep one.")
            names[field] = name
    return names


_COLUMN = re.compile(r"""\s*([^=,]+?)\s*=\s*(?:"((?:[^"]|"")+)"|([^,]+?))\s*(?:,|$)""")


def _split_columns(text: str) -> Iterator[tuple[str, str]]:
    """Yield the fields and the names of their columns; a name with a comma stands in double quotes.

    >>> list(_split_columns('user_input=q, response="Answer, short"'))
    [('user_input', 'q'), ('response', 'Answer, short')]
    """
    position = 0
    while position < len(text):
        pair = _COLUMN.match(text, position)
        if pair is None:
            fault = shorten(repr(text[position:].partition(",")[0].strip()))
            raise InputError(
                f"--columns: {fault} is not FIELD=NAME; write user_input=q,response=a, and a name with a "
                "comma in double quotes, as 'response=\"Answer, short\"'."
            )
        field, quoted, plain = pair.groups()
        yield field, plain if quoted is None else quoted.replace('""', '"')
        position = pair.end()
