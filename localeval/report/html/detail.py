"""The details of one sample: its texts in pieces, its statements with their verdicts, its drawn questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from localeval.judgements import Failure, most_windows
from localeval.judgements.context import count_unjudged, language_of, unjudged_in
from localeval.judgements.needed_sentences import least_answerable
from localeval.judgements.support import would_write_otherwise
from localeval.text.display import digits
from localeval.text.thoughts import strip_thinking

if TYPE_CHECKING:
    from localeval.runs.result import SampleResult

LONGEST_TEXT, LONGEST_CONTEXTS, LONGEST_STATEMENT = 20_000, 60_000, 6_000  # characters; all contexts together
MOST_PER_SAMPLE = 200

# Judgements of the response's and of the reference's statements -> their keys in labels.toml.
_OF_RESPONSE = {
    "support": "in_contexts",
    "support_hhem": "in_contexts_hhem",
    "response_in_reference": "in_reference",
}
_OF_REFERENCE = {"reference_in_contexts": "in_contexts", "reference_in_response": "in_response"}
_BY_CONTEXTS = ("support", "support_hhem", "reference_in_contexts")  # whose evidence is in the contexts


def detail(result: SampleResult, threshold: float) -> dict[str, Any]:
    """Return the details of one sample for the template sample.html."""
    all_records = dict(result.calibrated())  # reads each record once
    records = {name: record for name, record in all_records.items() if not isinstance(record, Failure)}
    sample, needed = result.sample, records.get("needed")
    response, thinks = strip_thinking(sample.response or "")
    pieces = _response(response, records)
    contexts = _contexts(sample.retrieved_contexts or [], records, threshold)
    draws = _draws(records)
    return {
        "sample": sample,
        "scores": result.scores,
        "pieces": pieces,
        "response_left_out": max(0, len(response) - LONGEST_TEXT),
        "unjudged": {k: n for k, n in count_unjudged(records).items() if k not in ("no_words", "thought")},
        "doubtful": any(mark and mark.doubtful for _, mark in pieces),
        "contexts": contexts,
        "contexts_left_out": len(sample.retrieved_contexts or []) - len(contexts),
        "stated": [
            *_statements("statements", _OF_RESPONSE, records, threshold),
            *_statements("reference_statements", _OF_REFERENCE, records, threshold),
        ],
        "draws": draws,
        "sufficient": draws and records["questions"].sufficient,
        "completed": draws and records["questions"].completed,
        "answerable": needed and digits(needed.answerable, least_answerable(threshold), 2),
        "needed": needed and (sum(needed.decided(threshold)), len(needed.sentences)),
        "useful_for": getattr(records.get("useful"), "against", ""),
        "thinking": thinks,
        "other_language": language_of(sample) == "other",
        "windows": most_windows(records),
        "otherwise": would_write_otherwise(records),
        "failures": [(n, r.detail or r.failed) for n, r in all_records.items() if isinstance(r, Failure)],
    }


class Mark(NamedTuple):
    """A span of a text that becomes an HTML element of its own.

    key          id of the element
    probability  shown as its colour and number; None for neither
    doubtful     whether its words look unsupported
    last         whether this is the last part of the span that has this probability
    unjudged     why the span is not judged, or ""
    """

    start: int
    end: int
    key: str
    probability: float | None = None
    doubtful: bool = False
    last: bool = True
    unjudged: str = ""

    def parted(self, spans: Iterable[tuple[int, int]]) -> Iterator[Mark]:
        """Cut this mark where doubtful words begin and end; their `spans` are in order and do not overlap.

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
    """Cut the first `room` characters of `text` at the marks; of two that overlap, the first is kept.

    >>> [piece for piece, _ in in_pieces("A b. C d. E", [Mark(5, 9, "1")], 100)]
    ['A b. ', 'C d.', ' E']
    """
    pieces: Pieces = []
    position, end = 0, min(room, len(text))
    for mark in sorted(marks):
        if position <= mark.start < min(mark.end, end):
            if mark.start > position:
                pieces.append((text[position : mark.start], None))
            position = min(mark.end, end)
            pieces.append((text[mark.start : position], mark))
    if position < end:
        pieces.append((text[position:end], None))
    return pieces


def _response(text: str, records: Mapping[str, Any]) -> Pieces:
    """Colour each sentence by its least supported statement, else by the head; mark doubtful words."""
    lowest: dict[int, float] = {}
    decided = next((records[name] for name in _OF_RESPONSE if name in records), None)
    for verdict in decided.verdicts if decided else ():
        lowest[verdict.sentence] = min(verdict.probability, lowest.get(verdict.sentence, 1.0))
    sentences = getattr(records.get("statements"), "sentences", ())
    grounded = getattr(records.get("grounding"), "sentences", ())
    marks = [Mark(s.start, s.end, f"r{i}", lowest.get(i)) for i, s in enumerate(sentences) if s.statements]
    marks = marks or [Mark(s.start, s.end, f"r{i}", s.probability) for i, s in enumerate(grounded)]
    doubtful = [span for s in grounded for span in s.spans]
    parts = [part for mark in marks for part in mark.parted(doubtful)]
    for i, stretch in enumerate(unjudged_in(records)):
        if stretch.reason != "thought":  # which is cut from this text
            parts.append(Mark(stretch.start, stretch.end, f"u{i}", unjudged=stretch.reason))
    return in_pieces(text, parts, LONGEST_TEXT)


def _contexts(contexts: list[str], records: Mapping[str, Any], threshold: float) -> list[dict[str, Any]]:
    """Return the contexts, cut to `LONGEST_CONTEXTS` characters in all.

    A sentence is marked if it is the evidence of a statement or was judged needed or not, and has its
    probability if the question needs it.
    """
    passages: list[tuple[Any, float | None]] = []
    if needed := records.get("needed"):
        for sentence, is_needed in zip(needed.sentences, needed.decided(threshold), strict=True):
            passages.append((sentence, sentence.probability if is_needed else None))
    for judgement in _BY_CONTEXTS:
        verdicts = getattr(records.get(judgement), "verdicts", ())
        passages += [(verdict.evidence, None) for verdict in verdicts if verdict.evidence is not None]
    marks: dict[int, dict[tuple[int, int], Mark]] = defaultdict(dict)
    for passage, probability in passages:
        mark = Mark(passage.start, passage.end, f"c{passage.context}-{passage.start}", probability)
        marks[passage.context].setdefault((passage.start, passage.end), mark)
    useful = getattr(records.get("useful"), "contexts", ())
    repeats = getattr(records.get("useful"), "repeats", ())
    rows: list[dict[str, Any]] = []
    room = LONGEST_CONTEXTS
    for i, text in enumerate(contexts[:MOST_PER_SAMPLE]):
        if room <= 0:
            break
        pieces = in_pieces(text, marks[i].values(), room)
        probability = useful[i] if i < len(useful) else None
        row = {"pieces": pieces, "left_out": max(0, len(text) - room), "useful": probability}
        rows.append({**row, "repeats": i in repeats})
        room -= len(text)
    return rows


def _statements(
    judgement: str, labels: Mapping[str, str], records: Mapping[str, Any], threshold: float
) -> list[dict[str, Any]]:
    """List the statements that `judgement` made, with every verdict on them; none where none was judged.

    `sentence` and `source` are the ids of the HTML elements that belong to a statement, or "".
    """
    record, judged = records.get(judgement), [name for name in labels if name in records]
    if record is None or not judged:
        return []
    in_contexts = judged[0] in _BY_CONTEXTS
    reasons = getattr(records.get("reasons"), "reasons", ()) if judged[0] == "support" else ()
    statements = []
    for i, verdicts in enumerate(zip(*(records[name].verdicts for name in judged), strict=True)):
        by_name, first = dict(zip(judged, verdicts, strict=True)), verdicts[0]
        both = [by_name[name] for name in ("support", "support_hhem") if name in by_name]
        evidence = first.evidence if in_contexts else None
        statements.append(
            {
                "verdict": first,
                "checks": [(labels[name], verdict.probability) for name, verdict in by_name.items()],
                "sentence": f"r{first.sentence}" if judgement == "statements" else "",
                "source": f"c{evidence.context}-{evidence.start}" if evidence else "",
                "reason": (reasons[i] if i < len(reasons) else "") or first.reason or "",
                "whole": record.sentences[first.sentence].cut != "",
                "split": len({verdict.probability >= threshold for verdict in both}) > 1,
            }
        )
    left_out = max(0, len(statements) - MOST_PER_SAMPLE)
    table = {"label": judgement, "against": labels[judged[0]].removesuffix("_hhem"), "left_out": left_out}
    return [{**table, "statements": statements[:MOST_PER_SAMPLE]}]


def _draws(records: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Count the distinct questions in the order in which they were drawn, with their mean sufficiency."""
    draws = getattr(records.get("questions"), "draws", ())
    cosines = getattr(records.get("similarity"), "cosines", ())
    by_question: dict[str, list[tuple[float, float | None]]] = {}
    foreign = {draw.question: draw.foreign for draw in draws if draw.foreign}
    for draw, cosine in zip_longest(draws, cosines[: len(draws)]):
        by_question.setdefault(draw.question, []).append((draw.sufficient, cosine))
    return [
        {
            "question": question,
            "foreign": foreign.get(question, ""),
            "times": len(pairs),
            "cosine": pairs[0][1],
            "sufficient": sum(probability for probability, _ in pairs) / len(pairs),
        }
        for question, pairs in by_question.items()
    ]
