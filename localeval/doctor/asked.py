"""What the checks are about, and what one of them can say beside what it found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from localeval.errors import LocalevalError
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER
from localeval.prompts.prefix import Trunk

if TYPE_CHECKING:
    from localeval.judge import Judge


class Fault(Exception):
    """Something is wrong: what, and what to do about it."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(found)
        self.remedy = remedy


class Absent(Exception):
    """There is nothing to check, and that need not be wrong."""


class _Word(BaseModel):
    word: str


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
    _refused: bool = field(default=False, init=False)

    @cached_property
    def loaded(self) -> Judge:
        """Raises what `Judge.load` raises, and what a first reply does: the weights are read for that."""
        from localeval.judge import Judge

        try:
            judge = Judge.load(self.judge, embedder=self.embedder, n_threads=self.threads, keep_trunks=False)
            judge.engine.generate(Trunk("", ()), "Tea grows on hills.", ["A word?"], _Word, budget=2)
        except LocalevalError:
            self._refused = True
            raise
        return judge

    @property
    def needed(self) -> Judge:
        """Raises Absent where it can't be loaded, which is tried once."""
        why = "the judge can't be loaded: see the check judge"
        if self._refused:
            raise Absent(why)
        try:
            return self.loaded
        except LocalevalError as error:
            raise Absent(why) from error

    def close(self) -> None:
        if "loaded" in vars(self):
            self.loaded.close()
