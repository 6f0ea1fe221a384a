"""A folder is a run's if it has run.json, else it must be empty; results are never replaced in silence."""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, evaluate, plan, read_samples, rescore
from localeval.analysis.card import make
from localeval.cli import main
from localeval.testing import FakeEngine, fake_judge
from tests.commands import fault, localeval, refused, said
from tests.finished_runs import judged, write_rows
from tests.steady import SteadyEngine, steady_judge

SAMPLES, JOURNAL, CONFIG, RESULTS = "samples.jsonl", "journal.jsonl", "run.json", "results.json"
ROWS: list[dict[str, Any]] = [
    {"id": f"s{i}", "user_input": f"Tea {i}?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
    for i in range(5)
]
GATE = "--fail-under faithfulness=0.1"
PLACES = ("folder", "new/results.json", "run/journal.jsonl", "run/card.json")
LABELLED = [{**row, "id": f"{row['id']}-{i}", "label": i % 2} for i in range(8) for row in ROWS]


def judge_rows(rows: Any, folder: Path, metrics: Sequence[str] = ("faithfulness",)) -> int:
    """A run; how often the engine was asked."""
    engine = SteadyEngine()
    evaluate(rows, metrics, steady_judge(engine), folder, statements="sentences")
    return engine.asked


def edited(rows: Sequence[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    return [{**row, "response": "Another.", **fields} for row in rows]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", ["notes.txt", JOURNAL, CONFIG])
def test_a_folder_that_holds_something_and_is_no_runs_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"mine": 1}\n')
    before = contents(tmp_path)
    for command in (evaluate, plan):
        message = said(InputError, command, ROWS, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path)
        assert "not empty, and no run's" in message
    assert "no run can be kept there" in said(InputError, judge_rows, ROWS, tmp_path / name)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", [CONFIG, SAMPLES, RESULTS, "scores.csv", "report.html"])
def test_a_damaged_file_of_the_run_is_written_anew_and_the_users_stay(name: str, tmp_path: Path) -> None:
    judge_rows(ROWS, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    for text in (b"", b"{", b"\xff\xfe{", b"[" * 100_000):
        (tmp_path / name).write_bytes(text)
        if name == CONFIG:
            assert CONFIG in said(InputError, rescore, tmp_path)
        assert (judge_rows(ROWS, tmp_path), contents(tmp_path)) == (0, before)


@pytest.mark.parametrize("left", range(1, 5))
def test_a_run_that_ended_at_its_very_beginning_goes_on(left: int, tmp_path: Path) -> None:
    (tmp_path / "whole").symlink_to("made/there")
    judge_rows(ROWS, tmp_path / "whole")
    whole, run = contents(tmp_path / "whole"), tmp_path / "run"
    run.mkdir()
    for name in [".lock", JOURNAL, CONFIG, SAMPLES][:left]:
        (run / name).write_bytes(b"" if name == JOURNAL else whole[name])
    assert (judge_rows(ROWS, run), (run / RESULTS).read_bytes()) == (5, whole[RESULTS])


def test_a_plan_and_a_run_that_is_refused_leave_what_was_there(tiny_path: Path, tmp_path: Path) -> None:
    judge_rows(ROWS, tmp_path)
    before = contents(tmp_path)
    fake = fake_judge(FakeEngine([]))
    again = ("evaluate", tmp_path / SAMPLES, "-m", "full_support", "-q", "-o", tmp_path)
    assert "n_ctx is" in refused(*again, "--judge", tiny_path, "--n-ctx", str(1 << 20))
    assert "workers load" in said(InputError, evaluate, ROWS, ["faithfulness"], fake, tmp_path, workers=2)
    assert "output is empty" in said(InputError, judge_rows, ROWS, "")
    plan(ROWS[:1], ["faithfulness"], steady_judge(SteadyEngine()), tmp_path / "new" / "run")
    assert (contents(tmp_path), (tmp_path / "new").exists()) == (before, False)


@pytest.mark.usefixtures("steady")
def test_the_runs_own_samples_may_be_given_again_and_a_part_of_them_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    judge_rows(ROWS, run)
    before = contents(run)
    (tmp_path / "link").symlink_to(run / SAMPLES)
    for part in (read_samples(run / SAMPLES, ids=["s0"]), read_samples(tmp_path / "link", limit=4)):
        with pytest.raises(InputError, match=r"only \d of 5 samples would be left"):
            judge_rows(part, run)
    assert judge_rows(run / SAMPLES, run) == 0
    words = ("-m", "faithfulness", "-q", "-o", run, "--id", "s0", "--plan")
    assert "only 1 of 5 samples" in refused("evaluate", run / SAMPLES, *words)
    with pytest.raises(InputError, match=r"only \d of 5 samples"):
        evaluate(run / SAMPLES, ["faithfulness"], steady_judge(SteadyEngine()), run, shard="1/2")
    assert contents(run) == before


@pytest.mark.parametrize(
    ("rows", "metrics"), [(ROWS[:2], ["faithfulness"]), (edited(ROWS), ["context_relevance"])]
)
def test_results_that_go_are_told_in_one_sentence_and_no_judgement_goes(
    rows: Any, metrics: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judge_rows(ROWS, tmp_path)
    before = contents(tmp_path)
    with caplog.at_level(logging.WARNING):
        judge_rows(ROWS, tmp_path)
        judge_rows(rows, tmp_path, metrics)
    assert [str(tmp_path) in message for message in caplog.messages] == [True]
    assert (tmp_path / JOURNAL).read_bytes().startswith(before[JOURNAL])
    assert (judge_rows(ROWS, tmp_path), (tmp_path / RESULTS).read_bytes()) == (0, before[RESULTS])


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("column", ["user_input", "reference"])
def test_two_files_of_the_same_name_do_not_share_a_folder_that_nobody_chose(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ROWS if column == "user_input" else [{"response": "Tea.", column: row["response"]} for row in ROWS]
    first = write_rows(tmp_path / "1" / "data.jsonl", rows)
    second = write_rows(tmp_path / "2" / "data.jsonl", edited(rows, **{column: "Is tea red? It is."}))
    monkeypatch.chdir(tmp_path)
    metric = "faithfulness" if column == "user_input" else "factual_correctness"
    options = ["-m", metric, "--statements", "sentences", "-q"]
    main(["evaluate", str(first), *options])
    before = contents(tmp_path / "runs")
    assert "runs/data holds a finished run of 5 other samples" in refused("evaluate", second, *options)
    assert contents(tmp_path / "runs") == before
    main(["evaluate", str(second), *options, "-o", "runs/data"])
    assert "empty" in refused("evaluate", "", *options)
    assert (tmp_path / "runs" / "data" / SAMPLES).read_text("utf-8").count("Is tea red? It is.") == len(ROWS)


def test_results_are_replaced_only_in_the_run_that_was_scored_again(tmp_path: Path) -> None:
    run, other, plain = judged(tmp_path / "run", [0.6]), judged(tmp_path / "other", [0.6]), tmp_path / "plain"
    before = contents(other)
    words = ["rescore", str(run), "--threshold", "0.7", "-o"]
    refused(*words, other / RESULTS)
    assert contents(other) == before
    plain.mkdir()
    main([*words, str(plain / RESULTS)])
    assert set(contents(plain)) == {RESULTS}
    assert rescore(run)["faithfulness"].value == 1
    main([*words, str(run / RESULTS)])
    assert json.loads((run / RESULTS).read_text("utf-8"))["summary"]["faithfulness"]["value"] == 0
    assert ",0.0," in (run / "scores.csv").read_text("utf-8")


def test_a_page_goes_into_a_pipe_and_through_a_link_and_both_stay(tmp_path: Path) -> None:
    """A page moved to /dev/stdout would take the place of the device itself."""
    run = judged(tmp_path / "run", [0.9])
    pipe, link, page = tmp_path / "pipe", tmp_path / "link.html", tmp_path / "page.html"
    if sys.platform == "win32":
        pytest.skip("Windows has no named pipes in folders")
    os.mkfifo(pipe)
    link.symlink_to(page)
    page.write_text("")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(pipe.read_text, "utf-8")
        main(["report", str(run), "--html", str(pipe)])
        assert reading.result(60).startswith("<!doctype html>")
    main(["report", str(run), "--html", str(link)])
    with (tmp_path / "out").open("w") as file:  # what is printed there stays
        words = f"-m localeval rescore {run} {GATE} --junit /dev/stdout".split()
        subprocess.run([sys.executable, *words], stdout=file, check=True, timeout=60)
    out = (tmp_path / "out").read_text("utf-8")
    assert ("faithfulness: 1 scored" in out, "<testsuite" in out, pipe.is_fifo()) == (True,) * 3
    assert (link.is_symlink(), page.read_text("utf-8")[:15]) == (True, "<!doctype html>")


@pytest.mark.usefixtures("steady")
def test_a_card_takes_away_no_file_that_no_card_left(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "labelled.jsonl", LABELLED[:20])
    words = ["card", str(data), "--statements", "sentences", "-q", "-o", str(tmp_path / "cards")]
    calibration = tmp_path / "cards" / "calibration.json"
    calibration.parent.mkdir()
    calibration.write_text("mine")
    assert "not empty" in refused(*words)
    assert calibration.read_text() == "mine"
    calibration.unlink()
    main(words)
    calibration.write_text("fitted before")
    main([*words, "-m", "full_support"])
    assert calibration.read_text() == "fitted before"


@pytest.mark.usefixtures("steady")
def test_an_output_that_cant_be_written_is_told_and_the_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(Path("data.jsonl"), ROWS)
    words = f"evaluate data.jsonl -m faithfulness -q -o run {GATE}".split()
    for place in ("nowhere/x", "data.jsonl/x", ""):
        done = localeval(*words, "--junit", place, cwd=tmp_path)
        assert (done.returncode, f"{place or '.'}: the gates can't be written" in done.stderr) == (2, True)
        assert contents(tmp_path / "run").keys() >= {RESULTS, "report.html"}
    assert "report can't be written" in localeval("report", "run", "--html", "", cwd=tmp_path).stderr


def test_no_input_and_no_file_of_a_run_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judged(Path("run"), [0.9])
    write_rows(Path("data.jsonl"), ROWS)
    Path("folder").mkdir()
    Path("mine.json").write_text("mine")
    before = contents(tmp_path)
    for words, message in (
        (f"evaluate data.jsonl {GATE} --junit data.jsonl", "the file that is read"),
        ("card data.jsonl --html data.jsonl", "the file that is read"),
        ("fit data.jsonl -o data.jsonl", "the file that is read"),
        ("rescore run -o mine.json --calibration mine.json", "the file that is read"),
        ("card run/samples.jsonl --html folder/card.json -o folder", "would be, a file of a run"),
        ("report run --html run/samples.jsonl/report.html", "would be, a file of a run"),
        *((f"report run --html {place}", place.partition("/")[0]) for place in PLACES),
        *((f"rescore run -o {place}", place.partition("/")[0]) for place in PLACES),
        *((f"rescore run {GATE} --junit {place}", place.partition("/")[0]) for place in PLACES),
        *((f"evaluate data.jsonl {GATE} --junit {place}", place.partition("/")[0]) for place in PLACES),
    ):
        assert message in refused(*words.split())
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("steady")
def test_two_cards_of_the_same_name_share_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_rows(tmp_path / "1" / "l.jsonl", LABELLED[:20])
    second = write_rows(tmp_path / "2" / "l.jsonl", edited(LABELLED[:20], user_input="Why?"))
    monkeypatch.chdir(tmp_path)
    main(["card", str(first), "--statements", "sentences", "-q"])
    assert "finished run of 20 other samples" in refused("card", second, "--statements", "sentences", "-q")
    Path("cards/l-faithfulness").rename("cards/stdin-faithfulness")
    sent = localeval("card", "-", "--statements", "sentences", "-q", cwd=tmp_path, stdin=second.read_text())
    assert "finished run of 20 other samples" in fault(sent)
    own, judge = tmp_path / "two  spaces" / SAMPLES, steady_judge(SteadyEngine())
    make(read_samples(write_rows(first, LABELLED)), "faithfulness", judge, own.parent)
    part = (read_samples(own), "faithfulness", judge, own.parent, 20)
    assert "only 20 of 40 samples" in said(InputError, make, *part)
    longest = write_rows(tmp_path / f"{'x' * 249}.jsonl", LABELLED[:20])
    assert "choose another folder" in refused("card", longest)
    assert "File name too long" in refused("card", "x" * 300)
