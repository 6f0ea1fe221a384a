"""The numbers that a text names, in digits or in words, English and Chinese, in one way of writing them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal

DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
# Both ways begin with the one digit that is told before them: a search passes over all else at once.
_NUMBER = re.compile(r"[0-9](?:[0-9]{0,2}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]*(?:\.[0-9]+)*)")
SPACED = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+(?![0-9]|\.[0-9])")
_DIGITS = r"[0-9][0-9,]{0,15}(?:\.[0-9]{1,9})?"
_SCALED = re.compile(rf"({_DIGITS})\s?((?ai:thousand|million|billion|trillion)|[百千]?[万亿]{{1,2}}|[百千])")
_SUM = re.compile(rf"({_DIGITS})亿([0-9]{{1,4}})万")

_WORD = re.compile(r"[a-z]+")
_BELOW_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_BELOW_HUNDRED = {word: 10 * i for i, word in enumerate(_TENS.split(), 2)}
_BELOW_HUNDRED |= {f"{word[:-1]}ieth": value for word, value in _BELOW_HUNDRED.items()}
_BELOW_HUNDRED |= {word: i for i, word in enumerate(_BELOW_TWENTY.split())}
_BELOW_HUNDRED |= {word: i for i, word in enumerate(_ORDINALS.split(), 1)}
_HUNDRED = ("hundred", "hundredth")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_HAN_NUMBER = re.compile("[〇零一二两三四五六七八九十百千万亿]{1,16}")
_HAN_DECIMAL = re.compile("([〇零一二两三四五六七八九十百千万]{1,12})点([〇零一二三四五六七八九]{1,9})")
_HAN_DIGITS = {sign: i for i, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}
_HAN_SCALES = {"万": 10**4, "亿": 10**8}
_ALL_SCALES = _SCALES | _HAN_UNITS | _HAN_SCALES
_COUNTING = {*_BELOW_HUNDRED, *_HUNDRED, *_ALL_SCALES, *_HAN_DIGITS}


def in_digits(text: str) -> list[str]:
    """Find its numbers in digits, in order, without commas between thousands and leading zeros.

    >>> in_digits("007 of 1,200 to 1,500.50")
    ['7', '1200', '1500.50']
    """
    return [_plain(number) for number in _NUMBER.findall(text)]


def parse_numbers(text: str) -> set[str]:
    """Find every number that a text names, as `canonical`: also in words, scaled digits, with spaces.

    >>> sorted(parse_numbers("Twenty-five of 1.5 million, two thousand and one, 3.50"), key=float)
    ['1', '1.5', '2', '3.5', '5', '20', '25', '2000', '2001', '1000000', '1500000']
    >>> sorted(parse_numbers("Of ten, five came."))
    ['10', '5']
    """
    text = text.translate(DIGITS)
    found = {*map(canonical, in_digits(text))}.union(*apply_scale(text).values())
    found |= {joined(number) for number in SPACED.findall(text)}
    found |= {*map(_han, _HAN_NUMBER.findall(text)), *map(str, _in_words(text))}
    found |= {canonical(f"{_han(whole)}.{_han_digits(rest)}") for whole, rest in _HAN_DECIMAL.findall(text)}
    return found


def joined(spaced: str) -> str:
    """Write a match of `SPACED` in one piece: 10000 for "10 000"."""
    return re.sub(r"\D", "", spaced)


def apply_scale(text: str) -> dict[str, set[str]]:
    """Numbers in digits with a word of scale behind them -> what they say with it, in any of its places.

    >>> apply_scale("1.5 Million of 3千万") == {"1.5": {"1500000"}, "3": {"30000000"}}
    True
    >>> apply_scale("1亿2000万")["2000"] == {"20000000", "120000000"}
    True
    """
    found: dict[str, set[str]] = {}
    for number, scale in _SCALED.findall(text):
        signs = [scale.lower()] if scale.isascii() else scale
        value = Decimal(_plain(number)) * math.prod(_ALL_SCALES[sign] for sign in signs)
        found.setdefault(_plain(number), set()).add(canonical(f"{value:f}"))
    for parts in _SUM.findall(text):
        high, low = map(_plain, parts)
        both = canonical(f"{Decimal(high) * 10**8 + int(low) * 10**4:f}")
        for number in (high, low):
            found.setdefault(number, set()).add(both)
    return found


def counts(word: str) -> bool:
    """Tell whether a word, or a lone Han character, is a number or a part of one.

    >>> [counts(word) for word in ("1962", "5th", "thousand", "十", "mill")]
    [True, True, True, True, False]
    """
    return word[0].isdigit() or word in _COUNTING


def canonical(number: str) -> str:
    """Drop the zeros at the end of its decimals.

    >>> canonical("1.50"), canonical("5.0"), canonical("100"), canonical("1.2.0")
    ('1.5', '5', '100', '1.2.0')
    """
    return number.rstrip("0").rstrip(".") if number.count(".") == 1 else number


def _plain(number: str) -> str:
    whole, point, rest = number.replace(",", "").partition(".")
    return (whole.lstrip("0") or "0") + point + rest


def _in_words(text: str) -> Iterator[int]:
    """Find numbers in English words: each word for itself, and with those before it.

    A number may end at any of its words ("In two thousand, five came").
    """
    total = part = 0
    for word in _WORD.findall(text.lower()):
        if word in _BELOW_HUNDRED:
            value = _BELOW_HUNDRED[word]
            goes_on = part % 100 == 0 or (part % 100 >= 20 and part % 10 == 0 and 0 < value < 10)
            total, part = (total, part + value) if goes_on else (0, value)
            yield value
        elif word in _HUNDRED:
            part = (part or 1) * 100
        elif word in _SCALES and part:
            total, part = total + part * _SCALES[word], 0
        elif word in _SCALES:  # "a thousand"; behind digits see `apply_scale`
            yield _SCALES[word]
            total = 0
        elif word != "and":
            total = part = 0
        if total + part:
            yield total + part


def _han(signs: str) -> str:
    """
    >>> _han("二〇二一"), _han("一百二十五"), _han("十三万"), _han("两亿三千万")
    ('2021', '125', '130000', '230000000')
    """
    if not set(signs) & (_HAN_UNITS.keys() | _HAN_SCALES.keys()):
        return _han_digits(signs).lstrip("0") or "0"
    total, part, digit = 0, 0, 0
    for sign in signs:
        if sign in _HAN_DIGITS:
            digit = _HAN_DIGITS[sign]
        elif sign in _HAN_SCALES:
            scale = _HAN_SCALES[sign]
            below, above = total % scale, total - total % scale
            total, part, digit = above + (below + part + digit) * scale, 0, 0
        else:
            part, digit = part + (digit or 1) * _HAN_UNITS[sign], 0
    return str(total + part + digit)


def _han_digits(signs: str) -> str:
    return "".join(str(_HAN_DIGITS[sign]) for sign in signs)
