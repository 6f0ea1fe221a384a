"""One row of the data, and the checks of its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import from_json

from localeval.errors import InputError
from localeval.system.arguments import describe
from localeval.text.display import shorten

# The field names are those of ragas. Aliases are read, and never written.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_input": ("question", "query"),
    "response": ("answer",),
    "retrieved_contexts": ("contexts", "docs", "document_list"),
    "reference": ("ground_truth",),
}
# Each field, and the columns that it is read from.
Names = Mapping[str, tuple[str, ...]]
NAMES: Names = {"id": ("id",), **{field: (field, *aliases) for field, aliases in ALIASES.items()}}
_CHECKED = "checked"


class Sample(BaseModel):
    """One row: a question, its answer, the retrieved contexts and the reference answer.

    None means that the column is missing (or null); "" and [] mean that it is present and empty. Columns
    with other names are kept in `model_extra`. `Sample(...)` accepts the aliases too, and raises
    `InputError` for a wrong type, for an alias that contradicts its field, and for what can't be written
    as JSON in UTF-8. An integer id becomes a string; "" means no id.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)] = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: list[str] | None = None
    reference: str | None = None

    if TYPE_CHECKING:  # a type checker knows the fields, but not aliases and other columns

        def __init__(self, /, **columns: Any) -> None: ...

    @classmethod
    def read(cls, columns: Any, where: str, names: Names = NAMES) -> Sample:
        """Validate a mapping; return a sample as it is. `where` ("data.jsonl, line 3") begins the errors."""
        return cls.model_validate(columns, context=(where, names))

    @classmethod
    def stored(cls, line: bytes) -> Sample:
        """Create a sample from the output of `model_dump_json`, without the checks, which it has passed."""
        return cls.model_validate_json(line, context=_CHECKED)

    @model_validator(mode="wrap")
    @classmethod
    def _from_columns(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(data, Sample) or info.context == _CHECKED:
            return handler(data)
        where, names = info.context or ("Sample", NAMES)
        if not isinstance(data, Mapping):
            shown = shorten(repr(data), 60)
            raise InputError(f"{where}: {shown} is no sample; give an object with named columns.")
        for name, value in data.items():
            if not isinstance(name, str):
                shown = shorten(repr(name), 60)
                raise InputError(f"{where}: the column name {shown} is no text; name every column with text.")
            try:  # refuse what can't be written into a run's folder
                if _is_text(value):  # most columns; the general check takes five times as long
                    "\n".join([name, *([value] if isinstance(value, str) else value)]).encode()
                else:
                    encoded = json.dumps([name, value], ensure_ascii=False, allow_nan=False).encode()
                    from_json(encoded)  # refuses lists that are nested too deep
            except (TypeError, ValueError, RecursionError) as error:
                reason = shorten(error)
                fault = f"can't be written as JSON ({reason}); write text, a number, a list or an object"
                if isinstance(error, UnicodeEncodeError):
                    fault = "has bytes of another encoding, or half a character; write UTF-8, or name the "
                    fault += "encoding of the file, as --encoding gb18030"
                raise InputError(f"{where}: {shorten(name) or 'a name'} {fault}.") from None
        # The other names of a field are dropped: read again, they would be taken for the field.
        known_names = {*chain(*NAMES.values()), *chain(*names.values())}
        values = {name: value for name, value in data.items() if name not in known_names}
        columns: dict[str, str] = {}  # the column that each field is read from
        for field, aliases in names.items():
            present = [name for name in aliases if data.get(name) is not None]
            if any(data[name] != data[present[0]] for name in present):
                raise InputError(f"{where}: {' and '.join(present)} are one field but differ; keep one.")
            if present:
                columns[field], values[field] = present[0], data[present[0]]
        try:
            return handler(values)
        except ValidationError as error:
            raise InputError(f"{where}: {describe(error, columns)}.") from None


def _is_text(value: Any) -> bool:
    """Report whether the value is a text or a list of texts."""
    return isinstance(value, str) or (type(value) is list and all(isinstance(item, str) for item in value))


def check_columns(samples: Sequence[Sample], needed: Sequence[str], metric: str, where: str) -> None:
    """Raise `InputError` if a needed field is None in every sample, so that `metric` can score none."""
    for field in needed:
        if all(getattr(sample, field, None) is None for sample in samples):
            alternatives = "".join(f" or {name}" for name in ALIASES.get(field, ()))
            fault = f"{metric} needs the column {field}{alternatives}, which no sample has"
            raise InputError(f"{where}: {fault}; add it, or leave the metric out.")
