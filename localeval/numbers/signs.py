"""Read a number's minus sign; beside words such as "fell", either sign is meant."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from localeval.numbers.values import Number, Reading, negated

_MINUS = "\u2212"
_SIGNS = ("-", _MINUS, "\u2010", "\u2013")
_CURRENCY_SIGNS = ("$", "€", "£", "¥")
# After one of these a dash is a sign. It joins words and numbers elsewhere.
_BEFORE_SIGN = " \n\t(（[:：,，、为到达/=~"
_MAX_NEARBY = 30  # characters before and after a number in which a word makes it negative


def with_sign(number: Number, text: str, before: int, falling: Sequence[int]) -> Number:
    """Return a number with its sign.

    before   where its point or first digit stands
    falling  where words stand that make an amount negative, in order
    """
    negative = tuple(tuple(map(negated, reading)) for reading in number.readings if len(reading) == 1)
    place = _place_of_sign(text, before)
    sign = text[place : place + 1] if place >= 0 else ""
    if sign not in _SIGNS or _joins(text, place):
        return _beside_falling(number, negative, falling)
    # A dash at the start of a line may be of a list.
    is_bullet = not text[text.rfind("\n", 0, place) + 1 : place].strip() and sign != _MINUS
    if is_bullet:
        return number._replace(readings=number.readings + negative)
    return number._replace(readings=negative or number.readings, written="-" + number.written)


def _place_of_sign(text: str, before: int) -> int:
    """Return where a number's sign would stand: before it, or before its currency."""
    place = before - 1
    if place > 0 and text[place] in _CURRENCY_SIGNS:
        place -= 1
    return place


def _joins(text: str, place: int) -> bool:
    """Return whether a dash stands between two words or numbers: 3-5, 5 % - 7 %."""
    earlier = text[max(0, place - 2) : place]
    if earlier[-1:].strip(_BEFORE_SIGN):
        return True
    last = earlier.strip()[-1:]
    return (last.isdigit() or last == "%") and text[place] != _MINUS


def _beside_falling(number: Number, negative: tuple[Reading, ...], falling: Sequence[int]) -> Number:
    nearest = bisect_left(falling, number.start - _MAX_NEARBY)
    if nearest < len(falling) and falling[nearest] <= number.end + _MAX_NEARBY:
        return number._replace(readings=number.readings + negative)
    return number
