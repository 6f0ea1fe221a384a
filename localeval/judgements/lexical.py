"""Which share of a statement's words stands in the premise, and which of its numbers do not: arithmetic.

A small judge reads numbers badly. That a number is nowhere in the contexts needs no model to be seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from localeval.judgements.evidence import terms
from localeval.judgements.numerals import DIGITS, in_digits, named, scaled, shortest

_MENTION = re.compile(
    r"\[[0-9][0-9, ]*\]"
    r"|\b(?:passages?|contexts?|documents?|sources?|paragraphs?|texts?)\s*(?:#\s*)?[0-9]+"
    r"(?:(?:\s*,\s*(?:and\s+)?|\s*(?:and|or|to|&|-|–)\s*)[0-9]+)*"
    r"|(?:段落|资料|文档|文章|材料|上下文)\s*[0-9]+|第\s*[0-9]+\s*(?:段|篇|条资料|份)"
    r"|^\s*\(?[0-9]{1,2}(?:[)、）]|\.(?=\s))",
    re.IGNORECASE,
)
"""A number that counts passages or list items, and says nothing of what they tell."""

STOP = terms(
    "a an and are as at be been but by can for from had has have he her his if in into is it its not of on "
    "or she so such than that the their them then there these they this those to was were which while who "
    "will with 的 了 是 在 和 与 也 有 为 于"
)


class Premise(NamedTuple):
    """The terms of some texts, and the numbers that they name in digits or in words."""

    terms: frozenset[str]
    numbers: frozenset[str]


def premise_of(texts: Sequence[str]) -> Premise:
    """What a statement is looked for in."""
    return _premise(tuple(texts))


@lru_cache(maxsize=4)  # several judgements of a sample ask for that of the same contexts
def _premise(texts: tuple[str, ...]) -> Premise:
    found: set[str] = set()
    numbered: set[str] = set()
    for text in texts:
        found |= terms(text)
        numbered |= named(text)
    return Premise(frozenset(found), frozenset(numbered))


def coverage(statement: str, premise: Premise) -> float:
    """The share of the statement's terms, stop words aside, that occur anywhere in the premise, 0 to 1.

    1 where the statement has no such term: there is nothing that could be missing.

    >>> coverage("The tea of Arl grows in pots.", premise_of(["Tea grows.", "Arl is a hill."]))
    0.75
    """
    own = terms(statement) - STOP
    return len(own & premise.terms) / len(own) if own else 1.0


def unknown_numbers(statement: str, premise: Premise) -> tuple[str, ...]:
    """The statement's numbers in digits that the premise names nowhere, each once, in order.

    One that stands in the premise for something else is no unknown one, and units are not looked at.

    >>> unknown_numbers("Passage 2: 1,200 of 70% left, the 3rd in 1962.", premise_of(["1200 left, a third"]))
    ('70', '1962')
    """
    strange = [n for n in dict.fromkeys(numbers(statement)) if shortest(n) not in premise.numbers]
    if not strange:
        return ()
    by_scale = scaled(statement.translate(DIGITS))

    def known(number: str) -> bool:
        parts = number.split(".")  # of a date, where there are three
        return by_scale.get(number, number) in premise.numbers or (
            len(parts) > 2 and premise.numbers.issuperset(map(shortest, parts))
        )

    return tuple(n for n in strange if not known(n))


@lru_cache(maxsize=256)  # a statement is looked at by several judgements
def numbers(text: str) -> tuple[str, ...]:
    """Its numbers in digits, in order: without commas between thousands, zeros before them, or full width.

    The numbers of passages ("passage 2", "[2]") and of a list item at the beginning are left out.

    >>> numbers("1. In ２０２１-05, 1,200 to 1,500.5 people (passages 1, 2 and 3)")
    ('2021', '5', '1200', '1500.5')
    """
    return tuple(in_digits(without_mentions(text.translate(DIGITS))))


def without_mentions(text: str) -> str:
    """`text` without its mentions of numbered passages, and without the number of a list item before it."""
    return _MENTION.sub(" ", text)
