"""A sample and a data set under their original names; ragas' objects are accepted too."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localeval.compat.original_metrics import as_columns
from localeval.errors import InputError
from localeval.samples import Sample, is_table, read_samples


class SingleTurnSample(Sample):
    """A sample with the methods that it has in ragas."""

    if TYPE_CHECKING:

        def __init__(self, /, **columns: Any) -> None: ...

    def to_dict(self) -> dict[str, Any]:
        """Return the sample as a dict, without its empty columns."""
        return self.model_dump(exclude_none=True)

    def get_features(self) -> list[str]:
        """List the columns that it has, without `id`."""
        return [name for name in self.to_dict() if name != "id"]

    def to_string(self) -> str:
        """Return the sample as text, each column under its name."""
        return "".join(f"\n{name}:\n\t{value}\n" for name, value in self.to_dict().items())

    @classmethod
    def of(cls, sample: Sample) -> SingleTurnSample:
        """Return a sample as one of this class, without the checks, which it has passed."""
        return cls.model_construct(sample.model_fields_set, **sample.__dict__, **(sample.model_extra or {}))


class EvaluationDataset:
    """Samples in order, each with a unique id: its line, or its position (from 1), if it has none.

    Where that number is another sample's id, it is the next free one after all positions.

    `samples` may be samples of localeval or ragas, dicts, a table, or a whole data set of ragas. Raises
    InputError for anything else, with its position, and for no samples. `backend` and `name` are kept, and
    have no effect.

    >>> EvaluationDataset([{"question": "Where?", "answer": "In Assam."}])
    EvaluationDataset(features=['user_input', 'response'], len=1)
    """

    def __init__(self, samples: Iterable[Any], backend: Any = None, name: str | None = None) -> None:
        self.backend = backend
        self.name = name
        is_sequence = hasattr(samples, "__iter__") or hasattr(samples, "__getitem__")
        if is_table(samples) or isinstance(samples, Mapping) or not is_sequence:
            samples = read_samples(samples)  # which refuses what is no data set
        rows = [as_columns(item) for item in samples]
        self.samples = [SingleTurnSample.of(sample) for sample in read_samples(_numbered(rows))]

    @classmethod
    def from_jsonl(cls, path: str | Path) -> EvaluationDataset:
        """Read the samples of a JSONL file of any name. Raises InputError with the line and the field."""
        return cls(read_samples(path, format="jsonl"))

    @classmethod
    def from_list(
        cls, data: Iterable[Mapping[str, Any]], backend: Any = None, name: str | None = None
    ) -> EvaluationDataset:
        return cls(data, backend, name)

    @classmethod
    def from_dict(cls, mapping: Iterable[Mapping[str, Any]]) -> EvaluationDataset:
        """Do as `from_list`; ragas takes a list here, too."""
        return cls(mapping)

    @classmethod
    def from_pandas(cls, dataframe: Any) -> EvaluationDataset:
        return cls(dataframe)

    @classmethod
    def from_hf_dataset(cls, dataset: Any) -> EvaluationDataset:
        return cls(dataset)

    def to_jsonl(self, path: str | Path) -> None:
        """Write each sample as a line of JSON."""
        lines = [json.dumps(row, ensure_ascii=False) for row in self.to_list()]
        Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file with a row for each sample, a list as Python writes it."""
        rows = self.to_list()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)

    def to_pandas(self) -> Any:
        """Return the samples as a data frame. Raises InputError where pandas is not installed."""
        return pandas_module().DataFrame(self.to_list())

    def to_hf_dataset(self) -> Any:
        """Return the samples as a Dataset of Hugging Face. Raises InputError where it is not installed."""
        try:
            from datasets import Dataset
        except ImportError as error:
            raise InputError(
                "to_hf_dataset needs datasets, which is not installed; pip install datasets."
            ) from error
        return Dataset.from_list(self.to_list())

    def get_sample_type(self) -> type[SingleTurnSample]:
        return SingleTurnSample

    def is_multi_turn(self) -> bool:
        """Return False: of a conversation, the last turn is the sample."""
        return False

    def features(self) -> list[str]:
        """List the columns that any sample has, without `id`."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row if name != "id"))

    def to_list(self) -> list[dict[str, Any]]:
        """Return each sample as a dict, without its empty columns."""
        return [sample.model_dump(exclude_none=True) for sample in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[SingleTurnSample]:
        return iter(self.samples)

    def __getitem__(self, index: int | slice) -> Any:
        return EvaluationDataset(self.samples[index]) if isinstance(index, slice) else self.samples[index]

    def __repr__(self) -> str:
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"


def pandas_module() -> Any:
    """Return the module pandas. Raises InputError where it is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise InputError("to_pandas needs pandas, which is not installed; pip install pandas.") from error
    return pandas


def _numbered(rows: list[Any]) -> list[Any]:
    """Return the rows with a free number as the id of each row that would get the id of another one.

    Data sets that were joined may have numbered their samples alike, or as a new row is numbered.
    """
    ids = [_given_id(row) for row in rows]
    used = set(ids)
    free_ids = (number for number in map(str, count(len(rows) + 1)) if number not in used)
    seen: set[str] = set()
    numbered = []
    for position, (row, row_id) in enumerate(zip(rows, ids, strict=True), 1):
        is_taken = row_id in seen if row_id else str(position) in used
        if is_taken and isinstance(row, Sample):
            row = row.model_copy(update={"id": next(free_ids)})
        elif is_taken and not row_id and isinstance(row, Mapping):
            row = {**row, "id": next(free_ids)}
        numbered.append(row)
        if row_id:
            seen.add(row_id)
    return numbered


def _given_id(row: Any) -> str:
    """Return the id that a row has; "" for none."""
    value = row.get("id") if isinstance(row, Mapping) else getattr(row, "id", None)
    return "" if value is None else str(value)
