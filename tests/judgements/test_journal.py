"""The journal loses nothing that was written, and says what it could not read."""

import errno
import fcntl
import io
import os
import re
import socket
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from localeval import Score, evaluate, rescore
from localeval.engine.interface import ContextTooLong, EngineError
from localeval.errors import FolderError
from localeval.judgements.journal import JOURNAL, Journal, JournalFile
from localeval.runs.folder import load
from localeval.testing import FakeEngine, fake_judge

TEA = {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}


def test_a_changed_line_stays_and_half_a_line_goes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / JOURNAL
    with Journal(tmp_path) as journal:
        journal.put("a", "support", "1", {"text": "茶\n\u2028"}, {"tokens": 1})
    changed = file.read_bytes().replace("茶".encode(), "酒".encode())
    file.write_bytes(changed + changed[:-1])
    for told in ("line 1, 2: not", "line 1: not"):
        with Journal(tmp_path) as journal:
            assert journal.get("a") is None
        assert (caplog.text.count("not what was written"), told in caplog.text) == (1, True)
        caplog.clear()
    with Journal(tmp_path) as journal:
        journal.put("b", "support", "2", {"text": "half a character: \ud83d"}, {"tokens": 1})
    with Journal(tmp_path / "other") as other:
        other.copy(JournalFile(file), "b")
    assert file.read_bytes() == changed + (tmp_path / "other" / JOURNAL).read_bytes()


def test_a_journal_gives_each_keys_latest_line(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for place, number in enumerate([0, 1, 2, 1]):
            journal.put(str(number), "support", "tea", {"n": place}, {})
        assert [(journal.get(str(n)) or {})["n"] for n in range(3)] == [0, 3, 2]
        assert journal.get("3") is None
    assert JournalFile(tmp_path / JOURNAL).get("1") == {"n": 3}


@pytest.mark.parametrize("knows_locks", [True, False])
def test_a_second_writer_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knows_locks: bool) -> None:
    if not knows_locks:
        unknown = OSError(errno.ENOSYS, "Function not implemented")
        monkeypatch.setattr(fcntl, "flock", Mock(side_effect=unknown))
    (tmp_path / ".lock.pid").write_text("1\n")
    with Journal(tmp_path), pytest.raises(FolderError, match=f"process {os.getpid()} is writing"):
        Journal(tmp_path)
    with Journal(tmp_path):
        assert (tmp_path / ".lock.pid").read_text() == f"{os.getpid()}\n"


def test_a_lock_that_a_killed_process_left_on_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it ran on this machine, it is even removed."""
    unknown = OSError(errno.ENOSYS, "Function not implemented")
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=unknown))
    left = tmp_path / ".lock.held"
    left.write_text("4194305\nanother-machine\n")
    with pytest.raises(FolderError, match=re.escape(f"remove {left}")):
        Journal(tmp_path)
    left.write_text(f"4194305\n{socket.gethostname()}\n")  # no process can have this number
    with Journal(tmp_path):
        assert left.exists()


def test_a_locked_file_that_nobody_else_may_read_or_write_locks_a_folder_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows, where a lock is mandatory."""
    opened = io.open

    def refuse(file: Any, *arguments: Any, **options: Any) -> Any:
        if str(file).endswith(".lock"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(file, *arguments, **options)

    monkeypatch.setattr(io, "open", refuse)
    with Journal(tmp_path), pytest.raises(FolderError, match=f"process {os.getpid()} is writing"):
        Journal(tmp_path)


def test_an_error_of_the_engine_is_asked_again_and_what_is_too_long_is_not(tmp_path: Path) -> None:
    """By the judge as by a run; where nothing is asked the error stays."""
    yes, failed = Score(1.0, 0.75), Score.failed("context_too_long")
    for error, second in ((EngineError("no cell is free"), yes), (ContextTooLong("too long"), failed)):
        judge = fake_judge(FakeEngine([error, {"verdict": 0.75}]))
        assert judge.score("faithfulness", TEA, statements="sentences").status == "failed"
        for _ in range(2):  # the second time nothing is asked
            assert judge.score("faithfulness", TEA, statements="sentences") == second

    judge = fake_judge(FakeEngine([EngineError("no cell is free"), {"verdict": 0.75}]))
    for expected in (Score.failed("engine_error"), yes, yes):
        result = evaluate([TEA], ["faithfulness"], judge, tmp_path, statements="sentences")
        assert result.scores == rescore(tmp_path).scores == [{"faithfulness": expected}]


def test_a_failed_sample_keeps_its_failure_when_another_with_the_same_texts_succeeds(tmp_path: Path) -> None:
    """Also in the journal of a finished run whose repeat is interrupted after it succeeded."""
    twins = [{**TEA, "id": name} for name in ("first", "second")]
    answers: list[Any] = [EngineError("no cell is free"), {"statements": ["Tea grows."]}, {"verdict": 0.75}]
    result = evaluate(twins, ["faithfulness"], fake_judge(FakeEngine(answers)), tmp_path)
    scores = [{"faithfulness": score} for score in (Score.failed("engine_error"), Score(1.0, 0.75))]
    assert result.scores == load(tmp_path).scores == rescore(tmp_path).scores == scores

    alone = tmp_path / "alone"
    evaluate(twins[:1], ["faithfulness"], fake_judge(FakeEngine(answers[:1])), alone)
    with pytest.raises(AssertionError, match="no answer left"):
        evaluate(twins[:1], ["faithfulness"], fake_judge(FakeEngine(answers[1:2])), alone)
    assert rescore(alone).scores == scores[:1]
    assert "failed" in (alone / "report.html").read_text("utf-8")
    again = evaluate(twins[:1], ["faithfulness"], fake_judge(FakeEngine(answers[2:])), alone)
    assert again.scores == scores[1:]


def test_a_record_that_another_run_has_is_copied_when_it_is_asked_for(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with Journal(other) as journal:
        journal.put("a", "support", "tea", {"n": 1}, {"seconds": 2})
        journal.put("b", "support", "tea", {"n": 2}, {"seconds": 3})
    with Journal(tmp_path / "own", [JournalFile(other / JOURNAL)]) as journal:
        assert journal.get("a") == {"n": 1}
        assert journal.get("c") is None
    own = JournalFile(tmp_path / "own" / JOURNAL)
    entry = own.entry("a")
    assert entry is not None
    assert entry["cost"] == {"seconds": 2}
    assert own.get("b") is None


def test_a_journal_in_memory_holds_more_than_a_thousand_records_only_while_it_is_told_to() -> None:
    journal = Journal()
    with journal.remembering_all():
        for number in range(1500):
            journal.put(str(number), "support", "tea", {"n": number}, {})
        assert journal.get("0") == {"n": 0}  # now the record that was used last
    assert journal.get("1") is None
    assert journal.get("0") == {"n": 0}
    assert journal.get("1499") == {"n": 1499}
