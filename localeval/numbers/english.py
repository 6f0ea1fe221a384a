"""Read numbers in English words, and Roman numerals."""

from __future__ import annotations

import re
from typing import NamedTuple

from localeval.numbers.values import (
    CENTURY_YEARS,
    EN,
    MAX_EXPONENT,
    Number,
    Value,
    part_readings,
    plain_value,
    scaled_value,
)

_BELOW_TWENTY = {word: i for i, word in enumerate(EN["below_twenty"].split())}
_ORDINAL_WORDS = {word: i for i, word in enumerate(EN["ordinals"].split())}
_TENS = {word: 10 * i for i, word in enumerate(EN["tens"].split(), 2)}
_TENTHS = {f"{word[:-1]}ieth": value for word, value in _TENS.items()}
_DECADE_WORDS = {f"{word[:-1]}ies": value for word, value in _TENS.items()}
_CARDINALS = _BELOW_TWENTY | _TENS
_SMALL = _CARDINALS | _ORDINAL_WORDS | _TENTHS
_SCALES = {word: exponent for word, exponent in EN["scales"].items() if not word.endswith("s")}
_SCALE_ORDINALS = {f"{word}th": exponent for word, exponent in _SCALES.items()}
_EXPONENTS = _SCALES | _SCALE_ORDINALS
_DENOMINATORS = EN["denominators"] | {
    f"{word}s": value for word, value in (_ORDINAL_WORDS | _TENTHS).items() if value > len(["half", "third"])
}
_COLLECTIVES = EN["collectives"]
_OTHERS = EN["others"]
WORD = re.compile("[A-Za-z]+")
IN_PHRASES = {*_SMALL, *_EXPONENTS, *_DENOMINATORS, *_COLLECTIVES, *_OTHERS, *_DECADE_WORDS}
_BETWEEN_WORDS = re.compile(
    r"[ \t\n\u00a0]{1,3}(?:and[ \t\n]{1,3}(?:a[ \t\n]{1,3})?|a[ \t\n]{1,3})?|\s?-\s?", re.I
)
_ARTICLE_BEFORE = re.compile(r"\ban?\s\Z", re.I)
_DIGITS_BEFORE = re.compile(r"[0-9][\s-]?\Z")
_COUNTED_BY_ORDINAL = re.compile(rf"[\s-](?:{'|'.join(EN['counted_by_ordinal'].split())})", re.I)
_NO_COUNT_AFTER = re.compile(rf"[\s-](?:{'|'.join(EN['no_count_after'].split())})\b", re.I)
_CAPITAL_AFTER = re.compile(r"[\s-][A-Z]")
_LISTED_BEFORE = re.compile(rf"\b(?:{'|'.join(EN['listed_before'].split())})\s\Z", re.I)
_LISTED_AFTER = re.compile(rf"\s(?:[a-z-]{{2,15}}\s)?(?:{'|'.join(EN['listed'].split())})\b", re.I)
# What a text may say in words that are, or are part of, a number.
ENGLISH_WORDS = frozenset([*_SMALL, *_EXPONENTS, *EN["scales"], *_DENOMINATORS, *_COLLECTIVES])
# Words with digits that everybody knows.
IDIOMS = frozenset(name.replace("-", "") for name in EN["names"])
MONTHS: dict[str, str] = {}
for _place, _month in enumerate(EN["months"].split(), 1):
    MONTHS[_month] = MONTHS[_month[:3]] = str(_place)
MONTHS["sept"] = MONTHS["september"]


class _Word(NamedTuple):
    """A word of a number, its place, and what joins it to the word before, or ""."""

    text: str
    start: int
    end: int
    between: str


def english_numbers(matches: list[re.Match[str]], text: str) -> list[Number]:
    """Return the numbers that the words of `matches`, all those of numbers in `text`, make."""
    numbers: list[Number] = []
    phrase: list[_Word] = []
    for match in matches:
        gap = text[phrase[-1].end : match.start()] if phrase else ""
        joins = bool(phrase) and len(gap) <= len(" and  a  ") and bool(_BETWEEN_WORDS.fullmatch(gap))
        if phrase and not joins:
            numbers += _read_phrase(phrase, text)
            phrase = []
        phrase.append(_Word(match[0].lower(), *match.span(), gap if joins else ""))
    return numbers + _read_phrase(phrase, text)


def _read_phrase(words: list[_Word], text: str) -> list[Number]:
    """Read words that stand side by side: one number, or several ("two thirds", "nineteen sixty-two")."""
    numbers: list[Number] = []
    place = 0
    while place < len(words):
        number, place = _read_words(words, place, text)
        if number:
            numbers.append(number)
    return numbers


def _read_words(words: list[_Word], first: int, text: str) -> tuple[Number | None, int]:
    """Read the number that begins with word `first`. Returns it, and the place of the word behind it."""
    word = words[first]
    if word.text in _OTHERS:
        return _in_words(words, first, first + 1, _OTHERS[word.text], claims=False), first + 1
    if word.text in _DECADE_WORDS:
        years = str(_DECADE_WORDS[word.text])
        number = _in_words(words, first, first + 1, int(years), claims=False)
        return number._replace(readings=((Value(years + "s", "short decade"),), *number.readings)), first + 1
    if word.text in _DENOMINATORS and word.text not in _ORDINAL_WORDS and word.text not in _TENTHS:
        return _read_half(words, first)
    if word.text in _COLLECTIVES:
        return _in_words(words, first, first + 1, _COLLECTIVES[word.text], claims=False), first + 1
    if word.text in _EXPONENTS:
        if _DIGITS_BEFORE.search(text, max(0, word.start - 2), word.start):
            return None, first + 1  # "5 million" is read with its digits
        if not _ARTICLE_BEFORE.search(text, max(0, word.start - 3), word.start):
            # "Thousand Islands": no count of its own.
            number = _in_words(words, first, first + 1, 10 ** _EXPONENTS[word.text], claims=False)
            return number, first + 1
    value, last = _read_cardinal(words, first)
    after = words[last] if last < len(words) else None
    numerator = value if words[last - 1].text in _CARDINALS else 0
    if after and numerator and after.text in _DENOMINATORS and after.between.strip() in ("", "-"):
        denominator = _DENOMINATORS[after.text]
        if numerator <= denominator:
            number = _in_words(words, first, last + 1, numerator)
            written = f"{numerator}/{denominator}"
            readings = part_readings(numerator, denominator)
            return number._replace(written=written, readings=readings), last + 1
    if after and numerator and after.text in ("half", "halves") and "a" in after.between.split():
        return _read_and_a_half(words, first, last, numerator)
    if after and numerator and after.text in _COLLECTIVES:
        number = _in_words(words, first, last + 1, numerator * _COLLECTIVES[after.text])
        return number._replace(readings=(*number.readings, (plain_value(numerator),))), last + 1
    if (
        after
        and last == first + 1
        and _BELOW_TWENTY["ten"] <= value <= _TENS["twenty"]
        and word.text in _CARDINALS
    ):
        year = _read_year(words, first, value)
        if year:
            return year
    return _read_ordinal_or_count(words, first, last, value, text), last


def _read_ordinal_or_count(words: list[_Word], first: int, last: int, value: int, text: str) -> Number:
    """Decide whether a word such as "first" or "one" counts something."""
    number = _in_words(words, first, last, value)
    word = words[last - 1].text
    readings = number.readings
    if word in _ORDINAL_WORDS and value in _DENOMINATORS.values() and last == first + 1:
        readings += part_readings(1, value)
    after = text[number.end : number.end + 20]
    if re.match(r"[\s-]centur", after, re.I):
        readings += ((Value(str(value), "century"),),)
    claims = last > first + 1 or _claims_english(number, word, text)
    return number._replace(readings=readings, claims=claims)


def _claims_english(number: Number, word: str, text: str) -> bool:
    """Return whether a lone word of a number counts something that other texts can contradict.

    "One", "two", "first" and "second" are said of almost anything; up to ten, an answer counts what it lists.
    """
    value = int(number.written)
    before = text[max(0, number.start - 12) : number.start]
    after = text[number.end : number.end + 40]
    if word in _ORDINAL_WORDS and value <= len(["first", "second"]):
        return bool(_COUNTED_BY_ORDINAL.match(after))
    if value <= len(["one", "two"]) or _NO_COUNT_AFTER.match(after):
        return False
    written = text[number.start : number.end]
    if (
        written[:1].isupper()
        and before.strip()[-1:] not in ("", *".!?:;*#\n")
        and _CAPITAL_AFTER.match(after)
    ):
        return False  # a name: the Four Seasons
    if word in _CARDINALS and value <= _BELOW_TWENTY["ten"]:
        return not (_LISTED_BEFORE.search(before) or _LISTED_AFTER.match(after))
    return True


def _read_half(words: list[_Word], first: int) -> tuple[Number, int]:
    """Read "half", "half a million", "half a dozen" and "quarter"."""
    denominator = _DENOMINATORS[words[first].text]
    after = words[first + 1] if first + 1 < len(words) else None
    if after and "a" in after.between.split() and "and" not in after.between:
        whole = 10 ** _SCALES[after.text] if after.text in _SCALES else _COLLECTIVES.get(after.text, 0)
        if whole:
            return _in_words(words, first, first + 2, whole // denominator), first + 2
    number = _in_words(words, first, first + 1, denominator, claims=False)
    return number._replace(readings=part_readings(1, denominator)), first + 1


def _read_and_a_half(words: list[_Word], first: int, last: int, whole: int) -> tuple[Number, int]:
    """Read "two and a half", "two and a half million"."""
    number = _in_words(words, first, last + 1, whole)
    end = last + 1
    exponent = 0
    if end < len(words) and words[end].text in _SCALES:
        exponent = _SCALES[words[end].text]
        end += 1
    value = scaled_value(f"{whole}.5", exponent)
    return number._replace(end=words[end - 1].end, written=value.digits, readings=((value,),)), end


def _read_year(words: list[_Word], first: int, century: int) -> tuple[Number, int] | None:
    """Read "nineteen sixty-two" and "twenty ten"."""
    after = words[first + 1]
    if after.text not in _CARDINALS or after.between.strip():
        return None
    value, last = _read_cardinal(words, first + 1)
    if not _BELOW_TWENTY["ten"] <= value < CENTURY_YEARS or words[last - 1].text not in _CARDINALS:
        return None
    number = _in_words(words, first, last, century * CENTURY_YEARS + value)
    return number._replace(readings=(*number.readings, (plain_value(century), plain_value(value)))), last


def _read_cardinal(words: list[_Word], first: int) -> tuple[int, int]:
    """Read hundreds, tens and units, and scales that fall; an ordinal ends it.

    Returns the value, and the place of the word behind it.
    """
    total = 0
    part: int | None = None
    last_exponent = MAX_EXPONENT
    place = first
    while place < len(words):
        word = words[place]
        joined_by_and = place > first and "and" in word.between.split()
        if place > first and "a" in word.between.split():
            break
        if word.text in _SMALL:
            value = _SMALL[word.text]
            if joined_by_and and not _continues_after_and(words, place):
                break
            if part is None:
                part = value
            elif _continues(part, value, joined_by_and):
                part += value
            else:
                break
        elif word.text in _EXPONENTS and not joined_by_and:
            exponent = _EXPONENTS[word.text]
            if exponent == len("00"):
                if part is not None and not 0 < part < 100:
                    break
                part = 100 * (part or 1)
            elif exponent >= last_exponent or part == 0:
                break
            else:
                total += (1 if part is None else part) * 10**exponent
                part = None
                last_exponent = exponent
        else:
            break
        place += 1
        if word.text in _ORDINAL_WORDS or word.text in _TENTHS or word.text in _SCALE_ORDINALS:
            break
    return total + (part or 0), place


def _continues(part: int, value: int, joined_by_and: bool) -> bool:
    """Return whether a value below a hundred goes on from a number: "two hundred five", "twenty-five"."""
    if part and part % 100 == 0:
        return value > 0 or not joined_by_and
    return not joined_by_and and part % 100 >= 20 and part % 10 == 0 and 0 < value < 10


def _continues_after_and(words: list[_Word], place: int) -> bool:
    """Return whether "and" before a word is within a number, as in "two hundred and five"."""
    if words[place - 1].text not in _SCALES:
        return False
    behind = [word.text for word in words[place + 1 : place + 3]]
    return not any(word in _EXPONENTS for word in behind)


def _in_words(words: list[_Word], first: int, last: int, value: int, claims: bool = True) -> Number:
    digits = str(value)
    return Number(
        words[first].start, words[last - 1].end, digits, ((Value(digits),),), in_words=True, claims=claims
    )


_ROMAN = re.compile(
    r"(?<![A-Za-z0-9'’&.-])(?=[IVXLC])(C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))(?![A-Za-z0-9'’&])"
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ROMAN_BEFORE = re.compile(rf"(?:\b(?:{'|'.join(EN['roman_before'].split())})|\b[A-Z][a-z]+)\s\Z", re.I)
_CAPITAL_BEFORE = re.compile(r"\b[A-Z][a-z]+\s\Z")
_NOUN_BEFORE = re.compile(rf"\b(?:{'|'.join(EN['roman_before'].split())})\s\Z", re.I)
_HAN_AFTER = re.compile("[期级型类度区世章部卷层号]")


def roman_numbers(text: str) -> list[Number]:
    """Return the Roman numerals that stand behind a name or a noun such as "phase", or before 期, 级, 世.

    >>> [n.written for n in roman_numbers("World War II, Phase I, and I left in a V. Ⅳ期 IV期")]
    ['2', '1', '4']
    """
    numbers = []
    for match in _ROMAN.finditer(text):
        sign = match[0]
        if not sign:
            continue
        before = text[max(0, match.start() - 25) : match.start()]
        named = _NOUN_BEFORE.search(before) or (len(sign) > 1 and _CAPITAL_BEFORE.search(before))
        if named or _HAN_AFTER.match(text, match.end()):
            value = str(_roman_value(sign))
            readings = ((Value(value),),)
            numbers.append(Number(*match.span(), value, readings, in_words=True, name=sign.lower()))
    return numbers


def _roman_value(signs: str) -> int:
    values = [_ROMAN_VALUES[sign] for sign in signs]
    total = 0
    for value, following in zip(values, [*values[1:], 0], strict=True):
        total += -value if value < following else value
    return total
