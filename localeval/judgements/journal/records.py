"""The records of a sample in a run's folder, read from the journal when they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS, Desk, Failure, Judgement
from localeval.judgements.journal.lines import Lines
from localeval.samples import Sample
from localeval.system.files import reading
from localeval.system.versions import digest


class KeptRecords(Mapping[str, BaseModel]):
    """Judgement -> record, as a dict has it, but nothing is held in memory: each look reads a line.

    at  judgement -> the key of its line in the journal

    Looking raises InputError when the journal is gone, no longer what it was, or of another form.
    """

    __slots__ = ("_lines", "at")

    def __init__(self, lines: Lines, at: Mapping[str, str]) -> None:
        self._lines, self.at = lines, at

    def __getitem__(self, judgement: str) -> BaseModel:
        record = record_under(self._lines, JUDGEMENTS[judgement], self.at[judgement])
        if record is None:
            raise InputError(
                f"{self._lines.path}: the line of {judgement} with the key {self.at[judgement][:16]}... is "
                "missing or damaged; give the command of the run again, it makes what is missing."
            )
        return record

    def __contains__(self, judgement: object) -> bool:
        return judgement in self.at

    def __iter__(self) -> Iterator[str]:
        return iter(self.at)

    def __len__(self) -> int:
        return len(self.at)


def record_under(lines: Lines, row: Judgement, key: str) -> BaseModel | None:
    """The record of a judgement in a journal; None where it has none. Raises InputError for another form."""
    kept = lines.get(key)
    where = f"{lines.path}: the line of {row.name} with the key {key[:16]}..."
    return None if kept is None else as_record(row, kept, where)


_LATEST: deque[tuple[BaseModel, dict[str, Any]]] = deque(maxlen=8)


def plain(record: BaseModel) -> dict[str, Any]:
    """The record in JSON values, not to be changed.

    Those of the latest records are kept, until `forget`: what several judgements stand on is asked for by
    each of them, and may hold 100 000 statements.
    """
    for known, values in list(_LATEST):
        if known is record:
            return values
    values = record.model_dump(mode="json")
    _LATEST.append((record, values))
    return values


def forget() -> None:
    """Keep no record: a sample is done."""
    _LATEST.clear()


def as_record(row: Judgement, kept: Mapping[str, Any], where: str = "") -> BaseModel:
    """The record that a journal kept as JSON; `where` begins the InputError for another form."""
    what = where or f"a line of {row.name} in the journal"
    with reading(what, "take it out, and give the run's `evaluate` command again."):
        return Failure(**kept) if "failed" in kept else row.record(**kept)


def is_believed(record: BaseModel) -> bool:
    """Whether a record that was kept stands for its judgement.

    An error of the engine may pass: such a judgement is made anew when it is next asked for.
    """
    return not (isinstance(record, Failure) and record.failed == "engine_error")


def key_of(
    row: Judgement, desk: Desk, sample: Sample, records: Mapping[str, BaseModel], engine: Mapping[str, Any]
) -> str:
    """What a record is kept under: a digest of all that can change it.

    `engine` is what of the judge can change it; of `desk` nothing is asked but the models' signatures.
    """
    return digest(
        {
            "judgement": [row.name, row.version],
            "recipe": row.recipe(desk, sample),
            "of": [plain(records[name]) for name in row.needs],
            "sample": {column: getattr(sample, column) for column in row.columns},
            "engine": engine,
        }
    )
