"""Tell the script of a text, and define the ranges of Han characters for the patterns of all text rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localeval.text.small_words import small_words

# Ranges for the brackets of a pattern. Scores depend on which of them a rule has.
# All from the first Han character to the last. Korean syllables stand between, and are compared like Han.
_FIRST_HAN = "\u3400"
_LAST_HAN = "\ufaff"
HAN = f"{_FIRST_HAN}-{_LAST_HAN}"
# The unified characters, with extension A.
UNIFIED_HAN = "\u3400-\u9fff"
# The same without extension A, which has hardly any character of today.
BASIC_HAN = "\u4e00-\u9fff"
# Ideographs only, without the signs (hexagrams) between the two blocks.
IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff"

_LETTERS = re.compile(r"[^\W\d_]+")
_HAN_LETTERS = re.compile(rf"[{IDEOGRAPHS}\uf900-\ufaff\U00020000-\U0003ffff]+")
_KANA_HANGUL = re.compile(r"[\u1100-\u11ff\u3041-\u30ff\u3131-\u318e\uac00-\ud7af\uff66-\uff9d]+")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]+")
# What is in no language: code, a URL, an e-mail address.
_NO_LANGUAGE = re.compile(r"`[\x00-\x5f\x61-\x7f]+`|(?<![!-~])[!-~]*(?:://|www\.|@)[!-~]+")
_GLOSS = re.compile(r"[(（][^()（）]*[)）]")
_LATIN_END = re.compile(r"[a-z]{2}[.?!](?:\s|\Z)")  # of a sentence
_ASCII_RUN = re.compile(r"[ -~]{4,}")
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z]")  # of a command: "ls -l"

# One Han character carries about as much as three Latin letters: at a quarter, half of the content is
# Chinese, though names and terms are in Latin letters.
_MIN_HAN_SHARE = 0.25
_MIN_LATIN_SHARE = 0.5
# Japanese mixes its Han characters with mostly kana, and Chinese has kana only in names.
_MAX_KANA_SHARE = 0.1


def begins_with_han(word: str) -> bool:
    """Return whether the first character of a word is one of `HAN`.

    >>> begins_with_han("茶"), begins_with_han("tea")
    (True, False)
    """
    return _FIRST_HAN <= word[0] <= _LAST_HAN


def begins_with_han_or_later(word: str) -> bool:
    """Return whether a word begins with the first Han character or one that Unicode has after it.

    >>> begins_with_han_or_later("茶"), begins_with_han_or_later("ｔｅａ"), begins_with_han_or_later("tea")
    (True, True, False)
    """
    return word >= _FIRST_HAN


def is_ideograph(character: str) -> bool:
    """Return whether a character is a Han ideograph of any block."""
    return bool(_HAN_LETTERS.match(character))


def script(text: str) -> str:
    """Return "han", "latin" or "other", by the shares of the letters; "latin" for a text without letters.

    Chinese with more Latin letters is "han" too, if they look like names and terms.

    >>> script("法院判决 Acme Corporation 赔偿"), script("Il pleut."), script("Идёт дождь.")
    ('han', 'latin', 'other')
    """
    if text.isascii():  # its letters, if it has any, are Latin
        return "latin"
    text = _ASCII_RUN.sub(_without_command, _NO_LANGUAGE.sub(" ", text))
    letters = _count(_LETTERS, text)
    han = _count(_HAN_LETTERS, text)
    kana_hangul = _count(_KANA_HANGUL, text)
    may_be_chinese = han > 0 and kana_hangul <= _MAX_KANA_SHARE * (han + kana_hangul)
    if may_be_chinese and han >= _MIN_HAN_SHARE * letters:
        return "han"
    if _count(_LATIN, text) < _MIN_LATIN_SHARE * letters:
        return "other"
    if may_be_chinese and _is_chinese_with_names(_GLOSS.sub(" ", text)):
        return "han"
    return "latin"


def _count(pattern: re.Pattern[str], text: str) -> int:
    """Return how many characters of `text` are in matches of `pattern`."""
    return sum(map(len, pattern.findall(text)))


def _is_chinese_with_names(text: str) -> bool:
    """Return whether Chinese text has names and terms in Latin letters, rather than a sentence in them."""
    words = _LATIN.findall(text)
    return _are_names(words, text) or _are_framed_by_han(words, text)


def _are_names(words: Sequence[str], text: str) -> bool:
    """Return whether the Latin words of a text look like names and terms, beside enough Chinese."""
    # Names and terms in Latin letters begin with a capital. Most words of a language with these letters do
    # not, and its sentences end with its own marks.
    if _LATIN_END.search(text):
        return False
    has_enough_han = len(words) < 2 * _count(_HAN_LETTERS, text)
    common = small_words("common_english")
    in_small_letters = sum(word.islower() for word in words)
    common_words = sum(word.lower() in common for word in words)
    return has_enough_han and 2 * (in_small_letters + common_words) <= len(words)


def _are_framed_by_han(words: Sequence[str], text: str) -> bool:
    """Return whether a text begins and ends in Han, around words that are in no sentence.

    Such words are names of commands, for example.
    """
    letters = "".join(_LETTERS.findall(text))
    if not is_ideograph(letters[:1]) or not is_ideograph(letters[-1:]):
        return False
    of_sentences = small_words("english", "sentence_words", "name_words", "common_english")
    return not any(word.lower() in of_sentences for word in words)


def _without_command(run: re.Match[str]) -> str:
    """Return " " for a run of ASCII that is a command with an option and no English, else the run."""
    words = _LETTERS.findall(run[0].lower())
    is_command = _OPTION.search(run[0]) and small_words("english").isdisjoint(words)
    return " " if is_command else run[0]
