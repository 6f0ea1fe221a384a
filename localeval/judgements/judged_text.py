"""The texts of a sample as they are judged, and what of them is not judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from localeval.claims.account import Account, Claim, account
from localeval.claims.reasons import Reason
from localeval.judgements.base import Inputs, Record
from localeval.judgements.decision import Decision
from localeval.samples import Sample
from localeval.text.language import language
from localeval.text.thoughts import find_thoughts, strip_thinking

Column = Literal["response", "reference"]


class UnjudgedText(Record):
    """A stretch of a response or reference that is not judged, and why; see `localeval.claims.account`.

    Offsets count as the offsets of sentences do; only offsets of a "thought" count in the response as given.
    """

    text: str
    start: int
    end: int
    reason: Reason

    def as_decision(self, column: str) -> Decision:
        """Return the decision that no model was asked about this stretch of `column`."""
        return Decision(text=self.text, column=column, start=self.start, end=self.end, unjudged=self.reason)


class JudgedText(Inputs):
    """A response or a reference, beside the question. A response is judged without `<think>...</think>`.

    whole  the text as the sample has it, "" where it has none
    """

    whole: str
    question: str
    column: Column

    @classmethod
    def of(cls, sample: Sample, column: Column = "response") -> JudgedText:
        """Take the text and the question of a sample."""
        whole = sample.response if column == "response" else sample.reference
        return cls(whole=whole or "", question=sample.user_input or "", column=column)

    @property
    def text(self) -> str:
        """The text as it is judged."""
        return strip_thinking(self.whole)[0] if self.column == "response" else self.whole

    @property
    def has_thoughts(self) -> bool:
        """Whether thoughts were removed from it."""
        return self.column == "response" and strip_thinking(self.whole)[1]

    @property
    def language(self) -> str:
        """The language in which it is judged: "zh", "en" or "other"."""
        return language(self.text, self.question)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The sentences that are judged."""
        return self._account.claims

    @property
    def unjudged(self) -> tuple[UnjudgedText, ...]:
        """What is not judged: its thoughts, then the rest in order."""
        thoughts = self._thoughts() if self.column == "response" else []
        rest = [
            UnjudgedText(text=stretch.text, start=stretch.start, end=stretch.end, reason=stretch.reason)
            for stretch in self._account.unjudged
        ]
        return (*thoughts, *rest)

    def _thoughts(self) -> list[UnjudgedText]:
        return [
            UnjudgedText(text=self.whole[start:end], start=start, end=end, reason="thought")
            for start, end in find_thoughts(self.whole)
        ]

    @property
    def _account(self) -> Account:
        return account(self.text, self.question)


def texts_of(sample: Sample, column: str) -> list[str]:
    """Return the texts of `column` ("retrieved_contexts", "response" or "reference") as they are judged.

    The response and the reference are one text each, empty where the sample has none.
    """
    if column == "retrieved_contexts":
        return sample.retrieved_contexts or []
    return [response_of(sample) if column == "response" else sample.reference or ""]


def response_of(sample: Sample) -> str:
    """Return the response as it is judged: without `<think>...</think>`."""
    return strip_thinking(sample.response or "")[0]


def unjudged_in(records: Mapping[str, Any]) -> tuple[UnjudgedText, ...]:
    """Return what is not judged of the response by its records; empty where none has an account of it.

    >>> unjudged_in({})
    ()
    """
    for name in ("statements", "grounding"):
        if name in records:
            stretches: tuple[UnjudgedText, ...] = getattr(records[name], "unjudged", ())
            return stretches
    return ()


def count_unjudged(records: Mapping[str, Any]) -> dict[str, int]:
    """Count the stretches of the response that are not judged: reason -> count, sorted by reason."""
    counts = Counter(stretch.reason for stretch in unjudged_in(records))
    return {reason: counts[reason] for reason in sorted(counts)}


def language_of(sample: Sample, column: str = "response") -> str:
    """Return the language in which the response or the reference is judged: "zh", "en" or "other"."""
    return language(texts_of(sample, column)[0], sample.user_input or "")
