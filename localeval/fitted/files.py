"""Files of what was fitted to a judge: rows of heads or of calibrations, each for a judge and a language."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import resources
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from localeval.errors import InputError
from localeval.labels.fingerprint import Fingerprints
from localeval.text.display import shorten

SCHEMA = 1  # of a file of heads or calibrations
MAX_WEIGHT = 1e4  # of a fitted number: products of several stay finite

Weight = Annotated[float, Field(ge=-MAX_WEIGHT, le=MAX_WEIGHT)]


class Fitted(BaseModel):
    """Base class of what is fitted and stored in files."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class FittedFor(Fitted):
    """The judge that something was fitted for: the name and the sha256 of its model file."""

    name: str
    sha256: str


class FittedRow(Fitted):
    """A row of a file of `KIND`, which `localeval COMMAND` writes: fitted for a judge and a language.

    fitted_on     for people to read: sources, labels, date
    figures       on texts that it was not fitted on: name -> (figure, ends of its 95 % interval)
    fingerprints  of the samples that it was fitted on; None where they are not known
    """

    KIND: ClassVar[str]
    COMMAND: ClassVar[str]

    judge: FittedFor
    language: str
    fitted_on: dict[str, Any] = {}
    figures: dict[str, tuple[float, float, float]] = {}
    fingerprints: Fingerprints | None = None


F = TypeVar("F", bound=FittedRow)


def load_fitted(model: type[F], source: str, fits: Callable[[F], bool]) -> dict[str, F]:
    """Return the heads or calibrations that apply to a judge, by language; often none.

    source  "auto" for the shipped ones, "none", or the text of a file
    fits    whether a row was fitted for this judge

    Raises InputError for a text that is no file of such rows, or that has none that fits.
    """
    if source == "none":
        return {}
    where = f"the given file of {model.KIND}"
    rows = shipped(model) if source == "auto" else _parsed(model, source, where)
    fitting = {row.language: row for row in rows if fits(row)}
    if source != "auto" and not fitting:
        raise InputError(
            f"the given file has no {model.KIND} for this judge, its prompts, versions and options, and what "
            f"was fitted for others is never applied; make one with `localeval {model.COMMAND}`, or leave it "
            "out."
        )
    return fitting


@lru_cache
def shipped(model: type[F]) -> tuple[F, ...]:
    """Read all rows of this kind that come with the package."""
    files = sorted(resources.files("localeval.fitted").iterdir(), key=lambda file: file.name)
    texts = {file.name: file.read_text(encoding="utf-8") for file in files if file.name.endswith(".json")}
    return tuple(row for name, text in texts.items() for row in _parsed(model, text, name))


@lru_cache(maxsize=16)
def _parsed(model: type[F], text: str, where: str) -> tuple[F, ...]:
    try:
        data = json.loads(text)
        if data.get("schema", SCHEMA) != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        return tuple(model(**row) for row in data.get(model.KIND, ()))
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(
            f"{where}: this is no file of {model.KIND} ({shorten(error, 120)}); give one that "
            f"`localeval {model.COMMAND}` wrote."
        ) from error


def file_text(rows: Sequence[FittedRow]) -> str:
    """Return the text of a file of these rows, at least one."""
    lines = ",\n".join(json.dumps(row.model_dump(mode="json"), ensure_ascii=False) for row in rows)
    return f'{{"schema": {SCHEMA}, "{rows[0].KIND}": [\n{lines}\n]}}\n'
