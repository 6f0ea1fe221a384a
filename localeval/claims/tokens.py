"""Cut a sentence into tokens, each with what it does there: a name, a number, a negation, a qualifier.

A token is a word in Latin or other letters, one Han character, or a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from localeval.claims.mentions import without_mentions
from localeval.claims.word_roles import HAN_NUMERALS, MARKS, TOKEN, words
from localeval.numbers.find import counts, parse_numbers
from localeval.text.script import begins_with_han, begins_with_han_or_later

_FULL_WIDTH_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
_MARKS = frozenset(MARKS)
# Behind these a clause begins as a sentence does.
_SENTENCE_MARKS = frozenset(".!?:。！？：|")
_NEGATED_VERB = re.compile(r"n['’]t\b", re.IGNORECASE)
_CANNOT = re.compile(r"\bcannot\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s\b")
# Labels of tokens without a content of their own.
_EMPTY = frozenset(("stop", "framing", "negation", "qualifier"))

_MIN_STEM = 3
_MAX_STEM = 6
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
    found = TOKEN.findall(text)
    for i, shown in enumerate(found):
        if shown in _MARKS:
            clause += 1
            after_mark = True
            initial = initial or shown in _SENTENCE_MARKS
            continue
        word = shown.lower()
        # Chinese words before which a clause ends may have two characters.
        following = found[i + 1] if i + 1 < len(found) else ""
        if word in breaks or word + following in breaks:
            clause += 1
        yield _Raw(shown, word, clause, after_mark, initial)
        after_mark = False
        initial = False


def _labelled(raw: Sequence[_Raw]) -> Iterator[Token]:
    is_number = [_is_number(token.word) for token in raw]
    position = 0
    while position < len(raw):
        length, labels = _longest_phrase(raw, position)
        labels = _labels_in_place(raw, is_number, position, length, labels)
        for i in range(position, position + length):
            is_name = _is_name(raw, i, labels)
            # All labels stand at the first word of a phrase; its other words have no content, either.
            of_token = labels if i == position else labels & _EMPTY
            yield _token(raw[i], frozenset() if is_name else of_token, is_number[i], is_name)
        position += length


def _token(raw: _Raw, labels: frozenset[str], is_number: bool, is_name: bool) -> Token:
    return Token(
        shown=raw.shown,
        word=raw.word,
        key=_number_key(raw.word) if is_number else stem(raw.word),
        clause=raw.clause,
        after_mark=raw.after_mark,
        initial=raw.initial,
        labels=labels,
        is_number=is_number,
        is_name=is_name,
    )


def _longest_phrase(raw: Sequence[_Raw], position: int) -> tuple[int, frozenset[str]]:
    """Return how many tokens from `position` on make the longest phrase of the lists, and its labels."""
    lists = words()
    ahead = tuple(token.word for token in raw[position : position + lists.longest])
    for length in range(len(ahead), 0, -1):
        labels = lists.labels.get(ahead[:length])
        if labels is not None:
            return length, labels
    return 1, frozenset()


def _labels_in_place(
    raw: Sequence[_Raw], is_number: Sequence[bool], position: int, length: int, labels: frozenset[str]
) -> frozenset[str]:
    """Return those labels of a phrase that it has where it stands."""
    lists = words()
    begins_clause = position == 0 or raw[position - 1].clause != raw[position].clause
    if length == 1 and raw[position].word in lists.at_clause_start and not begins_clause:
        return frozenset()
    if _stands_beside_number(raw, is_number, position, length):
        return labels
    labels -= {f"qualifier:{kind}" for kind in lists.beside_number}
    is_qualifier = any(label.startswith("qualifier:") for label in labels)
    return labels if is_qualifier else labels - {"qualifier"}


def _stands_beside_number(raw: Sequence[_Raw], is_number: Sequence[bool], position: int, length: int) -> bool:
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
    if word in words().no_numbers:
        return False
    is_han_numeral = len(word) > 1 and set(word) <= set(HAN_NUMERALS)
    return is_han_numeral or counts(word)


def _is_name(raw: Sequence[_Raw], i: int, labels: frozenset[str]) -> bool:
    """Return whether the token is a word with a capital that is no word of grammar.

    "May" is the month. "A" is a name before a word of grammar ("A has 50 wings") and before Chinese.
    """
    token = raw[i]
    if not token.shown[0].isupper():
        return False
    if token.shown == "May":
        return not token.initial
    if token.shown == "A":
        following = raw[i + 1].word if i + 1 < len(raw) else ""
        return begins_with_han_or_later(following) or _is_word_of_grammar(following)
    if token.shown == "US":
        return True
    return "negative" not in labels and labels.isdisjoint(_EMPTY)


def _is_word_of_grammar(word: str) -> bool:
    return "stop" in words().labels.get((word,), ())


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
    for ending in words().endings:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            word = word.removesuffix(ending)
            break
    if len(word) > _MIN_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return word[:_MAX_STEM]
