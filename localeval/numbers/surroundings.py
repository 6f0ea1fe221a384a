"""Read what stands around the digits of a number: a scale, a power, a century, a range, a name.

Each function returns the number as what it looks at makes it, or the number itself.
"""

from __future__ import annotations

import re
from decimal import Decimal

from localeval.numbers.chinese import han_exponent
from localeval.numbers.digit_forms import PLAIN, SCALE_WORD
from localeval.numbers.values import (
    EN,
    EXACT,
    MAX_DIGITS,
    MAX_EXPONENT,
    ZH,
    Number,
    Reading,
    Value,
    canonical,
    is_decimal,
    plain_value,
    scaled_value,
)

_E_NOTATION = re.compile(r"[eE]([+-]?[0-9]{1,2})(?![0-9A-Za-z])")
_POWER_OF_TEN = re.compile(r"\s?[×xX*·⋅]\s?10(?:(?:\^|\*\*)\s?([-−]?[0-9]{1,2})|(⁻?[⁰¹²³⁴-⁹]{1,2}))(?![0-9])")
_BARE_POWER = re.compile(r"10(?:\^([-−]?[0-9]{1,2})|(⁻?[⁰¹²³⁴-⁹]{1,2}))(?![0-9])")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_ABBREVIATION = re.compile(r"\s?([A-Za-z]{1,3})(?![A-Za-z0-9])")
_CURRENCY_SIGNS = "$€£¥₹"
_CURRENCY_CODES = "|".join(EN["currency_codes"])
_CURRENCY_BEFORE = re.compile(rf"(?:[{_CURRENCY_SIGNS}]|\b(?:{_CURRENCY_CODES}|Rs\.?))\s?\Z", re.I)
_CURRENCY_AFTER = re.compile(rf"\s?(?:[{_CURRENCY_SIGNS}]|(?:{'|'.join(EN['currencies'])})\b)", re.I)
_HAN_SCALES = re.compile(rf"[百千]?[万亿]{{1,2}}|[百千](?![{ZH['metric']}])")
_HAN_REST = re.compile(rf"([0-9]{{1,4}}(?:\.[0-9]{{1,4}})?)([百千]?[万亿]|[百千](?![{ZH['metric']}]))")
_HAN_LAST = re.compile(r"([1-9])(?![0-9.%:年月日号点时分个])")
_HALF_AFTER = re.compile(r"个半(?!数|天候)|(?:小时|年|天|个?月)半(?!径|岛|场)")
_DECADE = re.compile(r"['’]?s\b|年代")
_CENTURY = re.compile(r"(?:(?:st|nd|rd|th)[\s-]centur|\s?世纪)", re.I)
_HOUR_BEFORE = re.compile(rf"\b(?:{'|'.join(EN['before_hour'])})\s\Z", re.I)
_PERCENT = re.compile(r"\s?(?:%|percent\b|per\s?cent\b|pct\b)", re.I)
_RANGE_DASH = "-\u2013\u2010/"
_RANGE_BETWEEN = re.compile(rf"\s?(?:[-\u2013\u2014~～至到或、]|to|and|or)\s?[{_CURRENCY_SIGNS}]?\s?\Z", re.I)
_MAX_BETWEEN = len(" and $ ")  # characters between the numbers of a range
_ROUND_YEAR = re.compile("[1-9][0-9]{2}0|[1-9]0")
_LETTERS_BEFORE = re.compile(r"[A-Za-z]{1,20}[-\u2010]?\Z")
_LETTERS_AFTER = re.compile(r"[A-Za-z]{1,12}")
_POWER_UNITS = ("m", "cm", "mm", "km", "ft", "in", "yd", "s")
_MAX_NAME = 21  # letters before digits, with a dash
_YEAR_DIGITS = len("1990")


def with_surroundings(number: Number, text: str, before: int, previous: Number | None) -> Number:
    """Return a number in digits as what stands around it makes it.

    before    where its point or first digit stands
    previous  the number before it
    """
    number = _with_power(number, text)
    number = _with_scale(number, text, before)
    number = _with_noun(number, text)
    likeliest = number.likeliest_value
    if _HOUR_BEFORE.search(text, max(0, before - 8), before):
        number = _with_reading(number, likeliest._replace(kind="hour"))
    if _PERCENT.match(text, number.end):
        number = _with_reading(number, likeliest._replace(kind="percent"))
    number = _with_range(number, text, previous)
    return _with_name(number, text, before)


def _with_reading(number: Number, value: Value) -> Number:
    return number._replace(readings=(*number.readings, (value,)))


def _with_power(number: Number, text: str) -> Number:
    """Apply a power of ten: 10^6, 1.5e6, 2.5×10⁶."""
    mantissa = number.likeliest_value.digits
    if mantissa == "10" and (bare := _BARE_POWER.match(text, number.start)):
        mantissa = "1"
        exponent = bare[1] or bare[2]
        end = bare.end()
    elif match := _E_NOTATION.match(text, number.end):
        exponent = match[1]
        end = match.end()
    elif match := _POWER_OF_TEN.match(text, number.end):
        exponent = match[1] or match[2]
        end = match.end()
    else:
        return number
    power = int(exponent.translate(_SUPERSCRIPTS))
    if abs(power) > MAX_EXPONENT:
        return number
    return number._replace(end=end, readings=((scaled_value(mantissa, power),),))


def _with_scale(number: Number, text: str, before: int) -> Number:
    """Apply a scale word, an abbreviation or Han scales after the digits: 5 million, 5K, 1万2千, 3万5."""
    scale_word = SCALE_WORD.match(text, number.end)
    if scale_word:
        exponent = EN["scales"][scale_word[1].lower()]
        return _scaled(number, text, exponent, scale_word.end())
    abbreviation = _ABBREVIATION.match(text, number.end)
    if abbreviation:
        return _with_abbreviation(number, text, before, abbreviation)
    han_scale = _HAN_SCALES.match(text, number.end)
    if han_scale:
        return _with_han_scale(number, text, han_scale)
    half = _HALF_AFTER.match(text, number.end)
    if half:
        return _with_half(number, half.end())
    return number


def _with_half(number: Number, end: int) -> Number:
    """Add a half to a whole number: 3个半, 2年半. `end` is the end of the word for the half."""
    whole = number.likeliest_value.digits
    if not whole.isdigit() or len(whole) > MAX_DIGITS:
        return number
    value = plain_value(whole + ".5")
    return number._replace(end=end, readings=((value,),))


def _with_abbreviation(number: Number, text: str, before: int, short: re.Match[str]) -> Number:
    """Apply "K", "bn" and the like. A letter that is also a unit means the scale for certain beside money."""
    exponent = EN["abbreviations"].get(short[1])
    if not exponent:
        return number
    is_money = _CURRENCY_BEFORE.search(text, max(0, before - 5), before) or _CURRENCY_AFTER.match(
        text, short.end()
    )
    scaled = _scaled(number, text, exponent, short.end())
    if is_money or short[1] in EN["certain"]:
        return scaled
    is_joined = short[0] == short[1]
    if is_joined:
        return scaled._replace(readings=scaled.readings + number.readings)
    return number


def _scaled(number: Number, text: str, exponent: int, end: int) -> Number:
    likeliest = number.likeliest_value
    written = number.written + text[number.end : end]
    return number._replace(end=end, written=written, readings=((scaled_value(likeliest.digits, exponent),),))


def _with_han_scale(number: Number, text: str, scales: re.Match[str]) -> Number:
    """Add up digits and Han scales: 2万3千, 3万5."""
    exponent = han_exponent(scales[0])
    first = scaled_value(number.likeliest_value.digits, exponent).digits
    if not is_decimal(first):
        return number
    amount = Decimal(first)
    end = scales.end()
    while rest := _HAN_REST.match(text, end):
        exponent = han_exponent(rest[2])
        amount = EXACT.add(amount, Decimal(scaled_value(rest[1], exponent).digits))
        end = rest.end()
    # 3万5 is 35,000: the last digit counts in the next lower unit.
    if last := _HAN_LAST.match(text, end):
        amount = EXACT.add(amount, Decimal(scaled_value(last[1], exponent - 1).digits))
        end = last.end()
    written = number.written + text[number.end : end]
    return number._replace(end=end, written=written, readings=((Value(canonical(f"{amount:f}")),),))


def _with_noun(number: Number, text: str) -> Number:
    """Read decades, centuries and months: 1990s, '90s, 80年代, 18th century, 5月."""
    digits = number.likeliest_value.digits
    decade = _DECADE.match(text, number.end)
    if decade and _ROUND_YEAR.fullmatch(digits):
        return number._replace(end=decade.end(), readings=_decade_readings(digits, number.readings))
    if _CENTURY.match(text, number.end):
        return _with_reading(number, Value(digits, "century"))
    if text.startswith("月", number.end):
        return _with_reading(number, Value(digits, "month"))
    return number


def _decade_readings(digits: str, readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    if len(digits) == _YEAR_DIGITS:
        decade = Value(digits + "s", "decade")
        short = Value(digits[2:] + "s", "short decade")
        return ((decade,), *readings, (short,))
    return ((Value(digits + "s", "short decade"),), *readings)


def _with_range(number: Number, text: str, previous: Number | None) -> Number:
    """Complete the second year of 1990-92."""
    if not previous or previous.end != number.start - 1 or text[number.start - 1] not in _RANGE_DASH:
        return number
    first = previous.written
    second = text[number.start : number.end]
    are_years = len(first) == _YEAR_DIGITS and len(second) == 2 and first.isdigit() and second.isdigit()
    if not are_years or second <= first[2:]:
        return number
    return number._replace(readings=((plain_value(first[:2] + second),), *number.readings))


def _with_name(number: Number, text: str, before: int) -> Number:
    """Note the word that digits are a part of: COVID-19, H2O, GPT-4."""
    letters = _LETTERS_BEFORE.search(text, max(0, before - _MAX_NAME), before)
    joined = letters[0] if letters else ""
    word = joined.rstrip("-\u2010")
    if word in _POWER_UNITS and number.written in ("2", "3"):
        return number._replace(claims=False)  # cm3 and cm-3
    is_joined_by_dash = word != joined
    if is_joined_by_dash and not any(map(str.isupper, word)):
        return number
    if word.upper() in (*EN["currency_codes"], "RS"):
        return number
    after = _LETTERS_AFTER.match(text, number.end)
    ending = after[0] if after else ""
    if not word and not ending:
        return number
    return number._replace(name=(word + number.written + ending).lower())


def with_scale_of_next(previous: Number, number: Number, text: str) -> Number:
    """Return the number before `number` with the scale of this one as well: "3 to 5 million"."""
    between = text[previous.end : number.start]
    if len(number.readings[0]) != 1 or len(previous.readings[0]) != 1:
        return previous
    if len(between) > _MAX_BETWEEN or not _RANGE_BETWEEN.fullmatch(between):
        return previous
    mantissa = PLAIN.match(number.written)
    scaled = number.likeliest_value.digits
    if not mantissa or not is_decimal(mantissa[0]) or not is_decimal(scaled):
        return previous
    unscaled = scaled_value(mantissa[0], 0).digits
    if scaled == unscaled:
        return previous
    exponent = Decimal(scaled).adjusted() - Decimal(unscaled).adjusted()
    value = previous.likeliest_value
    if exponent < 2 or value.kind or not is_decimal(value.digits):
        return previous
    return _with_reading(previous, scaled_value(value.digits, exponent))
