"""Numbers that a caller gave: checked, and made Python's own. JSON can hold no other, such as numpy's."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from localeval.errors import InputError
from localeval.text.display import said


def whole(name: str, given: Any, low: int, high: int | None = None) -> int:
    """`given` as a whole number from `low` to `high`. Raises InputError, which names it, for another.

    >>> whole("questions", 3, 1, 100)
    3
    """
    if not isinstance(given, Integral) or isinstance(given, bool) or not _within(given, low, high):
        raise _wrong(name, given, "a whole number", low, high)
    return int(given)


def real(name: str, given: Any, low: float, high: float) -> float:
    """`given` as a number from `low` to `high`. Raises InputError, which names it, for another."""
    if not isinstance(given, Real) or isinstance(given, bool) or not _within(given, low, high):
        raise _wrong(name, given, "a number", low, high)
    return float(given)


def _within(given: Any, low: float, high: float | None) -> bool:
    return bool(low <= given and (high is None or given <= high))


def _wrong(name: str, given: Any, what: str, low: float, high: float | None) -> InputError:
    span = f", at least {low}" if high is None else f" from {low} to {high}"
    return InputError(f"{name} is {said(repr(given), 60)}; choose {what}{span}.")
