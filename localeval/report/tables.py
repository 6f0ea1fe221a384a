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
from itertools import chain
from typing import Any

from localeval.errors import InputError
from localeval.judgements.decision import OF_ANSWER, Decision, DecisionList
from localeval.report.view import RunView

STATEMENT_COLUMNS = (
    "id",
    "judgement",
    "sentence",
    "statement",
    "probability",
    "verdict",
    "evidence",
    "context",
    "unknown_numbers",
    "likelier_value",
    "reason",
    "unjudged",
)
# Characters that begin a formula, and their full-width forms.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_CELL_START = re.compile(rf'([;\t\n][\s"]*)(?=[{re.escape("".join(_FORMULA))}])')
_CONTROLS = {code: " " for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}

Cell = str | float | None


def scores_csv(run: RunView) -> Iterator[str]:
    """Yield the lines of scores.csv: a row for each sample."""
    return _lines(_score_columns(run.metrics), _score_rows(run))


def statements_csv(run: RunView) -> Iterator[str]:
    """Yield the lines of statements.csv: a row for each decision, and each part that is not judged."""
    return _lines(STATEMENT_COLUMNS, _statement_rows(run))


def _score_columns(metrics: Sequence[str]) -> list[str]:
    columns = ["id"]
    for name in metrics:
        columns += [name, f"{name}_soft", f"{name}_status", f"{name}_reason"]
    return columns


def _score_rows(run: RunView) -> Iterator[list[Cell]]:
    for sample_result in run.samples:
        row: list[Cell] = [sample_result.sample.id]
        for name in run.metrics:
            score = sample_result.scores[name]
            row += [score.value, score.soft, score.status, score.reason]
        yield row


def _statement_rows(run: RunView) -> Iterator[list[Cell]]:
    for sample_result in run.samples:
        lists = sample_result.decisions(run.signature.threshold)
        for judgement, cells in chain(_context_rows(lists), _answer_rows(lists), _unjudged_rows(lists)):
            yield [sample_result.sample.id, judgement, *cells]


def _context_rows(lists: Sequence[DecisionList]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the judgement and the cells of each decision about a whole context."""
    for listed in lists:
        if listed.kind == "context":
            for decision in listed.decisions:
                yield listed.judgement, _context_cells(decision)


def _answer_rows(lists: Sequence[DecisionList]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the judgement and the cells of each decision about what somebody wrote as an answer."""
    for listed in lists:
        if listed.kind in OF_ANSWER:
            for decision in listed.decisions:
                if decision.probability is not None:
                    yield listed.judgement, _decided_cells(decision)


def _unjudged_rows(lists: Sequence[DecisionList]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the same of each part that is not judged: of the response, then of the reference."""
    of_answer = [listed for listed in lists if listed.kind in OF_ANSWER]
    for listed in sorted(of_answer, key=lambda listed: listed.column != "response"):
        for decision in listed.decisions:
            # Mere marks, such as the numbers of a list's items, are left out.
            if decision.unjudged not in ("", "no_words"):
                yield listed.judgement, _unjudged_cells(decision)


def _decided_cells(decision: Decision) -> list[Cell]:
    """Return the cells after id and judgement."""
    evidence = decision.evidence
    return [
        decision.sentence or decision.text,
        decision.text,
        decision.probability,
        int(decision.is_yes),
        evidence.text if evidence else "",
        evidence.context if evidence else None,
        " ".join(decision.unknown_numbers),
        decision.likelier_value,
        decision.reason,
        "",
    ]


def _context_cells(decision: Decision) -> list[Cell]:
    """Return the cells after id and judgement of a decision about a whole context."""
    return [
        decision.text,
        decision.text,
        decision.probability,
        int(decision.is_yes),
        "",
        decision.context,
        "",
        "",
        "",
        decision.unjudged,
    ]


def _unjudged_cells(decision: Decision) -> list[Cell]:
    """Return the cells after id and judgement, all empty but the text and the reason."""
    empty = [""] * (len(STATEMENT_COLUMNS) - 4)
    return [decision.text, *empty, decision.unjudged]


# Rows of a sample repeat its texts.
@lru_cache(maxsize=64, typed=True)
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
    writer = csv.writer(_Echo(), lineterminator="\n")
    yield "\ufeff"
    for row in chain([columns], rows):
        yield writer.writerow(map(cell, row))


class _Echo:
    """A file that stores nothing: `writerow` of a csv writer returns what `write` returns, the line."""

    def write(self, line: str) -> str:
        return line


def to_pandas(run: RunView) -> Any:
    """Return `scores.csv` as a DataFrame, with the columns of the samples (see `renamed`) after `id`.

    Raises InputError without pandas.
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise InputError(
            "to_pandas needs pandas, which is not installed; pip install 'localeval[tables]'."
        ) from error
    columns = _score_columns(run.metrics)
    rows = []
    for sample_result, row in zip(run.samples, _score_rows(run), strict=True):
        own_columns = sample_result.sample.model_dump(exclude_none=True)
        rows.append(renamed(own_columns, columns) | dict(zip(columns, row, strict=True)))
    frame = pandas.DataFrame(rows)
    sample_columns = [name for name in frame.columns if name not in columns]
    return frame[["id", *sample_columns, *columns[1:]]]


def renamed(own: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Prefix `sample_` to the columns in `own` that are taken, such as a label with a metric's name.

    `id` keeps its name: it is the id of the sample in both.
    """

    def is_free(new: str, name: str) -> bool:
        is_of_other = new != name and new in own
        return not is_of_other and (new not in taken or name == "id")

    columns = {}
    for name, value in own.items():
        new = name
        while not is_free(new, name):
            new = f"sample_{new}"
        columns[new] = value
    return columns
