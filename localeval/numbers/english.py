"""Read numbers in English words, and Roman numerals."""

from __future__ import annotations

import re
from typing import NamedTuple

from localeval.numbers.values import (
    CENTURY_YEARS,
    EN,
    MAX_EXPONENT,
    ZH,
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
# After one of these no further word belongs to a number.
_ENDS_CARDINAL = frozenset([*_ORDINAL_WORDS, *_TENTHS, *_SCALE_ORDINALS])
_HUNDRED = EN["scales"]["hundred"]
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
_CENTURY_AFTER = re.compile(r"[\s-]centur", re.I)
_MAX_BETWEEN = len(" and  a  ")  # characters between two words of one number
_MAX_VAGUE_COUNT = 2  # "one" and "two", "first" and "second" are said of almost anything
_TEN = 10
_TWENTY = 20
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

    @property
    def joints(self) -> list[str]:
        """The words between it and the word before: "and", "a", or none."""
        return self.between.split()


def english_numbers(matches: list[re.Match[str]], text: str) -> list[Number]:
    """Return the numbers that the words of `matches`, all words of numbers in `text`, make."""
    numbers: list[Number] = []
    phrase: list[_Word] = []
    for match in matches:
        between = text[phrase[-1].end : match.start()] if phrase else ""
        joins = bool(phrase) and len(between) <= _MAX_BETWEEN and bool(_BETWEEN_WORDS.fullmatch(between))
        if phrase and not joins:
            numbers += _PhraseReader(phrase, text).numbers()
            phrase = []
        phrase.append(_Word(match[0].lower(), *match.span(), between if joins else ""))
    return numbers + _PhraseReader(phrase, text).numbers()


class _PhraseReader:
    """Reads words that stand side by side: one number, or several ("two thirds", "nineteen sixty-two").

    A method that reads a number from word `first` on returns it and the place of the word behind it.
    """

    def __init__(self, words: list[_Word], text: str) -> None:
        self._words = words
        self._text = text

    def numbers(self) -> list[Number]:
        """Return all numbers of the words, in order."""
        numbers: list[Number] = []
        place = 0
        while place < len(self._words):
            number, place = self._read(place)
            if number:
                numbers.append(number)
        return numbers

    def _read(self, first: int) -> tuple[Number | None, int]:
        word = self._words[first].text
        if word in _OTHERS:
            return self._vague(first, _OTHERS[word]), first + 1
        if word in _DECADE_WORDS:
            return self._decade(first), first + 1
        if word in _DENOMINATORS and word not in _ORDINAL_WORDS and word not in _TENTHS:
            return self._half(first)
        if word in _COLLECTIVES:
            return self._vague(first, _COLLECTIVES[word]), first + 1
        if word in _EXPONENTS and not self._counts_as_one(first):
            return self._lone_scale(first), first + 1
        value, last = self._cardinal(first)
        combined = self._multiple(first, last, value) or self._year(first, last, value)
        if combined:
            return combined
        return self._ordinal_or_count(first, last, value), last

    def _vague(self, place: int, value: int) -> Number:
        """Return the number of one word that no other text can contradict."""
        return self._number(place, place + 1, value, claims=False)

    def _decade(self, place: int) -> Number:
        """Read "seventies"."""
        years = _DECADE_WORDS[self._words[place].text]
        number = self._vague(place, years)
        decade = Value(f"{years}s", "short decade")
        return number._replace(readings=((decade,), *number.readings))

    def _counts_as_one(self, place: int) -> bool:
        """Return whether the scale is counted by its article: "a thousand"."""
        start = self._words[place].start
        return bool(_ARTICLE_BEFORE.search(self._text, max(0, start - 3), start))

    def _lone_scale(self, place: int) -> Number | None:
        """Read a scale with no count of its own: "Thousand Islands". "5 million" is read with its digits."""
        word = self._words[place]
        if _DIGITS_BEFORE.search(self._text, max(0, word.start - 2), word.start):
            return None
        return self._vague(place, 10 ** _EXPONENTS[word.text])

    def _half(self, first: int) -> tuple[Number, int]:
        """Read "half", "half a million", "half a dozen" and "quarter"."""
        denominator = _DENOMINATORS[self._words[first].text]
        after = self._word(first + 1)
        if after and "a" in after.joints and "and" not in after.between:
            whole = 10 ** _SCALES[after.text] if after.text in _SCALES else _COLLECTIVES.get(after.text, 0)
            if whole:
                return self._number(first, first + 2, whole // denominator), first + 2
        number = self._vague(first, denominator)
        return number._replace(readings=part_readings(1, denominator)), first + 1

    def _multiple(self, first: int, last: int, value: int) -> tuple[Number, int] | None:
        """Read a count of parts or collectives: "two thirds", "two and a half", "two dozen"."""
        after = self._word(last)
        if not after or not value or self._words[last - 1].text not in _CARDINALS:
            return None
        is_adjacent = after.between.strip() in ("", "-")
        if is_adjacent and value <= _DENOMINATORS.get(after.text, 0):
            denominator = _DENOMINATORS[after.text]
            number = self._number(first, last + 1, value)
            readings = part_readings(value, denominator)
            return number._replace(written=f"{value}/{denominator}", readings=readings), last + 1
        if after.text in ("half", "halves") and "a" in after.joints:
            return self._and_a_half(first, last, value)
        if after.text in _COLLECTIVES:
            number = self._number(first, last + 1, value * _COLLECTIVES[after.text])
            return number._replace(readings=(*number.readings, (plain_value(value),))), last + 1
        return None

    def _and_a_half(self, first: int, last: int, whole: int) -> tuple[Number, int]:
        """Read "two and a half", "two and a half million"."""
        number = self._number(first, last + 1, whole)
        end = last + 1
        exponent = 0
        scale = self._word(end)
        if scale and scale.text in _SCALES:
            exponent = _SCALES[scale.text]
            end += 1
        value = scaled_value(f"{whole}.5", exponent)
        number = number._replace(end=self._words[end - 1].end, written=value.digits, readings=((value,),))
        return number, end

    def _year(self, first: int, last: int, century: int) -> tuple[Number, int] | None:
        """Read "nineteen sixty-two" and "twenty ten"."""
        after = self._word(last)
        if not after or last > first + 1 or self._words[first].text not in _CARDINALS:
            return None
        if not _TEN <= century <= _TWENTY or after.text not in _CARDINALS or after.between.strip():
            return None
        value, end = self._cardinal(last)
        if not _TEN <= value < CENTURY_YEARS or self._words[end - 1].text not in _CARDINALS:
            return None
        number = self._number(first, end, century * CENTURY_YEARS + value)
        parts = (plain_value(century), plain_value(value))
        return number._replace(readings=(*number.readings, parts)), end

    def _ordinal_or_count(self, first: int, last: int, value: int) -> Number:
        """Decide whether a word such as "first" or "one" counts something."""
        number = self._number(first, last, value)
        word = self._words[last - 1].text
        is_one_word = last == first + 1
        readings = number.readings
        if is_one_word and word in _ORDINAL_WORDS and value in _DENOMINATORS.values():
            readings += part_readings(1, value)
        if _CENTURY_AFTER.match(self._text, number.end):
            readings += ((Value(str(value), "century"),),)
        claims = not is_one_word or _claims(number, word, self._text)
        return number._replace(readings=readings, claims=claims)

    def _cardinal(self, first: int) -> tuple[int, int]:
        """Read hundreds, tens and units, and scales that fall; an ordinal ends it.

        Returns the value, and the place of the word behind it.
        """
        cardinal = _Cardinal()
        place = first
        while place < len(self._words) and self._continues(cardinal, first, place):
            place += 1
            if self._words[place - 1].text in _ENDS_CARDINAL:
                break
        return cardinal.value, place

    def _continues(self, cardinal: _Cardinal, first: int, place: int) -> bool:
        """Return whether a number goes on with a word, and add it."""
        word = self._words[place]
        joints = word.joints if place > first else []
        if "a" in joints:
            return False
        after_and = "and" in joints
        if word.text in _SMALL:
            if after_and and not self._may_follow_and(place):
                return False
            return cardinal.add(_SMALL[word.text], after_and)
        if word.text in _EXPONENTS and not after_and:
            return cardinal.scale(_EXPONENTS[word.text])
        return False

    def _may_follow_and(self, place: int) -> bool:
        """Return whether "and" before a word is within a number, as in "two hundred and five"."""
        if self._words[place - 1].text not in _SCALES:
            return False
        behind = [word.text for word in self._words[place + 1 : place + 3]]
        return not any(word in _EXPONENTS for word in behind)

    def _word(self, place: int) -> _Word | None:
        return self._words[place] if place < len(self._words) else None

    def _number(self, first: int, last: int, value: int, claims: bool = True) -> Number:
        """Return the number of the words from `first` to before `last`."""
        start = self._words[first].start
        end = self._words[last - 1].end
        digits = str(value)
        return Number(start, end, digits, ((Value(digits),),), in_words=True, claims=claims)


class _Cardinal:
    """A number as its words are added one after the other: "two thousand", "three", "hundred", "five"."""

    def __init__(self) -> None:
        self._total = 0
        # Below a thousand, since the last scale.
        self._part: int | None = None
        self._last_exponent = MAX_EXPONENT

    @property
    def value(self) -> int:
        return self._total + (self._part or 0)

    def add(self, value: int, after_and: bool) -> bool:
        """Add a value below a hundred; return False where it begins another number."""
        if self._part is None:
            self._part = value
        elif _goes_on(self._part, value, after_and):
            self._part += value
        else:
            return False
        return True

    def scale(self, exponent: int) -> bool:
        """Multiply by a power of ten; return False where that begins another number."""
        if exponent == _HUNDRED:
            if self._part is not None and not 0 < self._part < 100:
                return False
            self._part = 100 * (self._part or 1)
            return True
        if exponent >= self._last_exponent or self._part == 0:
            return False
        count = 1 if self._part is None else self._part
        self._total += count * 10**exponent
        self._part = None
        self._last_exponent = exponent
        return True


def _goes_on(part: int, value: int, after_and: bool) -> bool:
    """Return whether a value below a hundred goes on from a number: "two hundred five", "twenty-five"."""
    if part and part % 100 == 0:
        return value > 0 or not after_and
    return not after_and and part % 100 >= 20 and part % 10 == 0 and 0 < value < 10


def _claims(number: Number, word: str, text: str) -> bool:
    """Return whether a lone word of a number counts something that other texts can contradict.

    "One", "two", "first" and "second" are said of almost anything; up to ten, an answer counts what it lists.
    """
    value = int(number.written)
    before = text[max(0, number.start - 12) : number.start]
    after = text[number.end : number.end + 40]
    if value <= _MAX_VAGUE_COUNT:
        return word in _ORDINAL_WORDS and bool(_COUNTED_BY_ORDINAL.match(after))
    if _NO_COUNT_AFTER.match(after) or _is_part_of_name(text[number.start], before, after):
        return False
    if word in _CARDINALS and value <= _TEN:
        return not (_LISTED_BEFORE.search(before) or _LISTED_AFTER.match(after))
    return True


def _is_part_of_name(first_letter: str, before: str, after: str) -> bool:
    """Return whether a number is a capitalized word within a sentence, before another one: Four Seasons."""
    begins_sentence = before.strip()[-1:] in ("", *".!?:;*#\n")
    return first_letter.isupper() and not begins_sentence and bool(_CAPITAL_AFTER.match(after))


_ROMAN = re.compile(
    r"(?<![A-Za-z0-9'’&.-])(?=[IVXLC])(C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}))(?![A-Za-z0-9'’&])"
)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_CAPITAL_BEFORE = re.compile(r"\b[A-Z][a-z]+\s\Z")
_NOUN_BEFORE = re.compile(rf"\b(?:{'|'.join(EN['roman_before'].split())})\s\Z", re.I)
_HAN_AFTER = re.compile(f"[{ZH['after_roman']}]")


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
