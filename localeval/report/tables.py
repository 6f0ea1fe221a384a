"""A result as tables: `scores.csv`, `statements.csv` (see localeval/runs/README.md), and a DataFrame.

In statements.csv contexts count from 0, and unknown numbers are those that the other text does not contain.
Rows are made one sample at a time, so that memory does not grow.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import chain, repeat
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS
from localeval.judgements.context import UnjudgedText
from localeval.judgements.reading import GroundingRecord
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord

if TYPE_CHECKING:
    from localeval.runs.result import Result

SCORES, STATEMENTS = "scores.csv", "statements.csv"
STATEMENT_COLUMNS = (
    *("id", "judgement", "sentence", "statement", "probability", "verdict"),
    *("evidence", "context", "unknown_numbers", "likelier_value", "reason", "unjudged"),
)
_WITH_VERDICTS = {
    name for name, judgement in JUDGEMENTS.items() if judgement.record in (GroundingRecord, SupportRecord)
}
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # and their full-width forms
_CELL_START = re.compile(rf'([;\t\n][\s"]*)(?=[{re.escape("".join(_FORMULA))}])')
_CONTROLS = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}

Cell = str | float | None


def as_csv(result: Result) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield (file name, lines) for both files; the lines are made lazily."""
    yield SCORES, _lines(_score_columns(result.metrics), _score_rows(result))
    yield STATEMENTS, _lines(STATEMENT_COLUMNS, _statement_rows(result))


def _score_columns(metrics: Sequence[str]) -> list[str]:
    return ["id", *(f"{name}{part}" for name in metrics for part in ("", "_soft", "_status", "_reason"))]


def _score_rows(result: Result) -> Iterator[list[Cell]]:
    for sample_result in result.samples:
        scores = [sample_result.scores[name] for name in result.metrics]
        yield [sample_result.sample.id, *(x for s in scores for x in (s.value, s.soft, s.status, s.reason))]


def _statement_rows(result: Result) -> Iterator[list[Cell]]:
    """Yield a row for each statement, each sentence that a head decided, and each part that is not judged."""
    for sample_result in result.samples:
        records = sample_result.calibrated()
        for name in (name for name in records if name in _WITH_VERDICTS):  # a lookup may read a journal
            for sentence, statement, verdict, *rest in _verdicts(name, records):
                p, evidence = verdict.probability, verdict.evidence
                cells = [evidence.text, evidence.context] if evidence else ["", None]
                decision = int(p >= result.signature.threshold)
                yield [sample_result.sample.id, name, sentence, statement, p, decision, *cells, *rest, ""]
        for name, stretch in _unjudged(records):
            empty = [""] * (len(STATEMENT_COLUMNS) - 4)
            yield [sample_result.sample.id, name, stretch.text, *empty, stretch.reason]


def _unjudged(records: Mapping[str, Any]) -> Iterator[tuple[str, UnjudgedText]]:
    """Yield (judgement, stretch) for each part of the response and the reference that is not judged.

    Mere marks, such as the numbers of a list's items, are left out.
    """
    of_response = "statements" if "statements" in records else "grounding"
    for name in (of_response, "reference_statements"):
        if name in records:
            for stretch in getattr(records[name], "unjudged", ()):
                if stretch.reason != "no_words":
                    yield name, stretch


def _verdicts(name: str, records: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield (sentence, statement, verdict, unknown numbers, likelier value, reason) for each verdict."""
    record = records[name]
    if isinstance(record, GroundingRecord):
        for item in record.sentences:
            yield item.sentence, item.sentence, item, "", _likelier_value(item), ""
    elif isinstance(record, SupportRecord):
        statements = records.get(JUDGEMENTS[name].needs[0])
        if isinstance(statements, StatementsRecord):
            reasons = getattr(records.get("reasons"), "reasons", ()) if name == "support" else ()
            for verdict, reason in zip(record.verdicts, chain(reasons, repeat("")), strict=False):
                sentence = statements.sentences[verdict.sentence].sentence
                numbers = " ".join(verdict.unknown_numbers)
                likelier = _likelier_value(verdict)
                yield sentence, verdict.statement, verdict, numbers, likelier, reason or verdict.reason or ""


def _likelier_value(verdict: Any) -> str:
    return verdict.binding.likelier_value if verdict.binding else ""


@lru_cache(maxsize=64, typed=True)  # rows of a sample repeat its texts
def cell(content: Cell) -> Cell:
    """Put an apostrophe before text that a spreadsheet would read as a formula.

    That is text whose first character after white space is one of `_FORMULA`, also after a semicolon, a tab
    or a line end, where some spreadsheets begin a cell. Other control characters become spaces.

    >>> cell("=1+1"), cell("a-b; =2"), cell(-0.5)
    ("'=1+1", "a-b; '=2", -0.5)
    """
    if not isinstance(content, str):
        return content
    text = content if content.isprintable() else content.replace("\r\n", "\n").translate(_CONTROLS)
    prefix = "'" if text.lstrip().startswith(_FORMULA) else ""
    return prefix + _CELL_START.sub(r"\1'", text)


def _lines(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    stream: Any = SimpleNamespace(write=str)  # `writerow` returns what `write` returns: the line
    writer = csv.writer(stream, lineterminator="\n")
    yield "\ufeff"
    for row in chain([columns], rows):
        yield writer.writerow(map(cell, row))


def to_pandas(result: Result) -> Any:
    """Return `scores.csv` as a DataFrame, with the columns of the samples (see `renamed`) after `id`.

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
            renamed(item.sample.model_dump(exclude_none=True), columns) | dict(zip(columns, row, strict=True))
            for item, row in zip(result.samples, _score_rows(result), strict=True)
        ]
    )
    sample_columns = [name for name in frame.columns if name not in columns]
    return frame[["id", *sample_columns, *columns[1:]]]


def renamed(own: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Prefix `sample_` to the columns in `own` that are taken, such as a label with a metric's name."""
    columns = {}
    for name, value in own.items():
        new = name
        while (name != "id" and new in taken) or (new != name and new in own):
            new = f"sample_{new}"
        columns[new] = value
    return columns
