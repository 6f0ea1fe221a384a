"""The decisions of a judgement in one form, which every report reads without knowing the judgement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from localeval.claims.overlap import Evidence
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


@dataclass(frozen=True, kw_only=True)
class Decision:
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

    failure  why there are none, where the judgement failed; else ""
    """

    judgement: str
    kind: Kind
    decisions: tuple[Decision, ...]
    failure: str = ""


def list_decisions(sample: Sample, records: Mapping[str, Any], threshold: float) -> list[DecisionList]:
    """Return the decisions of every judgement of a sample; `records` have calibrated probabilities.

    >>> list_decisions(Sample(response="Tea."), {}, 0.5)
    []
    """
    records = dict(records)  # reads each once: they may be in a journal
    lists = []
    for name, record in records.items():
        context = DecisionContext(name, sample, records, threshold)
        lists.append(DecisionList(name, record.decides, record.decisions(context), record.failure()))
    return lists
