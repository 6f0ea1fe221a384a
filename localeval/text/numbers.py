"""Find the numbers of a text, in digits or in English or Chinese words, all written in one way."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal

DIGITS = str.maketrans("０１２３４５６７８９", "0123456789")
# Both alternatives begin after one digit, so that a search skips everything else at once.
_NUMBER = re.compile(r"[0-9](?:[0-9]{0,2}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]*(?:\.[0-9]+)*)")
SPACED = re.compile(r"[0-9](?<![0-9.,][0-9])[0-9]{0,2}(?:[ \u00a0\u202f][0-9]{3})+(?![0-9]|\.[0-9])")
_DIGITS = r"[0-9][0-9,]{0,15}(?:\.[0-9]{1,9})?"
_SCALED = re.compile(rf"({_DIGITS})\s?((?ai:thousand|million|billion|trillion)|[百千]?[万亿]{{1,2}}|[百千])")
_SUM = re.compile(rf"({_DIGITS})亿([0-9]{{1,4}})万")

# A year, a month and a day, or the reverse; it begins with a digit, too, as `_NUMBER` and `SPACED` do.
DATE = re.compile(
    r"[0-9](?<![0-9]{2})(?:[0-9]{3}([-/.])[0-9]{1,2}\1[0-9]{1,2}|[0-9]?([-/.])[0-9]{1,2}\2[0-9]{4})(?![0-9])"
)
_MONTHS = "january february march april may june july august september october november december"
MONTHS = {name: str(i) for i, month in enumerate(_MONTHS.split(), 1) for name in (month, month[:3])}
MONTHS["sept"] = "9"

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
    """Return the numbers in digits of `text`, in order, without thousands commas and leading zeros.

    >>> in_digits("007 of 1,200 to 1,500.50")
    ['7', '1200', '1500.50']
    """
    return [_normalise(number) for number in _NUMBER.findall(text)]


def parse_numbers(text: str) -> set[str]:
    """Return every number of `text` in its `canonical` form: in digits, words, scaled or with spaces.

    >>> sorted(parse_numbers("Twenty-five of 1.5 million, two thousand and one, 3.50"), key=float)
    ['1', '1.5', '2', '3.5', '5', '20', '25', '2000', '2001', '1000000', '1500000']
    >>> sorted(parse_numbers("Of ten, five came."))
    ['10', '5']
    """
    text = text.translate(DIGITS)
    values = {*map(canonical, in_digits(text))}.union(*apply_scale(text).values())
    values |= {joined(number) for number in SPACED.findall(text)}
    values = values.union(*(date_parts(match[0]) for match in DATE.finditer(text)))
    values |= {*map(_han_number, _HAN_NUMBER.findall(text)), *map(str, _in_words(text))}
    for whole, decimals in _HAN_DECIMAL.findall(text):
        values.add(canonical(f"{_han_number(whole)}.{_han_digits(decimals)}"))
    return values


def date_parts(date: str) -> list[str]:
    """Return the numbers of a match of `DATE`.

    >>> date_parts("08.05.2023")
    ['8', '5', '2023']
    """
    return [str(int(part)) for part in re.split("[-/.]", date)]


def joined(spaced: str) -> str:
    """Return a match of `SPACED` without its spaces: 10000 for "10 000"."""
    return re.sub(r"\D", "", spaced)


def apply_scale(text: str) -> dict[str, set[str]]:
    """Map each number in digits that a scale word follows to its scaled values, one or more.

    >>> apply_scale("1.5 Million of 3千万") == {"1.5": {"1500000"}, "3": {"30000000"}}
    True
    >>> apply_scale("1亿2000万")["2000"] == {"20000000", "120000000"}
    True
    """
    values: dict[str, set[str]] = {}
    for number, scale in _SCALED.findall(text):
        units = [scale.lower()] if scale.isascii() else scale
        value = Decimal(_normalise(number)) * math.prod(_ALL_SCALES[unit] for unit in units)
        values.setdefault(_normalise(number), set()).add(canonical(f"{value:f}"))
    for match in _SUM.findall(text):
        high, low = map(_normalise, match)
        total = canonical(f"{Decimal(high) * 10**8 + int(low) * 10**4:f}")
        for number in (high, low):
            values.setdefault(number, set()).add(total)
    return values


def counts(word: str) -> bool:
    """Return whether a word, or a lone Han character, is a number or a part of one.

    >>> [counts(word) for word in ("1962", "5th", "thousand", "十", "mill")]
    [True, True, True, True, False]
    """
    return word[0].isdigit() or word in _COUNTING


def canonical(number: str) -> str:
    """Drop trailing zeros from the decimals of `number`.

    >>> canonical("1.50"), canonical("5.0"), canonical("100"), canonical("1.2.0")
    ('1.5', '5', '100', '1.2.0')
    """
    return number.rstrip("0").rstrip(".") if number.count(".") == 1 else number


def _normalise(number: str) -> str:
    whole, point, rest = number.replace(",", "").partition(".")
    return (whole.lstrip("0") or "0") + point + rest


def _in_words(text: str) -> Iterator[int]:
    """Yield the numbers in English words, each word alone and with those before it: any may be the last."""
    total = part = 0
    for word in _WORD.findall(text.lower()):
        if word not in _COUNTING:
            total, part = (total, part) if word == "and" else (0, 0)
        elif word in _BELOW_HUNDRED:
            value = _BELOW_HUNDRED[word]
            continues = part % 100 == 0 or (part % 100 >= 20 and part % 10 == 0 and 0 < value < 10)
            total, part = (total, part + value) if continues else (0, value)
            yield value
        elif word in _HUNDRED:
            part = part * 100 if 0 < part < 100 else 100
        elif part:
            total, part = total + part * _SCALES[word], 0
        else:  # "a thousand"; for digits see `apply_scale`
            yield _SCALES[word]
            total = 0
        if total or part:
            yield total + part


def _han_number(characters: str) -> str:
    """Convert a number in Han characters to digits.

    >>> _han_number("二〇二一"), _han_number("一百二十五"), _han_number("十三万"), _han_number("两亿三千万")
    ('2021', '125', '130000', '230000000')
    """
    if not set(characters) & (_HAN_UNITS.keys() | _HAN_SCALES.keys()):
        return _han_digits(characters).lstrip("0") or "0"
    total, part, digit = 0, 0, 0
    for character in characters:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_SCALES:
            scale = _HAN_SCALES[character]
            section, higher = total % scale, total - total % scale
            total, part, digit = higher + (section + part + digit) * scale, 0, 0
        else:
            part, digit = part + (digit or 1) * _HAN_UNITS[character], 0
    return str(total + part + digit)


def _han_digits(characters: str) -> str:
    return "".join(str(_HAN_DIGITS[character]) for character in characters)
