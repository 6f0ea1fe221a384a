"""Tell what the words of a heading or lead-in make: a clause, a phrase, or a hint at the text around it."""

from __future__ import annotations

from itertools import pairwise

from localeval.text.content_words import LATIN_WORD, PLAIN_APOSTROPHES, bare, has_han_word_of, words_of


def is_complete(text: str) -> bool:
    """Return whether a heading or lead-in is a clause of its own: a verb stands between words with content.

    >>> is_complete("Kelvane is safe for children and has these uses:"), is_complete("The main uses are:")
    (True, False)
    """
    words = LATIN_WORD.findall(text.translate(PLAIN_APOSTROPHES).lower())
    listed = words_of("function", "frames")
    while words and words[-1] in listed:
        words.pop()
    verbs = words_of("verbs")
    return any(word in verbs and before != "here" for before, word in pairwise(["", *words]))


def is_phrase(text: str) -> bool:
    """Return whether a heading or lead-in is no clause, and begins with a preposition.

    >>> is_phrase("For women aged 19-30:"), is_phrase("In 1812 it was new:"), is_phrase("Take 500 mg")
    (True, False, False)
    """
    line = bare(text)
    first = line.partition(" ")[0]
    prepositions = words_of("prepositions")
    chinese = tuple(word for word in prepositions if not word.isascii())
    return (first in prepositions or line.startswith(chinese)) and not is_complete(text)


def points_around(text: str) -> bool:
    """Return whether a sentence points at what stands around it: "Here are the steps."

    >>> points_around("Here are the steps."), points_around("It is blue.")
    (True, False)
    """
    words = LATIN_WORD.findall(text.translate(PLAIN_APOSTROPHES).lower())
    has_word = not words_of("pointing").isdisjoint(word.removesuffix("'s") for word in words)
    return has_word or has_han_word_of(text, "pointing")
