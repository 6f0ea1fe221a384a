"""A result written as JSON: whole, or not at all, with a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localeval import InputError, Result, Sample
from localeval.runs.result import SampleResult
from tests.runs import result, scored, signature


def test_a_result_is_written_as_the_text_that_is_returned(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    text = result(scored([1.0, 0.5])).to_json(file)
    assert file.read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_where_it_cannot_be_written_is_an_input_error_and_no_part_is_left(tmp_path: Path) -> None:
    there = tmp_path / "folder"
    there.mkdir()
    for path in (there, tmp_path / "none" / "result.json"):
        with pytest.raises(InputError, match=r"the result can't be written there \(.+\)\.") as caught:
            result(scored([1.0])).to_json(path)
        assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == [there]


def test_what_was_there_before_is_kept_where_writing_breaks_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "result.json"
    file.write_text("before", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        result(scored([1.0])).to_json(file)
    assert file.read_text(encoding="utf-8") == "before"


def test_half_a_character_is_written_as_its_escape(tmp_path: Path) -> None:
    half = Sample.model_construct(id="a \ud83d", user_input="Tea?")
    found = Result([SampleResult(half, {}, {})], [], signature())
    found.to_json(tmp_path / "result.json")
    kept = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert kept["samples"][0]["id"] == "a \ud83d"
