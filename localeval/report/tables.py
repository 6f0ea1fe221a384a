"""A result as tables: `scores.csv`, `statements.csv` (see localeval/runs/README.md), and a DataFrame.

In statements.csv contexts count from 0, and unknown numbers are those that the other text names nowhere. Rows
are made one sample at a time, so that memory does not grow.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain, repeat
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS
from localeval.judgements.grounding import GroundingRecord
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord

if TYPE_CHECKING:
    from localeval.runs.result import Result

SCORES, STATEMENTS = "scores.csv", "statements.csv"
STATEMENT_COLUMNS = (
    *("id", "judgement", "sentence", "statement", "probability", "verdict"),
    *("evidence", "context", "unknown_numbers", "reason"),
)
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # and their full-width forms
_INSIDE = re.compile(rf'([;\t\n][\s"]*)(?=[{re.escape("".join(_FORMULA))}])')
_CONTROLS = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}

Cell = str | float | None


def as_csv(result: Result) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield (name of the file, its lines) for both files; a line is made when it is asked for."""
    yield SCORES, _lines(_score_columns(result.metrics), _score_rows(result))
    yield STATEMENTS, _lines(STATEMENT_COLUMNS, _statement_rows(result))


def _score_columns(metrics: Sequence[str]) -> list[str]:
    return ["id", *(f"{name}{part}" for name in metrics for part in ("", "_soft", "_status", "_reason"))]


def _score_rows(result: Result) -> Iterator[list[Cell]]:
    for one in result.samples:
        scores = [one.scores[name] for name in result.metrics]
        yield [one.sample.id, *(part for s in scores for part in (s.value, s.soft, s.status, s.reason))]


def _statement_rows(result: Result) -> Iterator[list[Cell]]:
    """Yield a row for each statement, or each sentence that was read, of each judgement of each sample."""
    for one in result.samples:
        records = one.calibrated()
        for name, record in records.items():
            for sentence, statement, decided, *more in _decided(name, record, records):
                p, seen = decided.probability, decided.evidence
                evidence = [seen.text, seen.context] if seen else ["", None]
                verdict = int(p >= result.signature.threshold)
                yield [one.sample.id, name, sentence, statement, p, verdict, *evidence, *more]


def _decided(name: str, record: Any, records: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield (sentence, statement, what was decided, unknown numbers, reason) of a judgement's record."""
    if isinstance(record, GroundingRecord):
        for read in record.sentences:
            yield read.sentence, read.sentence, read, "", ""
    elif name in JUDGEMENTS and isinstance(record, SupportRecord):
        made = records.get(JUDGEMENTS[name].needs[0])
        if isinstance(made, StatementsRecord):
            reasons = getattr(records.get("reasons"), "reasons", ()) if name == "support" else ()
            for verdict, reason in zip(record.verdicts, chain(reasons, repeat("")), strict=False):
                sentence, numbers = made.sentences[verdict.sentence].sentence, verdict.unknown_numbers
                why = reason or verdict.reason or ""
                yield sentence, verdict.statement, verdict, " ".join(numbers), why


def cell(content: Cell) -> Cell:
    """Write a cell so that text that a spreadsheet would calculate begins with an apostrophe.

    That is text whose first sign, after white space, is one of `_FORMULA`, also behind a semicolon, a tab or
    a line end, where some spreadsheets begin a cell. Other control characters become spaces.

    >>> cell("=1+1"), cell("a-b; =2"), cell(-0.5)
    ("'=1+1", "a-b; '=2", -0.5)
    """
    if not isinstance(content, str):
        return content
    text = content if content.isprintable() else content.replace("\r\n", "\n").translate(_CONTROLS)
    before = "'" if text.lstrip().startswith(_FORMULA) else ""
    return before + _INSIDE.sub(r"\1'", text)


def _lines(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    echo: Any = SimpleNamespace(write=str)  # `writerow` returns what `write` does: the line
    writer = csv.writer(echo, lineterminator="\n")
    yield "\ufeff"
    for row in chain([columns], rows):
        yield writer.writerow(map(cell, row))


def to_pandas(result: Result) -> Any:
    """Return `scores.csv` as a DataFrame, with the samples' own columns, `renamed`, after `id`.

    Raises InputError without pandas.
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise InputError(
            "to_pandas needs pandas, which is not installed; pip install 'localeval[tables]'."
        ) from error
    columns = _score_columns(result.metrics)
    frame = pandas.DataFrame(
        [
            renamed(one.sample.model_dump(exclude_none=True), columns) | dict(zip(columns, row, strict=True))
            for one, row in zip(result.samples, _score_rows(result), strict=True)
        ]
    )
    own = [name for name in frame.columns if name not in columns]
    return frame[["id", *own, *columns[1:]]]


def renamed(own: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Put `sample_` before the columns of a sample whose names are taken, as labels under a metric's name."""
    found = {}
    for name, value in own.items():
        new = name
        while (name != "id" and new in taken) or (new != name and new in own):
            new = f"sample_{new}"
        found[new] = value
    return found
