"""Reading samples from whatever holds them, and choosing among them."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from localeval.errors import InputError
from localeval.samples.readers import Row, Rows, file_rows, from_langsmith, source_name, table_rows
from localeval.samples.sample import NAMES, Names, Sample
from localeval.system.arguments import whole_number
from localeval.system.files import SpooledLines, StoredSequence
from localeval.text.display import shorten, suggested

# A file, or samples and mappings, or a table: a pandas or Polars DataFrame, a Dataset of Hugging Face.
Source: TypeAlias = str | Path | Iterable[Any]


class Skipped(NamedTuple):
    """A row that `skip_bad` left out: its place, as "line 7", and the sentence that would have refused it."""

    place: str
    reason: str


class Samples(StoredSequence[Sample]):
    """The samples that were read. Many are kept in a temporary file: each look reads one of them.

    name  of the file or source, for messages
    file  that they were read from; None for other sources
    """

    def __init__(self, samples: Iterable[Sample], name: str, file: Path | None = None) -> None:
        self.name, self.file, self.skipped = name, file, list[Skipped]()
        self._lines = SpooledLines(one.model_dump_json().encode() for one in samples)
        self._chosen: Sequence[int] = range(len(self._lines))

    def __len__(self) -> int:
        return len(self._chosen)

    def _read(self, place: int) -> Sample:
        return Sample.stored(self._lines[self._chosen[place]])

    def choose(self, places: Iterable[int]) -> Samples:
        """Give the samples at these places, in this order."""
        chosen = copy(self)
        chosen._chosen = array("Q", (self._chosen[at] for at in places))
        return chosen


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

    columns   for a field the column that it is read from, and from no other: {"user_input": "q"}
    limit     read the first so many, and nothing behind them
    ids       of these only the samples with these ids, each of which must be there
    sample    of these choose so many, by `seed` and their ids; they stay in order, and a larger sample holds
              the smaller ones
    skip_bad  leave out rows that can't be read, and tell of them in `skipped`; two equal ids stay an error
    format    "jsonl", "json", "csv", "tsv" or "parquet"; by default by the file's name, else JSONL
    encoding  of a file of text; by default UTF-8, or what its byte order mark says

    An id that is missing becomes the number of the line, or the place in a table, list or iterable, from 1.
    `InputError` names file, line, field and value of what can't be read.

    >>> read_samples([{"q": "Who?", "answer": "Ann."}], columns={"user_input": "q"})[0].user_input
    'Who?'
    """
    limit = None if limit is None else min(whole_number("limit", limit, 1), sys.maxsize)
    sample = None if sample is None else whole_number("sample", sample, 1)
    wanted = {*map(str, [ids] if isinstance(ids, str | int) else ids)}
    names = dict(NAMES)
    for given, column in (columns or {}).items():
        field = next((field for field, known in NAMES.items() if given in known), None)
        if field is None:
            remedy = suggested(given, list(NAMES))
            raise InputError(f"columns: {shorten(given)} is no field of a sample; {remedy}")
        if names[field] != NAMES[field]:
            raise InputError(f"columns: {field} is named twice; keep one.")
        names[field] = (column,)

    rows: Rows
    file: Path | None = None
    if hasattr(source, "collect"):  # a LazyFrame
        source = source.collect()
    tabular = any(hasattr(source, own) for own in ("itertuples", "iter_rows", "to_pylist", "column_names"))
    if isinstance(source, str | Path):
        file, name = Path(source), source_name(source)
        rows = file_rows(source, format, encoding, names)
    elif format is not None or encoding is not None:
        raise InputError("samples: format and encoding are of files; leave them out here.")
    elif tabular and not isinstance(source, Mapping):
        name = type(source).__name__
        rows = table_rows(source, name, names)
    elif isinstance(source, Sample | Mapping) or not isinstance(source, Iterable):
        found, remedy = shorten(repr(source), 60), "put one into a list"
        if tabular:  # a DatasetDict
            remedy = f"give one of its splits: {shorten(', '.join(map(str, source)))}"
        raise InputError(f"samples: expected a path or a list of samples, not {found}; {remedy}.")
    else:
        name, file = (source.name, source.file) if isinstance(source, Samples) else ("samples", None)
        rows = (Row(number, f"sample {number}", item) for number, item in enumerate(source, 1))

    skipped, seen, places = list[Skipped](), dict[str, None](), dict[str, str]()
    with closing(rows):  # now, and not when the last reference to an error is gone
        read = _samples(rows, name, names, seen, places, skipped if skip_bad else None)
        samples = Samples(islice(read, limit), name, file)
    there = list(places)
    if there and (missing := sorted(wanted.difference(there))):
        within, remedy = "", shorten(suggested(missing[0], there))
        if len(there) == limit:  # it may well stand behind, where nothing is looked at
            within, remedy = f" among the first {limit}", "raise the limit, or leave the id out."
        raise InputError(f"{name}: no sample{within} has the id {shorten(missing[0])}; {remedy}")
    chosen = [at for at, one in enumerate(there) if not wanted or one in wanted]
    if sample is not None:
        by_lot = sorted(chosen, key=lambda at: sha256(f"{seed}/{there[at]}".encode()).digest())
        chosen = sorted(by_lot[:sample])
    for field, (column, *_) in names.items():
        if names[field] != NAMES[field] and column not in seen and seen:
            fault = f"no sample has the column {shorten(column)}, which was named for {field}"
            raise InputError(f"{name}: {fault}; there are: {shorten(', '.join(map(str, seen)))}.")
    if not chosen:
        remedy = "give at least one."
        if skipped:
            remedy = f"{len(skipped)} can't be used, the first of them as {skipped[0].reason}"
        raise InputError(f"{name}: there is no sample in it; {remedy}")
    samples.skipped = [*(source.skipped if isinstance(source, Samples) else []), *skipped]
    return samples.choose(chosen)


def _samples(
    rows: Rows,
    name: str,
    names: Names,
    seen: dict[str, None],
    places: dict[str, str],
    skipped: list[Skipped] | None,
) -> Iterator[Sample]:
    """Yield a sample for each row, with an id of its own.

    seen     takes the columns of all rows
    places   takes the id of each sample, and where it stands
    skipped  takes the rows that can't be read; None lets the first of them raise
    """
    for row in rows:
        value = row.value
        where = row.place if name == "samples" else f"{name}, {row.place}"
        if isinstance(value, Sample) and names != NAMES:
            value = value.model_dump(exclude_none=True)
        if isinstance(value, Mapping):
            value = from_langsmith(value, names)
            seen.update(dict.fromkeys(value))
        try:
            if isinstance(value, InputError):
                raise InputError(f"{where}: {value}.")
            read = Sample.read(value, where, names)
        except InputError as fault:
            if skipped is None:
                raise
            skipped.append(Skipped(row.place, str(fault)))
            continue
        named = read if read.id else read.model_copy(update={"id": str(row.number)})
        if named.id in places:
            both = f"{places[named.id]} and {row.place} have the same id {shorten(named.id)}"
            raise InputError(f"{name}: {both}; make every id unique.")
        places[named.id] = row.place
        yield named
