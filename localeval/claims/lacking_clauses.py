"""Which clauses of a response say that something can't be told: "its age is not mentioned", 资料没有说明造价.

The patterns are those of refusals, for which a whole sentence has to say nothing else, and wider ones. These
are data, in `words/en.toml` and `words/zh.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from localeval.text.content_words import PLAIN_APOSTROPHES, content, known_words
from localeval.text.empty_sentences import refuses
from localeval.text.question_types import CLAUSE_MARKS
from localeval.text.script import begins_with_han
from localeval.text.sentences import has_words
from localeval.text.word_lists import read_lists

_SENTENCE_ENDS = tuple(".;!?。；！？")
_MAX_CLAUSE = 300  # characters of a clause that are compared with the patterns
_LISTS = ("function", "frames", "reader", "courtesy_words", "verbs")


class LackingClauses(NamedTuple):
    """The clauses of a text that say that something can't be told, and the text without them.

    What such a clause is about, as "as for its age," or "Age:" before it, is a part of it.
    """

    clauses: tuple[str, ...]
    rest: str


def lacking_clauses(text: str) -> LackingClauses:
    """Part the clauses that say that something can't be told from the rest; linear in the length.

    >>> lacking_clauses("The elm is 32 metres tall; its age is not mentioned.")
    LackingClauses(clauses=(' its age is not mentioned',), rest='The elm is 32 metres tall;')
    >>> lacking_clauses("It did not burn down.").clauses, lacking_clauses("造价则没有说明。").clauses
    ((), ('造价则没有说明',))
    """
    found: list[str] = []
    kept: list[_Clause] = []
    for clause in _clauses(text):
        if _lacks(clause.text):
            found.append(_take_topic(kept) + clause.text)
        else:
            kept.append(clause)
    return LackingClauses(tuple(found), "".join(clause.text + clause.border for clause in kept).strip())


class _Clause(NamedTuple):
    """A clause, and the mark or conjunction that parts it from the next one; "" at the end."""

    text: str
    border: str


def _clauses(text: str) -> Iterator[_Clause]:
    start = 0
    for border in _borders().finditer(text):
        yield _Clause(text[start : border.start()], border[0])
        start = border.end()
    yield _Clause(text[start:], "")


def _take_topic(kept: list[_Clause]) -> str:
    """Take from the end of the clauses what the next one, which lacks something, is about: "Age:", or ""."""
    last = len(kept) - 1
    while last >= 0 and not has_words(kept[last].text) and kept[last].border[:1] not in _SENTENCE_ENDS:
        last -= 1
    if last < 0:
        return ""
    text, border = kept[last]
    if border in (":", "："):
        line_start = text.rfind("\n") + 1
        kept[last:] = [_Clause(text[:line_start], "")]
        return text[line_start:] + border
    if border in (",", "，") and _begins_sentence(kept, last) and _topics().search(text.strip().lower()):
        del kept[last:]
        return text + border
    return ""


def _begins_sentence(clauses: list[_Clause], place: int) -> bool:
    """Return whether nothing of its sentence stands before a clause but conjunctions."""
    for clause in reversed(clauses[:place]):
        if clause.border[:1] in _SENTENCE_ENDS:
            return True
        if has_words(clause.text):
            return False
    return True


def asks_for(question: str, clause: str, rest: str = "") -> bool:
    """Return whether a clause speaks of something that the question asks for, by its words with content.

    The question has all of them; of Chinese ones, which are pairs of characters, one at least. A clause
    without any ("the documents do not say by whom") speaks of nothing else. Of a question with several parts
    a clause speaks of one, if it has a word of the question that the `rest` of the response lacks.

    >>> asks_for("Who designed the tower?", "the documents do not say who designed the tower")
    True
    >>> asks_for("How long does it last?", "how long it takes to charge is not mentioned")
    False
    >>> asks_for("Who owns it, and how heavy is it?", "how heavy such lamps are isn't said", "Ann owns it.")
    True
    """
    topic = _patterns().sub(" ", clause.translate(PLAIN_APOSTROPHES).lower())
    words = [word for word in content(topic, *_LISTS) if word not in _empty_words()]
    known = known_words(question)
    if known.issuperset(words):
        return True
    if any(begins_with_han(word) for word in words):
        return not known.isdisjoint(words)
    return _has_parts(question) and not (known - known_words(rest)).isdisjoint(words)


def _has_parts(question: str) -> bool:
    """Return whether two clauses of a question or more have a word with content.

    >>> _has_parts("Who owns it, and how heavy is it?"), _has_parts("How heavy is it?")
    (True, False)
    """
    return sum(bool(content(part, "function", "verbs")) for part in _borders().split(question)) > 1


@lru_cache
def _empty_words() -> frozenset[str]:
    return frozenset(word for code in ("en", "zh") for word in read_lists("claims", code)["exact"].split())


def _lacks(clause: str) -> bool:
    line = clause[:_MAX_CLAUSE].translate(PLAIN_APOSTROPHES).lower()
    return refuses(line) or bool(_patterns().search(line))


@lru_cache
def _patterns() -> re.Pattern[str]:
    lists = [*read_lists("claims", "en")["lacking"], *read_lists("claims", "zh")["lacking"]]
    return re.compile("|".join(lists))


@lru_cache
def _topics() -> re.Pattern[str]:
    return re.compile("|".join(read_lists("claims", code)["topics"] for code in ("en", "zh")))


@lru_cache
def _borders() -> re.Pattern[str]:
    """Return the pattern of what parts two clauses: marks, with spaces behind them, and conjunctions."""
    english = read_lists("claims", "en")["conjunctions"]
    chinese = read_lists("claims", "zh")["conjunctions"]
    return re.compile(rf"{CLAUSE_MARKS.pattern}|\b(?:{english})\b|(?:{chinese})", re.IGNORECASE)
