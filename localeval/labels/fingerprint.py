"""Fingerprints of samples: whether a label was used before can be told without keeping any text."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

from localeval.samples import Sample

HEX_DIGITS = 16


def sample_fingerprint(sample: Sample) -> str:
    """Return 16 hexadecimal digits of the sample's question, response and contexts.

    Case, width of characters and white space don't count.

    >>> sample_fingerprint(Sample(response="Tea.")) == sample_fingerprint(Sample(response=" TEA. "))
    True
    """
    return _digest([sample.user_input or "", sample.response or "", *(sample.retrieved_contexts or [])])


def question_fingerprint(sample: Sample) -> str | None:
    """Return 16 hexadecimal digits of the sample's question; None without one."""
    question = sample.user_input or ""
    return _digest([question]) if question.strip() else None


def _digest(texts: Iterable[str]) -> str:
    normalized = (" ".join(unicodedata.normalize("NFKC", text).casefold().split()) for text in texts)
    # A text's length keeps two texts apart from one that joins them.
    parts = (f"{len(text)}:{text}" for text in normalized)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:HEX_DIGITS]
