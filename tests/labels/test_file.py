"""The file of labels, as it is written and read again."""

import json
from pathlib import Path
from typing import Any

import pytest

from localeval.errors import InputError
from localeval.labels.file import Design, Label, label_row, read_labels
from localeval.labels.fingerprint import question_fingerprint, sample_fingerprint
from localeval.samples import Sample

MILL = Sample(id="7", user_input="When?", response="In 1820.", retrieved_contexts=["Built in 1820."])
RANDOM = Design(kind="random", seed=3, drawn=2, of=9)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_label_is_read_as_it_was_written(tmp_path: Path) -> None:
    row = label_row(Label(MILL, "7", 1.0, by="Ann", note="seen"), "faithfulness", RANDOM)
    labels = read_labels(write(tmp_path / "labels.jsonl", [row]))
    [label] = labels.labels
    assert (label.sample_id, label.value, label.by, label.note) == ("7", 1.0, "Ann", "seen")
    assert (labels.metric, labels.design) == ("faithfulness", RANDOM)


def test_statements_of_one_sample_are_labels_of_that_sample(tmp_path: Path) -> None:
    rows = [
        label_row(Label(MILL, "7", 1.0, statement="It was built."), "faithfulness", RANDOM, "7/0"),
        label_row(Label(MILL, "7", None, statement="It is old."), "faithfulness", RANDOM, "7/1"),
    ]
    labels = read_labels(write(tmp_path / "labels.jsonl", rows)).labels
    assert [(label.sample_id, label.statement, label.value) for label in labels] == [
        ("7", "It was built.", 1.0),
        ("7", "It is old.", None),
    ]


def test_a_label_of_a_person_needs_no_design(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", [{"id": "1", "response": "Tea.", "label": 0}])
    labels = read_labels(path)
    assert (labels.labels[0].value, labels.design, labels.metric) == (0.0, None, None)


@pytest.mark.parametrize("label", ["good", 2, -0.5, [1]])
def test_a_label_that_is_no_share_is_refused(tmp_path: Path, label: object) -> None:
    path = write(tmp_path / "own.jsonl", [{"id": "1", "response": "Tea.", "label": label}])
    with pytest.raises(InputError, match="sample 1 has the label"):
        read_labels(path)


def test_a_file_without_labels_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "own.jsonl", [{"id": "1", "response": "Tea."}])
    with pytest.raises(InputError, match="no row has a label"):
        read_labels(path)


def test_labels_of_two_metrics_in_one_file_are_refused(tmp_path: Path) -> None:
    rows = [label_row(Label(MILL, "7", 1.0), metric, RANDOM, metric) for metric in ("faithfulness", "polite")]
    with pytest.raises(InputError, match="faithfulness, polite"):
        read_labels(write(tmp_path / "labels.jsonl", rows))


def test_the_fingerprint_of_a_sample_tells_another_response_but_not_another_case() -> None:
    shouted = MILL.model_copy(update={"response": "IN  1820."})
    other = MILL.model_copy(update={"response": "In 1821."})
    assert sample_fingerprint(shouted) == sample_fingerprint(MILL) != sample_fingerprint(other)
    assert question_fingerprint(other) == question_fingerprint(MILL)


def after(*texts: str) -> Sample:
    """MILL as the last question of a conversation, in which the user wrote these texts before."""
    history = [{"role": "user", "content": text} for text in texts]
    return Sample(**MILL.model_dump(exclude_none=True), history=history)


@pytest.mark.parametrize("fingerprint", [sample_fingerprint, question_fingerprint])
def test_the_fingerprint_tells_a_question_after_other_messages(fingerprint: Any) -> None:
    samples = [MILL, after("And the mill?"), after("And the bridge?"), after("And the", "mill?")]
    assert len({fingerprint(sample) for sample in samples}) == len(samples)
    assert fingerprint(after("AND  the mill?")) == fingerprint(after("And the mill?"))


def test_a_sample_without_earlier_messages_keeps_the_fingerprint_that_it_had() -> None:
    # Fitted files and cards that were written have these.
    assert (sample_fingerprint(MILL), question_fingerprint(MILL)) == ("051359a22492e7d8", "7184f1ead662fa5b")
    noted = Sample(**MILL.model_dump(exclude_none=True), history="bought twice")
    assert sample_fingerprint(noted) == sample_fingerprint(MILL)


def test_a_sample_without_a_question_has_no_fingerprint_of_one() -> None:
    assert question_fingerprint(Sample(response="Tea.")) is None
