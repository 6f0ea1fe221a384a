"""Tell whether a text is Chinese, English, or in another language."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from localeval.errors import InputError
from localeval.text.script import is_ideograph, script
from localeval.text.small_words import small_words
from localeval.text.word_lists import read_lists

_LETTERS = re.compile(r"[^\W\d_]+")
_LOWER_CASE = re.compile(r"\b[a-z]{3,}\b")  # a word that is no name, and no unit such as "km"
_UNABBREVIATED = re.compile(r"[^\W\d_]+(?!\.[^\W_])(?!\.\s*\S)")  # a word that no dot abbreviates
_SENTENCE_END = re.compile(r"[.!?…]\W*$")
_SMALL_WORD = re.compile(r"\b[^\W\d_A-Z]{4,}\b")

# Texts with fewer words or letters are often names, whose language can't be told.
_MIN_WORDS = 5
_MIN_LETTERS = 20
_MAX_CHARACTERS = 5000  # characters of a text that are examined
_MIN_COMMON_SHARE = 0.1  # of the words of an English text
_MIN_ENGLISH = 0.01  # P(English) below which the detector is certain of another language
_MIN_SHORT_ENGLISH = 0.1  # the same for a short text with words of another language
_MAX_SHORT_WORDS = 8  # of a text that is told by its small words, where the detector may err
_MIN_SHORT_WORDS = 3  # of a short sentence whose language is told by its small words


@lru_cache(maxsize=16)  # each judgement of a sample asks for the language of its texts
def language(text: str, question: str = "") -> str:
    """Return "zh", "en" or "other": by the script, and for Latin letters by the words.

    A name or a number in Latin letters is Chinese if it answers a Chinese question. Other Latin text counts
    as English if it has few words and none that only another language has, or if the detector is not certain
    of another language. Japanese in Han characters alone is "other" where one of them is in no Chinese text.

    >>> language("法院判决 Acme 赔偿"), language("Paris."), language("Il pleut souvent en automne.")
    ('zh', 'en', 'other')
    >>> language("1962"), language("1962", "望澜桥哪年通车？")
    ('en', 'zh')
    >>> language("El molino es viejo."), language("El Salvador"), language("国立国会図書館法")
    ('other', 'en', 'other')
    """
    script_name = script(text)
    if script_name == "other":
        return "other"
    if script_name == "han":
        may_be_japanese = script(question) != "han"
        return "other" if may_be_japanese and _is_japanese(text) else "zh"
    return _language_of_latin(text[:_MAX_CHARACTERS], question)


def _language_of_latin(text: str, question: str) -> str:
    words = _LETTERS.findall(text.lower())
    is_short = len(words) < _MIN_WORDS or sum(map(len, words)) < _MIN_LETTERS
    if is_short and not _LOWER_CASE.search(text) and script(question) == "han":
        return "zh"
    if len(words) < _MAX_SHORT_WORDS and _is_foreign_sentence(text, words, question):
        return "other" if _probability_of_english(text) < _MIN_SHORT_ENGLISH else "en"
    common = sum(map(small_words("common_english").__contains__, words))
    if is_short or common >= _MIN_COMMON_SHARE * len(words):
        return "en"
    return "other" if _probability_of_english(text) < _MIN_ENGLISH else "en"


def _is_foreign_sentence(text: str, words: list[str], question: str) -> bool:
    """Return whether a short text reads like a sentence of a language that is not English.

    It does with a verb of such a language. With an article it does if it is a whole sentence with another
    word in small letters, and answers no English question: names and titles have articles, too.
    """
    english = small_words("english")
    if len(words) < _MIN_SHORT_WORDS or not english.isdisjoint(words):
        return False
    if not small_words("sentence_words").isdisjoint(_UNABBREVIATED.findall(text)):
        return True
    asked = _LETTERS.findall(question[:_MAX_CHARACTERS].lower())
    if not english.isdisjoint(asked) or not _SENTENCE_END.search(text):
        return False
    articles = small_words("name_words")
    has_article = not articles.isdisjoint(words)
    return has_article and any(word not in articles for word in _SMALL_WORD.findall(text))


def _is_japanese(text: str) -> bool:
    """Return whether text in Han characters is Japanese: it has some that no Chinese text has together.

    A character is of a language if its old national character set has it: Japan's JIS X 0208, China's
    GB 2312, Taiwan's Big5. A text with a common Chinese function word is Chinese, whatever names it has.

    >>> _is_japanese("経済産業省"), _is_japanese("中華民國總統府"), _is_japanese("他在渋谷的駅前")
    (True, False, False)
    """
    lists = read_lists("text", "language")
    characters = {c for c in text[:_MAX_CHARACTERS] if is_ideograph(c)}
    if not characters.isdisjoint(lists["chinese"]["only"]):
        return False
    sets = {_character_sets(c) for c in characters}
    is_mixed = _SIMPLIFIED in sets and _TRADITIONAL in sets
    return _JAPANESE in sets or is_mixed or any(word in text for word in lists["japanese"]["words"])


# Which of the sets for Japanese, simplified and traditional Chinese have a character.
_JAPANESE = (True, False, False)
_SIMPLIFIED = (True, True, False)
_TRADITIONAL = (True, False, True)


@lru_cache(maxsize=4096)
def _character_sets(character: str) -> tuple[bool, bool, bool]:
    def has(encoding: str) -> bool:
        return bool(character.encode(encoding, "ignore"))

    return has("shift_jis"), has("gb2312"), has("big5")


def _probability_of_english(text: str) -> float:
    """Return P(English) of the detector, 0 to 1."""
    probabilities: dict[str, float] = dict(_detector().rank(text))
    return probabilities["en"]


@lru_cache
def _detector() -> Any:
    """Load py3langid's detector on first use: that takes a second, and most English texts need none.

    It unpacks its model into a temporary file. Raises InputError if there is no room for that.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:
        raise InputError(
            f"the language detector can't unpack its model ({error.strerror}); make room for a temporary "
            "file of 10 MB, or set TMPDIR to a folder on another disk."
        ) from error
