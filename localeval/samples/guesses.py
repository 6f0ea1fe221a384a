"""Which parts of the data were read in another way than they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from localeval.text.display import shorten


class Guesses:
    """Guesses, counted while rows are read.

    fields   field -> the columns that it was read from, those of its own name too
    aliases  the same of columns with another name that nobody named for the field
    counts   (column, what was done) -> number of cells
    notes    lines about the whole data, in their order
    sources  of the row at hand: column -> its place in a row of another tool, as "outputs.answer"
    """

    def __init__(self) -> None:
        self.fields: dict[str, dict[str, None]] = {}
        self.aliases: dict[str, dict[str, None]] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self.notes: dict[str, None] = {}
        self.sources: Mapping[str, str] = {}

    def add_field(self, field: str, column: str, is_named: bool) -> None:
        """Note the column that a field was read from, and whether the caller named it."""
        column = self.sources.get(column, column)
        self.fields.setdefault(field, {})[column] = None
        if column != field and not is_named:
            self.aliases.setdefault(field, {})[column] = None

    def add_notes(self, notes: Iterable[str]) -> None:
        """Note lines about the whole data; each is said once."""
        self.notes.update(dict.fromkeys(notes))

    def count(self, column: str, what: str) -> None:
        """Count one cell of a column; `what` was done with it, or where it was found."""
        self.counts[self.sources.get(column, column), what] += 1

    def count_all(self, cells: Iterable[tuple[str, str]]) -> None:
        """Count cells as `count` does: (column, what was done) for each."""
        self.counts.update(cells)

    def lines(self) -> list[str]:
        """Return a line for each kind of guess; none where nothing was guessed.

        >>> guesses = Guesses()
        >>> guesses.add_field("response", "answer", is_named=False)
        >>> guesses.count("answer", "with a number, read as its text")
        >>> guesses.lines()
        ['read response from answer', 'answer: 1 cell with a number, read as its text']
        """
        lines = []
        if self.aliases:
            pairs = [f"{field} from {' and '.join(columns)}" for field, columns in self.aliases.items()]
            lines.append(f"read {', '.join(pairs)}")
        for (column, what), number in sorted(self.counts.items()):
            unit = "cell" if number == 1 else "cells"
            lines.append(f"{shorten(column)}: {number} {unit} {what}")
        lines += map(shorten, self.notes)
        return lines
