"""One row of the data, and the checks of its columns."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

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
from localeval.samples.columns import NAMES, Names, all_columns
from localeval.samples.field_values import FieldValue, read_field
from localeval.samples.guesses import Guesses
from localeval.samples.history import HISTORY, as_column, history_of
from localeval.samples.messages import Message
from localeval.system.arguments import describe
from localeval.text.display import encodable, shorten

MAX_DEPTH = 20  # levels that are kept of a column that can't be stored as it is
MAX_NUMBER = 1e300
_CHECKED = "checked"


class Sample(BaseModel):
    """One row: a question, its answer, the retrieved contexts and the reference answer.

    `reference_contexts` are the contexts that should be retrieved. `retrieved_ids` and `reference_ids` name
    what was and what should be retrieved. All lists of what was retrieved are in order of rank.

    None means that the column is missing (or null); "" and [] mean that it is present and empty. Columns
    with other names are kept in `model_extra`. `Sample(...)` accepts the aliases too, and raises
    `InputError` for a wrong type, for an alias that contradicts its field, and for a field that can't be
    written as JSON in UTF-8; of a column that is no field, what can be written is kept. Numbers, documents,
    messages and lists that were written as text are read as `samples.field_values` says; an integer id
    becomes a string; "" means no id. NaN and infinity are missing.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)] = ""
    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: list[str] | None = None
    reference: str | None = None
    reference_contexts: list[str] | None = None
    retrieved_ids: list[str] | None = None
    reference_ids: list[str] | None = None

    if TYPE_CHECKING:  # a type checker knows the fields, but not aliases and other columns

        def __init__(self, /, **columns: Any) -> None: ...

    @classmethod
    def read(cls, columns: Any, where: str, names: Names = NAMES, guesses: Guesses | None = None) -> Sample:
        """Validate a mapping; return a sample as it is. `where` ("data.jsonl, line 3") begins the errors.

        guesses  takes what was read in another way than it is written
        """
        return cls.model_validate(columns, context=(where, names, guesses))

    @classmethod
    def stored(cls, line: bytes) -> Sample:
        """Create a sample from the output of `model_dump_json`, without the checks, which it has passed."""
        return cls.model_validate_json(line, context=_CHECKED)

    def earlier_messages(self) -> tuple[Message, ...]:
        """Return what was said before the question, where the column `history` holds messages."""
        return history_of(self.model_extra or {})

    def asks_the_same(self, other: Sample) -> bool:
        """Return whether both ask the same question, after the same messages."""
        same_words = self.user_input == other.user_input
        return same_words and self.earlier_messages() == other.earlier_messages()

    @model_validator(mode="wrap")
    @classmethod
    def _from_columns(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(data, Sample) or info.context == _CHECKED:
            return handler(data)
        where, names, guesses = info.context or ("Sample", NAMES, None)
        # Without a collector the guesses are counted, and nobody reads them.
        guesses = guesses or Guesses()
        if not isinstance(data, Mapping):
            shown = shorten(repr(data), 60)
            raise InputError(f"{where}: {shown} is no sample; give an object with named columns.")
        fields = _read_fields(data, names, where, guesses)
        columns = _present_columns(fields, names, where)
        values = _other_columns(data, names, guesses)
        for field, column in columns.items():
            values[field] = fields[field][column].value
            guesses.add_field(field, column, is_named=names[field][0] != field)
        values.update(_from_conversation(fields, values, guesses))
        try:
            return handler(values)
        except ValidationError as error:
            raise InputError(f"{where}: {describe(error, columns)}.") from None


_Fields: TypeAlias = dict[str, dict[str, FieldValue]]
"""Field -> column -> its value."""


def _read_fields(data: Mapping[Any, Any], names: Names, where: str, guesses: Guesses) -> _Fields:
    """Return the values of the columns that a field may be read from, each checked; no missing numbers.

    Raises InputError for a column whose name is no text, and for a value that JSON can't hold.
    """
    for name in data:
        if not isinstance(name, str):
            shown = shorten(repr(name), 60)
            raise InputError(f"{where}: the column name {shown} is no text; name every column with text.")
    fields: _Fields = {}
    for field, aliases in names.items():
        present = [name for name in aliases if name in data and not is_missing_number(data[name])]
        for name in present:
            fields.setdefault(field, {})[name] = _read_field(field, name, data[name], where, guesses)
    return fields


def _read_field(field: str, name: str, value: Any, where: str, guesses: Guesses) -> FieldValue:
    """Read the value of a column as its field. Raises InputError for one that can't be, with the place."""
    try:
        read = read_field(field, name, _without_missing_numbers(value), guesses)
    except InputError as error:
        raise InputError(f"{where}: {error}.") from None
    _check_storable(name, read.value, where)
    return read


def _from_conversation(fields: _Fields, values: Mapping[str, Any], guesses: Guesses) -> dict[str, Any]:
    """Return the fields that no column has, and that the messages of another one hold."""
    found: dict[str, Any] = {}
    for field in ("user_input", "response"):
        for column, value in fields.get(field, {}).items():
            if value.turn is None:
                continue
            parts = {
                "user_input": value.turn.question,
                "response": value.turn.response,
                "retrieved_contexts": value.turn.contexts or None,
                HISTORY: as_column(value.turn.history) or None,
            }
            for other, part in parts.items():
                if part is not None and values.get(other) is None:
                    found.setdefault(other, part)
                    guesses.add_field(other, column, is_named=False)
    return found


def _other_columns(data: Mapping[str, Any], names: Names, guesses: Guesses) -> dict[str, Any]:
    """Return the columns that no field is read from; a value that JSON can't hold is kept in part.

    The other names of a field are dropped: read again, they would be taken for the field.
    """
    read = all_columns(names)
    known = all_columns(NAMES)
    others: dict[str, Any] = {}
    for name, value in data.items():
        if name in read or is_missing_number(value):
            continue
        if name in known:
            if value is not None:
                guesses.count(name, "left out, as another column was named for its field")
            continue
        others[encodable(name)] = _storable(name, value, guesses)
    return others


def _present_columns(fields: _Fields, names: Names, where: str) -> dict[str, str]:
    """Return the column that each field is read from. Raises InputError where two of one field differ."""
    columns: dict[str, str] = {}
    for field, aliases in names.items():
        values = fields.get(field, {})
        present = [name for name in aliases if name in values and values[name].value is not None]
        if not present:
            continue
        first = present[0]
        if any(values[name].value != values[first].value for name in present):
            raise InputError(f"{where}: {' and '.join(present)} are one field but differ; keep one.")
        columns[field] = first
    return columns


def is_missing_number(value: object) -> bool:
    """Return whether it is not a number, or infinite: Python's JSON and pandas write so what is missing."""
    return isinstance(value, float) and not math.isfinite(value)


def _without_missing_numbers(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [None if is_missing_number(item) else item for item in value]
    return value


def _check_storable(name: str, value: Any, where: str) -> None:
    """Raise InputError for a column that can't be written into a run's folder."""
    try:
        if isinstance(value, str):
            # Most columns; the general check takes five times as long.
            f"{name}{value}".encode()
        elif _is_list_of_texts(value):
            "\n".join([name, *value]).encode()
        else:
            encoded = json.dumps([name, value], ensure_ascii=False, allow_nan=False).encode()
            from_json(encoded)  # refuses lists that are nested too deep
    except UnicodeEncodeError:
        raise InputError(
            f"{where}: {shorten(name) or 'a name'} has bytes of another encoding, or half a character; "
            "write UTF-8, or name the encoding of the file, as --encoding gb18030."
        ) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: {shorten(name) or 'a name'} can't be written as JSON ({shorten(error)}); "
            "write text, a number, a list or an object."
        ) from None


def _is_list_of_texts(value: Any) -> bool:
    return type(value) is list and all(isinstance(item, str) for item in value)


def _storable(name: str, value: Any, guesses: Guesses) -> Any:
    """Return the value of a column that no field is read from, without the parts that JSON can't hold."""
    try:
        _check_storable(name, value, "")
    except InputError:
        guesses.count(name, "that JSON can't hold, kept in part")
        return _simplified(value, MAX_DEPTH)
    return value


def _simplified(value: Any, depth: int) -> Any:
    """Return a value that can be written as JSON: without numbers that are none, and not so deep."""
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < MAX_NUMBER else None
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        return {encodable(str(name)): _simplified(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_simplified(item, depth - 1) for item in value]
    return shorten(repr(value))
