"""A format of files and a shape of rows of one's own: each is added from here, with no other change."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Sample, read_samples
from localeval.samples import (
    FORMATS,
    FileFormat,
    OpenFile,
    Row,
    RowShape,
    register_file_format,
    register_shape,
)
from localeval.samples.columns import Names
from localeval.samples.shapes import SHAPES
from tests.test_readme import run_example


def read_cards(file: OpenFile) -> Iterator[Row]:
    """Yield a row for each line "question | answer"."""
    with file.lines() as lines:
        for number, line in enumerate(lines, 1):
            question, bar, answer = line.strip().partition(" | ")
            value: object = {"question": question, "answer": answer}
            if not bar:
                value = InputError("the line has no bar; write question | answer")
            yield Row(number, f"line {number}", value)


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file of the format "cards", which is registered for one test."""
    monkeypatch.setattr("localeval.samples.formats.FORMATS", dict(FORMATS))
    register_file_format(FileFormat("cards", (".cards",), read_cards))
    path = tmp_path / "tea.cards"
    path.write_text("Who won? | Ann won.\nWhere? | In Assam.\n")
    return path


def test_a_format_of_ones_own_is_found_by_its_suffix(cards: Path) -> None:
    first, second = read_samples(cards)
    assert first == Sample(id="1", user_input="Who won?", response="Ann won.")
    assert second.response == "In Assam."


def test_a_format_of_ones_own_is_found_by_its_name(cards: Path) -> None:
    text_file = cards.rename(cards.with_suffix(".txt"))
    assert len(read_samples(text_file, format="cards")) == 2


def test_a_row_that_a_format_of_ones_own_cannot_read_is_told_with_its_place(cards: Path) -> None:
    cards.write_text("Who won? | Ann won.\nno bar\n")
    with pytest.raises(InputError, match=r"tea\.cards, line 2: the line has no bar; write question"):
        read_samples(cards)
    assert len(read_samples(cards, skip_bad=True).skipped) == 1


def from_trace(row: Mapping[Any, Any], names: Names) -> dict[Any, Any]:
    columns = dict(row)
    columns[names["user_input"][0]] = columns.pop("prompt")
    columns[names["response"][0]] = columns.pop("completion", None)
    return columns


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shape "Trace" is registered for one test."""
    monkeypatch.setattr("localeval.samples.shapes.SHAPES", dict(SHAPES))
    register_shape(
        RowShape(
            name="Trace",
            columns=("prompt", "completion"),
            recognises=lambda row: "prompt" in row,
            to_columns=from_trace,
        )
    )


TRACE = {"prompt": "Who won?", "completion": "Ann won.", "latency": 3}


@pytest.mark.usefixtures("traces")
def test_rows_of_a_shape_of_ones_own_are_read_and_its_other_columns_kept() -> None:
    (sample,) = read_samples([TRACE])
    assert sample.user_input == "Who won?"
    assert sample.response == "Ann won."
    assert sample.model_extra == {"latency": 3}


@pytest.mark.usefixtures("traces")
def test_a_shape_of_ones_own_is_named_among_the_guesses() -> None:
    assert read_samples([TRACE, TRACE]).guesses == [
        "read user_input from prompt, response from completion",
        "prompt: 2 cells with fields of Trace",
    ]


@pytest.mark.usefixtures("traces")
def test_a_table_with_the_columns_of_a_shape_of_ones_own_is_read(tmp_path: Path) -> None:
    path = tmp_path / "traces.csv"
    path.write_text("prompt,completion\nWho won?,Ann won.\n")
    assert read_samples(path)[0].response == "Ann won."


@pytest.mark.usefixtures("traces")
def test_a_row_with_a_column_of_a_sample_has_no_other_shape() -> None:
    (sample,) = read_samples([{"prompt": "Who won?", "answer": "Ann won."}])
    assert sample.user_input is None
    assert sample.model_extra == {"prompt": "Who won?"}


@pytest.mark.usefixtures("traces", "cards")
def test_the_examples_of_the_page_work(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run_example("localeval/samples", 1)
    assert capsys.readouterr().out == "Ann won.\n"
    run_example("localeval/samples", 2)
    assert read_samples(tmp_path / "tea.cards")[1].response == "In Assam."
