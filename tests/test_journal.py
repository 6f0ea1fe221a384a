"""The journal loses nothing that was written, and says what it could not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localeval.errors import InputError
from localeval.judgements.journal import MOST_IN_MEMORY, Journal
from localeval.judgements.journal.lines import FILE


def put(journal: Journal, key: str) -> None:
    journal.put(key, "support", "1", {"text": "茶\n\u2028"}, {"rows": 1})


def test_what_was_put_is_there_after_opening_again(tmp_path: Path) -> None:
    with Journal(tmp_path / "run") as journal:
        put(journal, "a")
    with Journal(tmp_path / "run") as journal:
        assert journal.get("a") == {"text": "茶\n\u2028"}
        assert journal.get("b") is None
        assert journal.damaged == 0


def test_a_judgement_is_on_disk_before_the_next_one_is_made(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, "a")
        assert json.loads((tmp_path / FILE).read_text())["key"] == "a"


def test_a_torn_last_line_loses_itself_alone(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, "a")
        put(journal, "b")
    data = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(data[:-20])
    with Journal(tmp_path) as journal:
        assert journal.damaged == 1
        assert journal.get("a") is not None
        assert journal.get("b") is None
        put(journal, "c")
    with Journal(tmp_path) as journal:
        assert journal.get("c") is not None


def test_a_record_with_a_changed_byte_is_not_believed(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        put(journal, "a")
    text = (tmp_path / FILE).read_text().replace("茶", "酒")
    (tmp_path / FILE).write_text(text)
    with Journal(tmp_path) as journal:
        assert journal.get("a") is None
        assert journal.damaged == 1


def test_a_link_in_the_place_of_an_unfinished_journal_goes(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with Journal(tmp_path) as journal:
        put(journal, "a")
    with (tmp_path / FILE).open("ab") as file:
        file.write(b"no line of a journal\n")
    (tmp_path / f".{FILE}.part").symlink_to(tmp_path / "mine.txt")
    with Journal(tmp_path) as journal:
        assert journal.get("a") is not None
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another folder"):
        Journal(tmp_path / "file")


def test_without_a_folder_the_latest_records_are_kept_and_no_more() -> None:
    journal = Journal()
    for number in range(MOST_IN_MEMORY):
        journal.put(str(number), "support", "tea", {"n": number}, {})
    assert journal.get("0") == {"n": 0}
    journal.put("one more", "support", "tea", {}, {})
    assert (journal.get("0"), journal.get("1"), journal.get("2")) == ({"n": 0}, None, {"n": 2})
