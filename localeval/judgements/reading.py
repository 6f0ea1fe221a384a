"""Is the response grounded? The judge reads it with the contexts and a head decides: no prompt, no reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any, ClassVar

from localeval.claims.account import Claim
from localeval.claims.evidence import Evidence, context_sentences, rank_sentences
from localeval.claims.terms import TERM
from localeval.engine.interface import TokenValues, TreeEngine
from localeval.fitted.heads import Contexts, Head, HeadBySha256, context_text, question_text
from localeval.fitted.logits import sigmoid
from localeval.judgements.base import (
    Choices,
    Inputs,
    Judgement,
    Models,
    NoHead,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.bindings import Binding, Variant, bindings_of_claims, variants_of_response
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.judgements.judged_text import JudgedText, UnjudgedText
from localeval.judgements.windows import windows
from localeval.options import Options
from localeval.samples import Sample
from localeval.text.script import begins_with_han_or_later
from localeval.text.sentences import Sentence, has_words

# Words below this are marked, in sentences below it. Neither is calibrated: a word to look at may stand in a
# sentence that is rather right.
DOUBT_THRESHOLD = 0.5
# Sentences that make a response long: there, reading agrees with people better than asking.
MIN_LONG_SENTENCES = 3


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


class ReadingInputs(Inputs):
    """The response with its question, the contexts, and the head for its language, if there is one."""

    response: JudgedText
    contexts: tuple[str, ...]
    head: HeadBySha256 | None


def is_read(sample: Sample, choices: Choices) -> bool:
    """Return whether a head decides which sentences of the response are supported, and nothing is asked.

    With `support_by="head"` always; with "auto" if the response is long, the head was fitted to many long
    ones, and there is no reference, with which single statements may be compared too.
    """
    by = choices.options.support_by
    if by != "auto":
        return by == "head"
    response = JudgedText.of(sample)
    head = choices.heads.get(response.language)
    if head is None or not head.decides_long or has_words(sample.reference or ""):
        return False
    has_contexts = any(map(has_words, sample.retrieved_contexts or []))
    return has_contexts and len(response.claims) >= MIN_LONG_SENTENCES


def reading_inputs(sample: Sample, choices: Choices) -> ReadingInputs:
    """Collect what the reading of a sample's response depends on."""
    response = JudgedText.of(sample)
    return ReadingInputs(
        response=response,
        contexts=tuple(sample.retrieved_contexts or ()),
        head=choices.heads.get(response.language),
    )


class Reading(Judgement[ReadingInputs, GroundingRecord]):
    """Whether each sentence of the response is supported, by a head that reads it with the contexts."""

    name = "grounding"
    version = "8"
    record = GroundingRecord

    def needs_head(self, options: Options) -> bool:  # noqa: ARG002 (always)
        return True

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> ReadingInputs:  # noqa: ARG002
        return reading_inputs(sample, choices)

    def ask(self, inputs: ReadingInputs, models: Models) -> GroundingRecord:
        return read(inputs, models.engine)


def read(inputs: ReadingInputs, engine: TreeEngine) -> GroundingRecord:
    """Read the contexts once, then the question and the response after them; the judge writes nothing.

    Raises NoHead where no head was fitted for the judge in the response's language.
    """
    response = inputs.response
    claims = response.claims
    language_code = response.language
    if not claims:
        return GroundingRecord(
            sentences=(), all_supported=1.0, language=language_code, unjudged=response.unjudged
        )
    head = inputs.head
    if head is None:
        raise NoHead(f"no head was fitted for this judge and responses in {language_code}")
    windows_read, bindings = _read_windows(inputs, head, engine)
    reader = _Reader(head, windows_read, Contexts(inputs.contexts))
    closest = rank_sentences([claim.text for claim in claims], context_sentences(inputs.contexts), 1)
    sentences = []
    logits = []
    for claim, evidence, binding in zip(claims, closest, bindings, strict=True):
        sentence, logit = reader.decide(claim, evidence[0] if evidence else None, binding)
        sentences.append(sentence)
        logits.append(logit)
    return GroundingRecord(
        sentences=tuple(sentences),
        # A value of a table may bound a sentence, too.
        all_supported=min(head.of_answer(logits), *(sentence.probability for sentence in sentences)),
        language=language_code,
        windows=len(reader.windows),
        unjudged=response.unjudged,
    )


def _read_windows(
    inputs: ReadingInputs, head: Head, engine: TreeEngine
) -> tuple[list[_Window], list[Binding]]:
    """Read the response behind the contexts, in as many windows as they take; compare its values in one.

    Returns the windows, and the binding of each claim, which is empty where nothing could be compared.
    """
    response = inputs.response
    question = question_text(response.question)
    item = question + response.text
    parts = windows(engine, None, inputs.contexts, [item], bare=context_text([]))
    places = CharToByteOffsets(response.text, len(question.encode("utf-8", "replace")))
    variants: list[Variant] = []
    if len(parts) == 1:
        variants = variants_of_response(response.question, response.text, inputs.contexts, response.claims)
    margins: list[float] = []
    if variants:
        # With an end: a text with another value may go on where this one stops.
        texts = [f"{variant.text}\n" for variant in variants]
        states, margins = engine.read_and_compare(context_text(parts), f"{item}\n", texts, head.layer)
        read_parts = [states]
    else:
        read_parts = [engine.read(context_text([part]), item, head.layer) for part in parts]
    return (
        [_Window(TokenValues(head.word.of(states.values), states.ends), places) for states in read_parts],
        bindings_of_claims(variants, margins, len(response.claims)),
    )


@dataclass(frozen=True)
class _Window:
    """The response as read behind one window of the contexts: a logit for each of its tokens."""

    token_logits: TokenValues
    places: CharToByteOffsets

    def word_logits(self, words: Sequence[tuple[int, int]]) -> list[float]:
        """Return the mean logit of each word's tokens."""
        return [float(self.places.mean(self.token_logits, start, end)) for start, end in words]


@dataclass(frozen=True)
class _Reader:
    """Decides sentences of a response by what was read: in each window, and of the words of the contexts."""

    head: Head
    windows: list[_Window]
    contexts: Contexts

    def decide(self, claim: Claim, evidence: Evidence | None, binding: Binding) -> tuple[ReadSentence, float]:
        """Return the sentence, and its logit before the head's calibration."""
        overlap = self.contexts.overlap(claim.text)
        words = split_words(claim)
        by_window = [window.word_logits(words) for window in self.windows]
        # The window in which the sentence is most probable decides, with the words as they are there.
        logit, word_logits = max((self.head.of_sentence(logits, overlap), logits) for logits in by_window)
        calibrated = self.head.calibration.of(logit)
        if binding.margin is not None:
            bound = _bound(binding, calibrated)
            logit += (bound - calibrated) / self.head.calibration.slope
            calibrated = bound
        sentence = ReadSentence(
            sentence=claim.text,
            start=claim.start,
            end=claim.end,
            probability=sigmoid(calibrated),
            overlap=tuple(overlap),
            evidence=evidence,
            spans=_doubtful_spans(words, word_logits) if sigmoid(logit) < DOUBT_THRESHOLD else (),
            binding=None if binding.margin is None else binding,
        )
        return sentence, logit


def _bound(binding: Binding, logit: float) -> float:
    """Return the logit of P(supported) of a sentence, lowered as far as the margin of its value says.

    A cell of a table has clean alternatives, so the margin itself bounds the logit. Elsewhere it is taken off
    where another value is likelier: a head that is right about all else is not blurred by the others.
    """
    assert binding.margin is not None  # noqa: S101 (the caller has compared)
    if binding.in_table:
        return min(logit, binding.margin)
    return logit + min(0.0, binding.margin)


def _doubtful_spans(
    words: Sequence[tuple[int, int]], word_logits: Sequence[float]
) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of each run of words that look unsupported."""
    flags = [sigmoid(logit) < DOUBT_THRESHOLD for logit in word_logits]
    spans = []
    for is_doubtful, run in groupby(zip(words, flags, strict=True), itemgetter(1)):
        if is_doubtful:
            doubtful = [word for word, _ in run]
            spans.append((doubtful[0][0], doubtful[-1][1]))
    return tuple(spans)


class CharToByteOffsets:
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
        start = sentence.start + run.start()
        end = sentence.start + run.end()
        if begins_with_han_or_later(run[0]):
            words += [(place, place + 1) for place in range(start, end)]
        else:
            words.append((start, end))
    return words or [(sentence.start, sentence.end)]


register_judgement(Reading())
