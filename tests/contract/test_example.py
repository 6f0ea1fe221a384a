"""`evaluate --example`: the shipped samples, with no file and wherever one stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localeval.cli import main


@pytest.mark.usefixtures("steady")
def test_the_shipped_samples_are_scored_without_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["evaluate", "--example", "--limit", "1", "-m", "context_precision", "-q"])
    results = json.loads((tmp_path / "runs" / "example" / "results.json").read_text(encoding="utf-8"))
    assert len(results["samples"]) == 1


@pytest.mark.parametrize("given", [["evaluate"], ["evaluate", "mine.jsonl", "--example"]])
def test_a_file_or_the_example_is_given_and_not_both(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        main(given)
    assert done.value.code == 2
    assert "--example" in capsys.readouterr().err
