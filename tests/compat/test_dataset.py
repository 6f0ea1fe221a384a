"""A data set under its original name: read from anything that holds samples, each with an id of its own."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import localeval
from localeval import InputError
from localeval.compat import EvaluationDataset, SingleTurnSample
from tests.commands import said
from tests.finished_runs import write_rows

ROWS: list[dict[str, Any]] = [
    {
        "user_input": "Where is tea grown?",
        "response": response,
        "retrieved_contexts": ["Tea is grown in Assam."],
    }
    for response in ("Tea is grown in Assam.", "Tea sings.", "")
]
WITH_IDS = [{"id": str(number), **row} for number, row in enumerate(ROWS, 1)]


def ids(rows: Any) -> list[str]:
    return [sample.id for sample in EvaluationDataset(rows)]


def test_the_rows_of_a_list_are_numbered_from_1() -> None:
    assert EvaluationDataset.from_list(ROWS).to_list() == WITH_IDS


def test_a_file_of_any_name_is_read_as_json_lines(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "data.txt", ROWS)
    assert EvaluationDataset.from_jsonl(str(path)).to_list() == WITH_IDS


def test_a_table_is_read() -> None:
    table: Any = pd.DataFrame(ROWS)
    assert EvaluationDataset(table).to_list() == WITH_IDS


def test_it_is_printed_with_its_columns_and_its_length() -> None:
    shown = "EvaluationDataset(features=['user_input', 'response', 'retrieved_contexts'], len=3)"
    assert repr(EvaluationDataset(ROWS)) == shown


def test_a_sample_of_our_own_is_read_with_its_other_columns() -> None:
    sample = {"response": "Tea.", "reference_contexts": ["Tea: Assam."]}
    assert EvaluationDataset([SingleTurnSample(**sample)]).to_list() == [{"id": "1", **sample}]


def test_an_object_with_the_names_of_ragas_is_read_by_its_attributes() -> None:
    assert EvaluationDataset([SimpleNamespace(**ROWS[0])]).to_list() == WITH_IDS[:1]


def test_a_part_of_a_data_set_and_joined_ones_keep_the_order_of_their_samples() -> None:
    read = EvaluationDataset(ROWS)
    joined = EvaluationDataset(samples=read.samples[1:] + read[:2].samples)
    assert [sample.response for sample in joined] == [row["response"] for row in [*ROWS[1:], *ROWS[:2]]]


@pytest.mark.parametrize("source", [ROWS[0], None], ids=["a single row", "None"])
def test_what_is_no_list_of_samples_is_refused(source: Any) -> None:
    assert "a list of samples" in said(InputError, EvaluationDataset, source)


# An id that would be there twice is replaced by the next number after all positions.


def test_samples_of_joined_data_sets_that_were_numbered_alike_get_free_numbers() -> None:
    read = EvaluationDataset(ROWS)
    assert ids(read.samples[1:] + read[:2].samples) == ["2", "3", "1", "5"]


def test_the_second_sample_of_an_id_gets_a_free_number() -> None:
    samples = [localeval.Sample(id="1"), localeval.Sample(id="6"), localeval.Sample(id="1")]
    assert ids(samples) == ["1", "6", "4"]


def test_a_sample_without_an_id_has_its_position_though_a_free_number_is_taken() -> None:
    assert ids([SingleTurnSample(), SingleTurnSample(), {"id": "4"}]) == ["1", "2", "4"]


def test_a_row_without_an_id_whose_position_is_another_samples_id_gets_a_free_number() -> None:
    read = EvaluationDataset(ROWS)
    assert ids([*read[1:], ROWS[0]]) == ["2", "3", "4"]
    assert ids([ROWS[0], *read]) == ["5", "1", "2", "3"]


def test_an_id_that_is_the_number_0_is_an_id() -> None:
    assert ids([{"id": 0}, *EvaluationDataset(ROWS)]) == ["0", "1", "2", "3"]


def test_two_rows_that_were_given_one_id_are_refused() -> None:
    assert "same id a" in said(InputError, EvaluationDataset, [{"id": "a"}, {"id": "a"}])
