"""The roles of words in a sentence, as lists: what joins, negates, qualifies or adds nothing.

The lists are data, `words/word_roles.en.toml` and `words/word_roles.zh.toml`. Both are used for every text,
since one sentence may have words of both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from localeval.text.script import HAN
from localeval.text.word_lists import read_lists

HAN_NUMERALS = read_lists("claims", "word_roles.zh")["numerals"]
MARKS = ",;:.!?，；：、。！？()（）—|"
# A number, a numeral in Han characters, another Han character, a word, or a mark at which a clause ends.
TOKEN = re.compile(
    r"[0-9]+(?:[,.][0-9]+)*"
    rf"|[{HAN_NUMERALS}]{{2,16}}|[{HAN}]"
    rf"|[^\W\d_{HAN}]+"
    rf"|[{MARKS}]"
)


@dataclass(frozen=True)
class Words:
    """The word lists of all languages.

    labels            phrase, a tuple of words, -> what it does
    longest           how many words the longest phrase has
    kinds             the kinds of qualifiers, such as "only"
    beside_number     the kinds of qualifiers that count only next to a number
    may_be_added      the kinds of qualifiers that a statement may have more than its sentence
    of_the_whole      the kinds of qualifiers that hold for the whole sentence
    at_clause_start   the qualifiers that are ones only where they begin a clause
    breaks            the words before which a clause ends
    markers           the prepositions that say which part a name has
    pronouns          the words that stand for a name
    negative_prefixes  the beginnings of words like "invalid"
    irregular         form of a word -> the word
    endings           endings of words, the longest of those that end alike first
    no_numbers        numbers that count nothing: "one of them", "the second", "first of all"
    harmless          the words that change nothing of what a statement says
    place_words, times  the words of an adverbial of place or time
    past, present     the words by which the past and the present are told
    events            the Chinese verbs for what happens once
    """

    labels: Mapping[tuple[str, ...], frozenset[str]]
    longest: int
    kinds: tuple[str, ...]
    beside_number: frozenset[str]
    may_be_added: frozenset[str]
    of_the_whole: frozenset[str]
    at_clause_start: frozenset[str]
    breaks: frozenset[str]
    markers: frozenset[str]
    pronouns: frozenset[str]
    negative_prefixes: tuple[str, ...]
    irregular: Mapping[str, str]
    endings: tuple[str, ...]
    no_numbers: frozenset[str]
    harmless: frozenset[str]
    place_words: frozenset[str]
    times: frozenset[str]
    past: frozenset[str]
    present: frozenset[str]
    events: tuple[str, ...]


@lru_cache
def words() -> Words:
    """Read the word lists.

    >>> sorted(words().labels["at", "most"])
    ['qualifier', 'qualifier:at most']
    """
    english = read_lists("claims", "word_roles.en")
    tables = [english, read_lists("claims", "word_roles.zh")]
    labels = _labels(tables)
    groups = [group for table in tables for group in table["qualifiers"]]
    additions = [table["additions"] for table in tables]
    return Words(
        labels=labels,
        longest=max(map(len, labels)),
        kinds=tuple(dict.fromkeys(group["kind"] for group in groups)),
        beside_number=_kinds_with(groups, "beside_number"),
        may_be_added=_kinds_with(groups, "may_be_added"),
        of_the_whole=_kinds_with(groups, "of_the_whole"),
        at_clause_start=_union(tables, "at_clause_start"),
        breaks=_union(tables, "breaks"),
        markers=_union(tables, "markers"),
        pronouns=_union(tables, "pronouns"),
        negative_prefixes=tuple(prefix for table in tables for prefix in table["negative_prefixes"]),
        irregular={word: base for table in tables for word, base in table["irregular"].items()},
        endings=tuple(english["endings"]),
        no_numbers=_union(tables, "no_numbers"),
        harmless=_union(additions, "words"),
        place_words=_union(additions, "place_words"),
        times=_union(additions, "times"),
        past=_union(additions, "past"),
        present=_union(additions, "present"),
        events=tuple(event for table in additions for event in table["events"]),
    )


def _labels(tables: Iterable[Mapping[str, Any]]) -> dict[tuple[str, ...], frozenset[str]]:
    """Map each phrase, a tuple of words, to what it does."""
    labels: dict[tuple[str, ...], set[str]] = {}

    def add(phrases: Sequence[str], *names: str) -> None:
        for phrase in phrases:
            words_of_phrase = tuple(TOKEN.findall(phrase))
            labels.setdefault(words_of_phrase, set()).update(names)

    for table in tables:
        add(table["stop"], "stop")
        add(table["framing"], "framing")
        add(table["negations"], "negation")
        add(table["negative_words"], "negative")
        add(table["no_negation"], "no negation")
        add(table["no_qualifier"]["phrases"], "no qualifier")
        for group in table["qualifiers"]:
            add(group["words"], "qualifier", f"qualifier:{group['kind']}")
            add(group["kept_by"], f"kept:{group['kind']}")
    return {phrase: frozenset(names) for phrase, names in labels.items()}


def _kinds_with(groups: Iterable[Mapping[str, Any]], property_name: str) -> frozenset[str]:
    """Return the kinds of the qualifiers that have a property."""
    return frozenset(group["kind"] for group in groups if group.get(property_name))


def _union(tables: Sequence[Mapping[str, Any]], name: str) -> frozenset[str]:
    return frozenset(word for table in tables for word in table[name])
