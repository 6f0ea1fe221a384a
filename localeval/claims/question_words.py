"""The words of questions: which of them say what a question is about, and which only ask.

The lists are data, in `words/en.toml` and `words/zh.toml`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from localeval.claims.terms import STOP, TERM, terms
from localeval.text.script import begins_with_han
from localeval.text.word_lists import longest_first, read_lists

_MAX_WORD = 30  # letters; longer ones are keys and hashes
_LONG_WORD = re.compile(rf"\w{{{_MAX_WORD + 1},}}")


class QuestionWords(NamedTuple):
    """The lists of words; `words/en.toml` says what each is. Chinese ones, with `han_`, are patterns.

    light  words that say nothing of what a question is about
    forms  word -> the words that stand for it, itself included
    """

    light: frozenset[str]
    empty: frozenset[str]
    open: frozenset[str]
    choice: frozenset[str]
    decides: frozenset[str]
    forms: dict[str, frozenset[str]]
    endings: frozenset[str]
    han_light: re.Pattern[str]
    han_empty: re.Pattern[str]
    han_open: re.Pattern[str]
    han_choice: re.Pattern[str]


@lru_cache
def question_words() -> QuestionWords:
    """Read the lists."""
    english = read_lists("claims", "en")["questions"]
    chinese = read_lists("claims", "zh")["questions"]
    light = " ".join([english["open"], english["asking"], english["generic"]])
    han_light = " ".join([chinese["open"], chinese["asking"], chinese["generic"]])
    return QuestionWords(
        light=frozenset(light.split()) | STOP,
        empty=frozenset(english["empty"].split()),
        open=frozenset(english["open"].split()),
        choice=frozenset(english["choice"].split()),
        decides=frozenset(f"{english['decides']} {chinese['decides']}".split()),
        forms=_forms(english["forms"]),
        endings=frozenset(["", *english["endings"].split()]),
        han_light=longest_first(han_light.split()),
        han_empty=longest_first(chinese["empty"].split()),
        han_open=longest_first(chinese["open"].split()),
        han_choice=longest_first(chinese["choice"].split()),
    )


def _forms(rows: Iterable[str]) -> dict[str, frozenset[str]]:
    """Map each word to all words of its rows."""
    forms: dict[str, frozenset[str]] = {}
    for row in rows:
        group = frozenset(row.split())
        for word in group:
            forms[word] = forms.get(word, frozenset()) | group
    return forms


def plain_letters(text: str) -> str:
    """Return the text with full-width letters and digits, ligatures and the like as plain ones."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def content_words(text: str) -> list[str]:
    """Return the words that say what `text` is about, in order, without words of questions in general.

    A Chinese one is what stands between such words.

    >>> content_words("When was the mill on the Arl built?"), content_words("望澜桥是什么时候通车的？")
    (['mill', 'Arl', 'built'], ['望澜桥', '通车'])
    """
    words = question_words()
    text = words.han_light.sub(" ", without_long_words(plain_letters(text)))
    return [word for word in TERM.findall(text) if _has_content(word)]


def _has_content(word: str) -> bool:
    if begins_with_han(word):
        return True
    return len(word) > 1 and not word.isdecimal() and word.lower() not in question_words().light


def without_long_words(text: str) -> str:
    """Replace words that are so long that they are keys or hashes by a space."""
    return _LONG_WORD.sub(" ", text)


@lru_cache(maxsize=16)  # the worked examples of a prompt are the same for all samples
def content_terms(texts: tuple[str, ...]) -> frozenset[str]:
    """Return the `terms` of the content words of several texts, for `foreign_word`.

    >>> sorted(content_terms(("How is green tea made?", "绿茶是怎么制作的？")))
    ['green', 'tea', '制作', '绿茶']
    """
    return frozenset[str]().union(*(terms(word) for text in texts for word in content_words(text)))
