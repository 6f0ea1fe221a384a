"""Texts in pieces, so that a sentence of the response or of a context can be coloured and pointed at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from localeval.judgements.context import response_of

if TYPE_CHECKING:
    from localeval.runs.result import SampleResult

SUPPORTS = ("support", "support_hhem", "reference_in_contexts")
"""Judgements whose evidence lies in the contexts."""


class Piece(NamedTuple):
    """A run of text. `key` names its element ("" for what lies between), `share` is its probability.

    doubtful  whether its words look unsupported
    last      whether nothing of what has this probability follows
    """

    text: str
    key: str = ""
    share: float | None = None
    doubtful: bool = False
    last: bool = True


@dataclass(frozen=True)
class Passage:
    """One text in pieces, and how many characters of it are left out at its end."""

    pieces: list[Piece]
    left_out: int = 0
    useful: float | None = None


class Mark(NamedTuple):
    """A place in a text that has a name, and perhaps a probability; `doubtful` and `last` as in `Piece`."""

    start: int
    end: int
    key: str
    share: float | None = None
    doubtful: bool = False
    last: bool = True

    def parted(self, spans: Iterable[tuple[int, int]]) -> Iterator[Mark]:
        """This mark, cut where doubtful words begin and end; `spans` are their places, in order and apart.

        >>> [(part.start, part.end, part.doubtful) for part in Mark(0, 9, "r0").parted([(2, 4)])]
        [(0, 2, False), (2, 4, True), (4, 9, False)]
        """
        inside = [(max(a, self.start), min(b, self.end)) for a, b in spans if a < self.end and b > self.start]
        ends = sorted({self.start, self.end, *chain.from_iterable(inside)})
        for i, (start, end) in enumerate(pairwise(ends)):
            doubtful = any(a <= start and end <= b for a, b in inside)
            yield Mark(
                start, end, f"{self.key}-{i}" if i else self.key, self.share, doubtful, end == self.end
            )


def in_pieces(text: str, marks: Iterable[Mark], room: int) -> Passage:
    """`text` up to `room` characters, cut at its marks; of two that overlap the first stays.

    >>> [piece.text for piece in in_pieces("A b. C d. E", [Mark(5, 9, "1")], 100).pieces]
    ['A b. ', 'C d.', ' E']
    """
    pieces: list[Piece] = []
    at, end = 0, min(room, len(text))
    for mark in sorted(marks):
        if at <= mark.start < min(mark.end, end):
            if mark.start > at:
                pieces.append(Piece(text[at : mark.start]))
            at = min(mark.end, end)
            pieces.append(Piece(text[mark.start : at], *mark[2:]))
    if at < end:
        pieces.append(Piece(text[at:end]))
    return Passage(pieces, len(text) - end)


def response(one: SampleResult, records: Mapping[str, Any], least: Mapping[int, float], room: int) -> Passage:
    """The response as it was judged; each sentence with the probability of its least supported statement.

    Where no statement was decided, with that of its reading, which also tells the doubtful words.
    """
    made, read = records.get("statements"), getattr(records.get("grounding"), "sentences", ())
    marks = [
        Mark(s.start, s.end, f"r{i}", least.get(i))
        for i, s in enumerate(getattr(made, "sentences", ()))
        if s.statements
    ] or [Mark(s.start, s.end, f"r{i}", s.probability) for i, s in enumerate(read)]
    spans = [span for s in read for span in s.spans]
    return in_pieces(response_of(one.sample), chain.from_iterable(mark.parted(spans) for mark in marks), room)


def contexts(
    one: SampleResult, records: Mapping[str, Any], threshold: float, room: int
) -> tuple[list[Passage], int]:
    """The contexts as far as `room` characters go, and how many are left out.

    A sentence has a name where it is the evidence of a statement or its need was judged, and its probability
    where the question needs it.
    """
    marks: dict[int, dict[tuple[int, int], Mark]] = {}
    if made := records.get("needed"):
        for sentence, needed in zip(made.sentences, made.decided(threshold), strict=True):
            _mark(marks, sentence, sentence.probability if needed else None)
    for judgement in SUPPORTS:
        for verdict in getattr(records.get(judgement), "verdicts", ()):
            if verdict.evidence is not None:
                _mark(marks, verdict.evidence, None)
    useful: Sequence[float] = getattr(records.get("useful"), "contexts", ())
    passages = []
    given = one.sample.retrieved_contexts or []
    for i, text in enumerate(given):
        if room <= 0:
            break
        cut = in_pieces(text, marks.get(i, {}).values(), room)
        passages.append(Passage(cut.pieces, cut.left_out, useful[i] if i < len(useful) else None))
        room -= len(text)
    return passages, len(given) - len(passages)


def place_of(evidence: Any) -> str:
    """The name of a context sentence's element.

    >>> from localeval.text.overlap import Evidence
    >>> place_of(Evidence(text="Tea.", context=1, start=5, end=9))
    'c1-5'
    """
    return f"c{evidence.context}-{evidence.start}"


def _mark(marks: dict[int, dict[tuple[int, int], Mark]], found: Any, share: float | None) -> None:
    own = marks.setdefault(found.context, {})
    own.setdefault((found.start, found.end), Mark(found.start, found.end, place_of(found), share))
