"""Rows that `skip_bad` left out are told wherever the result is, with place and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localeval import Result, evaluate, read_samples, rescore
from localeval.cli import main
from localeval.testing import FakeEngine, fake_judge

GOOD = {"id": "good", "user_input": "Tea?", "response": "Tea grows.", "retrieved_contexts": ["Tea."]}
BAD = {**GOOD, "id": "bad", "retrieved_contexts": "Tea."}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (GOOD, BAD, BAD)), encoding="utf-8")
    return path


def judged(source: Any, folder: Path | None = None) -> Result:
    judge, samples = fake_judge(FakeEngine([{"verdict": 0.75}])), read_samples(source, skip_bad=True)
    return evaluate(samples, ["faithfulness"], judge, folder, statements="sentences")


def test_results_list_each_row_with_place_and_reason_until_it_is_mended(data: Path, tmp_path: Path) -> None:
    result = judged(data, tmp_path / "run")
    skipped = json.loads((tmp_path / "run" / "results.json").read_text("utf-8"))["skipped"]
    assert skipped == result.to_dict()["skipped"]
    assert [row["place"] for row in skipped] == ["line 2", "line 3"]
    assert skipped[0]["reason"].startswith(f"{data}, line 2: retrieved_contexts is 'Tea.'")
    data.write_text(json.dumps(GOOD))
    mended = judged(data, tmp_path / "run")
    assert mended.skipped == rescore(tmp_path / "run").skipped == []
    assert "skipped" not in str(mended)
    mended.to_html(tmp_path / "page.html")
    assert "left out" not in (tmp_path / "page.html").read_text("utf-8")


def test_a_run_scored_again_shown_or_gone_on_with_keeps_them(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    skipped = judged(data, folder).skipped
    written = (folder / "results.json").read_bytes()
    assert rescore(folder).skipped == skipped
    main(["report", str(folder)])
    assert f"  {data}, line 3: retrieved_contexts is 'Tea.'" in capsys.readouterr().out
    for source in (data, folder / "samples.jsonl"):  # which `rescore` names where a judgement is missing
        judged(source, folder)
        assert (folder / "results.json").read_bytes() == written
