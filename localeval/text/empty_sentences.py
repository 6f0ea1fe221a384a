"""Tell sentences that answer nothing: whole courtesies, and those that say only that nothing is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from localeval.text.content_words import (
    LATIN_WORD,
    PLAIN_APOSTROPHES,
    WORD,
    bare,
    known_words,
    language_lists,
    names_in,
    news,
    numbers_in,
    words_of,
)
from localeval.text.display import one_line
from localeval.text.question_types import CLAUSE_MARKS
from localeval.text.script import begins_with_han
from localeval.text.word_lists import longest_first, read_lists

_MAX_PHRASE = 300  # characters of a sentence that may be a courtesy or a refusal: longer ones say more


def is_courtesy(text: str, question: str = "") -> bool:
    """Return whether the whole sentence is a courtesy, and nothing more.

    >>> is_courtesy("Sure!"), is_courtesy("I hope this helps you."), is_courtesy("希望以上信息对您有帮助！")
    (True, True, True)
    >>> is_courtesy("Please do not hesitate to double the dose."), is_courtesy("希望工程由李嘉诚发起。")
    (False, False)
    """
    if len(text) > _MAX_PHRASE:
        return False
    line = bare(text)
    if not line:
        return False
    whole = _phrases("courtesies")
    clauses = [clause.strip() for clause in CLAUSE_MARKS.split(line) if clause.strip()]
    if line in whole or all(clause in whole for clause in clauses):
        return True
    if len(clauses) > 1 and all(is_courtesy(clause, question) for clause in clauses):
        return True
    if not any(phrase in line for phrase in _phrases("courtesy_phrases")):
        return False
    return _all_courtesy_words(line) or _is_courtesy_about(line, known_words(question))


def _is_courtesy_about(line: str, asked: frozenset[str]) -> bool:
    """Return whether a courtesy ends with what the question is about: "if you have questions about tea"."""
    for word in sorted(words_of("courtesy_about")):
        separator = f" {word} " if word.isascii() else word
        head, found, topic = line.rpartition(separator)
        if not found or _has_verb(topic) or news(topic, asked, "function", "courtesy_words"):
            continue
        if _all_courtesy_words(head):
            return True
    return False


@lru_cache
def _phrases(name: str) -> tuple[str, ...]:
    return tuple(phrase for lists in language_lists() for phrase in lists.get(name, ()))


def _all_courtesy_words(line: str) -> bool:
    """Return whether a line in lower case has only words of courtesies."""
    listed = words_of("courtesy_words")
    unlisted = LATIN_WORD.sub(lambda word: " " if word[0] in listed else word[0], line)
    for run in WORD.findall(unlisted):
        if not begins_with_han(run) or _han_courtesy_words().sub("", run):
            return False
    return True


@lru_cache
def _han_courtesy_words() -> re.Pattern[str]:
    return longest_first(word for word in words_of("courtesy_words") if not word.isascii())


def is_refusal(text: str, question: str = "") -> bool:
    """Return whether the sentence says only that the contexts, or whoever answers, can't tell.

    It may name what is not told, with no name or number that the question lacks; any other clause may say
    nothing at all.

    >>> is_refusal("The price is not mentioned in the passages."), is_refusal("资料中没有提到价格。")
    (True, True)
    >>> is_refusal("No, schedules cannot be exported to Excel.")
    False
    >>> is_refusal("I don't know the price, but the CEO of Acme is Bob Smith.")
    False
    """
    if len(text) > _MAX_PHRASE:
        return False
    line = one_line(text).translate(PLAIN_APOSTROPHES)
    lower = line.lower()
    if not refuses(lower):
        return False
    known = known_words(question)
    if numbers_in(line, known) or names_in(line, known):
        return False
    opening = ""  # "Based on the passages," belongs to the clause behind it
    for clause in _clauses(lower):
        if refuses(opening + clause):
            opening = ""
        elif _says_nothing(clause, known):
            opening += clause + " "
        else:
            return False
    return True


def refuses(clause: str) -> bool:
    """Return whether a clause in lower case says that the documents, or whoever answers, do not tell.

    >>> refuses("the documents do not mention its age"), refuses("it does not grow in peru")
    (True, False)
    """
    return any(pattern.search(clause) for pattern in _refusals())


@lru_cache
def _refusals() -> tuple[re.Pattern[str], ...]:
    """Return the patterns of refusals, with the names of documents filled in."""
    return tuple(
        re.compile(pattern.replace("{documents}", lists["documents"]))
        for lists in language_lists()
        for pattern in lists.get("refusals", ())
    )


def _says_nothing(clause: str, known: frozenset[str]) -> bool:
    """Return whether a clause beside a refusal has no content: at most words of the question, and no verb."""
    lists = ("function", "frames", "reader", "courtesy_words")
    if not news(clause, frozenset(), *lists):
        return True
    return not _has_verb(clause) and not news(clause, known, *lists)


def _clauses(line: str) -> Iterator[str]:
    """Yield the clauses of a line in lower case: what marks and conjunctions part."""
    conjunctions = _clause_conjunctions()
    for part in CLAUSE_MARKS.split(line):
        for clause in conjunctions.split(part):
            if clause.strip():
                yield clause


@lru_cache
def _clause_conjunctions() -> re.Pattern[str]:
    english = read_lists("text", "en")["clauses"]
    chinese = read_lists("text", "zh")["clauses"]
    return re.compile(rf"\b(?:{english})\b|(?:{chinese})")


def _has_verb(text: str) -> bool:
    """Return whether a word of the list of verbs occurs, or a Chinese one of a single character."""
    verbs = words_of("verbs")
    if not verbs.isdisjoint(LATIN_WORD.findall(text.lower())):
        return True
    return any(verb in text for verb in verbs if not verb.isascii() and len(verb) == 1)
