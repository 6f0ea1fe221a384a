"""Tell which words of a text have content, and compare them with the words that a reader knows.

The lists are data, in `words/*.toml`. All functions read words, never the form of a line, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from localeval.text.display import one_line
from localeval.text.script import HAN, begins_with_han
from localeval.text.word_lists import longest_first, read_lists

WORD = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")
LATIN_WORD = re.compile(rf"[^\W{HAN}]+(?:['’][^\W{HAN}]+)*")
PLAIN_APOSTROPHES = str.maketrans({"’": "'", "‘": "'"})
_VOWEL = re.compile("[aeiouy]")
_DIGIT = re.compile(r"\d")
# A capitalized word within a sentence.
_NAME = re.compile(r"(?<=[a-z,;:'’] )[A-Z][\w-]*|(?<=[a-z,;:'’] [\"“(*_])[A-Z][\w-]*")
_MIN_NAME_LETTERS = 4  # of a word whose capital tells whether the text is a title
_MIN_STEM = 3  # letters that an ending leaves
# Endings are cut where the two letters before them double: "stopp" is "stop", but "fall" stays.
_DOUBLED_IN_STEMS = "lsz"


@lru_cache
def language_lists() -> tuple[dict[str, Any], ...]:
    """Return the lists of English, of Chinese, and of marks: name -> words, phrases or patterns."""
    return tuple(read_lists("text", name) for name in ("en", "zh", "marks"))


@lru_cache
def words_of(*names: str) -> frozenset[str]:
    """Return the words of these lists, in all languages.

    >>> "of" in words_of("function"), "步骤" in words_of("frames"), "not" in words_of("function", "frames")
    (True, True, False)
    """
    found: set[str] = set()
    for lists in language_lists():
        for name in names:
            words = lists.get(name)
            if isinstance(words, str):
                found.update(words.split())
    return frozenset(found)


def has_han_word_of(text: str, name: str) -> bool:
    """Return whether one of a list's words that are not ASCII occurs anywhere in `text`."""
    return any(word in text for word in words_of(name) if not word.isascii())


@lru_cache
def _han_words(*names: str) -> re.Pattern[str]:
    return longest_first(word for word in words_of(*names) if not word.isascii())


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return a word in lower case without the common endings of English, to compare words by.

    >>> [stem(word) for word in ("Baking", "baked", "bake", "studies", "study", "processes", "1820s")]
    ['bak', 'bak', 'bak', 'studi', 'studi', 'process', '1820s']
    """
    if word[:-1].isupper() and word.endswith("s"):  # "BMIs"
        return word[:-1].lower()
    word = word.lower()
    if not word.isascii() or not word.isalpha():
        return word
    if len(word) > _MIN_STEM and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = _without_verb_ending(word)
    if len(word) > _MIN_STEM and word.endswith("e"):
        word = word[:-1]
    if len(word) > _MIN_STEM and word.endswith("y"):
        word = word[:-1] + "i"
    return word


def _without_verb_ending(word: str) -> str:
    """Drop "ing" or "ed" where enough of the word stays.

    >>> [_without_verb_ending(word) for word in ("stopped", "falling", "sing", "red")]
    ['stop', 'fall', 'sing', 'red']
    """
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _MIN_STEM and _VOWEL.search(rest):
            is_doubled = rest[-1] == rest[-2] and rest[-1] not in _DOUBLED_IN_STEMS
            return rest[:-1] if is_doubled else rest
    return word


@lru_cache(maxsize=64)
def known_words(*texts: str) -> frozenset[str]:
    """Return all words of the texts as `content` has them: stems, Chinese characters and their pairs."""
    known: set[str] = set()
    for text in texts:
        for run in WORD.findall(text):
            if begins_with_han(run):
                known.update(run)
                known.update(map("".join, pairwise(run)))
            else:
                known.add(stem(run))
    return frozenset(known)


@lru_cache(maxsize=512)
def content(text: str, *names: str) -> tuple[str, ...]:
    """Return the words of `text` that are not in these lists: stems, and pairs of Chinese characters.

    A Chinese character between words of the lists is returned alone.

    >>> content("The steps to bake the bread are:", "function", "frames")
    ('bak', 'bread')
    >>> content("青岚茶的主要功效如下：", "function", "frames")
    ('青岚', '岚茶', '功效')
    """
    listed = words_of(*names)
    listed_stems = _stems_of(*names)
    found: list[str] = []
    for run in WORD.findall(_without_pronoun(text).translate(PLAIN_APOSTROPHES)):
        if begins_with_han(run):
            for rest in _han_words(*names).split(run):
                found += _pairs(rest)
        elif run.lower() not in listed and stem(run) not in listed_stems:
            found.append(stem(run))
    return tuple(found)


def _pairs(run: str) -> Iterator[str]:
    """Yield the pairs of adjacent characters of a run; a lone character as itself."""
    if len(run) == 1:
        yield run
    for first, second in pairwise(run):
        yield first + second


@lru_cache
def _stems_of(*names: str) -> frozenset[str]:
    """Return the longer stems of the English words of these lists; a short one may be of another word."""
    stems = {stem(word) for word in words_of(*names) if word.isascii()}
    return frozenset(word for word in stems if len(word) > _MIN_STEM)


def news(text: str, known: frozenset[str], *names: str) -> tuple[str, ...]:
    """Return the words of `text` with content (see `content`) that are not `known`."""
    return tuple(word for word in content(text, *names) if word not in known)


def names_in(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the capitalized words within the sentence that are not known; none where all have a capital.

    >>> names_in("The mill of Napoleon has two parts:", frozenset()), names_in("History of Tea:", frozenset())
    (('Napoleon',), ())
    """
    long_words = [word for word in LATIN_WORD.findall(text) if len(word) >= _MIN_NAME_LETTERS]
    is_title = bool(long_words) and all(word[0].isupper() for word in long_words)
    if is_title:
        return ()
    listed = words_of("function", "frames", "reader")
    return tuple(
        name for name in _NAME.findall(text) if stem(name) not in known and name.lower() not in listed
    )


def numbers_in(text: str, known: frozenset[str]) -> tuple[str, ...]:
    """Return the words with a digit, and the English names of numbers, that are not known.

    >>> numbers_in("It has 12 wings, two halls and one roof.", frozenset(["12"]))
    ('two', 'one')
    """
    words = WORD.findall(_without_pronoun(text))
    return tuple(word for word in words if word.lower() not in known and _names_number(word))


def _names_number(word: str) -> bool:
    if _DIGIT.search(word):
        return True
    return word.isascii() and word.lower() in words_of("names_of_numbers")


def _without_pronoun(text: str) -> str:
    """Replace "one" by a space where it stands for a person: "one should"."""
    return _pronoun_one().sub(" ", text)


@lru_cache
def _pronoun_one() -> re.Pattern[str]:
    verbs = "|".join(read_lists("text", "en")["after_pronoun_one"])
    return re.compile(rf"\bone(?= (?:{verbs})\b)", re.IGNORECASE)


def bare(text: str) -> str:
    """Return `text` in lower case on one line, without marks at both ends and with plain apostrophes.

    >>> bare("**Yes!**\\n")
    'yes'
    """
    line = one_line(text).translate(PLAIN_APOSTROPHES).lower()
    places = [i for i, character in enumerate(line) if character.isalnum()]
    return line[places[0] : places[-1] + 1] if places else ""
