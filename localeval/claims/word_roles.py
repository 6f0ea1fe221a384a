"""Cut a sentence into tokens, each with what it does there: a name, a number, a negation, a qualifier.

The words of each kind are data, `word_roles.en.toml` and `word_roles.zh.toml`. Both are used for every text,
since one sentence may have words of both languages. A token is a word in Latin or other letters, one Han
character, or a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from localeval.claims.mentions import without_mentions
from localeval.numbers.find import counts, parse_numbers
from localeval.text.script import HAN, begins_with_han
from localeval.text.word_lists import read_lists

_FULL_WIDTH_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_HAN_NUMERALS = "〇零一二两三四五六七八九十百千万亿"
# A number, a numeral in Han characters, another Han character, a word, or a mark at which a clause ends.
_TOKEN = re.compile(
    r"[0-9]+(?:[,.][0-9]+)*"
    rf"|[{_HAN_NUMERALS}]{{2,16}}|[{HAN}]"
    rf"|[^\W\d_{HAN}]+"
    r"|[,;:.!?，；：、。！？()（）—|]"
)
_MARKS = frozenset(",;:.!?，；：、。！？()（）—|")
_NEGATED_VERB = re.compile(r"n['’]t\b", re.IGNORECASE)
_CANNOT = re.compile(r"\bcannot\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s\b")
# These count nothing: "one of them", "the second", "first of all".
_NO_NUMBERS = frozenset(("one", "first", "second", "third", "zero", "一"))

# Endings of words, the longest first, and how many letters must stay.
_ENDINGS = (
    "ations",
    "ation",
    "ings",
    "ions",
    "ing",
    "ion",
    "ies",
    "ers",
    "ed",
    "es",
    "er",
    "ly",
    "s",
    "y",
    "e",
)
_LEAST_STEM = 3
_LONGEST_STEM = 6
# How many words or Han characters stand from a qualifier to its number: "about 90", "90 metres or more".
_WORDS_TO_NUMBER = 3
_HAN_TO_NUMBER = 5


@dataclass(frozen=True)
class Token:
    """One word, Han character or number of a text.

    shown         as it stands in the text
    word          the same in lower case
    key           by which tokens are compared: a number's value, a word's stem, a Han character
    clause        the number of its clause in the text
    after_mark    whether a mark stands right before it
    initial       whether it begins the text, or follows a full stop or a colon
    labels        what it does by the word lists: "stop", "framing", "negation", "qualifier:only" ...
    is_number     in digits or in words
    is_name       a word with a capital that is no word of grammar
    """

    shown: str
    word: str
    key: str
    clause: int
    after_mark: bool
    initial: bool
    labels: frozenset[str]
    is_number: bool
    is_name: bool

    @property
    def is_content(self) -> bool:
        """Whether the token says something by itself."""
        return self.labels.isdisjoint(_EMPTY)

    @property
    def is_han(self) -> bool:
        """Whether the token is a Han character or a numeral in Han characters."""
        return begins_with_han(self.word)

    @property
    def negates(self) -> bool:
        """Whether the token is a negation, of grammar or by its meaning."""
        return "negation" in self.labels or "negative" in self.labels


# Labels of tokens without a content of their own.
_EMPTY = frozenset(("stop", "framing", "negation", "qualifier"))


@dataclass(frozen=True)
class Words:
    """The word lists of all languages.

    labels            phrase, a tuple of words, -> what it does
    longest           number of words of the longest phrase
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
    tables = [read_lists("claims", "word_roles.en"), read_lists("claims", "word_roles.zh")]
    labels: dict[tuple[str, ...], set[str]] = {}

    def add(phrases: Sequence[str], *names: str) -> None:
        for phrase in phrases:
            labels.setdefault(_phrase(phrase), set()).update(names)

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
    groups = [group for table in tables for group in table["qualifiers"]]
    additions = [table["additions"] for table in tables]
    return Words(
        labels={phrase: frozenset(names) for phrase, names in labels.items()},
        longest=max(map(len, labels)),
        kinds=tuple(dict.fromkeys(group["kind"] for group in groups)),
        beside_number=frozenset(group["kind"] for group in groups if group.get("beside_number")),
        may_be_added=frozenset(group["kind"] for group in groups if group.get("may_be_added")),
        of_the_whole=frozenset(group["kind"] for group in groups if group.get("of_the_whole")),
        at_clause_start=_union(tables, "at_clause_start"),
        breaks=_union(tables, "breaks"),
        markers=_union(tables, "markers"),
        pronouns=_union(tables, "pronouns"),
        negative_prefixes=tuple(prefix for table in tables for prefix in table["negative_prefixes"]),
        irregular={word: base for table in tables for word, base in table["irregular"].items()},
        harmless=_union(additions, "words"),
        place_words=_union(additions, "place_words"),
        times=_union(additions, "times"),
        past=_union(additions, "past"),
        present=_union(additions, "present"),
        events=tuple(event for table in additions for event in table["events"]),
    )


def _union(tables: Sequence[Mapping[str, Any]], name: str) -> frozenset[str]:
    return frozenset(word for table in tables for word in table[name])


def _phrase(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(text))


@lru_cache(maxsize=256)  # several rules look at one text
def tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of `text`, without mentions of numbered passages.

    >>> [(token.key, token.clause) for token in tokens("Ann Lee left, and 2,000 people didn't.")][:6]
    [('ann', 0), ('lee', 0), ('leav', 0), ('and', 2), ('2000', 2), ('person', 2)]
    >>> [token.word for token in tokens("At most 50 may enter Arl.") if token.is_content]
    ['50', 'enter', 'arl']
    """
    text = _CANNOT.sub("can not", without_mentions(text.translate(_FULL_WIDTH_DIGITS)))
    text = _POSSESSIVE.sub("", _NEGATED_VERB.sub(" not", text))
    return tuple(_labelled(list(_raw_tokens(text))))


@dataclass
class _Raw:
    """A token before it is known what it does."""

    shown: str
    word: str
    clause: int
    after_mark: bool
    initial: bool


def _raw_tokens(text: str) -> Iterator[_Raw]:
    breaks = words().breaks
    clause = 0
    after_mark = False
    initial = True
    found = _TOKEN.findall(text)
    for i, shown in enumerate(found):
        if shown in _MARKS:
            clause += 1
            after_mark = True
            initial = initial or shown in ".!?:。！？：|"
            continue
        word = shown.lower()
        if word in breaks or word + "".join(found[i + 1 : i + 2]) in breaks:
            clause += 1
        yield _Raw(shown, word, clause, after_mark, initial)
        after_mark = False
        initial = False


def _labelled(raw: Sequence[_Raw]) -> Iterator[Token]:
    lists = words()
    is_number = [_is_number(token.word) for token in raw]
    position = 0
    while position < len(raw):
        length, labels = _longest_phrase(raw, position)
        if not _counts_beside_number(raw, is_number, position, length):
            spared = {f"qualifier:{kind}" for kind in lists.beside_number}
            rest = labels - spared
            is_qualifier = any(label.startswith("qualifier:") for label in rest)
            labels = rest if is_qualifier else rest - {"qualifier"}
        begins_clause = position == 0 or raw[position - 1].clause != raw[position].clause
        if raw[position].word in lists.at_clause_start and length == 1 and not begins_clause:
            labels = frozenset()
        for i in range(position, position + length):
            token = raw[i]
            followed_by = raw[i + 1].word if i + 1 < len(raw) else ""
            is_name = _is_name(token, labels, followed_by)
            of_token = frozenset() if is_name else labels
            yield Token(
                shown=token.shown,
                word=token.word,
                key=_number_key(token.word) if is_number[i] else stem(token.word),
                clause=token.clause,
                after_mark=token.after_mark,
                initial=token.initial,
                labels=of_token if i == position else of_token & _EMPTY,
                is_number=is_number[i],
                is_name=is_name,
            )
        position += length


def _longest_phrase(raw: Sequence[_Raw], position: int) -> tuple[int, frozenset[str]]:
    """Return how many tokens from `position` on make the longest phrase of the lists, and its labels."""
    lists = words()
    ahead = tuple(token.word for token in raw[position : position + lists.longest])
    for length in range(len(ahead), 0, -1):
        labels = lists.labels.get(ahead[:length])
        if labels is not None:
            return length, labels
    return 1, frozenset()


def _counts_beside_number(raw: Sequence[_Raw], is_number: Sequence[bool], position: int, length: int) -> bool:
    """Return whether a number stands after the phrase; for "or less" and in Chinese also before it."""
    end = position + length
    word = raw[position].word
    is_han = begins_with_han(word)
    distance = _HAN_TO_NUMBER if is_han else _WORDS_TO_NUMBER
    for i in range(end, min(end + distance, len(raw))):
        if is_number[i]:
            return True
        if raw[i].shown[0].isupper():  # "less than the Tarn 3"
            break
    return (is_han or word == "or") and any(is_number[max(0, position - distance) : position])


def _is_number(word: str) -> bool:
    if word in _NO_NUMBERS:
        return False
    is_run = len(word) > 1 and set(word) <= set(_HAN_NUMERALS)
    return is_run or counts(word)


def _is_name(token: _Raw, labels: frozenset[str], followed_by: str) -> bool:
    """Return whether the token is a word with a capital that is no word of grammar.

    "May" is the month. "A" is a name before a word of grammar ("A has 50 wings") and before Chinese.
    """
    if not token.shown[0].isupper():
        return False
    if token.shown == "May":
        return not token.initial
    if token.shown == "A":
        return followed_by >= "㐀" or "stop" in words().labels.get((followed_by,), ())
    if token.shown == "US":
        return True
    return labels.isdisjoint(_EMPTY) and labels.isdisjoint(("negative",))


def _number_key(word: str) -> str:
    """Return the value of a number.

    >>> _number_key("1,200.50") == _number_key("1200.5"), _number_key("twelve") == _number_key("12")
    (True, True)
    >>> _number_key("两千四百") == _number_key("2400")
    True
    """
    # Of a plain number and what else its digits may mean, the plain one comes first.
    values = sorted(parse_numbers(word), key=lambda value: (value.kind, value.digits))
    return values[0].digits if values else word


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return the beginning that the forms of a word share.

    >>> [stem(word) for word in ("protecting", "protection", "scrubbed", "scrub", "built")]
    ['protec', 'protec', 'scrub', 'scrub', 'build']
    """
    word = words().irregular.get(word, word)
    if not word.isascii():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            word = word.removesuffix(ending)
            break
    if len(word) > _LEAST_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word[:_LONGEST_STEM]
