"""Make the records of a sample: each judgement after those that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from localeval.engine.interface import ContextTooLong, EngineError
from localeval.judgements.base import (
    JUDGEMENTS,
    AnyJudgement,
    Failure,
    Inputs,
    Models,
    NoHead,
    Record,
    Records,
)
from localeval.judgements.standalone_question import NAME as STANDALONE_QUESTION
from localeval.judgements.standalone_question import is_follow_up, with_standalone_question
from localeval.samples import Sample

KeyedRecord = tuple[Record, str]
"""A record, or a `Failure`, and the key of its line in the journal."""

Make = Callable[[AnyJudgement, Sample, Records], KeyedRecord | None]


def with_needs(names: Sequence[str]) -> list[AnyJudgement]:
    """Return the judgements named in `names` and all that they need, each once, needed ones first."""
    judgements: dict[str, AnyJudgement] = {}
    for name in names:
        judgement = JUDGEMENTS[name]
        for needed in with_needs(judgement.needs):
            judgements[needed.name] = needed
        judgements[name] = judgement
    return list(judgements.values())


def make_records(
    sample: Sample, required: Sequence[str], make: Make, *, ask_judge: bool
) -> tuple[dict[str, Record], dict[str, str]]:
    """Return the records and the journal keys of `required` and of all that they need, by judgement.

    ask_judge  whether one of them is put to the judge

    `make` returns both for a judgement, from the records that it needs, or None; then the judgements that
    need it are left out too. Judgements that need a failed one get its record and its key.

    The question of a conversation is made one that stands alone first, and the others get that one, so they
    need it; only where none of them is put to the judge, they get the question as it was asked.
    """
    records: dict[str, Record] = {}
    keys: dict[str, str] = {}
    if ask_judge and is_follow_up(sample):
        made = make(JUDGEMENTS[STANDALONE_QUESTION], sample, records)
        if made is None:
            return records, keys
        records[STANDALONE_QUESTION], keys[STANDALONE_QUESTION] = made
        if isinstance(made[0], Failure):
            return _all_failed(required, records, keys)
        sample = with_standalone_question(sample, made[0])
    for judgement in with_needs(required):
        name = judgement.name
        if name in records:
            continue
        if failed := _failed_need(judgement, records):
            records[name] = records[failed]
            keys[name] = keys[failed]
        elif records.keys() >= set(judgement.needs):
            made = make(judgement, sample, records)
            if made is not None:
                records[name], keys[name] = made
    return records, keys


def _all_failed(
    required: Sequence[str], records: dict[str, Record], keys: dict[str, str]
) -> tuple[dict[str, Record], dict[str, str]]:
    """Return the failure of the standalone question as the record of all judgements, which need it."""
    for judgement in with_needs(required):
        records[judgement.name] = records[STANDALONE_QUESTION]
        keys[judgement.name] = keys[STANDALONE_QUESTION]
    return records, keys


def _failed_need(judgement: AnyJudgement, records: Records) -> str:
    """Return the first judgement that failed of those that this one needs, or ""."""
    for name in judgement.needs:
        if isinstance(records.get(name), Failure):
            return name
    return ""


def ask(judgement: AnyJudgement, inputs: Inputs, models: Models) -> Record:
    """Make the record, or a `Failure` with the reason why there is none."""
    try:
        record: Record = judgement.ask(inputs, models)
    except NoHead as error:
        return Failure(failed="no_head", detail=str(error))
    except ContextTooLong as error:
        return Failure(failed="context_too_long", detail=str(error))
    except EngineError as error:
        return Failure(failed="engine_error", detail=str(error))
    return record


def most_windows(records: Records) -> int:
    """Return the most windows into which the contexts were cut for a record; 1 where all read them whole.

    Only records with a count of windows are read: each lookup may read a line of a journal.
    """
    windows = [
        getattr(records[name], "windows", 1) for name in records if _counts_windows(JUDGEMENTS.get(name))
    ]
    return max(windows, default=1)


def _counts_windows(judgement: Any) -> bool:
    return judgement is not None and "windows" in judgement.record.model_fields
