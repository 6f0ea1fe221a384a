"""What pydantic refuses, told in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from localeval.text.display import shorten


def describe(error: ValidationError, names: Mapping[str, str] | None = None) -> str:
    """Tell the first fault as "name is value; it should be ...", without a full stop.

    names  what the caller calls a field, where that is another name: {"response": "answer"}

    >>> from pydantic import BaseModel, Field
    >>> class Choice(BaseModel):
    ...     threshold: float = Field(ge=0, le=1)
    >>> try:
    ...     Choice(threshold=1.5)
    ... except ValidationError as error:
    ...     describe(error)
    'threshold is 1.5; it should be less than or equal to 1'
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
