"""Check the values of callers and files, and describe in one sentence what does not fit."""

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


def _to_builtin(value: Any) -> Any:
    """Convert numbers of other libraries, such as numpy's, to Python's own: JSON can hold no others."""
    if isinstance(value, Integral):
        return value if isinstance(value, bool) else int(value)
    return float(value) if isinstance(value, Real) else value


Int = Annotated[int, BeforeValidator(_to_builtin)]
Number = Annotated[float, BeforeValidator(_to_builtin)]


@dataclass(frozen=True, config=STRICT)
class Settings:
    """Base class of options that a caller sets. Raises InputError for a value that does not fit."""

    @classmethod
    def read(cls: type[S], values: Mapping[str, Any]) -> S:
        """Create from keyword arguments. Raises InputError for an unknown name, and suggests a known one."""
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(values) - set(known)):
            raise InputError(f"{unknown[0]} is not an option; {suggested(unknown[0], known)}")
        return cls(**values)

    @model_validator(mode="wrap")
    @classmethod
    def _report_first_fault(cls, data: Any, validate: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return validate(data)
        except ValidationError as error:
            raise InputError(f"{describe(error)}.") from None


def whole_number(name: str, value: Any, low: int) -> int:
    """Return `value` if it is a whole number of at least `low`. Raises InputError, with `name`, otherwise."""
    number = _to_builtin(value)
    if type(number) is not int or number < low:
        raise InputError(f"{name} is {shorten(repr(value), 60)}; choose a whole number, at least {low}.")
    return number


def describe(error: ValidationError, names: Mapping[str, str] | None = None) -> str:
    """Describe the first fault: "threshold is 1.5; it should be less than or equal to 1", with no full stop.

    names  the caller's names of fields, where they differ: {"response": "answer"}
    """
    first = error.errors(include_url=False)[0]
    field, *parts = first["loc"] or ("input",)
    inside = (f", item {part + 1}" if isinstance(part, int) else f".{part}" for part in parts)
    where = shorten((names or {}).get(str(field), str(field)) + "".join(inside))
    if first["type"] == "missing":
        return f"{where} is missing"
    if first["type"] == "extra_forbidden":
        return f"{where} is not known"
    reason = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{where} is {shorten(repr(first['input']), 60)}; {shorten(reason)}"
