"""Read numbers in Chinese words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from localeval.numbers.values import (
    HOURS,
    MINUTES,
    ZH,
    Number,
    Reading,
    Value,
    canonical,
    clock_readings,
    part_readings,
    plain_value,
    scaled_value,
)

_HAN_DIGITS: dict[str, int] = ZH["digits"]
_HAN_UNITS: dict[str, int] = ZH["units"]
_HAN_SCALE_SIGNS: dict[str, int] = ZH["scales"]
_HAN_SIGNS = "".join([*_HAN_DIGITS, *ZH["tens"], *_HAN_UNITS, *_HAN_SCALE_SIGNS])
_FORMAL_SIGNS = "".join(ZH["formal"])
HAN_SIGNS = frozenset(_HAN_SIGNS + _FORMAL_SIGNS)
_HAN_RUN = re.compile(rf"[{_HAN_SIGNS}\u25cb]{{1,24}}|[{_FORMAL_SIGNS}零万亿]{{2,24}}")
_FORMAL_UNITS = re.compile("[拾佰仟]|[壹贰叁肆伍陆柒捌玖][万亿]")
_TO_PLAIN_HAN = str.maketrans(ZH["formal"] | ZH["tens"] | {"\u25cb": "〇"})
_PART_OF = re.compile(rf"(?P<of>[{_HAN_SIGNS}]{{1,6}})分之(?P<part>[{_HAN_SIGNS}]{{1,9}}|[0-9]{{1,6}})")
_HAN_POINT = re.compile(r"点(?=[〇零一二三四五六七八九])([〇零一二三四五六七八九]{1,9})(?![分半])")
HALF_OF_DAY = rf"(?:(?P<am>{'|'.join(ZH['before_noon'])})|(?P<pm>{'|'.join(ZH['after_noon'])}))"
_TIME_OF_DAY = re.compile(
    rf"{HALF_OF_DAY}?(?P<hour>[一二两三四五六七八九十]{{1,3}})[点时](?![{ZH['no_hour']}])"
    r"(?:(?P<thirty>半)|(?P<minute>[一二三四五六七八九十]{1,3})分)?"
)
_DECIMALS = re.compile(r"\.[0-9]{1,9}")
_SCALE_AFTER_POINT = re.compile("[百千]?[万亿]{1,2}")
_IDIOMS = re.compile("|".join(sorted(ZH["idioms"].split(), key=lambda w: (-len(w), w))))
_BEFORE_IDIOM = re.compile(rf"(?:{'|'.join(ZH['idioms_before'].split())})\Z")
_MEASURES = frozenset(ZH["measures"])
_CIRCLE = "\u25cb"  # a zero within a number; alone it is a bullet
# "第一" may be said of anything; before these it counts.
_COUNTED_BY_ORDINAL = ("季", "世纪")
_VAGUE_ORDINALS = ("一", "二", "三")
_MAX_IDIOM = len("十五")  # signs of a number that may be part of an idiom
_HAN_HALF = re.compile(r"个半(?!数|天候)|(?:小时|年|天|个?月)半(?!数|径|岛|导|场|决赛|年)")
_LONE_HALF = re.compile(
    r"(?<![\u4e00-\u9fff0-9])半(?=小时|年|天|个|数|价)|过半|一半|半(?=小时|年(?!级)|天|个月)"
)


def han_exponent(signs: str) -> int:
    """Return the power of ten of Han scales: 4 for 万, 7 for 千万."""
    return sum(ZH["units"].get(sign, 0) + ZH["scales"].get(sign, 0) for sign in signs)


def han_numbers(text: str) -> list[Number]:
    """Return the numbers in Chinese words, in order.

    >>> [n.written for n in han_numbers("一百二十五人，二○二一年，百分之七十，一个半小时，两百五，廿五")]
    ['125', '2021', '70', '1.5', '250', '25']
    """
    if text.isascii():
        return []
    numbers = _han_parts(text) + _han_times(text)
    for match in _outside(_HAN_RUN.finditer(text), numbers):
        number = _read_run(match, text)
        if number:
            numbers.append(number)
    for match in _outside(_LONE_HALF.finditer(text), numbers):
        numbers.append(Number(*match.span(), "0.5", part_readings(1, 2), in_words=True, claims=False))
    numbers.sort(key=lambda number: (number.start, number.end))
    return numbers


def _outside(matches: Iterable[re.Match[str]], numbers: Sequence[Number]) -> list[re.Match[str]]:
    """Return the matches that share no character with one of the numbers."""
    taken = sorted((number.start, number.end) for number in numbers)
    outside = []
    for match in matches:
        place = bisect_left(taken, (match.end(), 0))
        if place == 0 or taken[place - 1][1] <= match.start():
            outside.append(match)
    return outside


def _han_parts(text: str) -> list[Number]:
    """Return parts of a hundred (percent), and of other numbers: 百分之七十, 三分之一."""
    numbers = []
    for match in _PART_OF.finditer(text):
        part = match["part"].translate(_TO_PLAIN_HAN)
        is_in_digits = part.isdigit() and part.isascii()
        amount = part if is_in_digits else _han_value(part)
        if match["of"] in ("百", "一百"):
            numbers.append(_percentage(match, amount, text))
            continue
        whole = _han_value(match["of"].translate(_TO_PLAIN_HAN))
        if int(whole) and int(amount):
            readings = part_readings(int(amount), int(whole))
            numbers.append(Number(*match.span(), amount, readings, in_words=True))
    return numbers


def _percentage(match: re.Match[str], amount: str, text: str) -> Number:
    """Return the number of 百分之七十, and of 百分之三点五."""
    end = match.end()
    point = _HAN_POINT.match(text, end)
    decimals = _DECIMALS.match(text, end)
    if point:
        amount += "." + _han_digits(point[1])
        end = point.end()
    elif decimals:
        amount += decimals[0]
        end = decimals.end()
    value = plain_value(amount)
    readings = ((value,), (value._replace(kind="percent"),))
    return Number(match.start(), end, amount, readings, in_words=True)


def _han_times(text: str) -> list[Number]:
    """Return times of the day: 下午三点半, 十五点三十分."""
    numbers = []
    for match in _TIME_OF_DAY.finditer(text):
        half = half_of_day(match)
        if not (half or match["thirty"] or match["minute"]):
            continue
        hour = int(_han_value(match["hour"]))
        minute = 30 if match["thirty"] else int(_han_value(match["minute"] or "零"))
        if hour <= HOURS and minute < MINUTES:
            readings = clock_readings(hour, minute, half)
            written = f"{hour}:{minute:02}"
            numbers.append(Number(match.start("hour"), match.end(), written, readings, in_words=True))
    return numbers


def half_of_day(match: re.Match[str]) -> str:
    """Return "a" or "p" for a match of `HALF_OF_DAY`, "" where it is left out."""
    if match["am"]:
        return "a"
    return "p" if match["pm"] else ""


def _read_run(match: re.Match[str], text: str) -> Number | None:
    """Read one run of Chinese number signs."""
    if not _is_number(match, text):
        return None
    run = match[0]
    number = _with_noun(_amount_of_run(match, text), run, text)
    claims = "." in number.written or _claims_han(run, *match.span(), text)
    return number._replace(claims=claims)


def _is_number(match: re.Match[str], text: str) -> bool:
    """Return whether a run of number signs is a number by itself."""
    run = match[0]
    if run[0] in _FORMAL_SIGNS and not _FORMAL_UNITS.search(run):
        return False  # 大陆, 伍先生
    if not run.strip(_CIRCLE):
        return False
    before = text[match.start() - 1 : match.start()]
    return not (before.isascii() and before.isdigit())  # the scale of digits: 5万


def _amount_of_run(match: re.Match[str], text: str) -> Number:
    """Return the number of a run of signs, with decimals or a half behind it."""
    plain = match[0].translate(_TO_PLAIN_HAN)
    start, end = match.span()
    digits = _han_value(plain)
    readings: tuple[Reading, ...]
    point = _HAN_POINT.match(text, end)
    half = _HAN_HALF.match(text, end)
    if point:
        digits = canonical(f"{digits}.{_han_digits(point[1])}")
        end = point.end()
        readings = ((Value(digits),),)
        scale = _SCALE_AFTER_POINT.match(text, end)
        if scale:
            end = scale.end()
            readings = ((scaled_value(digits, han_exponent(scale[0])),),)
    elif half:
        digits += ".5"
        end = half.end()
        readings = ((Value(digits),),)
    else:
        readings = ((Value(digits),), *_either_of_two(plain))
    return Number(start, end, digits, readings, in_words=True)


def _either_of_two(plain: str) -> tuple[Reading, ...]:
    """Return both readings of 七八人, which are seven or eight; none of other numbers."""
    begins_with_two_digits = sum(sign in _HAN_DIGITS for sign in plain[:2]) == 2
    if len(plain) > len("三四十") or not begins_with_two_digits:
        return ()
    exponent = han_exponent(plain[2:])
    return tuple((scaled_value(str(_HAN_DIGITS[sign]), exponent),) for sign in plain[:2])


def _with_noun(number: Number, run: str, text: str) -> Number:
    """Add the readings that a noun behind the number gives it: a decade, a century, a month, tenths."""
    digits = number.written
    readings = number.readings
    if text.startswith("年代", number.end):
        readings = ((Value(digits + "s", "short decade"),), *readings)
    elif text.startswith("世纪", number.end):
        readings += ((Value(digits, "century"),),)
    elif text.startswith("月", number.end):
        readings += ((Value(digits, "month"),),)
    elif text.startswith("成", number.end) and len(run) == 1:
        readings += ((plain_value(10 * int(digits)),),)
    return number._replace(readings=readings)


def _claims_han(run: str, start: int, end: int, text: str) -> bool:
    """Return whether a run of number signs counts something, and is in no idiom such as 十分 or 三明治."""
    before = text[max(0, start - 3) : start]
    is_ordinal = before.endswith("第")
    if not is_ordinal and (_IDIOMS.match(text, start) or _BEFORE_IDIOM.search(before)):
        return len(run) > _MAX_IDIOM and not _IDIOMS.fullmatch(run)
    if is_ordinal and run in _VAGUE_ORDINALS:
        return text.startswith(_COUNTED_BY_ORDINAL, end)
    if len(run) > 1:
        return _has_digit(run) or run[0] in _FORMAL_SIGNS
    if run == "两" and not is_ordinal:
        return False
    return run in _HAN_DIGITS and (is_ordinal or text[end : end + 1] in _MEASURES)


def _has_digit(run: str) -> bool:
    """Return whether a run has more than scales: 万千 and 亿万 are no numbers."""
    return any(sign in _HAN_DIGITS or sign in ZH["tens"] or sign in ("十", _CIRCLE) for sign in run)


def _han_value(characters: str) -> str:
    """Convert a number in Han characters to digits.

    >>> _han_value("二〇二一"), _han_value("一百二十五"), _han_value("十三万"), _han_value("两亿三千万")
    ('2021', '125', '130000', '230000000')
    >>> _han_value("一万二千五"), _han_value("两百五"), _han_value("两百零五")
    ('12500', '250', '205')
    """
    if not set(characters) & (_HAN_UNITS.keys() | _HAN_SCALE_SIGNS.keys()):
        return _han_digits(characters).lstrip("0") or "0"
    total = 0
    part = 0  # below the next scale
    digit = 0
    # The power of ten of a last digit behind a unit: in 两百五 it counts tens.
    next_exponent = 0
    for character in characters:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
            if digit == 0:
                next_exponent = 0
        elif character in _HAN_SCALE_SIGNS:
            exponent = _HAN_SCALE_SIGNS[character]
            section = total % 10**exponent
            higher = total - section
            total = higher + (section + part + digit) * 10**exponent
            part = 0
            digit = 0
            next_exponent = exponent - 1
        else:
            exponent = _HAN_UNITS[character]
            part += (digit or 1) * 10**exponent
            digit = 0
            next_exponent = exponent - 1
    return str(total + part + digit * 10**next_exponent)


def _han_digits(characters: str) -> str:
    return "".join(str(_HAN_DIGITS[character]) for character in characters)
