"""Is the response grounded? Read with the contexts, and decided by a head: no prompt, no reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from localeval.engine.interface import States
from localeval.judgements.context import JudgeContext, NoHead, Record, response_of
from localeval.judgements.heads import Contexts, Head, context_text, question_text, sigmoid
from localeval.judgements.windows import windows
from localeval.samples import Sample
from localeval.text.claims import extract_claims
from localeval.text.language import language
from localeval.text.overlap import TERM, Evidence, context_sentences, rank_sentences
from localeval.text.sentences import Sentence, has_words

DOUBTFUL = 0.5
"""Words whose P(supported) is below it are marked, where their sentence is doubtful as well."""


LONG, ENOUGH = 3, 100
"""A long response has so many sentences, and a head decides it if it was fitted to so many of them: on long
ones reading agrees with people better than asking does, on single claims asking does."""


class ReadSentence(Record):
    """One sentence of the response, decided.

    start, end   its place in the response without its `<think>` blocks
    probability  that the contexts support it, 0 to 1; with several windows that of the best one
    overlap      what the head was told beside the states (see `localeval.judgements.heads.Overlap`)
    evidence     the sentence of the contexts that shares most with it; None where none does
    spans        places in the response, as (start, end), whose words look unsupported
    """

    sentence: str
    start: int
    end: int
    probability: float
    overlap: tuple[float, ...]
    evidence: Evidence | None = None
    spans: tuple[tuple[int, int], ...] = ()


class GroundingRecord(Record):
    """`all_supported` is P(every sentence is supported); 1.0 where there is no sentence."""

    sentences: tuple[ReadSentence, ...]
    all_supported: float
    language: str
    windows: int = 1


def decides(context: JudgeContext, sample: Sample) -> bool:
    """Whether the response is read to see which of its sentences are supported, and nothing is asked.

    With `support_by="head"` always; with "auto" where the head was fitted to many answers as long, and where
    no reference is there, against which single statements may be held too.
    """
    by, text = context.options.support_by, response_of(sample)
    if by != "auto":
        return by == "head"
    head = context.heads.get(language(text))
    if head is None or head.long_answers < ENOUGH or sample.reference:
        return False
    return any(map(has_words, sample.retrieved_contexts or [])) and len(extract_claims(text)) >= LONG


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    head = context.heads.get(language(response_of(sample)))
    return {"head": head.sha256 if head else None}


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> GroundingRecord:
    """The contexts are read once, then question and response behind them; nothing is written.

    Raises NoHead where no head was fitted for the judge in the response's language.
    """
    text = response_of(sample)
    spoken = language(text)
    head = context.heads.get(spoken)
    if head is None:
        raise NoHead(f"no head was fitted for this judge and responses in {spoken}")
    sentences = extract_claims(text)
    contexts = sample.retrieved_contexts or []
    if not sentences:
        return GroundingRecord(sentences=(), all_supported=1.0, language=spoken)
    asked = question_text(sample.user_input or "") + " "
    parts = windows(context.engine, None, contexts, [asked + text], branch=context_text([]))
    read = [context.engine.read(context_text([part]), [asked + text], [head.layer])[0] for part in parts]
    overlaps = [*map(Contexts(contexts).overlap, (s.text for s in sentences))]
    places = Places(text, len(asked.encode("utf-8", "replace")))
    logits = [
        max(
            (head.sentence.of(places.mean(states, s.start, s.end), overlap), i)
            for i, states in enumerate(read)
        )
        for s, overlap in zip(sentences, overlaps, strict=True)
    ]
    found = rank_sentences([s.text for s in sentences], context_sentences(contexts), 1)
    return GroundingRecord(
        sentences=tuple(
            ReadSentence(
                sentence=s.text,
                start=s.start,
                end=s.end,
                probability=sigmoid(logit),
                overlap=tuple(overlap),
                evidence=near[0] if near else None,
                spans=tuple(_spans(head, read[i], places, s)) if sigmoid(logit) < DOUBTFUL else (),
            )
            for s, overlap, (logit, i), near in zip(sentences, overlaps, logits, found, strict=True)
        ),
        all_supported=sigmoid(head.answer.of([logit for logit, _ in logits])),
        language=spoken,
        windows=len(parts),
    )


class Places:
    """Where the characters of a text lie among the bytes of what was read, `before` of which precede it."""

    def __init__(self, text: str, before: int) -> None:
        sizes = (len(c.encode("utf-8", "replace")) for c in text)
        self._at = [*accumulate(sizes, initial=before)]

    def tokens(self, states: States, start: int, end: int) -> slice:
        return states.tokens(self._at[start], self._at[end])

    def mean(self, states: States, start: int, end: int) -> Any:
        """(width,) The mean state of the tokens of a piece of the text."""
        return states.values[self.tokens(states, start, end), 0].mean(axis=0)


def _spans(head: Head, states: States, places: Places, sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Runs of doubtful words of a sentence; none where no head tells of tokens."""
    if head.token is None:
        return
    found = [*words(sentence)]
    doubtful = [sigmoid(head.token.of(places.mean(states, *word))) < DOUBTFUL for word in found]
    start: int | None = None
    for (first, last), bad, more in zip(found, doubtful, [*doubtful[1:], False], strict=True):
        start = first if bad and start is None else start
        if bad and not more and start is not None:
            yield start, last
            start = None


def words(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """The place of each word; of each character where there are no spaces between words."""
    for run in TERM.finditer(sentence.text):
        step = 1 if run[0][0] >= "㐀" else len(run[0])
        for at in range(run.start(), run.end(), step):
            yield sentence.start + at, sentence.start + at + step
