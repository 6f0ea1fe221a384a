"""Fingerprints of samples: whether a label was used before can be told without keeping any text."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from localeval.samples import Sample

HEX_DIGITS = 16


class Overlap(NamedTuple):
    """How many of some samples were used before.

    samples    those that were used themselves
    questions  others, whose question was used with another response or other contexts
    """

    samples: int
    questions: int


class Fingerprints(BaseModel):
    """The fingerprints of the samples on which something was measured or fitted, sorted.

    groups  of the column `group`; empty unless every sample has one
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    samples: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Fingerprints:
        """Compute the fingerprints of these samples."""
        questions = {question_fingerprint(sample) for sample in samples}
        groups = {_group_fingerprint(sample) for sample in samples}
        return cls(
            samples=tuple(sorted({sample_fingerprint(sample) for sample in samples})),
            questions=tuple(sorted(question for question in questions if question is not None)),
            groups=() if None in groups else tuple(sorted(group for group in groups if group is not None)),
        )

    def overlap(self, samples: Sequence[Sample]) -> Overlap:
        """Count which of the samples are among these, or ask one of these questions.

        Where both have the column `group`, a sample of another group counts as another question: it was split
        off by it.
        """
        own_samples = set(self.samples)
        own_questions = set(self.questions)
        own_groups = set(self.groups)
        same_samples = 0
        same_questions = 0
        for sample in samples:
            if sample_fingerprint(sample) in own_samples:
                same_samples += 1
            elif question_fingerprint(sample) in own_questions:
                group = _group_fingerprint(sample)
                is_of_another_group = own_groups and group is not None and group not in own_groups
                same_questions += int(not is_of_another_group)
        return Overlap(same_samples, same_questions)


def sample_fingerprint(sample: Sample) -> str:
    """Return 16 hexadecimal digits of the sample's question, response and contexts, and of earlier messages.

    Case, width of characters and white space don't count.

    >>> sample_fingerprint(Sample(response="Tea.")) == sample_fingerprint(Sample(response=" TEA. "))
    True
    """
    texts = [sample.user_input or "", sample.response or "", *(sample.retrieved_contexts or [])]
    return _digest([*_earlier(sample), *texts])


def question_fingerprint(sample: Sample) -> str | None:
    """Return 16 hexadecimal digits of the sample's question and earlier messages; None without a question."""
    question = sample.user_input or ""
    return _digest([*_earlier(sample), question]) if question.strip() else None


def _earlier(sample: Sample) -> list[str]:
    """Return the digest of the messages before the question, in a list; without them the list is empty."""
    messages = sample.earlier_messages()
    return [_digest(text for message in messages for text in message)] if messages else []


def _group_fingerprint(sample: Sample) -> str | None:
    """Return the digest of the column `group`; None without it."""
    group = (sample.model_extra or {}).get("group")
    return None if group is None else _digest([str(group)])


def normalized(text: str) -> str:
    """Return the text as fingerprints compare it: without case, width of characters and white space.

    >>> normalized("  Green\\nTEA ")
    'green tea'
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _digest(texts: Iterable[str]) -> str:
    # A text's length keeps two texts apart from one that joins them.
    parts = (f"{len(text)}:{text}" for text in map(normalized, texts))
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:HEX_DIGITS]
