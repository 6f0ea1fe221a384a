"""A score, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

Status = Literal["scored", "undefined", "failed"]

REASONS = {
    "no_statements": "the response makes no statement that could be checked",
    "refusal": "the response says only that the contexts do not tell",
    "courtesy": "the response is a courtesy and says nothing that could be checked",
    "question": "the response asks a question and says nothing that could be checked",
    "source": "the response names sources and says nothing that could be checked",
    "thought": "the response has a model's thought and no answer",
    "nothing_judged": "nothing that the response says could be checked, for more than one reason",
    "no_reference_statements": "the reference makes no statement that could be checked",
    "no_reference_words": "the reference has no word that this metric compares",
    "nothing_retrieved": "the contexts support no statement of the reference, so none could be used",
    "no_citations": "the response cites no context",
    "unreadable_citations": "the response cites its sources, but not by the numbers of contexts",
    "undetermined": "it can't be told whether the response answers or refuses",
    "question_answerable": "the contexts answer the question, so that nothing had to be refused",
    "question_unanswerable": "the contexts do not answer the question, so that it had to be refused",
    "unreadable_answerable": "the column answerable says neither yes nor no",
    "one_response": "there is one response, and no other to compare it with",
    "unreadable_responses": "the column responses is no list of texts",
    "no_contexts": "there is no context to check against",
    "context_too_long": "the text does not fit the judge's context, nor eight windows of it",
    "too_long_to_compare": "response and reference are too long to be compared word by word",
    "no_head": "no head was fitted for this judge in the response's language",
    "timeout": "its judgements took longer than the time limit",
    "engine_error": "the engine refused a call",
    "worker_lost": "each process that judged it ended, perhaps for want of memory",
}
"""Reason code -> what it means; there is also `missing_FIELD` for each column."""


def explain(reason: str) -> str:
    """Return a reason code with what it means; the code of a caller's own metric stays as it is.

    >>> explain("missing_reference"), explain("too_short")
    ('missing_reference: the sample has no reference', 'too_short')
    """
    if reason.startswith("missing_"):
        return f"{reason}: the sample has no {reason.removeprefix('missing_')}"
    return f"{reason}: {REASONS[reason]}" if reason in REASONS else reason


@dataclass(frozen=True)
class Score:
    """A metric's result for one sample; equal records give equal scores.

    value   the share after thresholds, 0 to 1; None unless `status` is "scored"
    soft    the same from the probabilities themselves; agreement with people is measured on it. A metric of
            your own may leave it out; then it is `value`
    status  "scored"; "undefined": there was nothing to judge; "failed": the judge could not
    reason  "" or a code: a key of `REASONS`, or "missing_" and the column

    >>> Score(0.5, 0.61)
    Score(value=0.5, soft=0.61, status='scored', reason='')
    """

    value: float | None
    soft: float | None = None
    status: Status = "scored"
    reason: str = ""

    def checked(self) -> Score:
        """Return the score, with `value` for a missing `soft`.

        Raises ValueError unless all numbers lie in 0 to 1, and there is a value just where it is "scored".
        """
        score = replace(self, soft=self.value) if self.soft is None else self
        numbers = [number for number in (score.value, score.soft) if number is not None]
        has_right_numbers = self.value is not None if self.status == "scored" else not numbers
        in_range = all(0 <= number <= 1 for number in numbers)
        if not (has_right_numbers and in_range and self.status in get_args(Status)):
            raise ValueError(f"{self} is no possible score")
        return score

    @classmethod
    def undefined(cls, reason: str) -> Score:
        return cls(None, None, "undefined", reason)

    @classmethod
    def failed(cls, reason: str) -> Score:
        return cls(None, None, "failed", reason)
