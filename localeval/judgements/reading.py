"""Is the response grounded? The judge reads it with the contexts and a head decides: no prompt, no reply."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any, ClassVar

from localeval.claims.overlap import TERM, Evidence, context_sentences, rank_sentences
from localeval.engine.interface import TokenValues
from localeval.fitted.heads import Contexts, context_text, question_text, sigmoid
from localeval.judgements.bindings import Binding, find_table_bindings
from localeval.judgements.context import (
    JudgeContext,
    NoHead,
    Record,
    UnjudgedText,
    account_of,
    language_of,
    response_of,
    unjudged_of,
)
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.windows import windows
from localeval.samples import Sample
from localeval.text.display import one_line
from localeval.text.sentences import Sentence, has_words

DOUBTFUL = 0.5  # words and sentences with P(supported) below this are marked
LONG = 3  # sentences that make a response long: there, reading agrees with people better than asking


class ReadSentence(Record):
    """One sentence of the response, decided. Offsets count in the response without its `<think>` blocks.

    probability  that the contexts support it, 0 to 1; with several windows, from the best one
    overlap      the head's input in addition to the states (see `localeval.fitted.heads.Overlap`)
    evidence     the sentence of the contexts that shares most terms with it; None where none shares any
    spans        (start, end) of the words that look unsupported
    binding      whether a value of a table belongs to what the sentence says of it; None without such a value
    """

    sentence: str
    start: int
    end: int
    probability: float
    overlap: tuple[float, ...]
    evidence: Evidence | None = None
    spans: tuple[tuple[int, int], ...] = ()
    binding: Binding | None = None

    def as_decision(self, threshold: float) -> Decision:
        return Decision(
            text=self.sentence,
            label="supported",
            probability=self.probability,
            is_yes=self.probability >= threshold,
            threshold=threshold,
            column="response",
            start=self.start,
            end=self.end,
            by="head",
            against="retrieved_contexts",
            evidence=self.evidence,
            value=self.binding.value if self.binding else "",
            likelier_value=self.binding.likelier_value if self.binding else "",
            doubtful=self.spans,
        )


class GroundingRecord(Record):
    """`all_supported` is P(every sentence is supported), at most the least `probability`; 1.0 without one.

    Every letter and digit of the response is in one of `sentences` or of `unjudged`.
    """

    sentences: tuple[ReadSentence, ...]
    all_supported: float
    language: str
    windows: int = 1
    unjudged: tuple[UnjudgedText, ...] = ()

    decides: ClassVar[Kind] = "sentence"
    texts_of: ClassVar[str] = "response"

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        """List the sentences, then what is not judged, unless the record of the statements lists that."""
        unjudged = () if "statements" in context.records else self.unjudged
        return (
            *(sentence.as_decision(context.threshold) for sentence in self.sentences),
            *(stretch.as_decision("response") for stretch in unjudged),
        )


def decides(context: JudgeContext, sample: Sample) -> bool:
    """Return whether a head decides which sentences of the response are supported, and nothing is asked.

    With `support_by="head"` always; with "auto" if the response is long, the head was fitted to many long
    ones, and there is no reference, with which single statements may be compared too.
    """
    by = context.options.support_by
    if by != "auto":
        return by == "head"
    head = context.heads.get(language_of(sample))
    if head is None or not head.decides_long or has_words(sample.reference or ""):
        return False
    has_contexts = any(map(has_words, sample.retrieved_contexts or []))
    return has_contexts and len(account_of(sample).claims) >= LONG


def key_fields(context: JudgeContext, sample: Sample) -> dict[str, Any]:
    head = context.heads.get(language_of(sample))
    return {"head": head.sha256 if head else None}


def ask(context: JudgeContext, sample: Sample, _: Mapping[str, Any]) -> GroundingRecord:
    """Read the contexts once, then the question and the response after them; the judge writes nothing.

    Raises NoHead where no head was fitted for the judge in the response's language.
    """
    text, language_code = response_of(sample), language_of(sample)
    sentences, contexts = account_of(sample).claims, sample.retrieved_contexts or []
    unjudged = unjudged_of(sample)
    if not sentences:
        return GroundingRecord(sentences=(), all_supported=1.0, language=language_code, unjudged=unjudged)
    head = context.heads.get(language_code)
    if head is None:
        raise NoHead(f"no head was fitted for this judge and responses in {language_code}")
    question = question_text(sample.user_input)
    item = question + text
    parts = windows(context.engine, None, contexts, [item], bare=context_text([]))
    states = [context.engine.read(context_text([part]), item, head.layer) for part in parts]
    token_logits = [TokenValues(head.word.of(window.values), window.ends) for window in states]
    places, context_words = Places(text, len(question.encode("utf-8", "replace"))), Contexts(contexts)
    closest = rank_sentences([s.text for s in sentences], context_sentences(contexts), 1)
    bindings = find_table_bindings(
        context.engine, sample.user_input or "", contexts, [one_line(s.standalone) for s in sentences]
    )
    records, logits = [], []
    for s, evidence, binding in zip(sentences, closest, bindings, strict=True):
        overlap, words = context_words.overlap(s.text), split_words(s)
        by_window = [[float(places.mean(window, *word)) for word in words] for window in token_logits]
        logit, word_logits = max((head.of_sentence(window, overlap), window) for window in by_window)
        if binding.margin is not None:
            logit = min(logit, binding.margin)
        logits.append(logit)
        probability, spans = sigmoid(logit), list[tuple[int, int]]()
        flags = (probability < DOUBTFUL and sigmoid(word_logit) < DOUBTFUL for word_logit in word_logits)
        for is_doubtful, run in groupby(zip(words, flags, strict=True), itemgetter(1)):
            if is_doubtful:
                doubtful = [word for word, _flag in run]
                spans.append((doubtful[0][0], doubtful[-1][1]))
        records.append(
            ReadSentence(
                sentence=s.text,
                start=s.start,
                end=s.end,
                probability=probability,
                overlap=tuple(overlap),
                evidence=evidence[0] if evidence else None,
                spans=tuple(spans),
                binding=None if binding.margin is None else binding,
            )
        )
    return GroundingRecord(
        sentences=tuple(records),
        all_supported=head.of_answer(logits),
        language=language_code,
        windows=len(parts),
        unjudged=unjudged,
    )


class Places:
    """Byte offsets of a text's characters in what was read, where `before` bytes precede the text."""

    def __init__(self, text: str, before: int) -> None:
        sizes = (len(c.encode("utf-8", "replace")) for c in text)
        self._offsets = [*accumulate(sizes, initial=before)]

    def mean(self, states: TokenValues, start: int, end: int) -> Any:
        """Return the mean of the tokens' values from character `start` to `end` of the text."""
        return states.values[states.tokens(self._offsets[start], self._offsets[end])].mean(axis=0)


def split_words(sentence: Sentence) -> list[tuple[int, int]]:
    """Return (start, end) of each word, or of each character where no spaces separate words.

    >>> split_words(Sentence("Tea 青岚", 0, 6))
    [(0, 3), (4, 5), (5, 6)]
    """
    words = []
    for run in TERM.finditer(sentence.text):
        step = 1 if run[0][0] >= "㐀" else len(run[0])
        for offset in range(run.start(), run.end(), step):
            words.append((sentence.start + offset, sentence.start + offset + step))
    return words or [(sentence.start, sentence.end)]
