"""Is the response grounded? Read with the contexts, and decided by a head: no prompt, no reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any

from localeval.engine.interface import States
from localeval.judgements.context import JudgeContext, NoHead, Record, response_of
from localeval.judgements.heads import Contexts, context_text, question_text, sigmoid
from localeval.judgements.windows import windows
from localeval.samples import Sample
from localeval.text.claims import extract_claims
from localeval.text.language import language
from localeval.text.overlap import TERM, Evidence, context_sentences, rank_sentences
from localeval.text.sentences import Sentence, has_words

DOUBTFUL = 0.5  # words and sentences whose P(supported) is below it are marked
LONG = 3  # sentences of a long response: on these reading agrees with people better than asking does
ENOUGH = 100  # long answers that a head was fitted to, from which on it decides long responses


class ReadSentence(Record):
    """One sentence of the response, decided. Places count in the response without its `<think>` blocks.

    probability  that the contexts support it, 0 to 1; with several windows that of the best one
    overlap      what the head was told beside the states (see `localeval.judgements.heads.Overlap`)
    evidence     the sentence of the contexts that shares most with it; None where none does
    spans        places, as (start, end), whose words look unsupported
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
    """Tell whether a head decides which sentences of the response are supported, and nothing is asked.

    With `support_by="head"` always; with "auto" if the response is long, the head was fitted to many such,
    and there is no reference, against which single statements may be held too.
    """
    by, text = context.options.support_by, response_of(sample)
    if by != "auto":
        return by == "head"
    head = context.heads.get(language(text))
    if head is None or head.long_answers < ENOUGH or has_words(sample.reference or ""):
        return False
    return any(map(has_words, sample.retrieved_contexts or [])) and len(extract_claims(text)) >= LONG


def recipe(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    head = context.heads.get(language(response_of(sample)))
    return {"head": head.sha256 if head else None}


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> GroundingRecord:
    """Read the contexts once, then question and response behind them; nothing is written.

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
    question = question_text(sample.user_input or "") + " "
    item = question + text
    parts = windows(context.engine, None, contexts, [item], bare=context_text([]))
    read = [context.engine.read(context_text([part]), item, head.layer) for part in parts]
    places, lexical = Places(text, len(question.encode("utf-8", "replace"))), Contexts(contexts)
    near = rank_sentences([s.text for s in sentences], context_sentences(contexts), 1)
    decided, logits = [], []
    for s, evidence in zip(sentences, near, strict=True):
        overlap = lexical.overlap(s.text)
        in_windows = [head.sentence.of(places.mean(states, s.start, s.end), overlap) for states in read]
        logit, i = max((z, i) for i, z in enumerate(in_windows))
        logits.append(logit)
        probability, spans = sigmoid(logit), list[tuple[int, int]]()
        if head.token is not None and probability < DOUBTFUL:
            found = [*words(s)]
            marks = (sigmoid(head.token.of(places.mean(read[i], *word))) < DOUBTFUL for word in found)
            for is_doubtful, run in groupby(zip(found, marks, strict=True), itemgetter(1)):
                if is_doubtful:
                    doubtful = [word for word, _mark in run]
                    spans.append((doubtful[0][0], doubtful[-1][1]))
        decided.append(
            ReadSentence(
                sentence=s.text,
                start=s.start,
                end=s.end,
                probability=probability,
                overlap=tuple(overlap),
                evidence=evidence[0] if evidence else None,
                spans=tuple(spans),
            )
        )
    return GroundingRecord(
        sentences=tuple(decided),
        all_supported=sigmoid(head.answer.of(logits)),
        language=spoken,
        windows=len(parts),
    )


class Places:
    """Where the characters of a text lie among the bytes of what was read, `before` of which precede it."""

    def __init__(self, text: str, before: int) -> None:
        sizes = (len(c.encode("utf-8", "replace")) for c in text)
        self._at = [*accumulate(sizes, initial=before)]

    def mean(self, states: States, start: int, end: int) -> Any:
        """Average the states of the tokens of a piece of the text: (width,)."""
        return states.values[states.tokens(self._at[start], self._at[end])].mean(axis=0)


def words(sentence: Sentence) -> Iterator[tuple[int, int]]:
    """Give the place of each word; of each character where there are no spaces between words."""
    for run in TERM.finditer(sentence.text):
        step = 1 if run[0][0] >= "㐀" else len(run[0])
        for at in range(run.start(), run.end(), step):
            yield sentence.start + at, sentence.start + at + step
