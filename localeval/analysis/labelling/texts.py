"""What a person sees of an item: its texts with what is marked, the question, and the judge's verdict."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

from localeval.analysis.labelling.draw import LabelDraw, LabelItem, deciding_lists
from localeval.judgements.decision import Decision, decided_in
from localeval.metrics import METRICS
from localeval.samples import Sample
from localeval.samples.messages import USER, Message
from localeval.text.display import printable_lines
from localeval.text.thoughts import strip_thinking


class TextMark(NamedTuple):
    """A marked span of a text: the "sentence" of the statement, or the "source" closest to it."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class ItemTexts:
    """The texts of an item; the marks of each are in order and do not overlap.

    question         after the earlier messages of its conversation, if it has any
    response         without its <think> blocks, which were not judged
    thinks           whether it had any
    statement        that is labelled; None where the sample is
    is_of_reference  whether the statement is one of the reference
    reference        None also where the metric does not read it
    """

    question: str | None
    response: str | None
    thinks: bool
    statement: str | None
    is_of_reference: bool
    reference: str | None
    contexts: Sequence[str]
    response_marks: Sequence[TextMark]
    reference_marks: Sequence[TextMark]
    context_marks: Sequence[Sequence[TextMark]]


class Asked(NamedTuple):
    """What a person is asked, and the metric's definition where the question does not say it."""

    question: str
    definition: str = ""


@dataclass(frozen=True)
class JudgeVerdict:
    """What the judge said of an item.

    says         "right" or "wrong"; "" for a score between
    value, soft  the score of a sample; None where a statement is labelled
    statements   that were decided for it
    """

    says: str
    value: float | None
    soft: float | None
    statements: Sequence[Decision]


def texts_of(draw: LabelDraw, item: LabelItem) -> ItemTexts:
    """Return the texts of an item, whole, with their marks."""
    sample = item.result.sample
    response, thinks = strip_thinking(sample.response or "")
    reference = sample.reference if _reads_reference(draw.metric) else None
    contexts = sample.retrieved_contexts or []
    decisions = [item.statement] if item.statement else _of_response(item)
    marks = [*_sentence_marks(item.statement), *_source_marks(decisions)]
    return ItemTexts(
        question=_question_of(sample),
        response=None if sample.response is None else response,
        thinks=bool(thinks),
        statement=None if item.statement is None else item.statement.text,
        is_of_reference=item.statement is not None and item.statement.column == "reference",
        reference=reference,
        contexts=contexts,
        response_marks=_in_text(response, marks, ("response", None)),
        reference_marks=_in_text(reference or "", marks, ("reference", None)),
        context_marks=[
            _in_text(text, marks, ("retrieved_contexts", index)) for index, text in enumerate(contexts)
        ],
    )


def _question_of(sample: Sample) -> str | None:
    """Return the question; of a conversation with what was said before, as "Was it repaired?" needs that."""
    earlier = sample.earlier_messages()
    if not earlier or sample.user_input is None:
        return sample.user_input
    messages = [*earlier, Message(USER, sample.user_input)]
    return "\n".join(f"{message.role}: {message.text}" for message in messages)


def _of_response(item: LabelItem) -> list[Decision]:
    """Return the decisions about statements, and about sentences that were read."""
    lists = item.result.decisions()
    return [*decided_in(lists, "verdict"), *decided_in(lists, "sentence")]


# A column, and the index of a context.
_Place = tuple[str, int | None]


def _sentence_marks(statement: Decision | None) -> Iterable[tuple[_Place, TextMark]]:
    """Yield where the statement stands."""
    if statement is not None and statement.start is not None and statement.end is not None:
        yield (statement.column, None), TextMark(statement.start, statement.end, "sentence")


def _source_marks(decisions: Iterable[Decision]) -> Iterable[tuple[_Place, TextMark]]:
    """Yield the sentence that is closest to each statement by its words, whatever was decided."""
    for one in decisions:
        if one.evidence is not None:
            context = one.evidence.context if one.against == "retrieved_contexts" else None
            yield (one.against, context), TextMark(one.evidence.start, one.evidence.end, "source")


def _in_text(text: str, marks: Iterable[tuple[_Place, TextMark]], place: _Place) -> list[TextMark]:
    """Return the marks of this text, in order, without those that overlap an earlier one."""
    kept: list[TextMark] = []
    position = 0
    for mark in sorted({mark for where, mark in marks if where == place}):
        if position <= mark.start < mark.end <= len(text):
            kept.append(mark)
            position = mark.end
    return kept


def _reads_reference(metric: str) -> bool:
    known = METRICS.get(metric)
    return known is None or "reference" in (*known.columns, *known.either)


def verdict_of(draw: LabelDraw, item: LabelItem) -> JudgeVerdict:
    """Return what the judge said of an item."""
    if item.statement is not None:
        return JudgeVerdict(_word(item.statement.is_yes), None, None, [item.statement])
    score = item.result.scores[draw.metric].checked()
    known = METRICS.get(draw.metric)
    best = 1.0 if known is None or known.higher_is_better else 0.0
    says = _word(score.value == best) if score.value in (0.0, 1.0) else ""
    lists = [one for one in deciding_lists(item.result, draw.metric) if one.kind in ("verdict", "sentence")]
    statements = [one for listed in lists for one in listed.decisions if one.probability is not None]
    return JudgeVerdict(says, score.value, score.soft, statements)


def _word(is_right: bool) -> str:
    return "right" if is_right else "wrong"


def question_asked(draw: LabelDraw, item: LabelItem, language: str) -> Asked:
    """Return what a person is asked of an item, in a language of the page."""
    asks = read_words()[language]["asks"]
    if item.statement is not None:
        return Asked(asks.get(f"statement_{item.statement.against}", asks["statement_"]))
    if draw.metric in asks:
        return Asked(asks[draw.metric])
    question = asks["metric"].format(metric=printable_lines(draw.metric))
    known = METRICS.get(draw.metric)
    if known is None:
        return Asked(question)
    is_chinese = language == "zh" and known.definition_zh
    return Asked(question, known.definition_zh if is_chinese else known.definition)


@lru_cache
def read_words() -> dict[str, dict[str, Any]]:
    """Read words.toml: language -> key -> words; "asks" is a table in each language."""
    text = resources.files("localeval.analysis.labelling").joinpath("words.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    return tables
