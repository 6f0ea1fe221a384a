"""The base of all records, the record of a judgement that could not be made, and texts as they are judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict

from localeval.claims.reasons import Reason
from localeval.fitted.curves import Curve
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.samples import Sample
from localeval.text.language import language
from localeval.text.thoughts import strip_thinking


class Record(BaseModel):
    """Base of the records: frozen values that the journal stores as JSON.

    decides   what its decisions are about
    texts_of  the sample's field of which they decide texts; "" for several, or none
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    decides: ClassVar[Kind] = "other"
    texts_of: ClassVar[str] = ""

    def calibrated(self, curve: Curve) -> Self:  # noqa: ARG002 (for subclasses)
        """Return the record with calibrated probabilities; by default they stay as they are."""
        return self

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:  # noqa: ARG002 (for subclasses)
        """List what was decided, in the form that every report reads; by default nothing."""
        return ()

    def column(self, judgement: str) -> str:  # noqa: ARG002 (for subclasses)
        """Return the sample's field of which the judgement of this name decides texts; see `texts_of`."""
        return self.texts_of

    def failure(self) -> str:
        """Return why the judgement failed, or ""."""
        return ""


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


class Failure(Record):
    """A judgement that could not be made: a reason code, and details where the code is not enough."""

    failed: Literal["context_too_long", "engine_error", "no_head", "timeout", "worker_lost"]
    detail: str = ""

    def failure(self) -> str:
        return self.detail or self.failed


class NoHead(Exception):
    """Raised when a judgement needs a head and none was fitted for the judge in that language."""


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
