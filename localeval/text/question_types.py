"""Tell what a question asks for: yes or no, a choice, a favour; or that it states something instead."""

from __future__ import annotations

import re
from functools import lru_cache

from localeval.text.content_words import (
    LATIN_WORD,
    PLAIN_APOSTROPHES,
    WORD,
    bare,
    has_han_word_of,
    language_lists,
    news,
    words_of,
)

CLAUSE_MARKS = re.compile(r"[,;:()，；：。（）.!?！？—–]+")
_LETTERED = re.compile(r"(?<!\w)([A-H])[.):、．）]")
_MAX_STATEMENT = 300  # characters of a question that are compared with patterns of statements
_MAX_QUESTION = 1000  # characters of a question, from its end, in which a favour is asked


@lru_cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of a list, in all languages; one string makes one pattern."""
    patterns = []
    for lists in language_lists():
        value = lists.get(name, [])
        sources = [value] if isinstance(value, str) else value
        patterns += [re.compile(source) for source in sources]
    return tuple(patterns)


def says_only_yes_or_no(text: str) -> bool:
    """Return whether all words with content of `text` are "yes", "no" or the like, and there is one.

    >>> says_only_yes_or_no("Yes, it is."), says_only_yes_or_no("是的，可以。"), says_only_yes_or_no("It is.")
    (True, True, False)
    """
    line = bare(text)
    answers = words_of("answers")
    words = LATIN_WORD.findall(line)
    if words and words[0] in answers:
        return not news(text, frozenset(), "function", "answers")
    clauses = [clause.strip() for clause in CLAUSE_MARKS.split(line) if clause.strip()]
    return bool(clauses) and all(clause in answers for clause in clauses)


def asks_yes_or_no(question: str) -> bool:
    """Return whether a clause of `question` asks for yes or no.

    >>> asks_yes_or_no("Is tea safe, and why?"), asks_yes_or_no("茶安全吗？"), asks_yes_or_no("When?")
    (True, True, False)
    """
    text = question.translate(PLAIN_APOSTROPHES).lower()
    clauses = CLAUSE_MARKS.split(text)
    return any(map(_begins_polar, clauses)) or has_han_word_of(text, "polar")


def _begins_polar(clause: str) -> bool:
    """Return whether a clause begins with "is", "can't" or the like, after conjunctions."""
    words = (word for word in LATIN_WORD.findall(clause) if word not in words_of("conjunctions"))
    first = next(words, "")
    polar = words_of("polar")
    return first in polar or first.removesuffix("n't") in polar


def is_polar(question: str) -> bool:
    """Return whether `question` may be answered with yes or no: it asks for it, or asks for nothing else.

    >>> is_polar("Tea is safe?"), is_polar("When was it built?"), is_polar("茶是谁种的？")
    (True, False, False)
    """
    if asks_yes_or_no(question):
        return True
    text = question.translate(PLAIN_APOSTROPHES).lower()
    words = {word.split("'")[0] for word in LATIN_WORD.findall(text)}
    return words_of("wh").isdisjoint(words) and not has_han_word_of(text, "wh")


def affirms(text: str, question: str) -> bool:
    """Return whether `text` is a word such as "absolutely" that says yes to a question, not to a favour.

    >>> affirms("Of course!", "Is tea safe?"), affirms("Of course!", "Can you describe tea?")
    (True, False)
    """
    word = bare(text).removeprefix("of ")
    if word not in words_of("affirmations"):
        return False
    return asks_yes_or_no(question) and not asks_favour(question)


def asks_favour(question: str) -> bool:
    """Return whether `question` asks the answerer to do something, so that "yes" is no answer to it.

    >>> asks_favour("Can you describe tea?"), asks_favour("Can you drink tea?")
    (True, False)
    >>> asks_favour("Can you tell me if tea is safe?")
    False
    """
    end = question[-_MAX_QUESTION:].lower()
    return any(pattern.search(end) for pattern in _patterns("favour"))


def lettered_options(question: str) -> frozenset[str]:
    """Return the letters of the options that `question` lists.

    >>> sorted(lettered_options("Which? A. zinc B) tin"))
    ['A', 'B']
    """
    return frozenset(_LETTERED.findall(question))


def offers_choice(question: str) -> bool:
    """Return whether `question` names answers to choose from, by a word or as two lettered options.

    >>> offers_choice("Sydney or Canberra?"), offers_choice("是悉尼还是堪培拉？"), offers_choice("Where?")
    (True, True, False)
    >>> offers_choice("哪个？A. 锌 B. 镍"), offers_choice("Who is J. Lee?")
    (True, False)
    """
    if len(lettered_options(question)) > 1:
        return True
    text = question.lower()
    has_word = not words_of("alternatives").isdisjoint(WORD.findall(text))
    return has_word or has_han_word_of(text, "alternatives")


def states_as_question(text: str) -> bool:
    """Return whether a question makes a statement: with a tag, as rhetoric, or by its form.

    >>> states_as_question("It was built in 1999, right?"), states_as_question("When was it built?")
    (True, False)
    >>> states_as_question("该桥不是由拿破仑建造的吗？"), states_as_question("该桥由谁建造？")
    (True, False)
    """
    line = bare(text)[:_MAX_STATEMENT]
    dressed = _patterns("tags") + _patterns("rhetorical")
    if any(pattern.search(line) for pattern in dressed):
        return True
    return not any(pattern.search(line) for pattern in _patterns("asks"))


def offers_help(text: str) -> bool:
    """Return whether a question offers something to the reader.

    >>> offers_help("Would you like to know more?"), offers_help("Who built it?")
    (True, False)
    """
    offers = tuple(phrase for lists in language_lists() for phrase in lists.get("offers", ()))
    return bare(text).startswith(offers)
