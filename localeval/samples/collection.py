"""The samples that were read, most of them outside of memory where they are many."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import NamedTuple

from localeval.samples.sample import Sample
from localeval.system.spooled import SpooledLines, StoredSequence


class Skipped(NamedTuple):
    """A row that `skip_bad` left out: its place, as "line 7", and the message of its error."""

    place: str
    reason: str


class Samples(StoredSequence[Sample]):
    """The samples that were read. Many are kept in a temporary file: each access reads one from it.

    name       of the file or source, for messages
    file       that they were read from; None for other sources
    skipped    the rows that `skip_bad` left out
    columns    names of the columns that any row had; None where they were not read from rows
    read_from  field -> the columns that it was read from
    guesses    lines about what was read in another way than it is written: names, numbers, contexts
    """

    def __init__(self, samples: Iterable[Sample], name: str, file: Path | None = None) -> None:
        self.name = name
        self.file = file
        self.skipped: list[Skipped] = []
        self.columns: Sequence[str] | None = None
        self.read_from: dict[str, list[str]] = {}
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
        last = self._lines.append(sample.model_dump_json().encode())
        self._selected = range(last + 1)

    def choose(self, indices: Iterable[int]) -> Samples:
        """Return the samples at these indices, in this order."""
        selection = copy(self)
        selection._selected = array("Q", (self._selected[i] for i in indices))
        return selection
