"""Compare a statement with its source texts: which of its words and numbers do they have?

A small judge reads numbers badly, and no model is needed to see that the contexts lack a number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from localeval.claims.mentions import replace_mentions, replace_paragraphs
from localeval.claims.terms import STOP, terms
from localeval.numbers.english import IDIOMS, MONTHS
from localeval.numbers.find import find_numbers, parse_numbers
from localeval.numbers.values import Number, Value

_LINE_END_HYPHEN = re.compile(r"[-\u2010][ \t]*\r?\n")
# What stands in place of a mention while numbers are read: a space could join the numbers beside it.
_REMOVED = "\ufffc"
_CIRCLED_SIGNS = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_CIRCLED = {ord(sign): f"{_REMOVED}{i}{_REMOVED}" for i, sign in enumerate(_CIRCLED_SIGNS, 1)}
# "in millions" above a table is the scale of its numbers.
_SCALE_NOTE = re.compile(
    r"\b(?:in|of)\s+(thousand|million|billion)s\b|单位\s*[:：]\s*(?:人民币)?([百千]?[万亿]|千)", re.I
)


class SourceTerms(NamedTuple):
    """What a statement is compared with.

    terms    the terms of the texts
    numbers  the values of their numbers, in digits or words
    names    their words with digits ("gpt4" for GPT-4)
    scales   the powers of ten that notes give to tables ("in millions")
    texts    how many texts there are
    """

    terms: frozenset[str]
    numbers: frozenset[Value]
    names: frozenset[str] = frozenset()
    scales: frozenset[int] = frozenset()
    texts: int = 0


def source_terms(texts: Sequence[str]) -> SourceTerms:
    """Collect the terms and numbers of the texts that a statement is compared with."""
    return _source_terms(tuple(texts))


@lru_cache(maxsize=4)  # several judgements of a sample need the terms of its contexts
def _source_terms(texts: tuple[str, ...]) -> SourceTerms:
    all_terms: set[str] = set()
    numbers: set[Value] = set()
    names: set[str] = set()
    scales: set[int] = set()
    for text in texts:
        all_terms |= terms(text)
        if _LINE_END_HYPHEN.search(text):
            # "well-" and "known" on two lines may be well-known as well as wellknown.
            all_terms |= terms(_LINE_END_HYPHEN.sub("- ", text))
        counted = text.translate(_CIRCLED)
        numbers |= parse_numbers(counted)
        names.update(number.name for number in find_numbers(counted) if number.name)
        scales.update(_note_exponent(note) for note in _SCALE_NOTE.finditer(text))
    numbers.update(Value(digits, "month") for name, digits in MONTHS.items() if name in all_terms)
    return SourceTerms(
        frozenset(all_terms), frozenset(numbers), frozenset(names), frozenset(scales), len(texts)
    )


def term_recall(statement: str, premise: SourceTerms) -> float:
    """Return the share of the statement's terms, without stop words, that the premise has, 0 to 1.

    1 for a statement without such terms: nothing can be missing.

    >>> term_recall("The tea of Arl grows in pots.", source_terms(["Tea grows.", "Arl is a hill."]))
    0.75
    >>> term_recall("大桥有桥墩。", source_terms(["大桥有二十个桥墩。"]))  # 大桥, 桥有 and 桥墩, not 有桥
    0.75
    >>> term_recall("...", source_terms(["Tea grows."]))
    1.0
    """
    statement_terms = terms(statement) - STOP
    return len(statement_terms & premise.terms) / len(statement_terms) if statement_terms else 1.0


def unsupported_numbers(statement: str, premise: SourceTerms) -> tuple[str, ...]:
    """Return the statement's numbers that the premise does not have, each once, in order, in digits.

    A number that means something else in the premise is not unsupported, and units are ignored.

    >>> source = source_terms(["1200 left on May 8, 2023, a third at 3 pm"])
    >>> unsupported_numbers("Passage 2: 1,200 of 70% left, the 3rd in 1962.", source)
    ('70', '1962')
    >>> unsupported_numbers("1,200 left on 2023-05-08 at 3:00 pm, 33% at 15:00.", source)
    ()
    """
    unsupported: list[str] = []
    for number in _stated_numbers(statement, premise.texts):
        unsupported += _missing(number, premise)
    return tuple(dict.fromkeys(unsupported))


def _missing(number: Number, premise: SourceTerms) -> list[str]:
    """Return the values of a number that the premise lacks, as the text writes them; none if it knows it."""
    if any(premise.numbers.issuperset(reading) for reading in number.readings):
        return []
    if number.name and _knows_name(number.name, premise):
        return []
    if premise.scales and any(_by_note(number, exponent, premise) for exponent in sorted(premise.scales)):
        return []
    last = number.readings[-1]
    if len(last) > 1:
        return [value.digits for value in last if value not in premise.numbers]
    return [number.written]


def _knows_name(name: str, premise: SourceTerms) -> bool:
    """Return whether the premise has a word with digits, or everybody has it: COVID-19, 24/7."""
    if name in premise.names or name in IDIOMS:
        return True
    return len(name) > 1 and name in premise.terms


def _by_note(number: Number, exponent: int, premise: SourceTerms) -> bool:
    """Return whether the premise has the number as an amount of the unit that a note gives to its tables.

    exponent  the power of ten of that unit: 6 for millions

    >>> source = source_terms(["Sales (in millions)", "Tea 1,250"])
    >>> unsupported_numbers("Tea sold for $1.25 billion, or 1,250 million, and not 2 million.", source)
    ('2 million',)
    """
    has_one_value = len(number.readings[0]) == 1
    digits = number.likeliest_value.digits
    if not has_one_value or not digits.isdigit():
        return False
    # An amount in millions is written without six zeros.
    if not digits.endswith("0" * exponent):
        return False
    amount = Value(digits[:-exponent])
    return amount in premise.numbers


def _note_exponent(note: re.Match[str]) -> int:
    """Return the power of ten of a match of `_SCALE_NOTE`."""
    [number] = find_numbers("1" + (note[2] or " " + note[1]))
    return len(number.likeliest_value.digits) - 1


@lru_cache(maxsize=256)  # several judgements look at one statement
def _stated_numbers(text: str, number_of_texts: int) -> tuple[Number, ...]:
    """Return the numbers that `text` states: none of idioms, of passages, of list items.

    number_of_texts  how many texts it speaks of: where there are five, "paragraph 5" may be one of them
    """
    text = replace_mentions(text, _REMOVED)
    text = replace_paragraphs(text, _REMOVED, number_of_texts)
    return tuple(number for number in find_numbers(text.translate(_CIRCLED)) if number.claims)
