"""Read and select samples from any source."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from localeval.errors import InputError
from localeval.samples.collection import Samples, Skipped
from localeval.samples.columnar import columns_of_lists, rows_of_columns
from localeval.samples.columns import NAMES, Names, check_named_columns, choose_names
from localeval.samples.formats import file_rows, source_name
from localeval.samples.guessed_names import guess_columns, with_guesses
from localeval.samples.guesses import Guesses
from localeval.samples.hints import nearest_columns
from localeval.samples.rows import Row, Rows
from localeval.samples.sample import Sample
from localeval.samples.selection import check_ids, draw
from localeval.samples.shapes import find_shape, sources_of
from localeval.samples.tables import is_table, table_rows
from localeval.system.arguments import whole_number
from localeval.text.display import shorten

MAX_HEADERS = 1_000  # different sets of columns for which guesses are remembered
LOG = logging.getLogger("localeval")

# A file, an iterable of samples or mappings, a table (pandas or Polars DataFrame, Hugging Face Dataset), or a
# mapping with one list for each column.
Source: TypeAlias = str | Path | Iterable[Any]


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
    format    "jsonl", "json", "csv", "tsv", "parquet" or "xlsx"; by default by the file's name, else JSONL
    encoding  of a text file; by default UTF-8, or what its byte order mark says

    A missing id becomes the number of the line, or the position in a table, list or iterable, from 1.
    `InputError` names file, line, field and value of what can't be read.

    >>> read_samples([{"q": "Who?", "answer": "Ann."}], columns={"user_input": "q"})[0].user_input
    'Who?'
    """
    limit = None if limit is None else whole_number("limit", limit, 1)
    sample = None if sample is None else whole_number("sample", sample, 1)
    required = {str(sample_id) for sample_id in ([ids] if isinstance(ids, str | int) else ids)}
    names = choose_names(columns or {})
    opened = _open_source(source, format, encoding, names)
    reader = _Reader(opened, names, skip_bad)
    # At once, and not when the last reference to an error is gone.
    with closing(opened.rows) as rows:
        for row in rows:
            reader.add(row)
            if len(reader.samples) == limit:
                break
    sample_ids = list(reader.places)
    check_ids(required, sample_ids, limit, opened.name)
    chosen = list(range(len(sample_ids)))
    if required:
        chosen = [index for index in chosen if sample_ids[index] in required]
    if sample is not None:
        chosen = draw(chosen, sample_ids, sample, seed)
    check_named_columns(names, reader.columns, opened.name)
    if not chosen:
        raise InputError(f"{opened.name}: there is no sample in it; {reader.remedy_for_none()}")
    return reader.finish(source).choose(chosen)


class _OpenSource(NamedTuple):
    """The rows of a source, its name for messages, and its file if it is one."""

    rows: Rows
    name: str
    file: Path | None = None


class _Reader:
    """Turn rows into samples, one after the other.

    samples  those that were read
    skipped  the rows that can't be read, with `skip_bad`
    columns  the names of all columns that a row had, in their order
    places   the id of each sample, and its place for messages
    """

    def __init__(self, source: _OpenSource, names: Names, skip_bad: bool) -> None:
        self.samples = Samples((), source.name, source.file)
        self.skipped: list[Skipped] = []
        self.columns: dict[str, None] = {}
        self.places: dict[str, str] = {}
        self._guesses = Guesses()
        self._name = source.name
        self._names = names
        self._names_of_header: dict[tuple[Any, ...], Names] = {}
        self._skip_bad = skip_bad

    def add(self, row: Row) -> None:
        """Read a row. Raises InputError for one that can't be read, unless it is to be skipped."""
        try:
            sample = self._read(row)
        except InputError as error:
            if not self._skip_bad:
                raise
            self.skipped.append(Skipped(row.place, str(error)))
            return
        place = row.place
        if not sample.id:
            place = f"{place} (no id, so its position)"
            sample = sample.model_copy(update={"id": str(row.number)})
        if sample.id in self.places:
            earlier = self.places[sample.id]
            raise InputError(
                f"{self._name}: {earlier} and {place} have the same id {shorten(sample.id)}; "
                "make every id unique."
            )
        self.places[sample.id] = place
        self._guesses.count_all(row.guesses)
        self._guesses.add_notes(row.notes)
        self.samples.append(sample)

    def _read(self, row: Row) -> Sample:
        where = row.place if self._name == "samples" else f"{self._name}, {row.place}"
        if isinstance(row.value, InputError):
            raise InputError(f"{where}: {row.value}.")
        value = row.value
        if isinstance(value, Sample) and self._names != NAMES:
            value = value.model_dump(exclude_none=True)
        names = self._names
        if isinstance(value, Mapping):
            value, header = self._named_columns(value, row.header)
            names = self._guessed_names(tuple(header))
        return Sample.read(value, where, names, self._guesses)

    def _guessed_names(self, header: tuple[Any, ...]) -> Names:
        """Return the columns that each field of a row with these columns is read from, and note guesses."""
        if header not in self._names_of_header:
            guessed = guess_columns(header, self._names)
            self._guesses.add_notes(guessed.notes)
            if len(self._names_of_header) == MAX_HEADERS:
                self._names_of_header.clear()
            self._names_of_header[header] = with_guesses(self._names, guessed)
        return self._names_of_header[header]

    def _named_columns(
        self, row: Mapping[Any, Any], header: Sequence[Any]
    ) -> tuple[Mapping[Any, Any], Sequence[Any]]:
        """Return the row with the columns of a sample, whatever tool arranged it, and all their names."""
        shape = find_shape({**dict.fromkeys(header), **row}, self._names)
        self._guesses.sources = {}
        if shape is not None:
            self._guesses.count(shape.columns[0], f"with fields of {shape.name}")
            converted = shape.to_columns(row, self._names)
            self._guesses.sources = sources_of(row, converted)
            row = converted
            header = ()
        header = list(dict.fromkeys([*header, *row]))
        self.columns.update(dict.fromkeys(header))
        return row, header

    def remedy_for_none(self) -> str:
        """Say what to do where no sample could be read."""
        if self.skipped:
            first = self.skipped[0]
            return f"{len(self.skipped)} can't be used, the first of them as {first.reason}"
        return "give at least one."

    def finish(self, source: Source) -> Samples:
        """Return all samples, with what was skipped and guessed, and log the guesses.

        source  where it is `Samples`, what was skipped and guessed when they were read still holds
        """
        samples = self.samples
        samples.columns = list(map(str, self.columns)) or None
        samples.read_from = {field: list(columns) for field, columns in self._guesses.fields.items()}
        new_guesses = [*self._guesses.lines(), *nearest_columns(samples)]
        for line in new_guesses:
            LOG.info("%s: %s.", self._name, line)
        samples.skipped = self.skipped
        samples.guesses = new_guesses
        if isinstance(source, Samples):
            samples.skipped = [*source.skipped, *self.skipped]
            samples.guesses = [*source.guesses, *new_guesses]
            samples.columns = samples.columns or source.columns
            samples.read_from = samples.read_from or source.read_from
        return samples


def _open_source(source: Source, format_name: str | None, encoding: str | None, names: Names) -> _OpenSource:
    """Open any source. Raises InputError for what is no set of samples."""
    if hasattr(source, "collect"):  # a LazyFrame
        source = source.collect()
    if isinstance(source, str | Path):
        rows = file_rows(source, format_name, encoding, names)
        return _OpenSource(rows, source_name(source), Path(source))
    if format_name is not None or encoding is not None:
        raise InputError("samples: format and encoding are of files; leave them out here.")
    if is_table(source) and not isinstance(source, Mapping):
        name = type(source).__name__
        return _OpenSource(table_rows(source, name, names), name)
    columns = columns_of_lists(source, names)
    if columns is not None:
        source = rows_of_columns(columns)
    if isinstance(source, Sample | Mapping) or not isinstance(source, Iterable):
        raise _no_samples(source)
    rows = (Row(number, f"sample {number}", item) for number, item in enumerate(source, 1))
    if isinstance(source, Samples):
        return _OpenSource(rows, source.name, source.file)
    return _OpenSource(rows, "samples")


def _no_samples(source: object) -> InputError:
    """Say that this is no set of samples, and what to give instead of it."""
    remedy = "put one into a list"
    if isinstance(source, Mapping) and is_table(source):  # a DatasetDict
        remedy = f"give one of its splits: {shorten(', '.join(map(str, source)))}"
    shown = shorten(repr(source), 60)
    return InputError(f"samples: expected a path or a list of samples, not {shown}; {remedy}.")
