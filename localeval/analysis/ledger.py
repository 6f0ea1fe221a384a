"""The ledger: which judges were tried on which labels, so that a judge that was chosen by them is told.

Of many judges that are tried on the same labels, the best looks better than it is. So each judge that a card
compares with labels is entered, and the bounds of the k-th are at a level of 1 - 0.05/k. The ledger is a file
in the user's data folder, or at LOCALEVAL_LEDGER. It has digests, and no text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import platformdirs
from pydantic import BaseModel, ConfigDict, Field

from localeval.errors import InputError
from localeval.system.files import atomic_write, parsing
from localeval.system.locks import lock_file
from localeval.system.versions import digest

VARIABLE = "LOCALEVAL_LEDGER"
_SECONDS_TO_WAIT = 60

Labelled = Sequence[tuple[str, int]]
"""The fingerprint of each labelled sample, and its label."""


class Place(NamedTuple):
    """The place of a judge among all that were tried on labels some of which are the same.

    test   1 for the first time that any of these labels were used
    judge  1 for the first judge; lower than `test` where one judge was tried on several of the sets
    """

    test: int
    judge: int


class Entry(BaseModel):
    """A judge that was tried on a set of labels.

    name      of the judge, for people to read
    judge     digest of all that changes its decisions
    labels    digest of the samples with their labels
    samples   fingerprints of the samples, sorted
    """

    model_config = ConfigDict(frozen=True)

    name: str
    judge: str
    metric: str
    language: str
    labels: str
    samples: tuple[str, ...]
    date: str
    test: int
    place: int


class _File(BaseModel):
    """The content of the ledger."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    entries: list[Entry] = []


def ordinal(number: int) -> str:
    """Return a number as in "2nd".

    >>> [ordinal(number) for number in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}th" if number % 100 in (11, 12, 13) else f"{number}{ending}"


def ledger_path() -> Path:
    """Return the file of the ledger: `LOCALEVAL_LEDGER`, or one in the user's data folder."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("localeval") / "ledger.json"


def enter(name: str, judge: str, metric: str, language: str, labelled: Labelled, date: str) -> Place:
    """Enter a judge that is tried on labels, and return its place. The same one again keeps its place.

    name      of the judge
    judge     digest of all that changes its decisions
    date      of today, as "2026-11-28"

    Raises InputError for a ledger that can't be read or written.
    """
    path = ledger_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = lock_file(path.with_name(f"{path.name}.lock"), _SECONDS_TO_WAIT)
        try:
            entries = _read(path)
            place = _place(entries, judge, metric, language, labelled)
            if not any(_is_same(entry, judge, metric, language, labelled) for entry in entries):
                entries.append(
                    Entry(
                        name=name,
                        judge=judge,
                        metric=metric,
                        language=language,
                        labels=_digest_of(labelled),
                        samples=tuple(sorted({sample for sample, _ in labelled})),
                        date=date,
                        test=place.test,
                        place=place.judge,
                    )
                )
                atomic_write(path, [_text(entries)])
            return place
        finally:
            lock.release()
    except OSError as error:
        raise InputError(
            f"{path}: the ledger of judges and labels can't be kept there ({error.strerror or error}); "
            f"make room, or set {VARIABLE} to another file."
        ) from error


def _place(entries: list[Entry], judge: str, metric: str, language: str, labelled: Labelled) -> Place:
    """Return the place of a judge: its own, if it was tried on just these labels, else the next."""
    others = []
    samples = {sample for sample, _ in labelled}
    for entry in entries:
        if _is_same(entry, judge, metric, language, labelled):
            return Place(entry.test, entry.place)
        is_same_kind = entry.metric == metric and entry.language == language
        if is_same_kind and not samples.isdisjoint(entry.samples):
            others.append(entry)
    return Place(1 + len(others), 1 + len({entry.judge for entry in others} - {judge}))


def _is_same(entry: Entry, judge: str, metric: str, language: str, labelled: Labelled) -> bool:
    key = (entry.judge, entry.metric, entry.language, entry.labels)
    return key == (judge, metric, language, _digest_of(labelled))


def _digest_of(labelled: Labelled) -> str:
    return digest(sorted(labelled))


def _read(path: Path) -> list[Entry]:
    if not path.exists():
        return []
    subject = f"{path}: the ledger of judges and labels"
    with parsing(subject, f"move it away, or set {VARIABLE} to another file."):
        return _File.model_validate(json.loads(path.read_bytes())).entries


def _text(entries: list[Entry]) -> str:
    """Return the ledger's text, an entry a line."""
    lines = ",\n".join(json.dumps(entry.model_dump(mode="json")) for entry in entries)
    return f'{{"schema": 1, "entries": [\n{lines}\n]}}\n'
