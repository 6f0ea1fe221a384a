"""The file of labels: a data file of samples (JSONL) with columns that say what a person decided.

`card` and `fit` read it as any labelled data. Its columns besides those of the sample:

label          1 (right), 0 (wrong), a number between them where the metric is graded; null: can't tell
label_metric   the metric that the label is of
label_sample   the id of the sample in its run; the row's own id differs where one statement is labelled
statement      the statement that was labelled; absent where the whole response was
label_by       who labelled it
label_note     what they noted
label_design   how the row was chosen (`Design`)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from localeval.errors import InputError
from localeval.samples import Sample, read_samples
from localeval.text.display import shorten

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class Design(BaseModel):
    """How the labelled samples, or statements, of a run were chosen.

    kind   "random": each with the same probability, which a corrected rate needs; "all": every one;
           "uncertain": those whose probability is nearest to the threshold
    seed   of the draw
    drawn  number of those that were drawn, labelled or not
    of     number of those that could be drawn
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["random", "all", "uncertain"]
    seed: int = 0
    drawn: int
    of: int


@dataclass(frozen=True)
class Label:
    """What a person decided on a sample, or on one statement of its response.

    value      1 right, 0 wrong, or between; None: can't tell
    statement  None where the whole response was labelled
    """

    sample: Sample
    sample_id: str
    value: float | None
    statement: str | None = None
    by: str = ""
    note: str = ""


@dataclass(frozen=True)
class Labels:
    """The labels of a file.

    metric  the metric that they are of; None where the file does not say
    design  how they were chosen; None where the file does not say, or not of all rows the same
    """

    labels: Sequence[Label]
    metric: str | None
    design: Design | None
    where: str


def read_labels(path: str | Path) -> Labels:
    """Read a file of labels. Raises InputError for a label outside 0 to 1, and as `read_samples`.

    Rows without the column `label` count as not labelled, and are left out.
    """
    samples = read_samples(path)
    rows = [row for row in samples if "label" in (row.model_extra or {})]
    if not rows:
        raise InputError(
            f"{samples.name}: no row has a label; make labels with `label`, or add a column label."
        )
    labels = [_label_of(row, samples.name) for row in rows]
    metrics = {_column(row, "label_metric") for row in rows}
    if len(metrics) > 1:
        names = ", ".join(sorted(map(str, metrics)))
        raise InputError(
            f"{samples.name}: the labels are of several metrics ({names}); keep one file for each."
        )
    designs = [_design_of(row, samples.name) for row in rows]
    is_one_design = all(design == designs[0] for design in designs)
    return Labels(labels, metrics.pop(), designs[0] if is_one_design else None, samples.name)


def label_row(label: Label, metric: str, design: Design, row_id: str | None = None) -> dict[str, Any]:
    """Return the row of a file of labels, as plain JSON values.

    row_id  where it differs from the sample's id, as several statements of one sample are labelled
    """
    row = label.sample.model_dump(exclude_none=True)
    # A column of the data that has this name is not what was labelled.
    row.pop("statement", None)
    # 1 and 0 are written without a fraction, as the page of labels writes them.
    value = int(label.value) if label.value in (0, 1) else label.value
    row |= {"id": row_id or label.sample_id, "label": value, "label_metric": metric}
    row |= {"label_sample": label.sample_id, "label_by": label.by, "label_note": label.note}
    row["label_design"] = design.model_dump()
    if label.statement is not None:
        row["statement"] = label.statement
    return row


def row_json(row: Mapping[str, Any]) -> str:
    """Return a row as JSON on one line. Half a character, which a model may write, is escaped."""
    text = json.dumps(row, ensure_ascii=False)
    return _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _label_of(row: Sample, where: str) -> Label:
    statement = _column(row, "statement")
    return Label(
        sample=row,
        sample_id=str(_column(row, "label_sample") or row.id),
        value=_value_of(row, where),
        statement=None if statement is None else str(statement),
        by=str(_column(row, "label_by") or ""),
        note=str(_column(row, "label_note") or ""),
    )


def _value_of(row: Sample, where: str) -> float | None:
    value = _column(row, "label")
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number <= 1:
        shown = shorten(repr(value), 40)
        name = shorten(row.id, 40)
        raise InputError(
            f"{where}: sample {name} has the label {shown}; write 1 (right), 0 (wrong), "
            "a number between them, or null (can't tell)."
        )
    return number


def _design_of(row: Sample, where: str) -> Design | None:
    design = _column(row, "label_design")
    if design is None:
        return None
    try:
        return Design.model_validate(design)
    except ValidationError:
        name = shorten(row.id, 40)
        raise InputError(
            f"{where}: the label_design of sample {name} is not one that `label` writes; "
            "leave the column out, or make the labels with `label`."
        ) from None


def _column(row: Sample, name: str) -> Any:
    return (row.model_extra or {}).get(name)
