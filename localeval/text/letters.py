"""Tell whether a text has words at all."""

from __future__ import annotations


def has_words(text: str) -> bool:
    """Return whether `text` has a letter or a digit: without one it says nothing.

    >>> has_words("1."), has_words("…")
    (True, False)
    """
    return any(map(str.isalnum, text))
