"""The records of a sample in a run's folder, read from the journal when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS, Desk, Failure, Judgement
from localeval.lines import Lines
from localeval.samples import Sample
from localeval.signature import digest


class KeptRecords(Mapping[str, BaseModel]):
    """Judgement -> record, as a dict has it, but nothing is held in memory: each look reads a line.

    at  judgement -> the key of its line in the journal

    Looking raises InputError when the journal is gone, or no longer what it was.
    """

    __slots__ = ("_lines", "at")

    def __init__(self, lines: Lines, at: Mapping[str, str]) -> None:
        self._lines, self.at = lines, at

    def __getitem__(self, judgement: str) -> BaseModel:
        kept = self._lines.get(self.at[judgement])
        if kept is None:
            raise InputError(
                f"{self._lines.path}: the line of {judgement} with the key {self.at[judgement][:16]}... is "
                "missing or damaged; give the command of the run again, it makes what is missing."
            )
        return as_record(JUDGEMENTS[judgement], kept)

    def __contains__(self, judgement: object) -> bool:
        return judgement in self.at

    def __iter__(self) -> Iterator[str]:
        return iter(self.at)

    def __len__(self) -> int:
        return len(self.at)


def as_record(row: Judgement, kept: Mapping[str, Any]) -> BaseModel:
    """The record that a journal kept as JSON."""
    return Failure(**kept) if "failed" in kept else row.record(**kept)


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
            "of": [records[name].model_dump(mode="json") for name in row.needs],
            "sample": {column: getattr(sample, column) for column in row.columns},
            "engine": engine,
        }
    )
