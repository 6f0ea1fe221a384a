"""One sample opened: its texts in pieces, its statements with their verdicts, its drawn questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from localeval.judgements import Failure, most_windows
from localeval.judgements.context import response_of

if TYPE_CHECKING:
    from localeval.runs.result import SampleResult

LONGEST_TEXT, LONGEST_CONTEXTS, LONGEST_STATEMENT = 20_000, 60_000, 6_000  # the contexts together
MOST_LISTED = 200

# Who decided on the statements of the response, and on those of the reference, in the words of the page.
_OF_RESPONSE = {
    "support": "in_contexts",
    "support_hhem": "in_contexts_hhem",
    "response_in_reference": "in_reference",
}
_OF_REFERENCE = {"reference_in_contexts": "in_contexts", "reference_in_response": "in_response"}
_BY_CONTEXTS = ("support", "support_hhem", "reference_in_contexts")  # their evidence lies in the contexts


def detail(one: SampleResult, threshold: float) -> dict[str, Any]:
    """Gather what there is to see of one sample, for sample.html."""
    all_records = dict(one.calibrated())  # each is read once
    records = {name: record for name, record in all_records.items() if not isinstance(record, Failure)}
    sample, response, needed = one.sample, response_of(one.sample), records.get("needed")
    made = records.get("statements") or records.get("grounding")
    pieces = _response(response, records)
    contexts = _contexts(sample.retrieved_contexts or [], records, threshold)
    draws = _draws(records)
    return {
        "sample": sample,
        "scores": one.scores,
        "pieces": pieces,
        "response_left_out": max(0, len(response) - LONGEST_TEXT),
        "doubtful": any(mark and mark.doubtful for _, mark in pieces),
        "contexts": contexts,
        "contexts_left_out": len(sample.retrieved_contexts or []) - len(contexts),
        "stated": [
            *_stated("statements", _OF_RESPONSE, records, threshold),
            *_stated("reference_statements", _OF_REFERENCE, records, threshold),
        ],
        "draws": draws,
        "sufficient": draws and records["questions"].sufficient,
        "answerable": needed and needed.answerable,
        "needed": needed and (sum(needed.decided(threshold)), len(needed.sentences)),
        "useful_for": getattr(records.get("useful"), "against", ""),
        "thinking": getattr(made, "thinking_removed", False),
        "other_language": getattr(made, "language", "") == "other",
        "windows": most_windows(records),
        "failures": [(n, r.detail or r.failed) for n, r in all_records.items() if isinstance(r, Failure)],
    }


class Mark(NamedTuple):
    """A place in a text that is an element of its own.

    key          its name
    probability  its colour and number, None for none
    doubtful     whether its words look unsupported
    last         whether nothing of what has this probability follows
    """

    start: int
    end: int
    key: str
    probability: float | None = None
    doubtful: bool = False
    last: bool = True

    def parted(self, spans: Iterable[tuple[int, int]]) -> Iterator[Mark]:
        """Cut this mark where doubtful words begin and end; `spans` are their places, in order and apart.

        >>> [(part.start, part.end, part.doubtful) for part in Mark(0, 9, "r0").parted([(2, 4)])]
        [(0, 2, False), (2, 4, True), (4, 9, False)]
        """
        inside = [(max(a, self.start), min(b, self.end)) for a, b in spans if a < self.end and b > self.start]
        ends = sorted({self.start, self.end, *chain.from_iterable(inside)})
        for i, (start, end) in enumerate(pairwise(ends)):
            doubtful = any(a <= start and end <= b for a, b in inside)
            key = f"{self.key}-{i}" if i else self.key
            yield Mark(start, end, key, self.probability, doubtful, end == self.end)


Pieces = list[tuple[str, Mark | None]]


def in_pieces(text: str, marks: Iterable[Mark], room: int) -> Pieces:
    """Cut `text` up to `room` characters at its marks; of two that overlap the first stays.

    >>> [piece for piece, _ in in_pieces("A b. C d. E", [Mark(5, 9, "1")], 100)]
    ['A b. ', 'C d.', ' E']
    """
    pieces: Pieces = []
    at, end = 0, min(room, len(text))
    for mark in sorted(marks):
        if at <= mark.start < min(mark.end, end):
            if mark.start > at:
                pieces.append((text[at : mark.start], None))
            at = min(mark.end, end)
            pieces.append((text[mark.start : at], mark))
    if at < end:
        pieces.append((text[at:end], None))
    return pieces


def _response(text: str, records: Mapping[str, Any]) -> Pieces:
    """Colour each sentence by its least supported statement, or else by its reading; mark doubtful words."""
    least: dict[int, float] = {}
    decided = next((records[name] for name in _OF_RESPONSE if name in records), None)
    for verdict in decided.verdicts if decided else ():
        least[verdict.sentence] = min(verdict.probability, least.get(verdict.sentence, 1.0))
    made = getattr(records.get("statements"), "sentences", ())
    read = getattr(records.get("grounding"), "sentences", ())
    marks = [Mark(s.start, s.end, f"r{i}", least.get(i)) for i, s in enumerate(made) if s.statements]
    marks = marks or [Mark(s.start, s.end, f"r{i}", s.probability) for i, s in enumerate(read)]
    doubtful = [span for s in read for span in s.spans]
    return in_pieces(text, chain.from_iterable(mark.parted(doubtful) for mark in marks), LONGEST_TEXT)


def _contexts(contexts: list[str], records: Mapping[str, Any], threshold: float) -> list[dict[str, Any]]:
    """Show the contexts as far as there is room.

    A sentence is marked where it is the evidence of a statement or its need was judged, and has its
    probability where the question needs it.
    """
    places: list[tuple[Any, float | None]] = []
    if needed := records.get("needed"):
        for sentence, is_needed in zip(needed.sentences, needed.decided(threshold), strict=True):
            places.append((sentence, sentence.probability if is_needed else None))
    for judgement in _BY_CONTEXTS:
        verdicts = getattr(records.get(judgement), "verdicts", ())
        places += [(verdict.evidence, None) for verdict in verdicts if verdict.evidence is not None]
    marks: dict[int, dict[tuple[int, int], Mark]] = defaultdict(dict)
    for place, probability in places:
        mark = Mark(place.start, place.end, f"c{place.context}-{place.start}", probability)
        marks[place.context].setdefault((place.start, place.end), mark)
    useful = getattr(records.get("useful"), "contexts", ())
    shown: list[dict[str, Any]] = []
    room = LONGEST_CONTEXTS
    for i, text in enumerate(contexts[:MOST_LISTED]):
        if room <= 0:
            break
        pieces = in_pieces(text, marks[i].values(), room)
        probability = useful[i] if i < len(useful) else None
        shown.append({"pieces": pieces, "left_out": max(0, len(text) - room), "useful": probability})
        room -= len(text)
    return shown


def _stated(
    of: str, labels: Mapping[str, str], records: Mapping[str, Any], threshold: float
) -> list[dict[str, Any]]:
    """Gather the statements of one text with every verdict on them; none where no judgement read them.

    `sentence` and `source` name the elements that belong to a statement, "" where there is none.
    """
    made, judged = records.get(of), [name for name in labels if name in records]
    if made is None or not judged:
        return []
    in_contexts = judged[0] in _BY_CONTEXTS
    reasons = getattr(records.get("reasons"), "reasons", ()) if judged[0] == "support" else ()
    statements = []
    for i, verdicts in enumerate(zip(*(records[name].verdicts for name in judged), strict=True)):
        by, first = dict(zip(judged, verdicts, strict=True)), verdicts[0]
        both = {by[name].probability >= threshold for name in ("support", "support_hhem") if name in by}
        seen = first.evidence if in_contexts else None
        statements.append(
            {
                "verdict": first,
                "checks": [(labels[name], verdict.probability) for name, verdict in by.items()],
                "sentence": f"r{first.sentence}" if of == "statements" else "",
                "source": f"c{seen.context}-{seen.start}" if seen else "",
                "reason": (reasons[i] if i < len(reasons) else "") or first.reason or "",
                "whole": made.sentences[first.sentence].cut != "",
                "split": len(both) > 1,
            }
        )
    against = labels[judged[0]].removesuffix("_hhem")
    left_out = max(0, len(statements) - MOST_LISTED)
    return [{"label": of, "statements": statements[:MOST_LISTED], "against": against, "left_out": left_out}]


def _draws(records: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Count the different questions in the order in which they came, with their mean sufficiency."""
    made = getattr(records.get("questions"), "draws", ())
    cosines = getattr(records.get("similarity"), "cosines", ())
    by_question: dict[str, list[tuple[float, float | None]]] = {}
    for draw, cosine in zip_longest(made, cosines[: len(made)]):
        by_question.setdefault(draw.question, []).append((draw.sufficient, cosine))
    return [
        {
            "question": question,
            "times": len(own),
            "cosine": own[0][1],
            "sufficient": sum(probability for probability, _ in own) / len(own),
        }
        for question, own in by_question.items()
    ]
