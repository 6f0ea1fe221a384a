"""The details of one sample: its texts in pieces, its statements with their verdicts, its drawn questions.

A decision is shown by its kind; a judgement of a kind that the page does not know has a plain table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

from localeval.judgements.decision import (
    Decision,
    DecisionList,
    Kind,
    decided_in,
    is_unsure,
    list_unjudged,
    max_windows,
)
from localeval.judgements.judged_text import language_of
from localeval.metrics.sample_result import SampleResult
from localeval.text.display import digits
from localeval.text.thoughts import strip_thinking

MAX_TEXT = 20_000  # characters
MAX_CONTEXTS = 60_000  # characters of all contexts together
MAX_STATEMENT = 6_000  # characters
MAX_PER_SAMPLE = 200
# What a text was compared with -> the key of its words in labels.toml; lists come in this order.
_AGAINST = {"retrieved_contexts": "in_contexts", "reference": "in_reference", "response": "in_response"}
# Reasons that are not counted below the response: mere marks, and thoughts, which are not shown.
_NOT_COUNTED = ("no_words", "thought")


def detail(result: SampleResult, threshold: float) -> dict[str, Any]:
    """Return the details of one sample for the template sample.html."""
    lists = result.decisions(threshold)
    sample = result.sample
    response, thinks = strip_thinking(sample.response or "")
    pieces = _response(response, lists)
    contexts = sample.retrieved_contexts or []
    shown_contexts = _contexts(contexts, lists)
    groups, others = _statement_groups(lists)
    return {
        "sample": sample,
        "scores": result.scores,
        "pieces": pieces,
        "response_left_out": max(0, len(response) - MAX_TEXT),
        "unjudged": _count_unjudged(lists),
        "doubtful": any(mark and mark.doubtful for _, mark in pieces),
        "contexts": shown_contexts,
        "contexts_left_out": len(contexts) - len(shown_contexts),
        "stated": [_statement_table(group) for group in groups],
        "questions": [_questions(listed) for listed in _decided_lists(lists, "question")],
        "passages": [_passage_counts(listed) for listed in _decided_lists(lists, "passage")],
        "others": [_plain_table(listed) for listed in [*others, *_decided_lists(lists, "other")]],
        "thinking": thinks,
        "other_language": language_of(sample) == "other",
        "windows": max_windows(lists),
        "otherwise": is_unsure(lists),
        "failures": [(listed.judgement, listed.failure) for listed in lists if listed.failure],
    }


def _count_unjudged(lists: Sequence[DecisionList]) -> dict[str, int]:
    """Count the stretches of the response that are not judged by their reasons, in alphabetical order."""
    reasons = [one.unjudged for one in list_unjudged(lists)]
    counts = Counter(reason for reason in reasons if reason not in _NOT_COUNTED)
    return dict(sorted(counts.items()))


class Mark(NamedTuple):
    """A span of a text that becomes an HTML element of its own.

    key          id of the element
    probability  shown as its colour and number; None for neither
    doubtful     whether its words look unsupported
    last         whether this is the last part of the span that has this probability
    unjudged     why the span is not judged, or ""
    label        key of the words before the probability of a part of a context
    """

    start: int
    end: int
    key: str
    probability: float | None = None
    doubtful: bool = False
    last: bool = True
    unjudged: str = ""
    label: str = ""

    def parted(self, spans: Iterable[tuple[int, int]]) -> Iterator[Mark]:
        """Cut this mark where doubtful words begin and end; their `spans` are in order and do not overlap.

        >>> [(part.start, part.end, part.doubtful) for part in Mark(0, 9, "r0").parted([(2, 4)])]
        [(0, 2, False), (2, 4, True), (4, 9, False)]
        """
        overlapping = [(start, end) for start, end in spans if start < self.end and end > self.start]
        inside = [(max(start, self.start), min(end, self.end)) for start, end in overlapping]
        ends = sorted({self.start, self.end, *chain.from_iterable(inside)})
        for i, (start, end) in enumerate(pairwise(ends)):
            doubtful = any(first <= start and end <= last for first, last in inside)
            key = f"{self.key}-{i}" if i else self.key
            yield Mark(start, end, key, self.probability, doubtful, end == self.end)


Pieces = list[tuple[str, Mark | None]]


def in_pieces(text: str, marks: Iterable[Mark], room: int) -> Pieces:
    """Cut the first `room` characters of `text` at the marks; of two that overlap, the first is kept.

    >>> [piece for piece, _ in in_pieces("A b. C d. E", [Mark(5, 9, "1")], 100)]
    ['A b. ', 'C d.', ' E']
    """
    pieces: Pieces = []
    position = 0
    end = min(room, len(text))
    for mark in sorted(marks):
        if position <= mark.start < min(mark.end, end):
            if mark.start > position:
                pieces.append((text[position : mark.start], None))
            position = min(mark.end, end)
            pieces.append((text[mark.start : position], mark))
    if position < end:
        pieces.append((text[position:end], None))
    return pieces


def _response(text: str, lists: Sequence[DecisionList]) -> Pieces:
    """Colour each sentence by its least supported statement, else by the head; mark doubtful words."""
    marks = [*_statement_marks(lists)] or [*_read_marks(lists)]
    doubtful = [span for sentence in decided_in(lists, "sentence") for span in sentence.doubtful]
    parts = [part for mark in marks for part in mark.parted(doubtful)]
    return in_pieces(text, [*parts, *_unjudged_marks(lists)], MAX_TEXT)


def _statement_marks(lists: Sequence[DecisionList]) -> Iterator[Mark]:
    """Yield a mark for each sentence of the response that makes statements."""
    lowest = _lowest_probabilities(lists)
    marked = set()
    for statement in decided_in(lists, "statement"):
        if statement.column != "response" or statement.unjudged or not statement.text:
            continue
        start = statement.start
        if start is not None and statement.end is not None and start not in marked:
            marked.add(start)
            yield Mark(start, statement.end, f"r{start}", lowest.get(start))


def _lowest_probabilities(lists: Sequence[DecisionList]) -> dict[int | None, float]:
    """Return start of a sentence of the response -> the lowest probability of its statements."""
    verdicts = _verdict_lists(lists, "response")
    if not verdicts:
        return {}
    lowest: dict[int | None, float] = {}
    for verdict in verdicts[0].decisions:
        if verdict.probability is not None:
            lowest_so_far = lowest.get(verdict.start, 1.0)
            lowest[verdict.start] = min(verdict.probability, lowest_so_far)
    return lowest


def _read_marks(lists: Sequence[DecisionList]) -> Iterator[Mark]:
    """Yield a mark for each sentence of the response that a head read."""
    for one in decided_in(lists, "sentence"):
        if one.start is not None and one.end is not None and not one.unjudged:
            yield Mark(one.start, one.end, f"r{one.start}", one.probability)


def _unjudged_marks(lists: Sequence[DecisionList]) -> Iterator[Mark]:
    """Yield a mark for each stretch of the response that is not judged; a thought is cut from the text."""
    for one in list_unjudged(lists):
        if one.start is not None and one.end is not None and one.unjudged != "thought":
            yield Mark(one.start, one.end, f"u{one.start}", unjudged=one.unjudged)


def _verdict_lists(lists: Sequence[DecisionList], column: str) -> list[DecisionList]:
    """Return the verdicts on statements of `column`: by the contexts first, and by the judge before HHEM."""

    def order(listed: DecisionList) -> tuple[int, bool]:
        first = next(iter(listed.decisions), Decision(text=""))
        place = [*_AGAINST].index(first.against) if first.against in _AGAINST else len(_AGAINST)
        return place, first.by == "hhem"

    of_column = [listed for listed in lists if listed.kind == "verdict" and listed.column == column]
    return sorted((listed for listed in of_column if not listed.failure), key=order)


class Chip(NamedTuple):
    """A probability on the head of a context, and its labels, of which the first that has words is shown."""

    probability: float
    labels: tuple[str, ...]
    unjudged: str


def _contexts(contexts: Sequence[str], lists: Sequence[DecisionList]) -> list[dict[str, Any]]:
    """Return the contexts, cut to `MAX_CONTEXTS` characters in all.

    A sentence is marked if it is the evidence of a statement or was decided itself, and has its probability
    if that was a yes.
    """
    marks = _context_marks(lists)
    chips: dict[int | None, list[Chip]] = defaultdict(list)
    for one in decided_in(lists, "context"):
        if one.probability is not None:
            labels = (f"{one.label}_for_{one.against}", one.label)
            chips[one.context].append(Chip(one.probability, labels, one.unjudged))
    rows: list[dict[str, Any]] = []
    room = MAX_CONTEXTS
    for i, text in enumerate(contexts[:MAX_PER_SAMPLE]):
        if room <= 0:
            break
        pieces = in_pieces(text, marks[i].values(), room)
        rows.append({"pieces": pieces, "left_out": max(0, len(text) - room), "chips": chips[i]})
        room -= len(text)
    return rows


def _context_marks(lists: Sequence[DecisionList]) -> dict[int, dict[tuple[int, int], Mark]]:
    """Return for each context its marks, by their offsets."""
    marks: dict[int, dict[tuple[int, int], Mark]] = defaultdict(dict)
    for one in decided_in(lists, "passage"):
        if one.context is not None and one.start is not None and one.end is not None:
            probability = one.probability if one.is_yes else None
            mark = Mark(one.start, one.end, f"c{one.context}-{one.start}", probability, label=one.label)
            marks[one.context].setdefault((one.start, one.end), mark)
    for one in decided_in(lists, "verdict"):
        if one.evidence is not None and one.against == "retrieved_contexts":
            mark = Mark(one.evidence.start, one.evidence.end, _source_key(one))
            marks[one.evidence.context].setdefault((one.evidence.start, one.evidence.end), mark)
    return marks


def _source_key(verdict: Decision) -> str:
    """Return the id of the HTML element with the verdict's evidence, "" where no context has it."""
    if verdict.evidence is None or verdict.against != "retrieved_contexts":
        return ""
    return f"c{verdict.evidence.context}-{verdict.evidence.start}"


def _passage_counts(listed: DecisionList) -> dict[str, Any]:
    """Count the passages that were decided with yes; with P(the contexts answer the question) as text."""
    passages = [one for one in listed.decisions if one.column == "retrieved_contexts"]
    counts: dict[str, Any] = {"needed": sum(one.is_yes for one in passages), "all": len(passages)}
    for one in listed.decisions:
        if one.column == "user_input" and one.probability is not None:
            counts["answerable"] = digits(one.probability, one.threshold, 2)
    return counts


@dataclass(frozen=True)
class _Group:
    """The statements of a text, and each judgement's verdicts on them."""

    column: str
    verdicts: list[DecisionList]


def _statement_groups(lists: Sequence[DecisionList]) -> tuple[list[_Group], list[DecisionList]]:
    """Group the verdicts by the text whose statements they decide; also return those on other statements.

    Where the statements of a text were not listed, nothing is grouped.
    """
    groups = []
    others = []
    with_statements = {one.column for one in lists if one.kind == "statement" and not one.failure}
    for column in ("response", "reference"):
        verdicts = _verdict_lists(lists, column)
        if column not in with_statements or not verdicts:
            continue
        texts = [one.text for one in verdicts[0].decisions]
        same = [listed for listed in verdicts if [one.text for one in listed.decisions] == texts]
        groups.append(_Group(column, same))
        others += [listed for listed in verdicts if listed not in same]
    return groups, others


def _statement_table(group: _Group) -> dict[str, Any]:
    """List the statements of a text with every verdict on them."""
    statements = [
        _statement(verdicts) for verdicts in zip(*(one.decisions for one in group.verdicts), strict=True)
    ]
    return {
        "label": f"statements_of_{group.column}",
        "left_out": max(0, len(statements) - MAX_PER_SAMPLE),
        "statements": statements[:MAX_PER_SAMPLE],
    }


def _statement(verdicts: Sequence[Decision]) -> dict[str, Any]:
    """Return a statement with its verdicts, of which the first is shown with its evidence and reason.

    `sentence` and `source` are the ids of the HTML elements that belong to the statement, or "".
    """
    first = verdicts[0]
    same_question = [one.is_yes for one in verdicts if one.against == first.against]
    return {
        "verdict": first,
        "against": _AGAINST.get(first.against, ""),
        "checks": [(one, _check_label(one)) for one in verdicts],
        "sentence": f"r{first.start}" if first.column == "response" and first.start is not None else "",
        "source": _source_key(first),
        "split": len(set(same_question)) > 1,
    }


def _check_label(verdict: Decision) -> str:
    """Return the key of the words that say what a statement was compared with, and by whom."""
    against = _AGAINST.get(verdict.against, "")
    return f"{against}_hhem" if verdict.by == "hhem" and against == "in_contexts" else against


def _questions(listed: DecisionList) -> dict[str, Any]:
    """Count the distinct questions in the order in which they were drawn, with their mean sufficiency."""
    by_text: dict[str, list[Decision]] = defaultdict(list)
    real = None
    for one in listed.decisions:
        if one.column == "user_input":
            real = one
        else:
            by_text[one.text].append(one)
    rows = [
        {
            "question": text,
            "foreign": next((one.foreign_word for one in drawn if one.foreign_word), ""),
            "times": len(drawn),
            "cosine": drawn[0].cosine,
            "sufficient": sum(one.probability or 0.0 for one in drawn) / len(drawn),
        }
        for text, drawn in by_text.items()
    ]
    return {"real": real, "drawn": rows}


def _decided_lists(lists: Sequence[DecisionList], kind: Kind) -> list[DecisionList]:
    """Return the lists of a kind that decide anything."""
    return [listed for listed in lists if listed.kind == kind and listed.decisions]


def _plain_table(listed: DecisionList) -> dict[str, Any]:
    """Return the decisions of a judgement of which the page knows nothing but the name."""
    return {
        "judgement": listed.judgement,
        "decisions": listed.decisions[:MAX_PER_SAMPLE],
        "left_out": max(0, len(listed.decisions) - MAX_PER_SAMPLE),
    }
