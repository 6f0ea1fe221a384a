"""Read numbers in Chinese words."""

from __future__ import annotations

import re
from bisect import bisect_left

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
_TIME_OF_DAY = re.compile(
    r"(?:(?P<am>凌晨|早上|早晨|清晨|上午)|(?P<pm>下午|傍晚|晚上|晚间|夜里|晚))?"
    r"(?P<hour>[一二两三四五六七八九十]{1,3})[点时](?!候|间|代|期)"
    r"(?:(?P<thirty>半)|(?P<minute>[一二三四五六七八九十]{1,3})分)?"
)
_IDIOMS = re.compile("|".join(sorted(ZH["idioms"].split(), key=lambda w: (-len(w), w))))
_BEFORE_IDIOM = re.compile(rf"(?:{'|'.join(ZH['idioms_before'].split())})\Z")
_MEASURES = frozenset(ZH["measures"])
_HAN_HALF = re.compile(r"个半(?!数|天候)|(?:小时|年|天|个?月)半(?!数|径|岛|导|场|决赛|年)")
_LONE_HALF = re.compile(
    r"(?<![\u4e00-\u9fff0-9])半(?=小时|年|天|个|数|价)|过半|一半|半(?=小时|年(?!级)|天|个月)"
)


def han_exponent(signs: str) -> int:
    """Return the power of ten of Han scales: 4 for 万, 7 for 千万."""
    return sum(ZH["units"].get(sign, 0) + ZH["scales"].get(sign, 0) for sign in signs)


def han_numbers(text: str) -> list[Number]:
    """Return the numbers in Chinese words.

    >>> [n.written for n in han_numbers("一百二十五人，二○二一年，百分之七十，一个半小时，两百五，廿五")]
    ['125', '2021', '70', '1.5', '250', '25']
    """
    if text.isascii():
        return []
    numbers = _han_parts(text)
    numbers += _han_times(text)
    taken = sorted((number.start, number.end) for number in numbers)
    for match in _HAN_RUN.finditer(text):
        place = bisect_left(taken, (match.end(), 0))
        if place and taken[place - 1][1] > match.start():
            continue
        number = _read_han(match, text)
        if number:
            numbers.append(number)
    taken = sorted((number.start, number.end) for number in numbers)
    for match in _LONE_HALF.finditer(text):
        place = bisect_left(taken, (match.end(), 0))
        if place and taken[place - 1][1] > match.start():
            continue
        half = part_readings(1, 2)
        numbers.append(Number(*match.span(), "0.5", half, in_words=True, claims=False))
    numbers.sort(key=lambda number: (number.start, number.end))
    return numbers


def _han_parts(text: str) -> list[Number]:
    """Return parts of a hundred (percent), and of other numbers: 百分之七十, 三分之一."""
    numbers = []
    for match in _PART_OF.finditer(text):
        part = match["part"].translate(_TO_PLAIN_HAN)
        whole = _han_value(match["of"].translate(_TO_PLAIN_HAN))
        amount = part if part.isdigit() and part.isascii() else _han_value(part)
        end = match.end()
        if match["of"] in ("百", "一百"):
            point = _HAN_POINT.match(text, end)
            if point:
                amount += "." + _han_digits(point[1])
                end = point.end()
            elif decimals := re.compile(r"\.[0-9]{1,9}").match(text, end):
                amount += decimals[0]
                end = decimals.end()
            value = plain_value(amount)
            readings: tuple[Reading, ...] = ((value,), (value._replace(kind="percent"),))
        elif int(whole) and int(amount):
            readings = part_readings(int(amount), int(whole))
        else:
            continue
        numbers.append(Number(match.start(), end, amount, readings, in_words=True))
    return numbers


def _han_times(text: str) -> list[Number]:
    """Return times of the day: 下午三点半, 十五点三十分."""
    numbers = []
    for match in _TIME_OF_DAY.finditer(text):
        half = "a" if match["am"] else "p" if match["pm"] else ""
        if not (half or match["thirty"] or match["minute"]):
            continue
        hour = int(_han_value(match["hour"]))
        minute = 30 if match["thirty"] else int(_han_value(match["minute"] or "零"))
        if hour <= HOURS and minute < MINUTES:
            readings = clock_readings(hour, minute, half)
            written = f"{hour}:{minute:02}"
            numbers.append(Number(match.start("hour"), match.end(), written, readings, in_words=True))
    return numbers


def _read_han(match: re.Match[str], text: str) -> Number | None:
    """Read one run of Chinese number signs."""
    run = match[0]
    start, end = match.span()
    if run[0] in _FORMAL_SIGNS and not _FORMAL_UNITS.search(run):
        return None  # 大陆, 伍先生
    if run.strip("\u25cb") == "":
        return None  # a bullet
    if text[start - 1 : start].isascii() and text[start - 1 : start].isdigit():
        return None  # the scale of digits: 5万
    plain = run.translate(_TO_PLAIN_HAN)
    digits = _han_value(plain)
    readings: tuple[Reading, ...] = ((Value(digits),),)
    if point := _HAN_POINT.match(text, end):
        digits = canonical(f"{digits}.{_han_digits(point[1])}")
        end = point.end()
        scale = re.compile("[百千]?[万亿]{1,2}").match(text, end)
        readings = ((Value(digits),),)
        if scale:
            end = scale.end()
            readings = ((scaled_value(digits, han_exponent(scale[0])),),)
    elif half := _HAN_HALF.match(text, end):
        digits += ".5"
        end = half.end()
        readings = ((Value(digits),),)
    elif len(plain) <= len("三四十") and sum(sign in _HAN_DIGITS for sign in plain[:2]) == len("三四"):
        # 七八人 are seven or eight.
        unit = han_exponent(plain[2:])
        readings += tuple((scaled_value(str(_HAN_DIGITS[sign]), unit),) for sign in plain[:2])
    if text.startswith("年代", end):
        readings = ((Value(digits + "s", "short decade"),), *readings)
    elif text.startswith("世纪", end):
        readings += ((Value(digits, "century"),),)
    elif text.startswith("月", end):
        readings += ((Value(digits, "month"),),)
    elif text.startswith("成", end) and len(run) == 1:
        readings += ((plain_value(10 * int(digits)),),)
    claims = "." in digits or _claims_han(run, start, end, text)
    return Number(start, end, digits, readings, in_words=True, claims=claims)


def _claims_han(run: str, start: int, end: int, text: str) -> bool:
    """Return whether a run of number signs counts something, and is in no idiom such as 十分 or 三明治."""
    before = text[max(0, start - 3) : start]
    ordinal = before.endswith("第")
    if not ordinal and (_IDIOMS.match(text, start) or _BEFORE_IDIOM.search(before)):
        return len(run) > len("十五") and not _IDIOMS.fullmatch(run)
    if ordinal and run in ("一", "二", "三"):
        return text.startswith(("季", "世纪"), end)
    if len(run) > 1:
        # 万千 and 亿万 are no numbers.
        return (
            any(sign in _HAN_DIGITS or sign in ZH["tens"] or sign in "十○" for sign in run)
            or run[0] in _FORMAL_SIGNS
        )
    if run == "两" and not ordinal:
        return False
    return run in _HAN_DIGITS and (ordinal or text[end : end + 1] in _MEASURES)


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
    part = 0
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
