"""Find the numbers of a text, in digits or in English or Chinese words, and what each may mean.

A number has one reading or more ("3,50" is 3.5, or 3 and 50), and a reading has one value or more (a date).
A text knows a number if it has all values of one of its readings.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

from localeval.numbers.chinese import HAN_SIGNS, han_numbers
from localeval.numbers.digit_forms import (
    begins_with_point,
    read_clock,
    read_date,
    read_fraction,
    read_grouped,
    read_plain,
)
from localeval.numbers.english import ENGLISH_WORDS, IN_PHRASES, WORD, english_numbers, roman_numbers
from localeval.numbers.signs import with_sign
from localeval.numbers.surroundings import with_scale_of_next, with_surroundings
from localeval.numbers.values import CENTURY_YEARS, EN, ZH, Number, Value, plain_value
from localeval.text.normalise import normalise

_DIGITS = re.compile("[0-9]+")
_FALLING = frozenset(EN["falling"].split())
_HAN_FALLING = re.compile("|".join(ZH["falling"].split()))
_YEAR_DIGITS = len("1990")


@lru_cache(maxsize=512)  # several judgements look at one text
def find_numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of `text` in order: digits, words, fractions, dates and clock times.

    The places point into `text` as it is given, which is read as `normalise` reads it.

    >>> [(n.written, n.likeliest_value.digits) for n in find_numbers("$1.5bn for twenty-five of 3万5")]
    [('1.5bn', '1500000000'), ('25', '25'), ('3万5', '35000')]
    >>> [n.likeliest_value.digits for n in find_numbers("Two thousand and one, nineteen sixty-two")]
    ['2001', '1962']
    """
    normalised = normalise(text)
    found = []
    for number in _Scanner(normalised.text).numbers():
        start, end = normalised.span(number.start, number.end)
        found.append(number._replace(start=start, end=end))
    return tuple(found)


class _Scanner:
    """Reads the numbers of one normalised text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._english: list[re.Match[str]] = []
        falling = []
        for match in WORD.finditer(text):
            word = match[0].lower()
            if word in IN_PHRASES:
                self._english.append(match)
            elif word in _FALLING:
                falling.append(match.start())
        if not text.isascii():
            falling += [match.start() for match in _HAN_FALLING.finditer(text)]
        self._falling = sorted(falling)

    def numbers(self) -> list[Number]:
        """Return all numbers, in order. Words that are part of a number in digits are no further ones."""
        in_digits = self._in_digits()
        in_words = [
            *english_numbers(self._english, self._text),
            *han_numbers(self._text),
            *roman_numbers(self._text),
        ]
        found = list(in_digits)
        taken = [(number.start, number.end) for number in in_digits]
        for number in in_words:
            place = bisect_left(taken, (number.end, 0))
            if place == 0 or taken[place - 1][1] <= number.start:
                found.append(self._signed(number, number.start))
        found.sort(key=lambda number: (number.start, number.end))
        return found

    def _in_digits(self) -> list[Number]:
        found: list[Number] = []
        position = 0
        while match := _DIGITS.search(self._text, position):
            previous = found[-1] if found else None
            number = self._read(match.start(), match.end(), previous)
            if previous:
                found[-1] = with_scale_of_next(previous, number, self._text)
            found.append(number)
            position = number.end
        return found

    def _read(self, start: int, run_end: int, previous: Number | None) -> Number:
        """Read the number that begins with the digit at `start`, behind the number `previous`.

        run_end  the end of the digits that begin there
        """
        text = self._text
        for read in (read_date, read_clock, read_fraction):
            number = read(text, start)
            if number:
                return self._signed(number, start)
        first = start
        number = read_grouped(text, start)
        if not number and begins_with_point(text, start):
            first = start - 1
            number = _read_after_point(text, start, run_end)
        if not number:
            number = read_plain(text, start, run_end)
        number = with_surroundings(number, text, first, previous)
        return self._signed(number, first)

    def _signed(self, number: Number, first: int) -> Number:
        """Return the number with its sign; `first` is the place of its point or first digit."""
        return with_sign(number, self._text, first, self._falling)


def _read_after_point(text: str, start: int, end: int) -> Number:
    """Read the digits from `start` to `end`, which follow a point: .5 is 0.5."""
    written = "0." + text[start:end]
    return Number(start, end, written, ((plain_value(written),),))


def counts(word: str) -> bool:
    """Return whether a word, or a lone Han character, is a number or a part of one.

    >>> [counts(word) for word in ("1962", "5th", "thousand", "十", "mill")]
    [True, True, True, True, False]
    """
    return word[0].isdigit() or word in ENGLISH_WORDS or word in HAN_SIGNS


def parse_numbers(text: str) -> frozenset[Value]:
    """Return every value that `text` knows: by digits, words, fractions, dates, or the decade of a year.

    >>> known = parse_numbers("Twenty-five of 1.5 million, two thousand and one, 3.50, in 1962")
    >>> sorted((value.digits for value in known if not value.kind), key=float)
    ['3.5', '25', '1962', '2001', '1500000']
    >>> sorted(value.digits for value in known if value.kind == "decade")
    ['1960s', '2000s']
    """
    values: set[Value] = set()
    for number in find_numbers(text):
        values.update(number.known_values())
    years = [int(value.digits) for value in values if _may_be_year(value)]
    for year in years:
        decade = str(year // 10 * 10)
        values.add(Value(decade + "s", "decade"))
        values.add(Value(decade[2:] + "s", "short decade"))
        values.add(Value(str((year - 1) // CENTURY_YEARS + 1), "century"))
    return frozenset(values)


def _may_be_year(value: Value) -> bool:
    return not value.kind and len(value.digits) == _YEAR_DIGITS and value.digits.isdigit()
