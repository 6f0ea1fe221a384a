"""The options that say what of a file is read, and as what."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import click

from localeval.cli.options import named_as_given
from localeval.cli.talk import say
from localeval.errors import InputError
from localeval.samples import FORMATS, Samples, read_samples

_MOST_SHOWN = 20
_OPTIONS = (
    click.option("--format", type=click.Choice(FORMATS), help="Of FILE.  [default: by its name, else jsonl]"),
    click.option("--encoding", help="Of FILE, as gb18030.  [default: utf-8, or by its byte order mark]"),
    click.option("--columns", multiple=True, help="Where a field stands: user_input=q,response=a,..."),
    click.option("--limit", type=int, help="Read the first so many samples."),
    click.option("--id", "ids", multiple=True, help="Of these only this one; may be given several times."),
    click.option("--sample", type=int, help="Of these draw so many, by --seed."),
    click.option("--skip-bad", is_flag=True, help="Leave out what can't be read, and list it."),
)


@dataclass(frozen=True)
class Reading:
    """These options as they were given; `columns` as FIELD=NAME, with commas between."""

    format: str | None
    encoding: str | None
    columns: tuple[str, ...]
    limit: int | None
    sample: int | None
    ids: tuple[str, ...]
    skip_bad: bool

    def read(self, file: str, seed: int) -> Samples:
        """The samples of the file. What was skipped is listed on stderr."""
        columns = _columns(self.columns)
        with named_as_given():
            samples = read_samples(file, **{**vars(self), "columns": columns, "seed": seed})
        for skipped in samples.skipped[:_MOST_SHOWN]:
            say(f"skipped: {skipped.reason}")
        if samples.skipped:
            more = len(samples.skipped) - _MOST_SHOWN
            say(f"skipped: {len(samples.skipped)} in all" + f", {more} of them not shown" * (more > 0))
        return samples


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command takes these options, as one argument `reading`."""

    @functools.wraps(command)
    def collected(*arguments: Any, **given: Any) -> Any:
        reading = Reading(**{field.name: given.pop(field.name) for field in fields(Reading)})
        return command(*arguments, reading=reading, **given)

    for option in reversed(_OPTIONS):
        collected = option(collected)
    return collected


def _columns(given: tuple[str, ...]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for pair in ",".join(given).split(",") if given else []:
        field, equals, name = (part.strip() for part in pair.partition("="))
        if not (field and equals and name):
            raise InputError(f"--columns: {pair.strip()!r} is not FIELD=NAME; write user_input=q,response=a.")
        if field in columns:
            raise InputError(f"--columns: {field} is named twice; keep one.")
        columns[field] = name
    return columns
