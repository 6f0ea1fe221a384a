"""Find the values of a statement, and the other values of the contexts that could stand in their place.

A value is a number, a date, a time, a name, or a cell of a table. "The Basic plan costs 20 dollars" may hold
the price of another plan, which the contexts have, too. No model is needed to list such values; the judge
then tells which of them it finds likelier (`localeval.judgements.bindings`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from localeval.claims.chinese_names import has_han, name_spans, title_spans
from localeval.claims.columns import columns_by_cell
from localeval.claims.evidence import context_sentences
from localeval.claims.mentions import mask_mentions
from localeval.claims.terms import terms
from localeval.text.script import UNIFIED_HAN
from localeval.text.word_lists import read_lists

MAX_ALTERNATIVES = 6
CELL = "cell"
_WORDS = read_lists("claims", "en")["values"]

# The second alternative: Han characters are letters, so a number behind one begins within a word.
_NUMBER = re.compile(
    r"(?<![\w.,])[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(?![0-9])"
    rf"|(?<=[{UNIFIED_HAN}])[0-9]+(?:\.[0-9]+)?"
)
# A full stop behind a whole name ends the sentence.
_MONTH = rf"(?:{'|'.join(_WORDS['months'])}|(?:{'|'.join(_WORDS['month_abbreviations'])})\b\.?)"
# Each form is a kind of its own: a date is compared with dates that are written alike.
_DATED = {
    "day month": re.compile(rf"\b[0-9]{{1,2}} {_MONTH}(?:,? [0-9]{{4}})?"),
    "month day": re.compile(rf"\b{_MONTH} [0-9]{{1,2}}(?:st|nd|rd|th)?(?![0-9])(?:, [0-9]{{4}})?"),
    "month year": re.compile(rf"\b{_MONTH} [0-9]{{4}}"),
    "iso date": re.compile(r"\b[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}\b"),
    "han date": re.compile(r"[0-9]{4}年[0-9]{1,2}月(?:[0-9]{1,2}日)?"),
    "han day": re.compile(r"[0-9]{1,2}月[0-9]{1,2}日"),
    "time": re.compile(r"\b[0-9]{1,2}:[0-9]{2}\b"),
    "weekday": re.compile(rf"\b(?:{'|'.join(_WORDS['weekdays'])})\b"),
}
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
# A line ends a number: the word in the next line is no unit.
_UNIT = re.compile(rf"[^\S\n]?(%|°[CF]?|[A-Za-z]{{1,15}}|[{UNIFIED_HAN}])")
_CURRENCY = "$€£¥￥"
_NO_UNIT = frozenset(_WORDS["no_units"].split())
# In Chinese prose a name in Latin letters ends where Han characters begin: "Lark公司".
_NAME_WORD = rf"[A-Z](?:[^\W{UNIFIED_HAN}]|['’-])*"
_NAME = re.compile(rf"(?<![A-Za-z0-9]){_NAME_WORD}(?: (?:(?:of|de|la|van|von|der|the) )?{_NAME_WORD}){{0,5}}")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;\n|>*\"“(-])\s*$")
_NAMES = frozenset({"name", "han name", "title"})
_FIRST_WORDS = frozenset(_WORDS["first_words"].split())
_MONTHS_AND_DAYS = frozenset(_WORDS["months"] + _WORDS["month_abbreviations"] + _WORDS["weekdays"])


@dataclass(frozen=True)
class Value:
    """A value in a text, and where it stands there.

    kind  "number", "year", `CELL`, "name", "han name", "title", or a form of dates; with the unit of a number
    """

    text: str
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Replaceable:
    """A value of a statement that the contexts have, and their other values that could stand in its place."""

    value: Value
    alternatives: tuple[str, ...]


def replaceable_values(statement: str, question: str, contexts: Sequence[str]) -> list[Replaceable]:
    """Return the values of `statement` for which the contexts have alternatives, in order.

    Values of the question are left out: they tell what the statement is about. So are values that the
    contexts do not have: no other value makes them right or wrong.

    >>> table = "| plan | price |\\n|---|---|\\n| Basic | 20 |\\n| Large | 35 |"
    >>> [(r.value.text, r.alternatives) for r in replaceable_values("Basic costs 35 dollars.", "", [table])]
    [('Basic', ('Large',)), ('35', ('20',))]
    >>> replaceable_values("Basic costs 35 dollars.", "What does Basic cost?", [table])[0].value.text
    '35'
    """
    return [
        Replaceable(item.value, item.alternatives[:MAX_ALTERNATIVES])
        for item in all_replaceable_values(statement, question, contexts, any_unit=False)
    ]


def all_replaceable_values(
    statement: str, question: str, contexts: Sequence[str], *, any_unit: bool
) -> list[Replaceable]:
    """Return the values with all their alternatives.

    any_unit  whether a number whose unit no other has is compared with numbers of other units, too
    """
    columns = columns_by_cell(tuple(contexts))
    known = _context_values(tuple(contexts))
    joined = "\n".join(contexts)
    found: list[Replaceable] = []
    for cell in _cells(statement, columns):
        if cell.text not in question and _is_free(cell, found):
            found += _replaceable(cell, columns[cell.text], question)
    # The number of a passage or a citation is no value.
    masked = mask_mentions(statement)
    for value in [*_dated_and_numbers(masked), *_names(masked, in_statement=True)]:
        if value.text not in question and value.text in joined and _is_free(value, found):
            found += _replaceable(value, _of_kind(value, known, any_unit=any_unit), question)
    for value in _chinese_names(statement):
        if value.text not in question and value.text in joined and _is_free(value, found):
            found += _replaceable(value, _names_nearby(value, statement, question, contexts), question)
    return sorted(found, key=lambda item: item.value.start)


def is_name(value: Value) -> bool:
    """Return whether a value is a name, or a cell without digits."""
    return value.kind in _NAMES or (value.kind == CELL and not any(map(str.isdigit, value.text)))


def _cells(statement: str, columns: Mapping[str, Sequence[str]]) -> Iterator[Value]:
    """Yield the cells of tables that the statement has, the longest first."""
    for cell in sorted(columns, key=lambda text: (-len(text), text)):
        for start in _occurrences(cell, statement):
            yield Value(cell, start, start + len(cell), CELL)


def _is_free(value: Value, found: Sequence[Replaceable]) -> bool:
    """Return whether a value shares no character with one that was found."""
    return all(_are_apart(value, other.value) for other in found)


def _are_apart(value: Value, other: Value) -> bool:
    """Return whether two values share no character."""
    return value.end <= other.start or value.start >= other.end


def _replaceable(value: Value, candidates: Sequence[str], question: str) -> list[Replaceable]:
    """Return the value with its alternatives among the candidates; an empty list without any.

    A name of the question is no alternative: the statement is about it.
    """
    others = dict.fromkeys(text for text in candidates if _differs(text, value.text))
    alternatives = [text for text in others if text not in question or value.kind not in _NAMES]
    return [Replaceable(value, tuple(alternatives))] if alternatives else []


def _differs(text: str, other: str) -> bool:
    """Return whether neither of two values says the same as the other, or is a part of it."""
    text = text.replace(",", "").casefold()
    other = other.replace(",", "").casefold()
    if text[:1].isdigit() and other[:1].isdigit():
        return text != other
    return text not in other and other not in text


def _of_kind(value: Value, known: Sequence[Value], *, any_unit: bool) -> list[str]:
    """Return the texts of the known values of the same kind.

    A number whose unit no other number has is compared with the numbers that have none, as in tables, or with
    those of any unit: 340 people may be 215 employees.
    """
    same = [other.text for other in known if other.kind == value.kind]
    if not value.kind.startswith("number") or any(_differs(text, value.text) for text in same):
        return same
    return [
        other.text
        for other in known
        if other.kind == "number" or (any_unit and other.kind.startswith("number"))
    ]


@lru_cache(maxsize=4)  # the statements of a sample have the same contexts
def _context_values(contexts: tuple[str, ...]) -> tuple[Value, ...]:
    return tuple(
        value for text in contexts for value in (*_dated_and_numbers(text), *_names(text, in_statement=False))
    )


def _dated_and_numbers(text: str) -> list[Value]:
    """Return the dates, times, years and other numbers of a text, in order.

    >>> [(v.text, v.kind) for v in _dated_and_numbers("On 12 May 1962 it had 40 rooms, in 1970 $3,000 more.")]
    [('12 May 1962', 'day month'), ('40', 'number rooms'), ('1970', 'year'), ('3,000', 'number $')]
    """
    dated: list[Value] = []
    for kind, pattern in _DATED.items():
        dated += [
            Value(match[0], *match.span(), kind)
            for match in pattern.finditer(text)
            if _is_apart(match, dated)
        ]
    numbers = [
        Value(match[0], *match.span(), _kind_of_number(text, match))
        for match in _NUMBER.finditer(text)
        if _is_apart(match, dated)
    ]
    return sorted(dated + numbers, key=lambda value: value.start)


def _is_apart(match: re.Match[str], values: Sequence[Value]) -> bool:
    """Return whether a match shares no character with one of the values."""
    return all(match.end() <= value.start or match.start() >= value.end for value in values)


def _kind_of_number(text: str, match: re.Match[str]) -> str:
    """Return "year", or "number" with the currency before it or the unit behind it."""
    before = text[match.start() - 1 : match.start()] if match.start() else ""
    following = _UNIT.match(text, match.end())
    unit = following[1].lower() if following else ""
    if unit in _NO_UNIT:
        unit = ""
    if before and before in _CURRENCY:
        unit = before
    if _YEAR.fullmatch(match[0]) and unit in ("", "年"):
        return "year"
    return f"number {unit}".strip()


def _names(text: str, *, in_statement: bool) -> Iterator[Value]:
    """Yield the names of a text: words with a capital, but for a single one where a sentence begins.

    >>> [value.text for value in _names("The mayor is Ann Lee of Arl.", in_statement=True)]
    ['Ann Lee of Arl']
    """
    for match in _NAME.finditer(text):
        if match[0] in _MONTHS_AND_DAYS:
            continue
        begins = _SENTENCE_START.search(text, max(0, match.start() - 8), match.start())
        if begins and " " not in match[0]:
            continue
        first, _, others = match[0].partition(" ")
        # "The Basic" begins a sentence: its first word has its capital from there.
        if begins and first in _FIRST_WORDS:
            if in_statement:
                continue
            yield Value(others, match.end() - len(others), match.end(), "name")
            continue
        yield Value(match[0], *match.span(), "name")


@lru_cache(maxsize=256)  # the statements of a sample have the same contexts
def _chinese_names(text: str) -> tuple[Value, ...]:
    """Return the titles and the names in Chinese of a text; no name is a part of a title.

    >>> [(value.text, value.kind) for value in _chinese_names("《雾港来信》由顾鸣川写成。")]
    [('《雾港来信》', 'title'), ('顾鸣川', 'han name')]
    """
    titles = [Value(text[start:end], start, end, "title") for start, end in title_spans(text)]
    names = [Value(text[start:end], start, end, "han name") for start, end in name_spans(text)]
    values = titles + [name for name in names if all(_are_apart(name, title) for title in titles)]
    return tuple(sorted(values, key=lambda value: value.start))


def _names_nearby(value: Value, statement: str, question: str, contexts: Sequence[str]) -> list[str]:
    """Return the names of the value's kind, nearest first, as a page has more than can be compared.

    The nearest stand in the sentence that shares most with the question and the rest of the statement.
    """
    rest = terms(statement[: value.start]) | terms(statement[value.end :]) | terms(question)
    sentences = [sentence.text for sentence in context_sentences(contexts) if has_han(sentence.text)]
    nearest = sorted(sentences, key=lambda text: -len(terms(text) & rest))
    return [name.text for text in nearest for name in _chinese_names(text) if name.kind == value.kind]


def _occurrences(cell: str, text: str) -> Iterator[int]:
    """Yield where `cell` stands in `text` as whole words."""
    start = text.find(cell)
    while start >= 0:
        end = start + len(cell)
        before = text[start - 1] if start else " "
        after = text[end] if end < len(text) else " "
        if not (_joins(before, cell[0]) or _joins(cell[-1], after)):
            yield start
        start = text.find(cell, end)


def _joins(left: str, right: str) -> bool:
    """Return whether two characters belong to one word or number. Words of Han characters have no ends."""
    both_digits = left.isdigit() and right.isdigit()
    both_ascii = left.isascii() and right.isascii() and left.isalnum() and right.isalnum()
    return both_digits or both_ascii
