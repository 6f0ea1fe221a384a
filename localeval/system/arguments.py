"""What a caller or a file gives: checked, and told in one sentence where it does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from localeval.errors import InputError
from localeval.text.display import shorten, suggested

S = TypeVar("S", bound="Settings")
STRICT = ConfigDict(strict=True, extra="forbid")


def _plain(given: Any) -> Any:
    """Turn numbers of other libraries, such as numpy's, into Python's own: JSON can hold no other."""
    if isinstance(given, Integral):
        return given if isinstance(given, bool) else int(given)
    return float(given) if isinstance(given, Real) else given


Whole = Annotated[int, BeforeValidator(_plain)]
Number = Annotated[float, BeforeValidator(_plain)]


@dataclass(frozen=True, config=STRICT)
class Settings:
    """Root of the classes whose fields a caller sets. Raises InputError for a value that does not fit."""

    @classmethod
    def read(cls: type[S], given: Mapping[str, Any]) -> S:
        """Take keyword arguments. Raises InputError for an unknown name, with the nearest known one."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(given) - set(known)):
            raise InputError(f"{unknown[0]} is not an option; {suggested(unknown[0], known)}")
        return cls(**given)

    @model_validator(mode="wrap")
    @classmethod
    def _in_one_sentence(cls, given: Any, validate: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return validate(given)
        except ValidationError as error:
            raise InputError(f"{describe(error)}.") from None


def whole_number(name: str, given: Any, low: int) -> int:
    """Check a whole number of at least `low`. Raises InputError, which names it, for anything else."""
    number = _plain(given)
    if type(number) is not int or number < low:
        raise InputError(f"{name} is {shorten(repr(given), 60)}; choose a whole number, at least {low}.")
    return number


def describe(error: ValidationError, names: Mapping[str, str] | None = None) -> str:
    """Tell the first fault, as "threshold is 1.5; it should be less than or equal to 1", with no full stop.

    names  what the caller calls a field, where that is another name: {"response": "answer"}
    """
    first = error.errors(include_url=False)[0]
    field, *parts = first["loc"] or ("input",)
    inside = (f", item {part + 1}" if isinstance(part, int) else f".{part}" for part in parts)
    where = shorten((names or {}).get(str(field), str(field)) + "".join(inside))
    if first["type"] == "missing":
        return f"{where} is missing"
    if first["type"] == "extra_forbidden":
        return f"{where} is not known"
    why = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{where} is {shorten(repr(first['input']), 60)}; {shorten(why)}"
