"""A result written as JSON: whole, or not at all, with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from localeval import InputError
from tests.runs import result, scored


def test_a_result_is_written_as_the_text_that_is_returned(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    text = result(scored([1.0, 0.5])).to_json(file)
    assert file.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [file]


def test_what_was_there_before_is_kept_where_writing_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "result.json"
    file.write_text("before", encoding="utf-8")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        result(scored([1.0])).to_json(file)
    with pytest.raises(InputError, match="none"):
        result(scored([1.0])).to_json(tmp_path / "none" / "result.json")
    assert file.read_text(encoding="utf-8") == "before"
    assert list(tmp_path.iterdir()) == [file]
