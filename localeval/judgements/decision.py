"""The decisions of a judgement in one form, which every report reads without knowing the judgement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal, NamedTuple

from localeval.claims.evidence import Evidence
from localeval.samples import Sample

Kind = Literal["statement", "verdict", "sentence", "question", "passage", "context", "other"]
"""What the decisions of a record are about.

statement  the statements that a text makes; none is decided yet
verdict    whether such a statement is supported
sentence   whether a sentence of the response is supported
question   whether the response answers a question
passage    single sentences of the contexts
context    whole contexts
other      anything else, such as the whole response: a judgement of your own
"""

# Kinds of decisions about what somebody wrote as an answer, in contrast to contexts and drawn questions.
OF_ANSWER: tuple[Kind, ...] = ("statement", "verdict", "sentence", "other")

# Of `Decision.mass`: below it, other beginnings are likelier than yes and no together.
MIN_MASS = 0.5


class Decision(NamedTuple):
    """What a judgement decided about one text of a sample.

    text         what was decided about: a statement, a sentence, a question, a context
    label        what a yes says of the text: "supported", "needed", "useful", or a word of your own
    probability  of a yes, 0 to 1; None where nothing was decided
    is_yes       whether it counts as a yes at the run's threshold
    threshold    probability from which it does; a report rounds no probability across it
    unjudged     code of the reason why no model was asked, or ""

    Where the text stands:

    column       the sample's field; "" for a text that stands in none, such as a drawn question
    context      index of the context, in "retrieved_contexts"
    start, end   offsets of `sentence` there, or of the text without one; None where they are not known.
                 They count as the offsets of sentences do: in a response without its `<think>` blocks
    sentence     the sentence from which the text was made, as it is written; "" where that is the text
    cut          why the text is not as the model wrote it (see `SentenceStatements.cut`), or ""

    How it was decided:

    by               who decided: "llm", "head", "hhem", or a word of your own
    against          the sample's field that was compared with the text, or ""
    premise          what was compared where it is not that field as it stands, or ""
    evidence         the sentence of `against` that speaks most for the text, or None
    reason           what the model wrote as its reason, or ""
    shortened        the shorter form of the text that was decided instead, or ""
    unknown_numbers  numbers of the text that `against` does not have
    value            a value of the text for which `against` rather says `likelier_value`; "" without one
    foreign_word     a word of a drawn question that the response does not have, or ""
    cosine           of a drawn question with the real one, -1 to 1; None where it was not measured
    mass             probability that the judge would begin a yes or a no, were it free to write anything
    doubtful         (start, end) of the words that look unsupported, in `column`
    """

    text: str
    label: str = ""
    probability: float | None = None
    is_yes: bool = False
    threshold: float = 0.5
    unjudged: str = ""

    column: str = ""
    context: int | None = None
    start: int | None = None
    end: int | None = None
    sentence: str = ""
    cut: str = ""

    by: str = "llm"
    against: str = ""
    premise: str = ""
    evidence: Evidence | None = None
    reason: str = ""
    shortened: str = ""
    unknown_numbers: tuple[str, ...] = ()
    value: str = ""
    likelier_value: str = ""
    foreign_word: str = ""
    cosine: float | None = None
    mass: float = 1.0
    doubtful: tuple[tuple[int, int], ...] = ()

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether the text stands, in part at least, between these offsets of its field."""
        return self.start is not None and self.end is not None and self.start < end and start < self.end


@dataclass(frozen=True)
class DecisionContext:
    """What a record needs, besides itself, to list its decisions.

    judgement  the name under which it is stored
    records    all records of the sample, by judgement, with calibrated probabilities
    threshold  probability from which a decision counts as a yes
    """

    judgement: str
    sample: Sample
    records: Mapping[str, Any]
    threshold: float


@dataclass(frozen=True)
class DecisionList:
    """The decisions of one judgement about a sample, in order.

    column   the sample's field of which it decides texts; "" for several, or none
    failure  why there are none, where the judgement failed; else ""
    language in which the texts are judged: "en", "zh" or "other"; "" where the record does not say
    windows  into how many the contexts were cut for it, the best of which decides
    """

    judgement: str
    kind: Kind
    column: str
    decisions: tuple[Decision, ...]
    failure: str = ""
    language: str = ""
    windows: int = 1


def list_decisions(sample: Sample, records: Mapping[str, Any], threshold: float) -> list[DecisionList]:
    """Return the decisions of every judgement of a sample; `records` have calibrated probabilities.

    >>> list_decisions(Sample(response="Tea."), {}, 0.5)
    []
    """
    records = dict(records)  # reads each once: they may be in a journal
    return [
        DecisionList(
            judgement=name,
            kind=record.decides,
            column=record.column(name),
            decisions=record.decisions(DecisionContext(name, sample, records, threshold)),
            failure=record.failure(),
            language=getattr(record, "language", ""),
            windows=getattr(record, "windows", 1),
        )
        for name, record in records.items()
    ]


def decided_in(lists: Iterable[DecisionList], kind: Kind) -> list[Decision]:
    """Return the decisions of all lists of a kind, in order."""
    return [decision for listed in lists if listed.kind == kind for decision in listed.decisions]


def list_unjudged(lists: Iterable[DecisionList], column: str = "response") -> list[Decision]:
    """Return the stretches of the response, or of the reference, that are not judged."""
    return [
        decision
        for listed in lists
        if listed.column == column
        for decision in listed.decisions
        if decision.unjudged
    ]


def statement_language(lists: Iterable[DecisionList]) -> str | None:
    """Return the language in which the statements of the response are judged; None where none are listed."""
    for listed in lists:
        if listed.kind == "statement" and listed.column == "response":
            return listed.language
    return None


def max_windows(lists: Iterable[DecisionList]) -> int:
    """Return the most windows into which the contexts were cut; 1 where every judgement read them whole."""
    return max((listed.windows for listed in lists), default=1)


def is_unsure(lists: Iterable[DecisionList]) -> bool:
    """Report whether, at some decision, the judge would rather not write yes or no."""
    return any(decision.mass < MIN_MASS for listed in lists for decision in listed.decisions)


def find_differing(lists: Sequence[DecisionList]) -> list[tuple[Decision, Decision]]:
    """Return the decisions of the judge and of the classifier on the same statement that differ."""
    pairs = []
    verdicts = [listed.decisions for listed in lists if listed.kind == "verdict"]
    for decisions, others in permutations(verdicts, 2):
        for decision, other in zip(decisions, others, strict=False):
            same_question = (decision.column, decision.against) == (other.column, other.against)
            by_both = decision.by != "hhem" and other.by == "hhem"
            if same_question and by_both and decision.is_yes != other.is_yes:
                pairs.append((decision, other))
    return pairs
