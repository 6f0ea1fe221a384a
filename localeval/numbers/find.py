"""Find the numbers of a text, in digits or in English or Chinese words, and what each may mean.

A number has one reading or more ("3,50" is 3.5, or 3 and 50), and a reading has one value or more (a date).
A text knows a number if it has all values of one of its readings.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from decimal import Decimal
from functools import lru_cache

from localeval.numbers.chinese import (
    HAN_SIGNS,
    han_exponent,
    han_numbers,
)
from localeval.numbers.english import (
    ENGLISH_WORDS,
    IN_PHRASES,
    WORD,
    english_numbers,
    roman_numbers,
)
from localeval.numbers.values import (
    CENTURY_YEARS,
    EN,
    EXACT,
    HOURS,
    MAX_DIGITS,
    MAX_EXPONENT,
    MINUTES,
    ZH,
    Number,
    Reading,
    Value,
    canonical,
    clock_readings,
    fraction_value,
    is_decimal,
    negated,
    part_readings,
    plain_value,
    scaled_value,
    strip_zeros,
)
from localeval.text.normalise import normalise

_DIGITS = re.compile("[0-9]+")
_YEAR_FIRST = re.compile(r"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}(?![0-9])")
_YEAR_LAST = re.compile(r"[0-9]{1,2}([-/.])[0-9]{1,2}\1[0-9]{4}(?![0-9])")
_SHORT_YEAR_LAST = re.compile(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}(?![0-9/])")
_HALF_OF_DAY = r"(?P<half>[ap]\.?m\b\.?)"
_CLOCK = re.compile(
    rf"(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::[0-9]{{2}})?(?![0-9:])(?:\s?{_HALF_OF_DAY})?", re.I
)
_HOUR = re.compile(rf"(?P<hour>[0-9]{{1,2}})\s?{_HALF_OF_DAY}", re.I)
_HAN_HOUR = re.compile(r"(?P<hour>[0-9]{1,2})(?:点|时)(?:(?P<minute>[0-9]{1,2})分?|(?P<thirty>半))?(?![0-9])")
_HAN_HALF_OF_DAY = re.compile(r"(?:(?P<am>凌晨|早上|早晨|清晨|上午)|(?P<pm>下午|傍晚|晚上|晚间|夜里|晚))\Z")
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
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_E_NOTATION = re.compile(r"[eE]([+-]?[0-9]{1,2})(?![0-9A-Za-z])")
_POWER_OF_TEN = re.compile(r"\s?[×xX*·⋅]\s?10(?:(?:\^|\*\*)\s?([-−]?[0-9]{1,2})|(⁻?[⁰¹²³⁴-⁹]{1,2}))(?![0-9])")
_BARE_POWER = re.compile(r"10(?:\^([-−]?[0-9]{1,2})|(⁻?[⁰¹²³⁴-⁹]{1,2}))(?![0-9])")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")
_SCALE_WORD = re.compile(rf"[\s-]?({'|'.join(EN['scales'])})\b", re.I | re.A)
_ABBREVIATION = re.compile(r"\s?([A-Za-z]{1,3})(?![A-Za-z0-9])")
_CURRENCY_BEFORE = re.compile(r"(?:[$€£¥₹]|\b(?:USD|EUR|GBP|CNY|RMB|CHF|INR|JPY|Rs\.?))\s?\Z", re.I)
_CURRENCY_AFTER = re.compile(rf"\s?(?:[$€£¥₹]|(?:{'|'.join(EN['currencies'])})\b)", re.I)
_HAN_SCALES = re.compile(rf"[百千]?[万亿]{{1,2}}|[百千](?![{ZH['metric']}])")
_HAN_REST = re.compile(rf"([0-9]{{1,4}}(?:\.[0-9]{{1,4}})?)([百千]?[万亿]|[百千](?![{ZH['metric']}]))")
_HAN_LAST = re.compile(r"([1-9])(?![0-9.%:年月日号点时分个])")
_HALF_AFTER = re.compile(r"个半(?!数|天候)|(?:小时|年|天|个?月)半(?!径|岛|场)")
_DECADE = re.compile(r"['’]?s\b")
_HAN_DECADE = re.compile(r"年代")
_CENTURY = re.compile(r"(?:(?:st|nd|rd|th)[\s-]centur|\s?世纪)", re.I)
_TIME_BEFORE = re.compile(r"\b(?:at|by|from|until|till|since|before|after|around|to)\s\Z", re.I)
_PERCENT = re.compile(r"\s?(?:%|percent\b|per\s?cent\b|pct\b)", re.I)
_RANGE_DASH = "-\u2013\u2010/"
_RANGE_BETWEEN = re.compile(r"\s?(?:[-\u2013\u2014~～至到或、]|to|and|or)\s?[$€£¥₹]?\s?\Z", re.I)
_ROUND_YEAR = re.compile("[1-9][0-9]{2}0|[1-9]0")
_LETTERS_BEFORE = re.compile(r"[A-Za-z]{1,20}[-\u2010]?\Z")
_LETTERS_AFTER = re.compile(r"[A-Za-z]{1,12}")
_POWER_UNITS = ("m", "cm", "mm", "km", "ft", "in", "yd", "s")
_MINUS_SIGNS = "-\u2212\u2010\u2013"
_MAX_NEARBY = 30  # characters before and after a number in which a word makes it negative
_FALLING = frozenset(EN["falling"].split())
_HAN_FALLING = re.compile("|".join(ZH["falling"].split()))


@lru_cache(maxsize=512)  # several judgements look at one text
def find_numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of `text` in order: digits, words, fractions, dates and clock times.

    The places point into `text` as it is given, which is read as `normalise` reads it.

    >>> [(n.written, n.readings[0][0].digits) for n in find_numbers("$1.5bn for twenty-five of 3万5")]
    [('1.5bn', '1500000000'), ('25', '25'), ('3万5', '35000')]
    >>> [n.readings[0][0].digits for n in find_numbers("Two thousand and one, nineteen sixty-two")]
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
        taken = [(number.start, number.end) for number in in_digits]
        found = [*in_digits]
        for number in [
            *english_numbers(self._english, self._text),
            *han_numbers(self._text),
            *roman_numbers(self._text),
        ]:
            place = bisect_left(taken, (number.end, 0))
            if place == 0 or taken[place - 1][1] <= number.start:
                found.append(self._signed(number, number.start))
        found.sort(key=lambda number: (number.start, number.end))
        return found

    def _in_digits(self) -> list[Number]:
        found: list[Number] = []
        position = 0
        while match := _DIGITS.search(self._text, position):
            number = self._read(match.start(), match.end(), found)
            self._spread_scale(number, found)
            found.append(number)
            position = number.end
        return found

    def _read(self, start: int, run_end: int, found: list[Number]) -> Number:
        """Read the number that begins with the digit at `start`."""
        text = self._text
        for read in (self._date, self._clock, self._mixed):
            number = read(start)
            if number:
                return self._signed(number, start)
        if number := self._grouped(start):
            return self._finish(number, start, found)
        if text[start - 1 : start] == "." and not text[max(0, start - 2) : start - 1].strip(" (-$€£¥~<>="):
            end = run_end
            written = "0." + text[start:end]
            number = Number(start, end, written, ((plain_value(written),),))
            return self._finish(number, start - 1, found)
        match = _PLAIN.match(text, start)
        end = match.end() if match else run_end
        written = strip_zeros(text[start:end])
        readings: tuple[Reading, ...] = ((plain_value(written),),)
        if _DOT_GROUP.fullmatch(text, start, end):
            readings += ((plain_value(text[start:end].replace(".", "")),),)
        return self._finish(Number(start, end, written, readings), start, found)

    def _date(self, start: int) -> Number | None:
        """Read 2021-05-08, 08.05.2021 and 5/8/21: the year's place is sure, the month's not always."""
        for pattern, month_places in ((_YEAR_FIRST, (1,)), (_YEAR_LAST, (1, 0)), (_SHORT_YEAR_LAST, (1, 0))):
            match = pattern.match(self._text, start)
            if not match:
                continue
            parts = [strip_zeros(part) for part in re.split("[-/.]", match[0])]
            dates = [tuple(map(plain_value, parts))]
            if pattern is _SHORT_YEAR_LAST:
                year = match[0][-2:]
                dates = [(*dates[0][:2], plain_value(century + year)) for century in ("20", "19")] + dates
            readings: list[Reading] = []
            for date in dates:
                # The contexts may have the month as a word.
                for place in month_places:
                    month = date[place]._replace(kind="month")
                    readings.append((*date[:place], month, *date[place + 1 :]))
                readings.append(date)
            return Number(start, match.end(), "-".join(parts), tuple(readings))
        return None

    def _clock(self, start: int) -> Number | None:
        """Read 15:30, 3:30 pm, 3 pm and 下午3点半."""
        text = self._text
        match = _CLOCK.match(text, start) or _HOUR.match(text, start)
        half = match["half"][0].lower() if match and match["half"] else ""
        if not match:
            match = _HAN_HOUR.match(text, start)
            before = _HAN_HALF_OF_DAY.search(text, max(0, start - 4), start)
            minute_said = match and (match["minute"] or match["thirty"])
            # 3点 may be three points; 点 after a decimal is the point itself.
            if not match or not (before or minute_said):
                return None
            if before:
                half = "a" if before["am"] else "p"
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

    def _mixed(self, start: int) -> Number | None:
        """Read 3 1/2 and 1/2, also with the sign of ½."""
        match = _MIXED_FRACTION.match(self._text, start)
        if match and 0 < int(match[2]) < int(match[3]):
            whole, numerator, denominator = map(int, match.groups())
            value = fraction_value(whole * denominator + numerator, denominator)
            parts = tuple(plain_value(part) for part in match.groups())
            written = f"{whole} {numerator}/{denominator}"
            readings: tuple[Reading, ...] = (
                (value,),
                (plain_value(whole), fraction_value(numerator, denominator)),
                parts,
            )
            number = Number(start, match.end(), written, readings, gives=(value,))
            return self._scale_fraction(number)
        match = _FRACTION.match(self._text, start)
        if not match or not int(match[3]):
            return None
        numerator, denominator = int(match[1]), int(match[3])
        written = f"{numerator}/{denominator}"
        readings = part_readings(numerator, denominator)
        if match[2] == "/":
            # 24/7, 50/50 and 9/11 are no quotients.
            readings += ((plain_value(match[1]), plain_value(match[3])),)
        return self._scale_fraction(Number(start, match.end(), written, readings, name=written))

    def _scale_fraction(self, number: Number) -> Number:
        scale = _SCALE_WORD.match(self._text, number.end)
        digits = number.readings[0][0].digits
        if not scale or "/" in digits:
            return number
        value = scaled_value(digits, EN["scales"][scale[1].lower()])
        return number._replace(end=scale.end(), readings=((value,),), gives=())

    def _grouped(self, start: int) -> Number | None:
        """Read digits in groups of thousands, and a decimal comma."""
        text = self._text
        if match := _SPACED.match(text, start):
            groups = re.split(r"[ \u00a0\u202f]", match[0].replace(",", "."))
            compact = "".join(groups)
            parts = tuple(map(plain_value, groups))
            # "10 000" is one number if the contexts have it, else two, as in "on May 12 300 came".
            return Number(start, match.end(), strip_zeros(compact), ((plain_value(compact),), parts))
        for pattern, separators in (
            (_INDIAN_GROUPS, ","),
            (_DOT_GROUPS, "."),
            (_QUOTE_GROUPS, "'’"),
        ):
            match = pattern.match(text, start)
            if match:
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

    def _finish(self, number: Number, before: int, found: list[Number]) -> Number:
        """Read what stands around the digits of a number: scale, power, decade, century, name and sign."""
        number = self._with_power(number)
        number = self._with_scale(number, before)
        number = self._with_year_words(number)
        if _TIME_BEFORE.search(self._text, max(0, before - 8), before):
            number = number._replace(
                readings=(*number.readings, (number.readings[0][0]._replace(kind="hour"),))
            )
        if _PERCENT.match(self._text, number.end):
            number = number._replace(
                readings=(*number.readings, (number.readings[0][0]._replace(kind="percent"),))
            )
        number = self._with_range(number, found)
        number = self._with_name(number, before)
        return self._signed(number, before)

    def _with_power(self, number: Number) -> Number:
        text = self._text
        written = number.readings[0][0].digits
        if written == "10" and (bare := _BARE_POWER.match(text, number.start)):
            written, exponent, end = "1", bare[1] or bare[2], bare.end()
        elif match := _E_NOTATION.match(text, number.end):
            exponent, end = match[1], match.end()
        elif match := _POWER_OF_TEN.match(text, number.end):
            exponent, end = match[1] or match[2], match.end()
        else:
            return number
        power = int(exponent.translate(_SUPERSCRIPTS))
        if abs(power) > MAX_EXPONENT:
            return number
        return number._replace(end=end, readings=((scaled_value(written, power),),))

    def _with_scale(self, number: Number, before: int) -> Number:
        """Apply a scale word, an abbreviation or Han scales after the digits: 5 million, 5K, 1万2千, 3万5."""
        text = self._text
        if word := _SCALE_WORD.match(text, number.end):
            return self._scaled_by(number, EN["scales"][word[1].lower()], word.end())
        if short := _ABBREVIATION.match(text, number.end):
            exponent = EN["abbreviations"].get(short[1])
            if exponent:
                money = _CURRENCY_BEFORE.search(text, max(0, before - 5), before)
                money = money or _CURRENCY_AFTER.match(text, short.end())
                joined = short[0] == short[1]
                if money or short[1] in EN["certain"]:
                    return self._scaled_by(number, exponent, short.end())
                if joined:
                    scaled = self._scaled_by(number, exponent, short.end())
                    return scaled._replace(readings=scaled.readings + number.readings)
            return number
        if scales := _HAN_SCALES.match(text, number.end):
            return self._with_han_scale(number, scales)
        if half := _HALF_AFTER.match(text, number.end):
            plain = number.readings[0][0].digits
            if plain.isdigit() and len(plain) <= MAX_DIGITS:
                return number._replace(end=half.end(), readings=((plain_value(plain + ".5"),),))
        return number

    def _scaled_by(self, number: Number, exponent: int, end: int) -> Number:
        readings = tuple((scaled_value(value.digits, exponent),) for (value, *_) in number.readings[:1])
        written = number.written + self._text[number.end : end]
        return number._replace(end=end, written=written, readings=readings)

    def _with_han_scale(self, number: Number, scales: re.Match[str]) -> Number:
        digits = number.readings[0][0].digits
        exponent = han_exponent(scales[0])
        total = scaled_value(digits, exponent).digits
        end = scales.end()
        if not is_decimal(total):
            return number
        amount = Decimal(total)
        while rest := _HAN_REST.match(self._text, end):
            exponent = han_exponent(rest[2])
            amount = EXACT.add(amount, Decimal(scaled_value(rest[1], exponent).digits))
            end = rest.end()
        # 3万5 is 35,000: the last digit counts in the next lower unit.
        if last := _HAN_LAST.match(self._text, end):
            amount = EXACT.add(amount, Decimal(scaled_value(last[1], exponent - 1).digits))
            end = last.end()
        written = number.written + self._text[number.end : end]
        return number._replace(end=end, written=written, readings=((Value(canonical(f"{amount:f}")),),))

    def _with_year_words(self, number: Number) -> Number:
        """Read decades and centuries: 1990s, '90s, 80年代, 18th century."""
        text = self._text
        digits = number.readings[0][0].digits
        if _ROUND_YEAR.fullmatch(digits):
            decade = _DECADE.match(text, number.end) or _HAN_DECADE.match(text, number.end)
            if decade:
                readings = ((Value(digits + "s", "decade"),), *number.readings)
                if len(digits) == len("1990"):
                    readings += ((Value(digits[2:] + "s", "short decade"),),)
                else:
                    readings = ((Value(digits + "s", "short decade"),), *number.readings)
                return number._replace(end=decade.end(), readings=readings)
        if _CENTURY.match(text, number.end):
            return number._replace(readings=(*number.readings, (Value(digits, "century"),)))
        if text.startswith("月", number.end):
            return number._replace(readings=(*number.readings, (Value(digits, "month"),)))
        return number

    def _with_range(self, number: Number, found: list[Number]) -> Number:
        """Complete the second year of 1990-92."""
        if not found or found[-1].end != number.start - 1 or self._text[number.start - 1] not in _RANGE_DASH:
            return number
        first = found[-1].written
        second = self._text[number.start : number.end]
        if len(first) != len("1990") or len(second) != 2 or not second.isdigit() or not first.isdigit():
            return number
        if second <= first[2:]:
            return number
        return number._replace(readings=((plain_value(first[:2] + second),), *number.readings))

    def _with_name(self, number: Number, before: int) -> Number:
        """Note the word that digits are a part of: COVID-19, H2O, GPT-4."""
        text = self._text
        letters = _LETTERS_BEFORE.search(text, max(0, before - 21), before)
        word = letters[0].rstrip("-\u2010") if letters else ""
        joined_by_dash = word != (letters[0] if letters else "")
        if word in _POWER_UNITS and number.written in ("2", "3"):
            return number._replace(claims=False)  # cm3 and cm-3
        if joined_by_dash and not any(map(str.isupper, word)):
            return number
        if word.upper() in ("USD", "EUR", "GBP", "CNY", "RMB", "CHF", "INR", "JPY", "RS"):
            return number
        after = _LETTERS_AFTER.match(text, number.end)
        tail = after[0] if after else ""
        if not word and not tail:
            return number
        return number._replace(name=(word + number.written + tail).lower())

    def _signed(self, number: Number, before: int) -> Number:
        """Read a minus sign; beside words such as "fell", either sign is meant."""
        text = self._text
        sign_place = before - 1
        if text[sign_place : sign_place + 1] in tuple("$€£¥") and sign_place > 0:
            sign_place -= 1
        sign = text[sign_place : sign_place + 1] if sign_place >= 0 else ""
        negative = tuple(tuple(map(negated, reading)) for reading in number.readings if len(reading) == 1)
        if sign and sign in _MINUS_SIGNS:
            earlier = text[max(0, sign_place - 2) : sign_place]
            line_start = not text[text.rfind("\n", 0, sign_place) + 1 : sign_place].strip()
            after_digit = earlier.strip()[-1:].isdigit() or earlier.strip()[-1:] == "%"
            # A dash without spaces joins words and numbers; one at the start of a line may be a list's.
            if earlier[-1:].strip(" \n\t(（[:：,，、为到达/=~") or (after_digit and sign != "\u2212"):
                return self._beside_falling(number, negative)
            if line_start and sign != "\u2212":
                return number._replace(readings=number.readings + negative)
            return number._replace(readings=negative or number.readings, written="-" + number.written)
        return self._beside_falling(number, negative)

    def _beside_falling(self, number: Number, negative: tuple[Reading, ...]) -> Number:
        nearest = bisect_left(self._falling, number.start - _MAX_NEARBY)
        if nearest < len(self._falling) and self._falling[nearest] <= number.end + _MAX_NEARBY:
            return number._replace(readings=number.readings + negative)
        return number

    def _spread_scale(self, number: Number, found: list[Number]) -> None:
        """Give the number before this one its scale, too: "3 to 5 million"."""
        if not found or len(number.readings[0]) != 1:
            return
        previous = found[-1]
        between = self._text[previous.end : number.start]
        scaled = number.readings[0][0].digits
        if len(between) > len(" and $ ") or not _RANGE_BETWEEN.fullmatch(between):
            return
        mantissa = _PLAIN.match(number.written)
        if not mantissa or not (is_decimal(scaled) and is_decimal(mantissa[0])):
            return
        own = scaled_value(mantissa[0], 0).digits
        if len(previous.readings[0]) != 1 or scaled == own:
            return
        exponent = Decimal(scaled).adjusted() - Decimal(own).adjusted()
        value = previous.readings[0][0]
        if exponent > 1 and is_decimal(value.digits) and not value.kind:
            spread = scaled_value(value.digits, exponent)
            found[-1] = previous._replace(readings=(*previous.readings, (spread,)))


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
    years = [
        int(v.digits) for v in values if not v.kind and len(v.digits) == len("1990") and v.digits.isdigit()
    ]
    for year in years:
        decade = str(year // 10 * 10)
        values.add(Value(decade + "s", "decade"))
        values.add(Value(decade[2:] + "s", "short decade"))
        values.add(Value(str((year - 1) // CENTURY_YEARS + 1), "century"))
    return frozenset(values)
