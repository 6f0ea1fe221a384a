"""Data sets under their original names; ragas' own objects are read as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from localeval.samples import ALIASES, Sample, read_samples


class EvaluationDataset:
    """Samples in their order, each with an id of its own: its line or place where it has none.

    `samples` may be our samples or ragas' ones, dicts, or a whole data set of ragas. Raises InputError for
    what is none of these, with its place, and for no sample at all.

    >>> EvaluationDataset([{"question": "Where?", "answer": "In Assam."}])
    EvaluationDataset(features=['user_input', 'response'], len=1)
    """

    def __init__(self, samples: Iterable[Any]) -> None:
        plain = [as_columns(item) for item in samples]
        # Data sets that were joined have numbered their samples each for itself.
        given = [
            str(one.get("id") or "") if isinstance(one, Mapping) else getattr(one, "id", "") for one in plain
        ]
        taken, seen = {*given}, set[str]()
        free = (name for name in map(str, count(len(plain) + 1)) if name not in taken)
        for place, name in enumerate(given):
            if name in seen and isinstance(plain[place], Sample):
                plain[place] = plain[place].model_copy(update={"id": next(free)})
            seen |= {name} - {""}
        self.samples: list[Sample] = [*read_samples(plain)]

    @classmethod
    def from_jsonl(cls, path: str | Path) -> EvaluationDataset:
        """Read the samples of a JSONL file of any name. Raises InputError with the line and the field."""
        return cls(read_samples(path, format="jsonl"))

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> EvaluationDataset:
        return cls(data)

    def features(self) -> list[str]:
        """List the columns that some sample has, ids aside."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row if name != "id"))

    def to_list(self) -> list[dict[str, Any]]:
        """Give each sample as a dict, without the columns that it lacks."""
        return [sample.model_dump(exclude_none=True) for sample in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __getitem__(self, place: int | slice) -> Any:
        return EvaluationDataset(self.samples[place]) if isinstance(place, slice) else self.samples[place]

    def __repr__(self) -> str:
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"


def as_columns(given: Any) -> Any:
    """Name the columns of an object that has them: a pydantic model (ragas' samples are), or any other."""
    if isinstance(given, Sample | Mapping):
        return given
    if callable(dump := getattr(given, "model_dump", None)):
        return {name: value for name, value in dump().items() if value is not None}
    return {name: getattr(given, name) for name in ALIASES if hasattr(given, name)} or given
