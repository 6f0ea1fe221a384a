"""The small words by which a text's language is told, as `words/language.toml` lists them."""

from __future__ import annotations

from functools import lru_cache

from localeval.text.word_lists import read_lists


@lru_cache
def small_words(*names: str) -> frozenset[str]:
    """Return the words of these lists; a table of lists has one for each language.

    >>> "the" in small_words("english"), "nicht" in small_words("sentence_words", "name_words")
    (True, True)
    """
    found: set[str] = set()
    for name in names:
        words = read_lists("text", "language")[name]
        if isinstance(words, list):
            found.update(words)
        else:
            for of_language in words.values():
                found.update(of_language)
    return frozenset(found)
