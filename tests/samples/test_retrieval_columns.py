"""The columns of retrieval: ids, and the contexts that should be retrieved."""

from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Sample, read_samples
from tests.commands import said


def read(folder: Path, text: str, name: str = "data.jsonl") -> Sample:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_samples(path)[0]


def test_ids_are_texts_or_whole_numbers(tmp_path: Path) -> None:
    sample = read(tmp_path, '{"retrieved_ids": ["a", 7], "reference_ids": 7}')
    assert (sample.retrieved_ids, sample.reference_ids) == (["a", "7"], ["7"])


def test_the_names_of_ragas_are_read(tmp_path: Path) -> None:
    sample = read(tmp_path, '{"retrieved_context_ids": ["a"], "reference_context_ids": ["b"]}')
    assert (sample.retrieved_ids, sample.reference_ids) == (["a"], ["b"])


@pytest.mark.parametrize(
    "cell", ['"[""a"", 7]"', "\"['a', '7']\""], ids=["a list in JSON", "a list as pandas writes it"]
)
def test_a_list_in_a_cell_is_read(tmp_path: Path, cell: str) -> None:
    assert read(tmp_path, f"response,reference_ids\nTea,{cell}\n", "data.csv").reference_ids == ["a", "7"]


def test_one_id_in_a_cell_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "response,reference_ids\nTea,d7\n", "data.csv").reference_ids == ["d7"]


def test_one_reference_context_is_a_list_of_one(tmp_path: Path) -> None:
    assert read(tmp_path, '{"reference_contexts": "Tea."}').reference_contexts == ["Tea."]


@pytest.mark.parametrize("value", ['{"id": 1}', "[null]", "[[1]]"])
def test_what_is_no_list_of_ids_is_refused_with_its_place(tmp_path: Path, value: str) -> None:
    message = said(InputError, read, tmp_path, f'{{"reference_ids": {value}}}')
    assert "data.jsonl, line 1: reference_ids" in message


def test_a_stored_sample_is_the_same_again(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"id": "1", "retrieved_ids": ["a"], "reference_contexts": ["Tea."]}
    sample = Sample(**columns)
    assert read(tmp_path, sample.model_dump_json(exclude_none=True)) == sample
