"""What the checks are about, and what one of them can say beside what it found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from localeval.errors import LocalevalError
from localeval.store.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER

if TYPE_CHECKING:
    from localeval.judge import Judge


class Fault(Exception):
    """Something is wrong: what, and what to do about it."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(found)
        self.remedy = remedy


class Absent(Exception):
    """There is nothing to check, and that need not be wrong."""


@dataclass
class Asked:
    """What the checks are about; `loaded` is the judge, once a check needs it.

    The row of the judge asks for `loaded` and says why it can't be; those behind it ask for `needed`.
    """

    judge: str
    embedder: str = DEFAULT_EMBEDDER
    classifier: str = DEFAULT_CLASSIFIER
    threads: int = 0
    folder: Path = Path()

    @cached_property
    def loaded(self) -> Judge:
        """Raises what `Judge.load` raises."""
        from localeval.judge import Judge

        return Judge.load(self.judge, embedder=self.embedder, n_threads=self.threads)

    @property
    def needed(self) -> Judge:
        """Raises Absent where it can't be loaded."""
        try:
            return self.loaded
        except LocalevalError as error:
            raise Absent("the judge can't be loaded: see the check judge") from error

    def close(self) -> None:
        if "loaded" in vars(self):
            self.loaded.close()
