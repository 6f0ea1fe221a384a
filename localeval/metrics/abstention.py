"""Abstention, both sides: does the system refuse where the contexts give no answer, and only there?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from localeval.judgements import Records
from localeval.judgements.abstention import AbstentionRecord, ResponseKind, supported_in
from localeval.metrics.metric import Metric, register
from localeval.metrics.score import Score
from localeval.options import DEFAULTS, Options

Cell = Literal[
    "answered", "over_refusal", "partly_answered", "unsupported_answer", "refused", "partly_refused"
]


class Outcome(NamedTuple):
    """What a sample counts as, and the probabilities that it depends on.

    cell        the cell of the table of answerable or not, and answered, refused or partly
    answerable  P(the contexts answer the question)
    supported   P(all statements of the response are supported); 0 without a statement
    """

    cell: Cell
    answerable: float
    supported: float
    record: AbstentionRecord

    @property
    def is_answerable(self) -> bool:
        return self.cell in ("answered", "over_refusal", "partly_answered")

    @property
    def unsupported_answer(self) -> float:
        """P(the response gives an answer that the contexts do not), if they do not answer the question."""
        kinds = self.record.kinds
        return kinds["answered"] + kinds["partly"] * (1 - self.supported)

    @property
    def is_right(self) -> float:
        """P(it answers what can be answered, or refuses what can't)."""
        answered = self.answerable * self.record.kinds["answered"]
        return answered + (1 - self.answerable) * (1 - self.unsupported_answer)


def outcome(records: Records, options: Options = DEFAULTS) -> Outcome | Score:
    """Return what a sample counts as, or the undefined score where that is not known."""
    record: AbstentionRecord = records["abstention"]
    supported = supported_in(records)
    answerable = record.answerable(supported)
    if answerable is None:
        return Score.undefined("unreadable_answerable" if record.has_label else "missing_retrieved_contexts")
    kind = record.kind
    if kind == "undetermined":
        return Score.undefined("undetermined")
    is_supported = supported is not None and supported >= options.threshold
    is_answerable = record.is_answerable(supported, options.threshold)
    cell = _cell(kind, is_answerable=is_answerable, is_supported=is_supported)
    return Outcome(cell, answerable, supported or 0.0, record)


def _cell(kind: ResponseKind, *, is_answerable: bool, is_supported: bool) -> Cell:
    """Return the cell of a response of this kind.

    >>> _cell("partly", is_answerable=False, is_supported=True)
    'partly_refused'
    >>> _cell("partly", is_answerable=False, is_supported=False)
    'unsupported_answer'
    """
    if is_answerable:
        if kind == "answered":
            return "answered"
        return "over_refusal" if kind == "refused" else "partly_answered"
    if kind == "refused":
        return "refused"
    return "partly_refused" if kind == "partly" and is_supported else "unsupported_answer"


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
    return Score(float(found.cell == "unsupported_answer"), found.unsupported_answer)


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
    return Score(float(found.cell in ("answered", "refused", "partly_refused")), found.is_right)


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
