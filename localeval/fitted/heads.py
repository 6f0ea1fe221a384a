"""Heads: fitted maps from a judge's states of a text to probabilities; see README.md."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field, PlainSerializer

from localeval.claims.sources import source_terms, term_recall, unsupported_numbers
from localeval.claims.terms import TERM
from localeval.errors import InputError
from localeval.fitted.files import MAX_WEIGHT, Fitted, FittedRow, Weight, load_fitted
from localeval.fitted.logits import sigmoid
from localeval.options import Options
from localeval.system.versions import digest
from localeval.text.normalise import normalise
from localeval.text.script import begins_with_han_or_later

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

READING = "1"  # version of how a text is read: what precedes it, and which states are kept
FORM = "2"  # version of a head: of what it computes from the states, and of `READING`, on which it was fitted
_NAME = re.compile(r"(?<=[a-z,;:] )[A-Z][A-Za-z]+")  # a capital in the middle of a sentence
_MAX_UNKNOWN = 3  # unknown numbers or names that count
MIN_LONG_ANSWERS = 100  # that a head must have been fitted to before it decides long responses
MAX_LAYERS = 1000


def context_text(contexts: Sequence[str]) -> str:
    """Return the text that is read first."""
    return "Context:\n" + "\n".join(contexts)


def question_text(question: str | None) -> str:
    """Return the text that is read between the contexts and the response."""
    return f"\n\nQuestion: {question}\nResponse: " if question else "\n\nResponse: "


class Overlap(NamedTuple):
    """Overlap of a text with its contexts, by its words alone.

    terms, runs     share of its terms, and of its runs of three words (Han characters), that they contain
    numbers, names  how many of its numbers and names they lack; three at most
    length          logarithm of 1 + the number of its words
    """

    terms: float
    runs: float
    numbers: float
    names: float
    length: float


class Contexts:
    """The words of the contexts, with which a text is compared."""

    def __init__(self, contexts: Sequence[str]) -> None:
        self._premise = source_terms(contexts)
        self._runs = frozenset(run for text in contexts for run in _runs(_words(text)))

    def overlap(self, text: str) -> Overlap:
        words = _words(text)
        runs = _runs(words)
        capitals = _NAME.findall(normalise(text).text)
        names = sum(name.lower() not in self._premise.terms for name in capitals)
        return Overlap(
            term_recall(text, self._premise),
            sum(run in self._runs for run in runs) / len(runs) if runs else 1.0,
            float(min(_MAX_UNKNOWN, len(unsupported_numbers(text, self._premise)))),
            float(min(_MAX_UNKNOWN, names)),
            math.log1p(len(words)),
        )


def _words(text: str) -> list[str]:
    """List the words of a text, read as `normalise` reads it; each Han character is a word."""
    words: list[str] = []
    for run in TERM.findall(normalise(text).text.lower()):
        if begins_with_han_or_later(run):
            words += list(run)
        else:
            words.append(run)
    return words


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [*zip(words, words[1:], words[2:], strict=False)]


class LinearMap(Fitted):
    """A linear map from a state to a logit."""

    states: tuple[Weight, ...] = Field(min_length=1)
    bias: Weight = 0.0

    def of(self, states: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Return a logit for each of the states: (states, width) -> (states,)."""
        import numpy as np

        logits: npt.NDArray[np.float64] = (states * np.asarray(self.states)).sum(axis=1) + self.bias
        return logits


class SoftMinimum(Fitted):
    """A map from the logits z of parts to the logit of the whole: slope x their soft minimum + bias.

    The soft minimum, -log(mean of exp(-sharpness x z)) / sharpness, is z itself for one part and near the
    lowest for several. Of a `conjunction` it has the sum in place of the mean: then it is never above the
    lowest, and one more part never raises it.

    >>> SoftMinimum().of([2.0]), SoftMinimum(slope=3.0, bias=1.0).of([2.0])
    (2.0, 7.0)
    >>> SoftMinimum().of([2.0, 2.0]), SoftMinimum(conjunction=True).of([2.0, 2.0]) == 2 - math.log(2)
    (2.0, True)
    """

    sharpness: float = Field(default=1.0, gt=0, le=MAX_WEIGHT)
    slope: float = Field(default=1.0, gt=0, le=MAX_WEIGHT)
    bias: Weight = 0.0
    conjunction: bool = False

    def of(self, logits: Sequence[float]) -> float:
        lowest = min(logits)
        spread = math.fsum(math.exp(-self.sharpness * (z - lowest)) for z in logits)
        if not self.conjunction:
            spread /= len(logits)
        return self.slope * (lowest - math.log(spread) / self.sharpness) + self.bias


class LogitMap(Fitted):
    """A rising map of a logit: Platt's, slope x logit + bias; as it stands, it changes nothing.

    >>> LogitMap(slope=2.0, bias=1.0).of(0.5), LogitMap().of(0.5)
    (2.0, 0.5)
    """

    slope: float = Field(default=1.0, gt=0, le=MAX_WEIGHT)
    bias: Weight = 0.0

    def of(self, logit: float) -> float:
        return self.slope * logit + self.bias


class Head(FittedRow):
    """A logit for words, sentences and answers, for one judge and one language.

    form          `FORM` when it was fitted
    layer         after which the states are read
    word          P(supported) of a word, from the mean of its tokens' states
    sentence      the logit of a sentence, from the logits of its words, and with `overlap`, a weight for
                  each number of its `Overlap`. It was fitted as if half of the sentences were wrong
    calibration   from that logit to the one of P(supported), with as many wrong sentences as people found
    answer        P(all supported), from the logits of the sentences; see `of_answer`
    long_answers  how many of the answers that it was fitted to have three sentences or more
    """

    KIND = "heads"
    COMMAND = "fit"

    form: str
    layer: int = Field(ge=0, le=MAX_LAYERS)
    word: LinearMap
    sentence: SoftMinimum
    overlap: tuple[Weight, ...] = Field(min_length=len(Overlap._fields), max_length=len(Overlap._fields))
    calibration: LogitMap = LogitMap()
    answer: SoftMinimum
    long_answers: int = Field(default=0, ge=0)

    def of_sentence(self, words: Sequence[float], overlap: Sequence[float]) -> float:
        """Return the logit of a sentence from the logits of its words and from its overlap."""
        return self.sentence.of(words) + math.fsum(w * x for w, x in zip(self.overlap, overlap, strict=True))

    def check_fits(self, width: int, layers: int) -> None:
        """Raise InputError for a model whose states have another width, or with too few layers."""
        if len(self.word.states) != width:
            raise InputError(
                f"the head for {self.language} has {len(self.word.states)} weights for the states of a word, "
                f"but states of {self.judge.name} have {width} numbers; make the head anew with "
                "`localeval fit`, or leave it out."
            )
        if self.layer > layers - 2:
            raise InputError(
                f"the head for {self.language} reads layer {self.layer}, but {self.judge.name} has {layers} "
                f"layers, and the highest that can be read is {layers - 2}; make the head anew with "
                "`localeval fit`, or leave it out."
            )

    def of_answer(self, sentences: Sequence[float]) -> float:
        """Return P(all supported) of an answer from the logits of its sentences, at least one.

        It is at most P(supported) of the least, which is calibrated: the map of the answer may say more, as
        its mean does.
        """
        return sigmoid(min(self.answer.of(sentences), self.calibration.of(min(sentences))))

    @property
    def decides_long(self) -> bool:
        """Return whether it was fitted to enough long answers to decide long responses."""
        return self.long_answers >= MIN_LONG_ANSWERS

    @cached_property
    def sha256(self) -> str:
        """The digest of every field that affects a result."""
        ignored = {"fitted_on", "figures", "fingerprints"}
        # What was read by a head without a calibration need not be read again.
        if self.calibration == LogitMap():
            ignored.add("calibration")
        return digest(self.model_dump(mode="json", exclude=ignored))


HeadBySha256 = Annotated[Head, PlainSerializer(lambda head: head.sha256)]
"""A head in the inputs of a judgement, whose digest has the sha256 of what the head computes."""


def heads_for(model_sha256: str, options: Options) -> dict[str, Head]:
    """Return the heads of `options.head` that were fitted for this judge, by language; often none.

    None for a judge without a model, "". Raises InputError for a file that is invalid or has no head for this
    judge.
    """
    if not model_sha256:
        return {}
    return load_fitted(Head, options.head, lambda row: row.judge.sha256 == model_sha256 and row.form == FORM)


def head_digests(heads: Mapping[str, Head]) -> dict[str, str]:
    """Return the heads as a signature stores them: language -> sha256."""
    return {language: head.sha256 for language, head in sorted(heads.items())}
