"""What numbers are compared by: values, and the readings that a number of a text may have."""

from __future__ import annotations

from decimal import Context, Decimal
from math import gcd
from typing import NamedTuple

from localeval.text.word_lists import read_lists


class Value(NamedTuple):
    """A number as it is compared.

    digits  canonical: no sign but a minus, no leading zeros, no zeros at the end of decimals; "1/3"; "15:30"
    kind    "" for a plain number, or what else the digits are: a "percent" that stands for a part, a "clock"
            time, an "hour" whose half of the day is known, a "decade", a "century", a "month"
    """

    digits: str
    kind: str = ""


Reading = tuple[Value, ...]


class Number(NamedTuple):
    """A number in a text.

    start, end  its place in the text
    written     its digits as in the text, without commas and leading zeros; of a word, its value in digits
    readings    what it may mean, the likeliest first
    in_words    whether it has no digit
    name        the word that it is a part of ("gpt4" for GPT-4), or ""
    claims      whether a text states it; an idiom or a vague word ("half", 一些) only lets others be known
    gives       the values that it lets others be known by, if these are not all of its readings
    """

    start: int
    end: int
    written: str
    readings: tuple[Reading, ...]
    in_words: bool = False
    name: str = ""
    claims: bool = True
    gives: tuple[Value, ...] = ()

    @property
    def likeliest_value(self) -> Value:
        """The value of the likeliest reading; the first, where that reading has several."""
        return self.readings[0][0]

    def known_values(self) -> tuple[Value, ...]:
        """Return the values that a text with this number has."""
        return self.gives or tuple(value for reading in self.readings for value in reading)


EN = read_lists("numbers", "en")
ZH = read_lists("numbers", "zh")

# Numbers that a clock time or a year can have.
HOURS = 24
MINUTES = 60
HALF_DAY = 12
CENTURY_YEARS = 100

# Enough for any number that a text means; longer runs of digits are compared as they are written.
MAX_DIGITS = 40
EXACT = Context(prec=3 * MAX_DIGITS)
MAX_EXPONENT = 30


def canonical(number: str) -> str:
    """Drop trailing zeros from the decimals of `number`.

    >>> canonical("1.50"), canonical("5.0"), canonical("100"), canonical("1.2.0")
    ('1.5', '5', '100', '1.2.0')
    """
    return number.rstrip("0").rstrip(".") if number.count(".") == 1 else number


def strip_zeros(number: str) -> str:
    """Drop commas and leading zeros.

    >>> strip_zeros("007"), strip_zeros("1,200.50")
    ('7', '1200.50')
    """
    whole, point, rest = number.replace(",", "").partition(".")
    return (whole.lstrip("0") or "0") + point + rest


def plain_value(number: str | int) -> Value:
    return Value(canonical(strip_zeros(str(number))))


def scaled_value(number: str, exponent: int) -> Value:
    """Return `number` times ten to the power of `exponent`.

    >>> scaled_value("1.50", 6).digits, scaled_value("25", -3).digits
    ('1500000', '0.025')
    """
    number = strip_zeros(number)
    if len(number) > MAX_DIGITS or number.count(".") > 1:
        return Value(number)
    return Value(canonical(f"{Decimal(number).scaleb(exponent, EXACT):f}"))


def fraction_value(numerator: int, denominator: int) -> Value:
    """Return a quotient: in decimals where these end, else reduced.

    >>> fraction_value(2, 4).digits, fraction_value(2, 6).digits
    ('0.5', '1/3')
    """
    divisor = gcd(numerator, denominator)
    numerator //= divisor
    denominator //= divisor
    rest = denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    if rest == 1:
        return Value(canonical(f"{EXACT.divide(Decimal(numerator), Decimal(denominator)):f}"))
    return Value(f"{numerator}/{denominator}")


def percentages(numerator: int, denominator: int) -> list[Value]:
    """Return what a part is in percent, rounded and cut to two, one and no decimals.

    >>> sorted({value.digits for value in percentages(2, 3)})
    ['66', '66.6', '66.66', '66.67', '66.7', '67']
    """
    values = []
    for decimals in (0, 1, 2):
        scale = 10**decimals
        hundredfold = 100 * scale * numerator
        rounded_down = hundredfold // denominator
        nearest = (2 * hundredfold + denominator) // (2 * denominator)
        for amount in (rounded_down, nearest):
            text = f"{Decimal(amount).scaleb(-decimals):f}"
            values.append(Value(canonical(text), "percent"))
    return list(dict.fromkeys(values))


def part_readings(numerator: int, denominator: int) -> tuple[Reading, ...]:
    """Return the readings of a part of one: the quotient, and its percentages."""
    return (
        (fraction_value(numerator, denominator),),
        *((value,) for value in percentages(numerator, denominator)),
    )


def negated(value: Value) -> Value:
    return value._replace(digits="-" + value.digits)


def is_decimal(digits: str) -> bool:
    return len(digits) <= 2 * MAX_DIGITS and digits.replace(".", "", 1).isdigit()


def clock_readings(hour: int, minute: int, half: str) -> tuple[Reading, ...]:
    """Return the readings of a time. The numbers in it are known, too, to a text that has just these.

    half  "a" for a.m., "p" for p.m., "" for a time that does not say
    """
    readings: list[Reading] = [(Value(f"{h}:{minute:02}", "clock"),) for h in _hours_of_day(hour, half)]
    kinds = ("",) if half else ("hour", "")
    for kind in kinds:
        parts = [Value(str(hour), kind)]
        if minute:
            parts.append(plain_value(minute))
        readings.append(tuple(parts))
    return tuple(readings)


def _hours_of_day(hour: int, half: str) -> list[int]:
    """Return the hours from 0 to 24 that a time may mean.

    >>> _hours_of_day(3, "p"), _hours_of_day(3, ""), _hours_of_day(15, "")
    ([15], [3, 15], [15])
    """
    if half == "p" and hour <= HALF_DAY:
        return [hour % HALF_DAY + HALF_DAY]
    if half == "a" and hour <= HALF_DAY:
        return [hour % HALF_DAY]
    if hour < HALF_DAY:
        return [hour, hour + HALF_DAY]
    return [hour]
