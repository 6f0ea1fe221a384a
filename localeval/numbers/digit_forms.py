"""Read one number in digits: a date, a time, a fraction, digits in groups, or plain digits.

Each function reads the number that begins at `start`, or returns None if none of its form does.
"""

from __future__ import annotations

import re

from localeval.numbers.chinese import HALF_OF_DAY, half_of_day
from localeval.numbers.values import (
    EN,
    HOURS,
    MINUTES,
    Number,
    Reading,
    Value,
    clock_readings,
    fraction_value,
    part_readings,
    plain_value,
    scaled_value,
    strip_zeros,
)

_YEAR_FIRST = re.compile(r"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}(?![0-9])")
_YEAR_LAST = re.compile(r"[0-9]{1,2}([-/.])[0-9]{1,2}\1[0-9]{4}(?![0-9])")
_SHORT_YEAR_LAST = re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}(?![0-9/])")
# Each form of a date, and the places that its month may have.
_DATES = ((_YEAR_FIRST, (1,)), (_YEAR_LAST, (1, 0)), (_SHORT_YEAR_LAST, (1, 0)))
_DATE_MARK = re.compile("[-/.]")
_HALF_OF_DAY = r"(?P<half>[ap]\.?m\b\.?)"
_CLOCK = re.compile(
    rf"(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::[0-9]{{2}})?(?![0-9:])(?:\s?{_HALF_OF_DAY})?", re.I
)
_HOUR = re.compile(rf"(?P<hour>[0-9]{{1,2}})\s?{_HALF_OF_DAY}", re.I)
_HAN_HOUR = re.compile(r"(?P<hour>[0-9]{1,2})(?:点|时)(?:(?P<minute>[0-9]{1,2})分?|(?P<thirty>半))?(?![0-9])")
_HAN_HALF_OF_DAY = re.compile(rf"{HALF_OF_DAY}\Z")
_MIXED_FRACTION = re.compile(r"([0-9]{1,6})(?:\s|-)\s?([0-9]{1,3})[/\u2044]([0-9]{1,3})(?![0-9/])")
_FRACTION = re.compile(r"([0-9]{1,3})([/\u2044])([0-9]{1,3})(?![0-9/])")
_SPACED = re.compile(
    r"[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+(?![0-9])(?:[.,][0-9]{1,9}(?![0-9]))?(?!\.[0-9])"
)
_COMMA_GROUPS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?")
_INDIAN_GROUPS = re.compile(r"[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?![0-9]|,[0-9])(?:\.[0-9]+)?")
_DOT_GROUPS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3}){2,}(?![0-9.])(?:,[0-9]+)?")
_DOT_GROUP = re.compile(r"[1-9][0-9]{0,2}\.[0-9]{3}(?![0-9.])(?:,[0-9]+)?")
_QUOTE_GROUPS = re.compile(r"[0-9]{1,3}(?:['’][0-9]{3})+(?![0-9])(?:[.,][0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[0-9]+,[0-9]{1,2}(?![0-9,])")
PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_SPACE_IN_NUMBER = re.compile(r"[ \u00a0\u202f]")
SCALE_WORD = re.compile(rf"[\s-]?({'|'.join(EN['scales'])})\b", re.I | re.A)


def read_date(text: str, start: int) -> Number | None:
    """Read 2021-05-08, 08.05.2021 and 5/8/21: the year's place is certain, the month's not always."""
    for pattern, month_places in _DATES:
        match = pattern.match(text, start)
        if not match:
            continue
        parts = [strip_zeros(part) for part in _DATE_MARK.split(match[0])]
        dates = [tuple(map(plain_value, parts))]
        if pattern is _SHORT_YEAR_LAST:
            year = match[0][-2:]
            dates = [(*dates[0][:2], plain_value(century + year)) for century in ("20", "19")] + dates
        readings: list[Reading] = []
        for date in dates:
            readings += _with_month(date, month_places)
            readings.append(date)
        return Number(start, match.end(), "-".join(parts), tuple(readings))
    return None


def _with_month(date: Reading, places: tuple[int, ...]) -> list[Reading]:
    """Return a date with its month at each of these places: the contexts may have it as a word."""
    return [(*date[:place], date[place]._replace(kind="month"), *date[place + 1 :]) for place in places]


def read_clock(text: str, start: int) -> Number | None:
    """Read 15:30, 3:30 pm, 3 pm and 下午3点半."""
    match = _CLOCK.match(text, start) or _HOUR.match(text, start)
    if match:
        half = match["half"][0].lower() if match["half"] else ""
    else:
        match = _HAN_HOUR.match(text, start)
        before = _HAN_HALF_OF_DAY.search(text, max(0, start - 4), start)
        half = half_of_day(before) if before else ""
        # 3点 may be three points; 点 after a decimal is the point itself.
        if not match or not (before or match["minute"] or match["thirty"]):
            return None
    groups = match.groupdict()
    hour = int(groups["hour"])
    minute = 30 if groups.get("thirty") else int(groups.get("minute") or 0)
    if hour > HOURS or minute >= MINUTES:
        return None
    readings = clock_readings(hour, minute, half)
    number = Number(start, match.end(), f"{hour}:{minute:02}", readings)
    if not half:
        return number
    # "3 a.m." lets "at 3" be known, and not "3 people" or "3 p.m.".
    return number._replace(gives=(*readings[0], Value(str(hour), "hour"), plain_value(minute)))


def read_fraction(text: str, start: int) -> Number | None:
    """Read 3 1/2 and 1/2, also with the sign of ½, and a scale behind it."""
    number = _mixed_fraction(text, start) or _plain_fraction(text, start)
    if not number:
        return None
    scale = SCALE_WORD.match(text, number.end)
    digits = number.likeliest_value.digits
    if not scale or "/" in digits:
        return number
    value = scaled_value(digits, EN["scales"][scale[1].lower()])
    return number._replace(end=scale.end(), readings=((value,),), gives=())


def _mixed_fraction(text: str, start: int) -> Number | None:
    match = _MIXED_FRACTION.match(text, start)
    if not match or not 0 < int(match[2]) < int(match[3]):
        return None
    whole, numerator, denominator = map(int, match.groups())
    value = fraction_value(whole * denominator + numerator, denominator)
    parts = tuple(plain_value(part) for part in match.groups())
    readings: tuple[Reading, ...] = (
        (value,),
        (plain_value(whole), fraction_value(numerator, denominator)),
        parts,
    )
    written = f"{whole} {numerator}/{denominator}"
    return Number(start, match.end(), written, readings, gives=(value,))


def _plain_fraction(text: str, start: int) -> Number | None:
    match = _FRACTION.match(text, start)
    if not match or not int(match[3]):
        return None
    numerator = int(match[1])
    denominator = int(match[3])
    written = f"{numerator}/{denominator}"
    readings = part_readings(numerator, denominator)
    if match[2] == "/":
        # 24/7, 50/50 and 9/11 are no quotients.
        readings += ((plain_value(match[1]), plain_value(match[3])),)
    return Number(start, match.end(), written, readings, name=written)


def read_grouped(text: str, start: int) -> Number | None:
    """Read digits in groups of thousands, and a decimal comma."""
    if match := _SPACED.match(text, start):
        groups = _SPACE_IN_NUMBER.split(match[0].replace(",", "."))
        compact = "".join(groups)
        parts = tuple(map(plain_value, groups))
        # "10 000" is one number if the contexts have it, else two, as in "on May 12 300 came".
        return Number(start, match.end(), strip_zeros(compact), ((plain_value(compact),), parts))
    for pattern, separators in ((_INDIAN_GROUPS, ","), (_DOT_GROUPS, "."), (_QUOTE_GROUPS, "'’")):
        if match := pattern.match(text, start):
            compact = re.sub(f"[{separators}]", "", match[0]).replace(",", ".")
            return Number(start, match.end(), strip_zeros(compact), ((plain_value(compact),),))
    if match := _COMMA_GROUPS.match(text, start):
        written = strip_zeros(match[0])
        return Number(start, match.end(), written, ((plain_value(written),),))
    if match := _DECIMAL_COMMA.match(text, start):
        decimal = match[0].replace(",", ".")
        parts = tuple(plain_value(part) for part in match[0].split(","))
        return Number(start, match.end(), strip_zeros(decimal), ((plain_value(decimal),), parts))
    return None


def read_plain(text: str, start: int, run_end: int) -> Number:
    """Read digits with decimals, or several of them: 1.2.3. The first run of digits ends at `run_end`."""
    match = PLAIN.match(text, start)
    end = match.end() if match else run_end
    written = strip_zeros(text[start:end])
    readings: tuple[Reading, ...] = ((plain_value(written),),)
    if _DOT_GROUP.fullmatch(text, start, end):
        readings += ((plain_value(text[start:end].replace(".", "")),),)
    return Number(start, end, written, readings)


def begins_with_point(text: str, start: int) -> bool:
    """Return whether the digits at `start` are decimals with no whole before their point: .75."""
    before_point = text[max(0, start - 2) : start - 1]
    return text[start - 1 : start] == "." and not before_point.strip(" (-$€£¥~<>=")
