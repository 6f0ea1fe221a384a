"""One row of the data, and the checks of its columns."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections import Counter
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
from localeval.text.display import encodable, join_some, shorten

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
_TEXTS = ("user_input", "response", "reference")
_DEEPEST = 20  # levels that are kept of a column that can't be stored as it is
_LARGEST = 1e300
_LARGEST_WHOLE = 2**53  # a larger float is no exact whole number
_MOST_COMPARED = 200  # columns, and characters of a column's name
_ALIKE = 0.7


class Sample(BaseModel):
    """One row: a question, its answer, the retrieved contexts and the reference answer.

    None means that the column is missing (or null); "" and [] mean that it is present and empty. Columns
    with other names are kept in `model_extra`. `Sample(...)` accepts the aliases too, and raises
    `InputError` for a wrong type, for an alias that contradicts its field, and for a field that can't be
    written as JSON in UTF-8; of a column that is no field, what can be written is kept. A number that is a
    field's value becomes its text, and an integer id a string; "" means no id. NaN and infinity are missing.
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
    def read(cls, columns: Any, where: str, names: Names = NAMES, guesses: Guesses | None = None) -> Sample:
        """Validate a mapping; return a sample as it is. `where` ("data.jsonl, line 3") begins the errors.

        guesses  takes what was read in another way than it is written
        """
        return cls.model_validate(columns, context=(where, names, guesses))

    @classmethod
    def stored(cls, line: bytes) -> Sample:
        """Create a sample from the output of `model_dump_json`, without the checks, which it has passed."""
        return cls.model_validate_json(line, context=_CHECKED)

    @model_validator(mode="wrap")
    @classmethod
    def _from_columns(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(data, Sample) or info.context == _CHECKED:
            return handler(data)
        where, names, guesses = info.context or ("Sample", NAMES, None)
        guesses = guesses or Guesses()  # which nobody reads
        if not isinstance(data, Mapping):
            shown = shorten(repr(data), 60)
            raise InputError(f"{where}: {shown} is no sample; give an object with named columns.")
        # The other names of a field are dropped: read again, they would be taken for the field.
        dropped = {*chain(*NAMES.values())}
        read = {*chain(*names.values())}
        cells: dict[str, Any] = {}
        values: dict[str, Any] = {}
        for name, value in data.items():
            if not isinstance(name, str):
                shown = shorten(repr(name), 60)
                raise InputError(f"{where}: the column name {shown} is no text; name every column with text.")
            if is_missing_number(value):
                continue
            if name in read:
                cells[name] = _without_missing_numbers(value)
                _check_storable(name, cells[name], where)
            elif name not in dropped:
                values[encodable(name)] = _storable(name, value, guesses)
        columns: dict[str, str] = {}  # the column that each field is read from
        for field, aliases in names.items():
            present = [name for name in aliases if cells.get(name) is not None]
            if any(cells[name] != cells[present[0]] for name in present):
                raise InputError(f"{where}: {' and '.join(present)} are one field but differ; keep one.")
            if present:
                columns[field] = present[0]
                values[field] = _as_field(field, present[0], cells[present[0]], guesses)
        for field, column in columns.items():
            if column != field and names[field] == NAMES[field]:
                guesses.aliases.setdefault(field, {})[column] = None
        try:
            return handler(values)
        except ValidationError as error:
            raise InputError(f"{where}: {describe(error, columns)}.") from None


class Guesses:
    """What of the data was read in another way than it is written.

    aliases  field -> the columns that it was read from, where nobody named one
    counts   (column, what was done) -> number of cells
    """

    def __init__(self) -> None:
        self.aliases: dict[str, dict[str, None]] = {}
        self.counts: Counter[tuple[str, str]] = Counter()

    def lines(self) -> list[str]:
        """Return a line for each kind of guess; none where nothing was guessed."""
        lines = []
        if self.aliases:
            pairs = ", ".join(f"{field} from {' and '.join(names)}" for field, names in self.aliases.items())
            lines.append(f"read {pairs}")
        for (column, what), number in sorted(self.counts.items()):
            lines.append(f"{shorten(column)}: {number} {'cell' if number == 1 else 'cells'} {what}")
        return lines


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


def _is_text(value: Any) -> bool:
    """Report whether the value is a text or a list of texts."""
    return isinstance(value, str) or (type(value) is list and all(isinstance(item, str) for item in value))


def _storable(name: str, value: Any, guesses: Guesses) -> Any:
    """Return the value of a column that no field is read from, or what of it can be written as JSON."""
    try:
        _check_storable(name, value, "")
    except InputError:
        guesses.counts[name, "that JSON can't hold, kept in part"] += 1
        return _simplified(value, _DEEPEST)
    return value


def _simplified(value: Any, depth: int) -> Any:
    """Return a value that can be written as JSON: without numbers that are none, and not so deep."""
    if isinstance(value, str):
        return encodable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < _LARGEST else None
    if depth == 0:
        return None
    if isinstance(value, Mapping):
        return {encodable(str(name)): _simplified(item, depth - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_simplified(item, depth - 1) for item in value]
    return shorten(repr(value))


def _as_field(field: str, column: str, value: Any, guesses: Guesses) -> Any:
    """Return a cell as the value of its field: a number as its text, LangChain's documents as theirs."""
    if field in _TEXTS and type(value) in (int, float):
        guesses.counts[column, "with a number, read as its text"] += 1
        return str(int(value)) if value == value // 1 and abs(value) < _LARGEST_WHOLE else str(value)
    if field == "retrieved_contexts" and isinstance(value, list):
        texts = [_text_of_document(item) for item in value]
        if texts != value:
            guesses.counts[column, "with documents, read as their page_content"] += 1
        return texts
    return value


def _text_of_document(item: Any) -> Any:
    return item.get("page_content", item) if isinstance(item, Mapping) else item


def columns_of(samples: Sequence[Sample]) -> Sequence[str]:
    """Return the names of the columns of the data; of samples that were made one by one, what they have."""
    given: Sequence[str] | None = getattr(samples, "columns", None)
    if given is not None:
        return given
    names = dict[str, None]()
    for sample in samples:
        names.update(dict.fromkeys(sample.model_dump(exclude_none=True, exclude={"id"})))
    return list(names)


def nearest_column(field: str, columns: Sequence[str]) -> str | None:
    """Return the column of another name that looks most like one of the field's; None where none does.

    >>> nearest_column("retrieved_contexts", ["id", "context", "note"]), nearest_column("response", ["note"])
    ('context', None)
    """
    known = {*chain(*NAMES.values())}
    unknown = [column for column in columns if column not in known][:_MOST_COMPARED]
    plain = {column: re.sub(r"\W+", "_", column[:_MOST_COMPARED].strip().lower()) for column in unknown}
    best: tuple[float, str | None] = (_ALIKE, None)
    for column, text in plain.items():
        for name in NAMES[field]:
            likeness = difflib.SequenceMatcher(None, name, text).ratio()
            if likeness > best[0]:
                best = likeness, column
    return best[1]


def columns_hint(samples: Sequence[Sample], fields: Sequence[str]) -> str:
    """Say which columns there are, and how one is named for each of the fields; "" where none can be."""
    columns = [str(column) for column in columns_of(samples)]
    if not columns:
        return ""
    pairs = []
    for field in fields:
        if field in NAMES:
            pairs.append(f"{field}={quoted_column(nearest_column(field, columns) or 'NAME')}")
    listed = shorten(join_some(columns, 30), 400)
    return f"the columns are: {listed}; name the right one, as --columns {','.join(pairs)}"


def quoted_column(name: str) -> str:
    """Write a column's name as --columns takes it: in quotes, where it has a comma or a quote.

    >>> quoted_column("q"), quoted_column("Question, short")
    ('q', '"Question, short"')
    """
    if "," in name or name.startswith('"'):
        return '"' + name.replace('"', '""') + '"'
    return name


def check_columns(samples: Sequence[Sample], needed: Sequence[str], metric: str, where: str) -> None:
    """Raise `InputError` if a needed field is None in every sample, so that `metric` can score none."""
    for field in needed:
        if all(getattr(sample, field, None) is None for sample in samples):
            alternatives = "".join(f" or {name}" for name in ALIASES.get(field, ()))
            hint = columns_hint(samples, [field])
            fault = f"{metric} needs the column {field}{alternatives}, which no sample has"
            remedy = f"{hint}, add it" if hint else "add it"
            raise InputError(f"{where}: {fault}; {remedy}, or leave the metric out.")
