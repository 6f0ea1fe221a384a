"""Data sets under their original names; objects of ragas are accepted too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from localeval.samples import ALIASES, Sample, read_samples
from localeval.samples.readers import is_table


class EvaluationDataset:
    """Samples in order, each with a unique id: its line, or its position (from 1), if it has none.

    Where that number is another sample's id, it is the next free one after all positions.

    `samples` may be samples of localeval or ragas, dicts, a table, or a whole data set of ragas. Raises
    InputError for anything else, with its position, and for no samples.

    >>> EvaluationDataset([{"question": "Where?", "answer": "In Assam."}])
    EvaluationDataset(features=['user_input', 'response'], len=1)
    """

    def __init__(self, samples: Iterable[Any]) -> None:
        is_sequence = hasattr(samples, "__iter__") or hasattr(samples, "__getitem__")
        if is_table(samples) or isinstance(samples, Mapping) or not is_sequence:
            samples = read_samples(samples)  # which refuses what is no data set
        rows = [as_columns(item) for item in samples]
        given = [row.get("id") if isinstance(row, Mapping) else getattr(row, "id", None) for row in rows]
        ids = ["" if value is None else str(value) for value in given]
        used, seen = {*ids}, set[str]()
        free_ids = (number for number in map(str, count(len(rows) + 1)) if number not in used)
        for i, (row, row_id) in enumerate(zip(rows, ids, strict=True)):
            # Data sets that were joined may have numbered their samples alike, or as a new row is numbered.
            is_taken = row_id in seen or (not row_id and str(i + 1) in used)
            if is_taken and isinstance(row, Sample):
                rows[i] = row.model_copy(update={"id": next(free_ids)})
            elif is_taken and not row_id and isinstance(row, Mapping):
                rows[i] = {**row, "id": next(free_ids)}
            seen |= {row_id} - {""}
        self.samples: list[Sample] = [*read_samples(rows)]

    @classmethod
    def from_jsonl(cls, path: str | Path) -> EvaluationDataset:
        """Read the samples of a JSONL file of any name. Raises InputError with the line and the field."""
        return cls(read_samples(path, format="jsonl"))

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> EvaluationDataset:
        return cls(data)

    def features(self) -> list[str]:
        """List the columns that any sample has, without `id`."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row if name != "id"))

    def to_list(self) -> list[dict[str, Any]]:
        """Return each sample as a dict, without its empty columns."""
        return [sample.model_dump(exclude_none=True) for sample in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __getitem__(self, index: int | slice) -> Any:
        return EvaluationDataset(self.samples[index]) if isinstance(index, slice) else self.samples[index]

    def __repr__(self) -> str:
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"


def as_columns(source: Any) -> Any:
    """Return a pydantic model (as of ragas), or another object with our fields, as a dict of its columns."""
    if isinstance(source, Sample | Mapping):
        return source
    if callable(dump := getattr(source, "model_dump", None)):
        return {name: value for name, value in dump().items() if value is not None}
    return {name: getattr(source, name) for name in ALIASES if hasattr(source, name)} or source
