"""Which parts of the data were read in another way than they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from localeval.text.display import shorten


class Guesses:
    """Guesses, counted while rows are read.

    aliases  field -> the columns that it was read from, where nobody named one
    counts   (column, what was done) -> number of cells
    """

    def __init__(self) -> None:
        self.aliases: dict[str, dict[str, None]] = {}
        self.counts: Counter[tuple[str, str]] = Counter()

    def add_alias(self, field: str, column: str) -> None:
        """Note that a field was read from a column of another name."""
        self.aliases.setdefault(field, {})[column] = None

    def count(self, column: str, what: str) -> None:
        """Count one cell of a column; `what` was done with it, or where it was found."""
        self.counts[column, what] += 1

    def count_all(self, cells: Iterable[tuple[str, str]]) -> None:
        """Count cells as `count` does: (column, what was done) for each."""
        self.counts.update(cells)

    def lines(self) -> list[str]:
        """Return a line for each kind of guess; none where nothing was guessed.

        >>> guesses = Guesses()
        >>> guesses.add_alias("response", "answer")
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
        return lines
