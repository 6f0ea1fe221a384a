"""What pydantic refuses, told in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import ValidationError

from localeval.text.display import shorten

_AS_THEY_ARE: Mapping[str, str] = MappingProxyType({})


def describe(error: ValidationError, names: Mapping[str, str] = _AS_THEY_ARE) -> str:
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
    where = ""
    for part in first["loc"] or ("input",):
        if not where:
            where = names.get(str(part), str(part))
        else:
            where += f", item {part + 1}" if isinstance(part, int) else f".{part}"
    where = shorten(where)
    if first["type"] == "missing":
        return f"{where} is missing"
    if first["type"] == "extra_forbidden":
        return f"{where} is not known"
    why = first["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return f"{where} is {shorten(repr(first['input']), 60)}; {shorten(why)}"
