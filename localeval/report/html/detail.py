"""One sample opened: its texts in pieces, its statements with their verdicts, its drawn questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from localeval.judgements import Failure, most_windows
from localeval.metrics import Score
from localeval.report.html import passages
from localeval.report.html.passages import Passage
from localeval.report.injection import Suspicion
from localeval.samples import Sample

if TYPE_CHECKING:
    from localeval.runs.result import SampleResult


class Room(NamedTuple):
    """What is shown: characters of a text, of the contexts together and of a statement; items of a list."""

    text: int
    contexts: int
    statement: int
    listed: int


ROOMS = (Room(20_000, 60_000, 2_000, 200), Room(4_000, 8_000, 400, 60), Room(600, 1_200, 200, 12))
"""From plenty to little: a sample gets the first one with which it fits into its share of the page."""


def at_least(sample: Sample, room: Room) -> int:
    """Characters that the details of a sample have in any case, so that what can't fit is not made."""
    contexts = sum(map(len, sample.retrieved_contexts or []))
    return min(len(sample.response or ""), room.text) + min(contexts, room.contexts)


class Check(NamedTuple):
    """What one judgement says of a statement: the label of what it is held against, and its probability."""

    label: str
    probability: float


@dataclass(frozen=True)
class Statement:
    """`sentence` and `place` name the elements that belong to it, "" where there is none.

    core     what of it decided, where not the whole did
    unknown  its numbers that the text of the label `held_against` names nowhere
    """

    text: str
    checks: list[Check]
    sentence: str
    place: str
    evidence: str
    core: str
    unknown: str
    held_against: str
    reason: str
    whole: bool
    split: bool


@dataclass(frozen=True)
class Stated:
    """The statements of one text, and how many of them have no room."""

    label: str
    statements: list[Statement]
    left_out: int


class Draw(NamedTuple):
    """A drawn question: how often it came, its cosine, and its mean sufficiency."""

    question: str
    times: int
    cosine: float | None
    sufficient: float


@dataclass(frozen=True)
class Detail:
    id: str
    question: str | None
    reference: str | None
    response: Passage | None
    contexts: list[Passage]
    contexts_left_out: int
    scores: Mapping[str, Score]
    stated: list[Stated]
    draws: list[Draw]
    draws_left_out: int
    sufficient: float | None
    answerable: float | None
    needed: tuple[int, int] | None
    useful_for: str
    notes: list[str]
    windows: int
    attacks: list[Suspicion]
    failures: list[tuple[str, str]]
    room: Room
    doubtful: bool = False


_OF_RESPONSE = {
    "support": "in_contexts",
    "support_hhem": "in_contexts_hhem",
    "response_in_reference": "in_reference",
}
_OF_REFERENCE = {"reference_in_contexts": "in_contexts", "reference_in_response": "in_response"}


def detail(
    one: SampleResult,
    records: Mapping[str, Any],
    attacks: list[Suspicion],
    threshold: float,
    room: Room,
) -> Detail:
    """What there is to see of one sample, by these records of it and what in it reads like an attack."""
    failures = [(name, r.detail or r.failed) for name, r in records.items() if isinstance(r, Failure)]
    records = {name: record for name, record in records.items() if not isinstance(record, Failure)}
    shown, left_out = passages.contexts(one, records, threshold, room.contexts)
    questions, needed = records.get("questions"), records.get("needed")
    made = records.get("statements")
    draws = _draws(records)
    found = passages.response(one, records, _least(records), room.text)
    notes = ["thinking"] * getattr(made, "thinking_removed", False)
    notes += ["other_language"] * (getattr(made, "language", "") == "other")
    return Detail(
        id=one.sample.id,
        question=one.sample.user_input,
        reference=one.sample.reference,
        response=None if one.sample.response is None else found,
        contexts=shown,
        contexts_left_out=left_out,
        scores=one.scores,
        stated=[
            *_stated("statements", _OF_RESPONSE, records, threshold, room),
            *_stated("reference_statements", _OF_REFERENCE, records, threshold, room),
        ],
        draws=draws[: room.listed],
        draws_left_out=max(0, len(draws) - room.listed),
        sufficient=questions.sufficient if questions else None,
        answerable=needed.answerable if needed else None,
        needed=(sum(needed.decided(threshold)), len(needed.sentences)) if needed else None,
        useful_for=getattr(records.get("useful"), "against", ""),
        notes=notes,
        windows=most_windows(records),
        attacks=attacks,
        failures=failures,
        room=room,
        doubtful=any(piece.doubtful for piece in found.pieces),
    )


def _least(records: Mapping[str, Any]) -> dict[int, float]:
    """Sentence of the response -> the probability of its least supported statement."""
    decided = next((records[name] for name in _OF_RESPONSE if name in records), None)
    least: dict[int, float] = {}
    for verdict in decided.verdicts if decided else ():
        least[verdict.sentence] = min(verdict.probability, least.get(verdict.sentence, 1.0))
    return least


def _stated(
    of: str, labels: Mapping[str, str], records: Mapping[str, Any], threshold: float, room: Room
) -> list[Stated]:
    """The statements of one text with every verdict on them; none where no judgement read them."""
    made, judged = records.get(of), [name for name in labels if name in records]
    if made is None or not judged:
        return []
    reasons = getattr(records.get("reasons"), "reasons", ())
    told = []
    for i, verdicts in enumerate(zip(*(records[name].verdicts for name in judged), strict=True)):
        if i == room.listed:
            break
        first, seen = verdicts[0], verdicts[0].evidence
        by = dict(zip(judged, verdicts, strict=True))
        both = [by[name].probability >= threshold for name in ("support", "support_hhem") if name in by]
        reason = (reasons[i] if judged[0] == "support" and i < len(reasons) else "") or first.reason or ""
        told.append(
            Statement(
                text=first.statement,
                checks=[Check(labels[name], verdict.probability) for name, verdict in by.items()],
                sentence=f"r{first.sentence}" if of == "statements" else "",
                place=passages.place_of(seen) if seen and judged[0] in passages.SUPPORTS else "",
                evidence=seen.text if seen else "",
                core=first.core or "",
                unknown=", ".join(first.unknown_numbers),
                held_against=labels[judged[0]].removesuffix("_hhem"),
                reason=reason,
                whole=made.sentences[first.sentence].cut != "",
                split=len(set(both)) > 1,
            )
        )
    count = len(records[judged[0]].verdicts)
    return [Stated(of, told, count - len(told))]


def _draws(records: Mapping[str, Any]) -> list[Draw]:
    """The different questions in the order in which they came."""
    made = records.get("questions")
    cosines = getattr(records.get("similarity"), "cosines", ())
    by_question: dict[str, list[tuple[float | None, float]]] = {}
    for i, draw in enumerate(made.draws if made else ()):
        cosine = cosines[i] if i < len(cosines) else None
        by_question.setdefault(draw.question, []).append((cosine, draw.sufficient))
    return [
        Draw(question, len(of), of[0][0], sum(sufficient for _, sufficient in of) / len(of))
        for question, of in by_question.items()
    ]
