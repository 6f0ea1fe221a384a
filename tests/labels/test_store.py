"""A file of labels that grows: each label is on the disk at once, and nothing else is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from localeval.errors import InputError
from localeval.labels.store import LabelStore


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_each_label_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    store = LabelStore(path, {})
    for number in range(3):
        store.put(str(number), {"id": str(number), "label": 1})
        assert [row["id"] for row in rows(path)] == [str(i) for i in range(number + 1)]


def test_a_label_can_be_changed_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    store = LabelStore(path, {})
    store.put("a", {"id": "a", "label": 1})
    store.put("b", {"id": "b", "label": 1})
    store.put("a", {"id": "a", "label": 0})
    assert rows(path) == [{"id": "a", "label": 0}, {"id": "b", "label": 1}]
    store.remove("b")
    store.remove("never there")
    assert rows(path) == [{"id": "a", "label": 0}]


def test_what_another_program_wrote_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    store = LabelStore(path, {})
    store.put("a", {"id": "a", "label": 1})
    path.write_text('{"id": "of another"}\n')
    with pytest.raises(InputError, match="another program wrote this file"):
        store.put("b", {"id": "b"})
    with pytest.raises(InputError, match="another program wrote this file"):
        store.remove("a")
    assert rows(path) == [{"id": "of another"}]


def test_a_last_line_without_an_end_gets_one(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"id": "a"}')
    LabelStore(path, {"a": {"id": "a"}}).put("b", {"id": "b"})
    assert rows(path) == [{"id": "a"}, {"id": "b"}]


def test_half_a_character_of_a_model_is_written_as_its_escape(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    LabelStore(path, {}).put("a", {"id": "a", "statement": "Tea \ud83c grows."})
    assert "\\ud83c" in path.read_text("utf-8")
    assert rows(path) == [{"id": "a", "statement": "Tea \ud83c grows."}]


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file of labels can't be written there"):
        LabelStore(tmp_path / "gone" / "labels.jsonl", {}).check_writable()


def test_to_look_whether_it_can_be_written_leaves_no_file(tmp_path: Path) -> None:
    LabelStore(tmp_path / "labels.jsonl", {}).check_writable()
    assert list(tmp_path.iterdir()) == []
