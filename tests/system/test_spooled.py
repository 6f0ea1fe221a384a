"""Many lines are kept in a temporary file, and read back by their index."""

import os
import pickle

import pytest

from localeval.system import spooled
from localeval.system.spooled import SpooledLines

LINES = [f"line {number}\n".encode() for number in range(5)]


@pytest.fixture
def in_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first line go into a temporary file."""
    monkeypatch.setattr(spooled, "MAX_BYTES_IN_MEMORY", 10)


def read_all(lines: SpooledLines) -> list[bytes]:
    return [lines[number] for number in range(len(lines))]


def test_lines_in_memory_are_read_back() -> None:
    assert read_all(SpooledLines(LINES)) == LINES


@pytest.mark.usefixtures("in_file")
def test_lines_in_a_file_are_read_back() -> None:
    assert read_all(SpooledLines(LINES)) == LINES


@pytest.mark.usefixtures("in_file")
def test_a_read_between_two_lines_does_not_move_where_the_next_is_written() -> None:
    lines = SpooledLines()
    for line in LINES:
        lines.append(line)
        assert lines[0] == LINES[0]
    assert read_all(lines) == LINES


@pytest.mark.usefixtures("in_file")
def test_a_read_moves_nothing_on_a_system_without_pread(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, where each read moves the position of the file."""
    monkeypatch.delattr(os, "pread")
    lines = SpooledLines()
    for line in LINES:
        lines.append(line)
        assert lines[0] == LINES[0]
    assert read_all(lines) == LINES


@pytest.mark.usefixtures("in_file")
def test_lines_are_sent_to_another_process_whole() -> None:
    sent = pickle.loads(pickle.dumps(SpooledLines(LINES)))  # noqa: S301
    assert read_all(sent) == LINES
