"""Judgements: questions put to a model about one sample. Each is asked once and kept whole.

A judgement is a row: what it reads of the sample, which other judgements it stands on, what of the
recipe can change its answer, and the function that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from localeval.judgements import reasons, statements, support
from localeval.judgements.desk import Desk, Failure
from localeval.samples import Sample

__all__ = ["JUDGEMENTS", "Desk", "Failure", "Judgement", "in_order"]

Records = Mapping[str, Any]


@dataclass(frozen=True)
class Judgement:
    """One row of `JUDGEMENTS`.

    columns  the fields of the sample that can change the answer; with `recipe`, the record's key
    needs    judgements whose records `ask` reads
    recipe   what else can change the answer: prompt, form, and whether a model is asked at all
    ask      makes the record; raises EngineError where the engine can't answer
    record   the record's type
    """

    name: str
    version: str
    columns: tuple[str, ...]
    needs: tuple[str, ...]
    recipe: Callable[[Desk, Sample], dict[str, Any]]
    ask: Callable[[Desk, Sample, Records], BaseModel]
    record: type[BaseModel]


_TEXTS = ("user_input", "response", "retrieved_contexts")

JUDGEMENTS: dict[str, Judgement] = {
    row.name: row
    for row in (
        Judgement(
            "statements",
            "1",
            ("user_input", "response"),
            (),
            statements.recipe,
            statements.ask,
            statements.StatementsRecord,
        ),
        Judgement(
            "support", "1", _TEXTS, ("statements",), support.recipe, support.ask, support.SupportRecord
        ),
        Judgement("reasons", "1", _TEXTS, ("support",), reasons.recipe, reasons.ask, reasons.ReasonsRecord),
    )
}


def in_order(wanted: Sequence[str]) -> list[Judgement]:
    """The rows of `wanted` and of all that they stand on, each once, what is needed first."""
    found: dict[str, Judgement] = {}
    for name in wanted:
        row = JUDGEMENTS[name]
        found.update({needed.name: needed for needed in in_order(row.needs)})
        found[name] = row
    return list(found.values())
