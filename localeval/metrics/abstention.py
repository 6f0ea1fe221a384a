"""Abstention, both sides: does the system refuse where the contexts give no answer, and only there?"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from localeval.judgements import Records
from localeval.judgements.abstention import (
    ANSWERABLE_CELLS,
    RIGHT_CELLS,
    AbstentionRecord,
    Cell,
    supported_in,
)
from localeval.metrics.metric import Metric, register
from localeval.metrics.score import Score
from localeval.options import DEFAULTS, Options


class Outcome(NamedTuple):
    """What a sample counts as, and what that is known by.

    supported  P(all statements of the response are supported); None without a statement
    """

    cell: Cell
    record: AbstentionRecord
    supported: float | None

    @property
    def is_answerable(self) -> bool:
        return self.cell in ANSWERABLE_CELLS


def outcome(records: Records, options: Options = DEFAULTS) -> Outcome | Score:
    """Return what a sample counts as, or the undefined score where that is not known."""
    record: AbstentionRecord = records["abstention"]
    supported = supported_in(records)
    if record.answerable(supported) is None:
        return Score.undefined("unreadable_answerable" if record.has_label else "missing_retrieved_contexts")
    cell = record.cell(supported, options.threshold)
    if cell is None:
        return Score.undefined("undetermined")
    return Outcome(cell, record, supported)


def unsupported_answer_rate(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if the response answers a question that the contexts do not answer, 0 if it refuses.

    A partial answer counts as 1 unless the contexts support it. Undefined where the contexts answer the
    question (`question_answerable`).
    """
    found = outcome(records, options)
    if isinstance(found, Score):
        return found
    if found.is_answerable:
        return Score.undefined("question_answerable")
    return Score(float(found.cell == "unsupported_answer"), found.record.unsupported_answer(found.supported))


def over_refusal_rate(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if the response refuses a question that the contexts answer, 0 if it answers, at least in part.

    Undefined where the contexts do not answer the question (`question_unanswerable`).
    """
    found = outcome(records, options)
    if isinstance(found, Score):
        return found
    if not found.is_answerable:
        return Score.undefined("question_unanswerable")
    return Score(float(found.cell == "over_refusal"), found.record.kinds["refused"])


def abstention_accuracy(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if the response answers what the contexts answer, or refuses what they do not; else 0.

    An answer in part is right where the contexts do not answer the whole question and support it.
    """
    found = outcome(records, options)
    if isinstance(found, Score):
        return found
    return Score(float(found.cell in RIGHT_CELLS), found.record.right(found.supported))


def _register(
    name: str,
    compute: Callable[[Records, Options], Score],
    definition: str,
    definition_zh: str,
    source: str,
    undefined: tuple[str, ...],
    higher_is_better: bool = True,
) -> None:
    register(
        Metric(
            name=name,
            version="1",
            # Without a context a question is to be refused; without the column nothing is known of that.
            columns=("user_input", "response"),
            judgements=("statements", "support", "abstention"),
            compute=compute,
            definition=definition,
            definition_zh=definition_zh,
            source=source,
            undefined=(*undefined, "undetermined", "missing_retrieved_contexts"),
            higher_is_better=higher_is_better,
        )
    )


_register(
    "abstention_accuracy",
    abstention_accuracy,
    "1 if the response answers what the contexts answer, or refuses what they do not, else 0",
    "上下文能回答时作答、不能回答时拒答，为 1，否则为 0",
    "Trust-Score's grounded refusals (Song et al. 2025)",
    (),
)
_register(
    "unsupported_answer_rate",
    unsupported_answer_rate,
    "of the questions that the contexts do not answer: 1 if the response answers all the same, else 0",
    "上下文不能回答的问题中，回答仍然作答为 1，否则为 0",
    "1 - the recall of refusals (Song et al. 2025)",
    ("question_answerable",),
    higher_is_better=False,
)
_register(
    "over_refusal_rate",
    over_refusal_rate,
    "of the questions that the contexts answer: 1 if the response refuses, else 0",
    "上下文能回答的问题中，回答拒答为 1，否则为 0",
    "1 - the recall of answers (Song et al. 2025)",
    ("question_unanswerable",),
    higher_is_better=False,
)
