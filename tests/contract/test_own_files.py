"""A folder is a run's if it has run.json, else it must be empty; results are never replaced in silence."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Judge, evaluate, plan, read_samples, rescore
from localeval.cli import main
from localeval.runs.card import make
from tests.commands import refused
from tests.runs import judged
from tests.steady import SteadyEngine, steady_judge

SAMPLES, JOURNAL, CONFIG, RESULTS = "samples.jsonl", "journal.jsonl", "run.json", "results.json"
ROWS: list[dict[str, Any]] = [
    {"id": f"s{i}", "user_input": f"Tea {i}?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
    for i in range(5)
]


def made(rows: Any, folder: Path, metrics: Sequence[str] = ("faithfulness",)) -> int:
    """A run; how often the engine was asked."""
    engine = SteadyEngine()
    evaluate(rows, metrics, steady_judge(engine), folder, statements="sentences")
    return engine.asked


def others(rows: Sequence[dict[str, Any]], **changed: Any) -> list[dict[str, Any]]:
    return [{**row, "response": "Another.", **changed} for row in rows]


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# Whose a folder is.


@pytest.mark.parametrize("name", ["notes.txt", JOURNAL, CONFIG])
def test_a_folder_that_holds_something_and_is_no_runs_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"mine": 1}\n')
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"not empty, and no run's"):
        made(ROWS, tmp_path)
    with pytest.raises(InputError, match=r"not empty, and no run's"):
        plan(ROWS, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path)
    with pytest.raises(InputError, match="no run can be kept there"):
        made(ROWS, tmp_path / name)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", [SAMPLES, RESULTS, "scores.csv", "report.html"])
def test_a_file_of_the_run_that_was_damaged_is_written_anew_and_the_callers_stay(
    name: str, tmp_path: Path
) -> None:
    made(ROWS, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    (tmp_path / name).write_text("{")
    assert made(ROWS, tmp_path) == 0
    assert contents(tmp_path) == before


@pytest.mark.parametrize("left", range(1, 5))
def test_a_run_that_ended_at_its_very_beginning_goes_on(left: int, tmp_path: Path) -> None:
    made(ROWS, tmp_path / "whole")
    run = tmp_path / "run"
    run.mkdir()
    for name in [".lock", JOURNAL, CONFIG, SAMPLES][:left]:
        (run / name).write_bytes(b"" if name == JOURNAL else (tmp_path / "whole" / name).read_bytes())
    assert made(ROWS, run) == 5
    assert (run / RESULTS).read_bytes() == (tmp_path / "whole" / RESULTS).read_bytes()


def test_a_plan_writes_nothing_and_no_run_is_kept_in_an_empty_name(tmp_path: Path) -> None:
    plan(ROWS[:1], ["faithfulness"], steady_judge(SteadyEngine()), tmp_path / "new" / "run")
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match="output is empty"):
        made(ROWS, "")  # type: ignore[arg-type]


def test_a_run_that_is_refused_leaves_the_finished_one_before_it(tiny_path: Path, tmp_path: Path) -> None:
    made(ROWS, tmp_path)
    before = contents(tmp_path)
    with Judge.load(tiny_path, n_ctx=1 << 20) as judge, pytest.raises(InputError, match="n_ctx is"):
        evaluate(ROWS, ["faithfulness"], judge, tmp_path, statements="sentences")
    assert contents(tmp_path) == before


# What a run's folder held before.


@pytest.mark.usefixtures("steady")
def test_the_runs_own_samples_may_be_given_again_and_a_part_of_them_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    made(ROWS, run)
    before = contents(run)
    (tmp_path / "link").symlink_to(run / SAMPLES)
    for part in (read_samples(run / SAMPLES, ids=["s0"]), read_samples(tmp_path / "link", limit=4)):
        with pytest.raises(InputError, match=r"only \d of 5 samples would be left"):
            made(part, run)
    assert made(run / SAMPLES, run) == 0
    given = ("-m", "faithfulness", "-q", "-o", run, "--id", "s0", "--plan")
    assert "only 1 of 5 samples" in refused("evaluate", run / SAMPLES, *given)
    with pytest.raises(InputError, match=r"only \d of 5 samples"):
        evaluate(run / SAMPLES, ["faithfulness"], steady_judge(SteadyEngine()), run, shard="1/2")
    assert contents(run) == before


def test_a_card_of_a_part_of_its_own_samples_is_refused(tmp_path: Path) -> None:
    rows = [{**row, "id": f"{row['id']}-{i}", "label": i % 2} for i in range(8) for row in ROWS]
    folder = tmp_path / "two  spaces" / "card"
    labelled = written(tmp_path / "labelled.jsonl", rows)
    make(str(labelled), "faithfulness", steady_judge(SteadyEngine()), folder, statements="sentences")
    with pytest.raises(InputError, match="only 20 of 40 samples"):
        make(str(folder / SAMPLES), "faithfulness", steady_judge(SteadyEngine()), folder, 20)


@pytest.mark.parametrize(
    ("now", "metrics", "told"),
    [
        ([*ROWS, *others(ROWS[:1], id="new")], ["faithfulness", "full_support"], ""),
        (ROWS[:2], ["faithfulness"], "results of 3 of its 5 samples go"),
        ([*others(ROWS[1:]), ROWS[0]], ["faithfulness"], "results of 4 of its 5 samples go"),
        (others(ROWS), ["context_relevance"], "results of 5 of its 5 samples, faithfulness go"),
    ],
)
def test_results_that_go_are_said_in_one_sentence_and_no_judgement_goes(
    now: list[dict[str, Any]], metrics: list[str], told: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(ROWS, tmp_path)
    before = contents(tmp_path)
    with caplog.at_level(logging.WARNING):
        made(now, tmp_path, metrics)
    assert [told in message for message in caplog.messages] == [True] * bool(told)
    assert (tmp_path / JOURNAL).read_bytes().startswith(before[JOURNAL])
    assert made(ROWS, tmp_path) == 0
    assert (tmp_path / RESULTS).read_bytes() == before[RESULTS]


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("column", ["user_input", "reference"])
def test_two_files_of_the_same_name_do_not_share_a_folder_that_nobody_chose(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ROWS if column == "user_input" else [{"response": "Tea.", column: row["response"]} for row in ROWS]
    one = written(tmp_path / "1" / "data.jsonl", rows)
    other = written(tmp_path / "2" / "data.jsonl", others(rows, **{column: "Why?"}))
    monkeypatch.chdir(tmp_path)
    metric = "faithfulness" if column == "user_input" else "factual_correctness"
    given = ["-m", metric, "--statements", "sentences", "-q"]
    main(["evaluate", str(one), *given])
    before = contents(tmp_path / "runs")
    assert "runs/data holds a finished run of 5 other samples" in refused("evaluate", other, *given)
    assert contents(tmp_path / "runs") == before
    written(one, others(rows))
    main(["evaluate", str(one), *given])  # the same questions, with new answers
    main(["evaluate", str(other), *given, "-o", "runs/data"])
    assert "empty" in refused("evaluate", "", *given)
    assert (tmp_path / "runs" / "data" / SAMPLES).read_text("utf-8").count("Why?") == len(ROWS)


# Files that a command is told to write.


def test_results_are_replaced_only_in_the_run_that_was_scored_again(tmp_path: Path) -> None:
    run, other, plain = judged(tmp_path / "run", [0.6]), judged(tmp_path / "other", [0.6]), tmp_path / "plain"
    before = contents(other)
    refused("rescore", run, "--threshold", "0.7", "-o", other / RESULTS)
    assert contents(other) == before
    plain.mkdir()
    main(["rescore", str(run), "--threshold", "0.7", "-o", str(plain / RESULTS)])
    assert set(contents(plain)) == {RESULTS}
    assert rescore(run)["faithfulness"].value == 1
    main(["rescore", str(run), "--threshold", "0.7", "-o", str(run / RESULTS)])
    assert json.loads((run / RESULTS).read_text("utf-8"))["summary"]["faithfulness"]["value"] == 0
    assert ",0.0," in (run / "scores.csv").read_text("utf-8")


def test_a_page_goes_into_a_pipe_and_through_a_link_and_both_stay(tmp_path: Path) -> None:
    """A page moved to /dev/stdout would take the place of the device itself."""
    run = judged(tmp_path / "run", [0.9])
    pipe, link = tmp_path / "pipe", tmp_path / "link.html"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "page.html")
    (tmp_path / "page.html").write_text("")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(pipe.read_text, "utf-8")
        main(["report", str(run), "--html", str(pipe)])
        assert reading.result(60).startswith("<!doctype html>")
    main(["report", str(run), "--html", str(link)])
    assert (pipe.is_fifo(), link.is_symlink()) == (True, True)
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.usefixtures("steady")
def test_a_card_takes_away_no_file_that_no_card_left(tmp_path: Path) -> None:
    rows = [{**row, "id": f"{row['id']}-{i}", "label": i % 2} for i in range(4) for row in ROWS]
    labelled = written(tmp_path / "labelled.jsonl", rows)
    given = ["card", str(labelled), "--statements", "sentences", "-q", "-o", str(tmp_path / "cards")]
    mine = tmp_path / "cards" / "calibration.json"
    mine.parent.mkdir()
    mine.write_text("mine")
    assert "not empty" in refused(*given)
    assert mine.read_text() == "mine"
    mine.unlink()
    main(given)
    mine.write_text("fitted before")
    main([*given, "-m", "full_support"])
    assert mine.read_text() == "fitted before"


@pytest.mark.parametrize("words", ["evaluate --fail-under faithfulness=0.1 --junit", "card --html", "fit -o"])
def test_the_file_that_is_read_is_not_written_over(words: str, tmp_path: Path) -> None:
    command = words.split()
    data = written(tmp_path / "data.jsonl", ROWS)
    before = data.read_bytes()
    assert "the file that is read" in refused(command[0], data, *command[1:], data)
    assert data.read_bytes() == before


def test_what_is_read_is_not_written_over_in_whatever_order_it_is_given(tmp_path: Path) -> None:
    run, mine = judged(tmp_path / "run", [0.9]), tmp_path / "mine.json"
    mine.write_text("mine")
    given = ("rescore", run, "-o", mine, "--calibration", mine)
    assert "the file that is read" in refused(*given)
    assert "is empty" in refused("report", run, "--html", "")
    assert "no file can be made there" in refused("report", run, "--html", run / SAMPLES / "x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "loop" in refused("report", run, "--html", tmp_path / "loop")
    assert mine.read_text() == "mine"


def test_a_damaged_configuration_keeps_no_journal_from_its_command(tmp_path: Path) -> None:
    made(ROWS, tmp_path)
    before = (tmp_path / RESULTS).read_bytes()
    for text in (b"", b"\xff\xfe{", b"[" * 100_000):
        (tmp_path / CONFIG).write_bytes(text)
        with pytest.raises(InputError, match=r"run\.json"):
            rescore(tmp_path)
        assert made(ROWS, tmp_path) == 0
        assert (tmp_path / RESULTS).read_bytes() == before


@pytest.mark.usefixtures("steady")
def test_a_card_does_not_take_the_folder_of_another_file_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**row, "id": f"{row['id']}-{i}", "label": i % 2} for i in range(4) for row in ROWS]
    one, other = (
        written(tmp_path / "1" / "l.jsonl", rows),
        written(tmp_path / "2" / "l.jsonl", others(rows, user_input="Why?")),
    )
    monkeypatch.chdir(tmp_path)
    main(["card", str(one), "--statements", "sentences", "-q"])
    assert "finished run of 20 other samples" in refused("card", other, "--statements", "sentences", "-q")
