"""One row of the data, and what its columns must be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from typing_extensions import Self

# The names are ragas'. The aliases are read and never written.
ALIASES: dict[str, tuple[str, ...]] = {
    "user_input": ("question", "query"),
    "response": ("answer",),
    "retrieved_contexts": ("contexts", "docs", "document_list"),
    "reference": ("ground_truth",),
}
# For each field the columns that it is read from.
Names = Mapping[str, tuple[str, ...]]
NAMES: Names = {"id": ("id",), **{field: (field, *aliases) for field, aliases in ALIASES.items()}}
_CHECKED = "checked"


class Sample(BaseModel):
    """One row: a question, an answer, what was retrieved for it and what it should have been.

    None means that the column is missing (or null); "" and [] mean that it is there and empty. Columns
    with other names are kept in `model_extra`. `Sample(...)` takes the aliases too, and raises
    `InputError` for a wrong type, for an alias that contradicts its field, and for what can't be written
    as JSON in UTF-8. An id that is an int becomes a string; "" stands for none.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: Annotated[str, BeforeValidator(lambda given: str(given) if type(given) is int else given)] = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: list[str] | None = None
    reference: str | None = None

    if TYPE_CHECKING:  # which knows the fields alone, and not the aliases and other columns

        def __init__(self, /, **columns: Any) -> None: ...

    @classmethod
    def read(cls, columns: Any, where: str, names: Names = NAMES) -> Sample:
        """Make a sample of a mapping, or take one. `where` ("data.jsonl, line 3") heads its errors."""
        return cls.model_validate(columns, context=(where, names))

    @classmethod
    def stored(cls, line: bytes) -> Sample:
        """Make a sample of what `model_dump_json` wrote; it was checked before."""
        return cls.model_validate_json(line, context=_CHECKED)

    @model_validator(mode="wrap")
    @classmethod
    def _from_columns(
        cls, given: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if isinstance(given, Sample) or info.context == _CHECKED:
            return handler(given)
        where, names = info.context or ("Sample", NAMES)
        if not isinstance(given, Mapping):
            found = shorten(repr(given), 60)
            raise InputError(f"{where}: {found} is no sample; give an object with named columns.")
        for name, value in given.items():
            try:  # what could not be written into a run's folder is refused
                written = json.dumps([name, value], ensure_ascii=False, allow_nan=False).encode()
                if not isinstance(value, str):
                    from_json(written)  # which takes lists in lists only so deep
            except (TypeError, ValueError, RecursionError) as error:
                why = shorten(error)
                fault = f"can't be written as JSON ({why}); write text, a number, a list or an object"
                if isinstance(error, UnicodeEncodeError):
                    fault = "has bytes of another encoding, or half a character; write UTF-8, or name the "
                    fault += "encoding of the file, as --encoding gb18030"
                raise InputError(f"{where}: {shorten(name) or 'a name'} {fault}.") from None
        # The other names of a field are not kept: read again, they would be taken for it.
        known_names = {*chain(*NAMES.values()), *chain(*names.values())}
        values = {name: value for name, value in given.items() if name not in known_names}
        columns: dict[str, str] = {}  # that each field is read from
        for field, known in names.items():
            there = [name for name in known if given.get(name) is not None]
            if any(given[name] != given[there[0]] for name in there):
                raise InputError(f"{where}: {' and '.join(there)} are one field but differ; keep one.")
            if there:
                columns[field], values[field] = there[0], given[there[0]]
        try:
            return handler(values)
        except ValidationError as error:
            raise InputError(f"{where}: {describe(error, columns)}.") from None


def check_columns(samples: Sequence[Sample], needed: Sequence[str], metric: str, where: str) -> None:
    """Raise `InputError` if a needed field is None in every sample, so that the metric could score none."""
    for field in needed:
        if all(getattr(sample, field, None) is None for sample in samples):
            also = "".join(f" or {name}" for name in ALIASES.get(field, ()))
            need = f"{metric} needs the column {field}{also}, which no sample has"
            raise InputError(f"{where}: {need}; add it, or leave the metric out.")
