"""Which share of a statement's words stands in the premise, and which of its numbers do not: arithmetic.

A small judge reads numbers badly. That a number is nowhere in the contexts needs no model to be seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from localeval.judgements.evidence import terms

_DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
# Both ways begin with the one digit that is told before them: a search passes over all else at once.
_NUMBER = re.compile(r"[0-9](?:[0-9]{0,2}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]*(?:\.[0-9]+)*)")
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
_WORD = re.compile(r"[a-z]+")
_BELOW_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = (
    {word: str(i) for i, word in enumerate(_WORD.findall(_BELOW_TWENTY))}
    | {word: str(i) for i, word in enumerate(_WORD.findall(_ORDINALS), 1)}
    | {word: str(10 * i) for i, word in enumerate(_WORD.findall(_TENS), 2)}
)
_HAN_NUMBER = re.compile("[〇零一二两三四五六七八九十百千万]{1,16}")
_HAN_DIGITS = {sign: i for i, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}


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
    named: set[str] = set()
    for text in texts:
        found |= terms(text)
        named |= set(_in_digits(text.translate(_DIGITS))) | _in_words(text)
    return Premise(frozenset(found), frozenset(named))


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
    return tuple(n for n in dict.fromkeys(numbers(statement)) if n not in premise.numbers)


def numbers(text: str) -> list[str]:
    """Its numbers in digits, in order: without commas between thousands, zeros before them, or full width.

    The numbers of passages ("passage 2", "[2]") and of a list item at the beginning are left out.

    >>> numbers("1. In ２０２１-05, 1,200 to 1,500.5 people (passages 1, 2 and 3)")
    ['2021', '5', '1200', '1500.5']
    """
    return _in_digits(without_mentions(text.translate(_DIGITS)))


def without_mentions(text: str) -> str:
    """`text` without its mentions of numbered passages, and without the number of a list item before it."""
    return _MENTION.sub(" ", text)


def _in_digits(text: str) -> list[str]:
    return [_plain(number) for number in _NUMBER.findall(text)]


def _plain(number: str) -> str:
    whole, point, rest = number.replace(",", "").partition(".")
    return (whole.lstrip("0") or "0") + point + rest


def _in_words(text: str) -> set[str]:
    """The numbers that a text names in words, as digits: small ones in English, up to 万 in Chinese."""
    found = {_WORDS[word] for word in _WORD.findall(text.lower()) if word in _WORDS}
    return found | {_han(signs) for signs in _HAN_NUMBER.findall(text)}


def _han(signs: str) -> str:
    """
    >>> _han("二〇二一"), _han("一百二十五"), _han("十三万")
    ('2021', '125', '130000')
    """
    if not set(signs) & _HAN_UNITS.keys():
        return "".join(str(_HAN_DIGITS[sign]) for sign in signs).lstrip("0") or "0"
    total, part, digit = 0, 0, 0
    for sign in signs:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
        elif sign == "万":
            total, part, digit = (total + part + digit) * _HAN_UNITS[sign], 0, 0
        else:
            part, digit = part + (digit or 1) * _HAN_UNITS[sign], 0
    return str(total + part + digit)
