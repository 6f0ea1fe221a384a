"""Judgements: questions put to a model about one sample. Each is asked once and its record stored whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from localeval.engine.interface import ContextTooLong, EngineError
from localeval.judgements import (
    needed_sentences,
    questions,
    reading,
    reasons,
    similarity,
    statements,
    support,
    useful_contexts,
)
from localeval.judgements.context import Failure, JudgeContext, NoHead
from localeval.judgements.needed_sentences import NeededRecord
from localeval.judgements.questions import QuestionsRecord
from localeval.judgements.reading import GroundingRecord
from localeval.judgements.reasons import ReasonsRecord
from localeval.judgements.similarity import SimilarityRecord
from localeval.judgements.statements import StatementsRecord, StatementsTask
from localeval.judgements.support import SupportRecord, SupportTask
from localeval.judgements.useful_contexts import UsefulRecord
from localeval.samples import Sample

__all__ = ["JUDGEMENTS", "Failure", "JudgeContext", "Judgement", "ask", "make_records", "most_windows"]

Records = Mapping[str, Any]
Answers = Literal["judge", "embedder", "classifier", "support"]


@dataclass(frozen=True)
class Judgement:
    """How a judgement is made.

    columns     the sample's fields that can change the answer; they and `key_fields` make the record's key
    needs       judgements whose records `ask` reads
    prompts     names of the prompts that it may use
    key_fields  what else can change the answer: prompt, form, and whether a model is asked at all
    ask         makes the record; raises EngineError where the engine can't answer
    uses        the model that answers; "support" means the one that `Options.support_by` names
    """

    name: str
    version: str
    columns: tuple[str, ...]
    needs: tuple[str, ...]
    prompts: tuple[str, ...]
    key_fields: Callable[[JudgeContext, Sample], dict[str, Any]]
    ask: Callable[[JudgeContext, Sample, Records], BaseModel]
    record: type[BaseModel]
    uses: Answers


def _new(
    name: str,
    version: str,
    task: Any,
    record: type[BaseModel],
    columns: str,
    prompts: str = "",
    needs: str = "",
    uses: Answers = "judge",
) -> Judgement:
    """Build a judgement from a module or task with `key_fields` and `ask`; names are separated by spaces."""
    read, needed, prompted = (tuple(names.split()) for names in (columns, needs, prompts))
    return Judgement(name, version, read, needed, prompted, task.key_fields, task.ask, record, uses)


def _statements(name: str, column: str) -> Judgement:
    task, columns = StatementsTask(column), f"user_input {column}"
    return _new(name, statements.VERSION, task, StatementsRecord, columns, "statements")


def _support(name: str, premise: str, needs: str, by: Literal["hhem"] | None = None) -> Judgement:
    task, prompts = SupportTask(premise, needs, by), "" if by else "support support_reasoned"
    uses: Answers = "classifier" if by else "support"
    # Values of the response are compared behind its question.
    columns = f"user_input {premise}" if name == "support" else premise
    return _new(name, support.VERSION, task, SupportRecord, columns, prompts, needs, uses)


_EVERY_COLUMN = "user_input retrieved_contexts reference response"
JUDGEMENTS: dict[str, Judgement] = {
    judgement.name: judgement
    for judgement in (
        _statements("statements", "response"),
        _statements("reference_statements", "reference"),
        _support("support", "retrieved_contexts", "statements"),
        _support("support_hhem", "retrieved_contexts", "statements", "hhem"),
        _support("reference_in_contexts", "retrieved_contexts", "reference_statements"),
        _support("response_in_reference", "reference", "statements"),
        _support("reference_in_response", "response", "reference_statements"),
        _new("reasons", "7", reasons, ReasonsRecord, "retrieved_contexts", "support", "statements support"),
        _new("questions", "4", questions, QuestionsRecord, "user_input response", "questions statements"),
        _new("similarity", "2", similarity, SimilarityRecord, "user_input", "", "questions", "embedder"),
        _new("needed", "8", needed_sentences, NeededRecord, "user_input retrieved_contexts", "needed"),
        _new("useful", "5", useful_contexts, UsefulRecord, _EVERY_COLUMN, "useful"),
        _new("grounding", "7", reading, GroundingRecord, "user_input response retrieved_contexts"),
    )
}

_WINDOWED = [name for name, judgement in JUDGEMENTS.items() if "windows" in judgement.record.model_fields]


def most_windows(records: Records) -> int:
    """Return the most windows into which the contexts were cut for a record; 1 where all read them whole.

    Only records with a count of windows are read: each lookup may read a line of a journal.
    """
    return max((getattr(records[name], "windows", 1) for name in _WINDOWED if name in records), default=1)


def with_needs(names: Sequence[str]) -> list[Judgement]:
    """Return the judgements named in `names` and all that they need, each once, needed ones first."""
    judgements: dict[str, Judgement] = {}
    for name in names:
        judgement = JUDGEMENTS[name]
        judgements.update({needed.name: needed for needed in with_needs(judgement.needs)})
        judgements[name] = judgement
    return list(judgements.values())


Make = Callable[[Judgement, Sample, dict[str, BaseModel]], "tuple[BaseModel, str] | None"]


def make_records(
    sample: Sample, required: Sequence[str], make: Make
) -> tuple[dict[str, BaseModel], dict[str, str]]:
    """Return the records and the journal keys of `required` and of all that they need, by judgement.

    `make` returns both for a judgement, from the records that it needs, or None; then the judgements that
    need it are left out too. Judgements that need a failed one get its record and its key.
    """
    records: dict[str, BaseModel] = {}
    keys: dict[str, str] = {}
    for judgement in with_needs(required):
        if failed := next((name for name in judgement.needs if isinstance(records.get(name), Failure)), None):
            records[judgement.name], keys[judgement.name] = records[failed], keys[failed]
        elif records.keys() >= set(judgement.needs) and (result := make(judgement, sample, records)):
            records[judgement.name], keys[judgement.name] = result
    return records, keys


def ask(judgement: Judgement, context: JudgeContext, sample: Sample, records: Records) -> BaseModel:
    """Make the record, or a `Failure` with the reason why there is none."""
    try:
        return judgement.ask(context, sample, records)
    except NoHead as error:
        return Failure(failed="no_head", detail=str(error))
    except ContextTooLong as error:
        return Failure(failed="context_too_long", detail=str(error))
    except EngineError as error:
        return Failure(failed="engine_error", detail=str(error))
