"""Reading samples from whatever holds them, and choosing among them."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from localeval.errors import InputError
from localeval.samples.faults import shown, wrong
from localeval.samples.files import name_of
from localeval.samples.formats import file_rows
from localeval.samples.row import Row, Rows
from localeval.samples.sample import NAMES, Names, Sample
from localeval.samples.tables import Frame, frame_rows, is_frame
from localeval.system.arguments import whole
from localeval.text.display import said

Source: TypeAlias = str | Path | Iterable[Sample | Mapping[str, Any]] | Frame


class Skipped(NamedTuple):
    """A row that `skip_bad` left out.

    place   "line 7"; of a table "row 7", of a list "sample 7"
    reason  the sentence that it would have been refused with: file, line, field, value
    """

    place: str
    reason: str


class Samples(list[Sample]):
    """The samples that were read.

    name     of the file or source, for messages
    skipped  the rows that `skip_bad` left out, in order
    """

    def __init__(self, samples: Iterable[Sample], name: str, skipped: Sequence[Skipped] = ()) -> None:
        super().__init__(samples)
        self.name, self.skipped = name, list(skipped)


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
    """The samples of a file, of stdin ("-"), of a DataFrame or of an iterable, at least one.

    columns   for a field the column that it is read from, and from no other: {"user_input": "q"}
    limit     read the first so many, and nothing behind them
    ids       of these only the samples with these ids, each of which must be there
    sample    of these choose so many, by `seed` and their ids; they stay in order, and a larger sample holds
              the smaller ones
    skip_bad  leave out rows that can't be read, and tell of them in `skipped`; two equal ids stay an error
    format    "jsonl", "json", "csv", "tsv" or "parquet"; by default by the file's name, else JSONL
    encoding  of a file of text; by default UTF-8, or what its byte order mark says

    An id that is missing becomes the number of the line, or the place in a table, list or iterable, from 1.
    Blank lines are skipped. `InputError` names file, line, field and value of what can't be read.

    >>> read_samples([{"q": "Who?", "answer": "Ann."}], columns={"user_input": "q"})[0].user_input
    'Who?'
    """
    limit, sample = _count("limit", limit), _count("sample", sample)
    names, wanted = _names(columns), _wanted(ids)
    name, rows = _rows(source, format, encoding, names)
    reading = _Reading(name, names, skip_bad)
    with closing(rows):  # now, and not when the last reference to an error is gone
        read: Iterator[Sample] = islice(reading.samples(rows), limit)
        if wanted:
            read = _with_ids(read, wanted, name, limit)
        found = list(read) if sample is None else _drawn(read, sample, seed)
    reading.check(found)
    before = source.skipped if isinstance(source, Samples) else []
    return Samples(found, name, [*before, *reading.skipped])


def _rows(source: Any, form: str | None, encoding: str | None, names: Names) -> tuple[str, Rows]:
    """The source's name for messages, and its rows."""
    if isinstance(source, (str, Path)):
        return name_of(source), file_rows(source, form, encoding, names)
    if form is not None or encoding is not None:
        raise InputError("samples: format and encoding are of files; leave them out here.")
    if is_frame(source):
        return "DataFrame", frame_rows(source, "DataFrame", names)
    if isinstance(source, (Sample, Mapping)) or not isinstance(source, Iterable):
        raise wrong("samples", "source", "a path or a list of samples", source, "put one sample in a list")
    name = source.name if isinstance(source, Samples) else "samples"
    return name, (Row(number, f"sample {number}", item) for number, item in enumerate(source, 1))


class _Reading:
    """From rows to samples, each with an id of its own; remembers what was left out."""

    def __init__(self, name: str, names: Names, skip_bad: bool) -> None:
        self._name, self._names, self._skip_bad = name, names, skip_bad
        self.skipped: list[Skipped] = []
        self._places: dict[str, str] = {}
        self._unseen = {names[field][0]: field for field in names if names[field] != NAMES[field]}
        self._example: Sequence[object] = ()

    def samples(self, rows: Iterable[Row]) -> Iterator[Sample]:
        for row in rows:
            try:
                read = self._read(row)
            except InputError as fault:
                if not self._skip_bad:
                    raise
                self.skipped.append(Skipped(row.place, str(fault)))
                continue
            named = read if read.id else read.model_copy(update={"id": str(row.number)})
            if named.id in self._places:
                both = f"{self._places[named.id]} and {row.place} have the same id {shown(named.id)}"
                raise InputError(f"{self._name}: {both}; make every id unique.")
            self._places[named.id] = row.place
            yield named

    def _read(self, row: Row) -> Sample:
        where = row.place if self._name == "samples" else f"{self._name}, {row.place}"
        if isinstance(row.value, InputError):
            raise row.value
        if isinstance(row.value, Sample):
            return row.value
        if not isinstance(row.value, Mapping):
            raise wrong(where, "sample", "an object with named columns", row.value, "name its columns")
        self._example = self._example or list(row.value)
        for column in [column for column in self._unseen if column in row.value]:
            del self._unseen[column]
        return Sample.read(row.value, where, self._names)

    def check(self, found: Sequence[Sample]) -> None:
        """Raises InputError if there is no sample, or a column that was named in none of them."""
        if self._unseen and (found or self._example):
            column, field = next(iter(self._unseen.items()))
            there = shown(", ".join(map(str, self._example)))
            fault = f"no sample has the column {shown(column)}, which was named for {field}"
            raise InputError(f"{self._name}: {fault}; the first one has: {there}.")
        if not found and self.skipped:
            fault = f"there is no sample in it that can be used ({len(self.skipped)} were skipped)"
            raise InputError(f"{self._name}: {fault}; the first reason: {self.skipped[0].reason}")
        if not found:
            raise InputError(f"{self._name}: there is no sample in it; give at least one.")


def _count(option: str, number: Any) -> int | None:
    """The number as Python's own; of one beyond what can be counted to, the largest that can."""
    if number is None:
        return None
    return min(whole(option, number, 1), sys.maxsize)


def _wanted(ids: Any) -> set[str]:
    if isinstance(ids, str):
        return {ids}
    if isinstance(ids, bytes) or not isinstance(ids, Iterable):
        raise InputError(f'ids is {said(repr(ids), 60)}; give a list of ids, as ["1", "2"].')
    return {str(one) for one in ids}


def _names(columns: Any) -> Names:
    """For each field the columns that it is read from, where some were named for it."""
    if not isinstance(columns, Mapping | None):
        example = 'name them by their fields, as {"user_input": "q"}'
        raise InputError(f"columns is {said(repr(columns), 60)}; {example}.")
    names, named = dict(NAMES), dict[str, str]()
    for given, column in (columns or {}).items():
        field = next((field for field, known in NAMES.items() if given in known), None)
        if field is None:
            near = difflib.get_close_matches(str(given), NAMES, n=1) or [", ".join(NAMES)]
            raise InputError(f"columns: {shown(str(given))} is no field of a sample; choose {near[0]}.")
        if field in named:
            fault = f"{field} is named twice (as {shown(named[field])} and as {shown(str(given))})"
            raise InputError(f"columns: {fault}; keep one.")
        named[field] = str(given)
        if not isinstance(column, str) or not column:
            raise wrong("columns", field, "the name of a column", column, "give one")
        names[field] = (column,)
    return names


def _with_ids(samples: Iterator[Sample], wanted: set[str], name: str, limit: int | None) -> Iterator[Sample]:
    seen = []
    for sample in samples:
        seen.append(sample.id)
        if sample.id in wanted:
            yield sample
    if seen and (missing := sorted(wanted.difference(seen))):
        near = difflib.get_close_matches(missing[0], seen, n=1)
        hint = f"did you mean {shown(near[0])}?" if near else f"the first one has {shown(seen[0])}."
        among = "has"
        if len(seen) == limit:  # it may well stand behind, where nothing is looked at
            among, hint = f"up to the limit of {limit} has", "raise the limit, or leave the id out."
        raise InputError(f"{name}: no sample {among} the id {shown(missing[0])}; {hint}")


def _drawn(samples: Iterator[Sample], number: int, seed: int) -> list[Sample]:
    """So many of them, in order: those whose seeded hashes are the smallest."""

    def lot(numbered: tuple[int, Sample]) -> bytes:
        return sha256(f"{seed}/{numbered[1].id}".encode()).digest()

    return [sample for _, sample in sorted(nsmallest(number, enumerate(samples), key=lot), key=itemgetter(0))]
