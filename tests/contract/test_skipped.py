"""Rows that `skip_bad` left out are told wherever the result is, with place and reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localeval import Result, evaluate, read_samples, rescore
from localeval.cli import main
from localeval.report import html
from localeval.report.html.overview import MOST_SKIPPED
from localeval.report.html.shown import shown
from localeval.runs.folder import RESULTS, SAMPLES, load
from localeval.samples import Skipped
from localeval.testing import FakeEngine, fake_judge
from tests.reports import HOSTILE, Page, small
from tests.runs import result as of
from tests.runs import scored

GOOD = {"id": "good", "user_input": "Tea?", "response": "Tea grows.", "retrieved_contexts": ["Tea."]}
BAD = {**GOOD, "id": "bad", "retrieved_contexts": "Tea."}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (GOOD, BAD, BAD)), encoding="utf-8")
    return path


def judged(path: Path, folder: Path | None) -> Result:
    engine = FakeEngine([{"verdict": 0.75}])
    read = read_samples(path, skip_bad=True)
    return evaluate(read, ["faithfulness"], fake_judge(engine), folder, statements="sentences")


def test_the_results_list_place_and_reason_of_each_row_until_the_data_is_mended(
    data: Path, tmp_path: Path
) -> None:
    result = judged(data, tmp_path / "run")
    kept = json.loads((tmp_path / "run" / RESULTS).read_text("utf-8"))["skipped"]
    assert kept == result.to_dict()["skipped"]
    assert [one["place"] for one in kept] == ["line 2", "line 3"]
    assert kept[0]["reason"].startswith(f"{data}, line 2: retrieved_contexts is 'Tea.'")
    assert judged(data, None).skipped == result.skipped
    data.write_text(json.dumps(GOOD))
    mended = judged(data, tmp_path / "run")
    assert mended.skipped == rescore(tmp_path / "run").skipped == []
    assert "skipped" not in str(mended)
    assert "left out" not in html.page(mended)


def test_the_table_counts_them_and_names_five() -> None:
    result = of(scored([1.0]))
    result.skipped = [Skipped(f"line {n}", f"data.csv, line {n}: \x1b[31mfault") for n in range(2, 9)]
    lines = str(result).splitlines()
    at = lines.index("skipped: 7 rows of the data that can't be read")
    assert lines[at + 1 : at + 7] == [
        *(f"  data.csv, line {n}:  [31mfault" for n in range(2, 7)),
        "  and 2 more",
    ]
    result.skipped = result.skipped[:1]
    assert "\nskipped: 1 row of the data that can't be read\n  data.csv, line 2" in str(result)


def test_the_report_counts_them_and_lists_at_most_so_many() -> None:
    result = small()
    many = MOST_SKIPPED + 3
    result.skipped = [
        Skipped(f"line {n}", f"data.csv, line {n}: fault number {n}") for n in range(1, many + 1)
    ]
    text = Page(html.page(result)).text
    assert f"Rows of the data that can't be read, and were left out: {many}" in text
    assert f"data.csv, line {MOST_SKIPPED}: fault number {MOST_SKIPPED}" in text
    assert f"fault number {MOST_SKIPPED + 1}" not in text
    assert "and 3 more" in text


def test_what_a_reason_holds_stands_in_the_report_as_text() -> None:
    result = small()
    result.skipped = [Skipped(text, text) for text in HOSTILE]
    page = html.page(result)
    known = {tag for tag, _ in Page(html.page(small())).elements}
    assert {tag for tag, _ in Page(page).elements} <= known
    for one in HOSTILE:
        assert shown(one) in Page(page).text


def test_a_run_read_back_scored_again_or_gone_on_with_keeps_them(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    told = judged(data, folder).skipped
    written = (folder / RESULTS).read_bytes()
    assert load(folder).skipped == rescore(folder).skipped == told
    judged(data, folder)
    assert (folder / RESULTS).read_bytes() == written
    judged(folder / SAMPLES, folder)  # the command that `rescore` gives where a judgement is missing
    assert (folder / RESULTS).read_bytes() == written


def test_the_command_line_tells_them_in_the_table_of_report_and_rescore(
    data: Path, tiny_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[Any] = ["evaluate", data, "-m", "faithfulness", "--statements", "sentences", "--skip-bad"]
    folder = tmp_path / "run"
    for arguments in (
        [*given, "--judge", tiny_path, "-q", "-o", folder],
        ["report", folder],
        ["rescore", folder],
    ):
        main([str(part) for part in arguments])
        out = capsys.readouterr().out
        assert "skipped: 2 rows of the data that can't be read\n" in out
        assert f"  {data}, line 3: retrieved_contexts is 'Tea.'" in out
