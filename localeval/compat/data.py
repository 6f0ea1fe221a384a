"""Samples and data sets under their original names; ragas' own objects are read as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, overload

from localeval.errors import InputError
from localeval.samples import ALIASES, Sample, read_samples


class SingleTurnSample(Sample):
    """A `localeval.Sample` under ragas' name. Raises InputError as that does.

    >>> SingleTurnSample(user_input="Where?", response="In Assam.").response
    'In Assam.'
    """

    def __init__(self, /, **columns: Any) -> None:
        super().__init__(**columns)


class EvaluationDataset:
    """Samples in their order, each with an id of its own: its line or place where it has none, and another
    number for a sample that has the same as one before it.

    `samples` may be our samples or ragas' ones, dicts, or a whole data set of ragas. Raises InputError for
    what is none of these, with its place, and for no sample at all.

    >>> EvaluationDataset([{"question": "Where?", "answer": "In Assam."}])
    EvaluationDataset(features=['user_input', 'response'], len=1)
    """

    def __init__(self, samples: Iterable[Any]) -> None:
        if isinstance(samples, str | bytes | Mapping) or not isinstance(samples, Iterable):
            raise InputError(
                f"samples is a {type(samples).__name__}; give a list of samples, "
                "or read a file with EvaluationDataset.from_jsonl."
            )
        self.samples: list[Sample] = read_samples(_numbered([_plain(item) for item in samples]))

    @classmethod
    def from_jsonl(cls, path: str | Path) -> EvaluationDataset:
        """The samples of a JSONL file of any name. Raises InputError with the line and the field."""
        return cls(read_samples(path, format="jsonl"))

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> EvaluationDataset:
        return cls(data)

    def features(self) -> list[str]:
        """The columns that some sample has, ids aside."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row if name != "id"))

    def to_list(self) -> list[dict[str, Any]]:
        """Each sample as a dict, without the columns that it lacks."""
        return [sample.model_dump(exclude_none=True) for sample in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> EvaluationDataset: ...

    def __getitem__(self, place: int | slice) -> Sample | EvaluationDataset:
        return EvaluationDataset(self.samples[place]) if isinstance(place, slice) else self.samples[place]

    def __repr__(self) -> str:
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"


def one_sample(given: Any, where: str) -> Sample:
    """The sample that a metric was called with. Raises InputError, with `where` at its head."""
    plain = _plain(given)
    if isinstance(plain, Sample):
        return plain
    if not isinstance(plain, Mapping):
        raise InputError(
            f"{where}: expected a dict or a sample, found a {type(given).__name__}; "
            "give the columns by name, as answer= and document_list=."
        )
    return Sample.read(plain, where)


def _numbered(items: list[Any]) -> list[Any]:
    """Samples of several data sets, each of which has numbered its own: of two alike the later one anew."""
    taken = {item.id for item in items if isinstance(item, Sample)}
    free = (str(number) for number in count(1) if str(number) not in taken)
    seen: set[str] = set()
    for place, item in enumerate(items):
        if isinstance(item, Sample) and item.id:
            if item.id in seen:
                items[place] = item.model_copy(update={"id": next(free)})
            seen.add(item.id)
    return items


def _plain(given: Any) -> Any:
    """Columns by name for an object that has them: a pydantic model (ragas' samples are), or any other."""
    if isinstance(given, Sample | Mapping):
        return given
    if callable(dump := getattr(given, "model_dump", None)):
        return {name: value for name, value in dump().items() if value is not None}
    columns = {name: getattr(given, name) for name in ALIASES if hasattr(given, name)}
    return columns or given
