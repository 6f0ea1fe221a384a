"""The data: `Sample` is one row; `read_samples` reads and selects them from any source."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from copy import copy
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from localeval.errors import InputError
from localeval.samples.readers import (
    FORMATS,
    Row,
    Rows,
    file_rows,
    from_langsmith,
    is_table,
    source_name,
    table_rows,
)
from localeval.samples.sample import (
    ALIASES,
    NAMES,
    Guesses,
    Names,
    Sample,
    check_columns,
    columns_hint,
)
from localeval.system.arguments import whole_number
from localeval.system.files import SpooledLines, StoredSequence
from localeval.text.display import shorten, suggested

__all__ = [
    "ALIASES",
    "FORMATS",
    "Sample",
    "Samples",
    "Skipped",
    "Source",
    "check_columns",
    "columns_hint",
    "read_samples",
]

LOG = logging.getLogger("localeval")

# A file, an iterable of samples or mappings, or a table (pandas or Polars DataFrame, Hugging Face Dataset).
Source: TypeAlias = str | Path | Iterable[Any]


class Skipped(NamedTuple):
    """A row that `skip_bad` left out: its place, as "line 7", and the message of its error."""

    place: str
    reason: str


class Samples(StoredSequence[Sample]):
    """The samples that were read. Many are kept in a temporary file: each access reads one from it.

    name     of the file or source, for messages
    file     that they were read from; None for other sources
    columns  names of the columns that any row had; None where they were not read from rows
    guesses  lines about what was read in another way than it is written: names, numbers, contexts
    """

    def __init__(self, samples: Iterable[Sample], name: str, file: Path | None = None) -> None:
        self.name, self.file, self.skipped = name, file, list[Skipped]()
        self.columns: Sequence[str] | None = None
        self.guesses: list[str] = []
        self._lines = SpooledLines()
        self._selected: Sequence[int] = range(0)
        for sample in samples:
            self.append(sample)

    def __len__(self) -> int:
        return len(self._selected)

    def _read(self, index: int) -> Sample:
        return Sample.stored(self._lines[self._selected[index]])

    def append(self, sample: Sample) -> None:
        """Add a sample; not after `choose`."""
        self._selected = range(self._lines.append(sample.model_dump_json().encode()) + 1)

    def choose(self, indices: Iterable[int]) -> Samples:
        """Return the samples at these indices, in this order."""
        selection = copy(self)
        selection._selected = array("Q", (self._selected[i] for i in indices))
        return selection


def read_samples(
    source: Source,
    *,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    ids: Iterable[str | int] = (),
    skip_bad: bool = False,
    format: str | None = None,  # noqa: A002
    encoding: str | None = None,
) -> Samples:
    """Read the samples of a file, of stdin ("-"), of a table or of an iterable, at least one.

    columns   maps fields to the only columns that they are read from: {"user_input": "q"}
    limit     stop after `limit` samples
    ids       keep only the samples with these ids, each of which must exist
    sample    select this many of them by `seed` and their ids, in order; larger samples hold the smaller ones
    skip_bad  leave out rows that can't be read, and list them in `skipped`; a duplicate id stays an error
    format    "jsonl", "json", "csv", "tsv" or "parquet"; by default by the file's name, else JSONL
    encoding  of a text file; by default UTF-8, or what its byte order mark says

    A missing id becomes the number of the line, or the position in a table, list or iterable, from 1.
    `InputError` names file, line, field and value of what can't be read.

    >>> read_samples([{"q": "Who?", "answer": "Ann."}], columns={"user_input": "q"})[0].user_input
    'Who?'
    """
    limit = None if limit is None else whole_number("limit", limit, 1)
    sample = None if sample is None else whole_number("sample", sample, 1)
    required = {*map(str, [ids] if isinstance(ids, str | int) else ids)}
    names = _names_of(columns or {})
    rows, name, file = _rows_of(source, format, encoding, names)
    samples, skipped = Samples((), name, file), list[Skipped]()
    seen, places = dict[str, None](), dict[str, str]()  # all columns; the id of each sample, and its place
    guesses = Guesses()
    with closing(rows):  # at once, and not when the last reference to an error is gone
        for row in rows:
            value, place = row.value, row.place
            where = place if name == "samples" else f"{name}, {place}"
            if isinstance(value, Sample) and names != NAMES:
                value = value.model_dump(exclude_none=True)
            if isinstance(value, Mapping):
                columns_read = from_langsmith(value, names)
                if columns_read is not value:
                    guesses.counts["inputs", "with fields of LangSmith"] += 1
                value = columns_read
                seen.update(dict.fromkeys(value))
            try:
                if isinstance(value, InputError):
                    raise InputError(f"{where}: {value}.")
                new = Sample.read(value, where, names, guesses)
            except InputError as error:
                if not skip_bad:
                    raise
                skipped.append(Skipped(place, str(error)))
                continue
            if not new.id:
                place = f"{place} (no id, so its position)"
                new = new.model_copy(update={"id": str(row.number)})
            if new.id in places:
                fault = f"{places[new.id]} and {place} have the same id {shorten(new.id)}"
                raise InputError(f"{name}: {fault}; make every id unique.")
            places[new.id] = place
            guesses.counts.update(row.guesses)
            samples.append(new)
            if len(samples) == limit:
                break
    sample_ids = list(places)
    if sample_ids and (missing := sorted(required.difference(sample_ids))):
        scope, remedy = "", shorten(suggested(missing[0], sample_ids))
        if len(sample_ids) == limit:  # the id may be in a row after the limit
            scope, remedy = f" among the first {limit}", "raise the limit, or leave the id out."
        raise InputError(f"{name}: no sample{scope} has the id {shorten(missing[0])}; {remedy}")
    selected = [i for i, sample_id in enumerate(sample_ids) if not required or sample_id in required]
    if sample is not None:
        shuffled = sorted(selected, key=lambda i: sha256(f"{seed}/{sample_ids[i]}".encode()).digest())
        selected = sorted(shuffled[:sample])
    for field, (column, *_) in names.items():
        if names[field] != NAMES[field] and column not in seen and seen:
            fault = f"no sample has the column {shorten(column)}, which was named for {field}"
            raise InputError(
                f"{name}: {fault} with --columns; the columns are: {shorten(', '.join(map(str, seen)))}."
            )
    if not selected:
        remedy = "give at least one."
        if skipped:
            remedy = f"{len(skipped)} can't be used, the first of them as {skipped[0].reason}"
        raise InputError(f"{name}: there is no sample in it; {remedy}")
    samples.skipped = [*(source.skipped if isinstance(source, Samples) else []), *skipped]
    samples.guesses = [*(source.guesses if isinstance(source, Samples) else []), *guesses.lines()]
    samples.columns = list(map(str, seen)) or (source.columns if isinstance(source, Samples) else None)
    for line in guesses.lines():
        LOG.info("%s: %s.", name, line)
    return samples.choose(selected)


def _names_of(columns: Mapping[str, str]) -> Names:
    """Return the columns that each field is read from: `NAMES`, but for those named in `columns`."""
    names = dict(NAMES)
    for name, column in columns.items():
        field = next((field for field, aliases in NAMES.items() if name in aliases), None)
        if field is None:
            remedy = suggested(name, list(NAMES))
            raise InputError(f"columns: {shorten(name)} is no field of a sample; {remedy}")
        if names[field] != NAMES[field]:
            raise InputError(f"columns: {field} is named twice; keep one.")
        names[field] = (column,)
    return names


def _rows_of(
    source: Source, format_name: str | None, encoding: str | None, names: Names
) -> tuple[Rows, str, Path | None]:
    """Return the rows of any source, its name for messages, and its file if it is one."""
    if hasattr(source, "collect"):  # a LazyFrame
        source = source.collect()
    if isinstance(source, str | Path):
        return file_rows(source, format_name, encoding, names), source_name(source), Path(source)
    if format_name is not None or encoding is not None:
        raise InputError("samples: format and encoding are of files; leave them out here.")
    if is_table(source) and not isinstance(source, Mapping):
        name = type(source).__name__
        return table_rows(source, name, names), name, None
    if isinstance(source, Sample | Mapping) or not isinstance(source, Iterable):
        shown, remedy = shorten(repr(source), 60), "put one into a list"
        if is_table(source):  # a DatasetDict
            remedy = f"give one of its splits: {shorten(', '.join(map(str, source)))}"
        raise InputError(f"samples: expected a path or a list of samples, not {shown}; {remedy}.")
    rows = (Row(number, f"sample {number}", item) for number, item in enumerate(source, 1))
    return rows, *((source.name, source.file) if isinstance(source, Samples) else ("samples", None))
