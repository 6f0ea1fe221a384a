"""What is not a run's own is never written over: files of the caller's, other runs, a run's own records."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, Sample, evaluate, plan, read_samples
from localeval.cli import main
from localeval.errors import FolderError, InputError
from localeval.judgements.journal import DAMAGED
from localeval.judgements.journal.lines import FILE as JOURNAL
from localeval.report.tables import SCORES, STATEMENTS
from localeval.runs.card import make
from localeval.runs.folder import RECIPE, REPORT, RESULTS, SAMPLES, load
from localeval.runs.ownership import BEGUN, FILES, asked
from localeval.system.files import write_together
from tests.runs import judged
from tests.steady import SteadyEngine, steady_judge

ROWS: list[dict[str, Any]] = [
    {"id": f"s{i}", "user_input": f"Tea {i}?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
    for i in range(5)
]


def made(rows: Any, folder: Path, **given: Any) -> int:
    """A run; how often the engine was asked."""
    engine = SteadyEngine()
    evaluate(rows, ["faithfulness"], steady_judge(engine), folder, statements="sentences", **given)
    return engine.asked


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What the command said, which ended with exit code 2 and one sentence."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    out, talk = capsys.readouterr()
    assert (ended.value.code, out, len(talk.splitlines())) == (2, "", 1)
    return talk


# A folder with files of the caller's.


@pytest.mark.parametrize("name", [name for name in FILES if name != "damaged.jsonl"])
def test_a_file_of_the_callers_with_the_name_of_a_runs_stays_and_nothing_comes_beside_it(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text('{"mine": 1}\n')
    before = contents(tmp_path)
    said = rf"there is a {name} that no run left there.*choose another folder"
    with pytest.raises(FolderError, match=said):
        made(ROWS, tmp_path)
    with pytest.raises(FolderError, match=said):
        plan(ROWS, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path)
    assert contents(tmp_path) == before


def test_other_files_may_stand_in_a_runs_folder(tmp_path: Path) -> None:
    data = written(tmp_path / "data.jsonl", ROWS)
    made(data, tmp_path)
    assert len(load(tmp_path).samples) == 5
    assert data.read_text("utf-8").count("\n") == 5


@pytest.mark.parametrize("left", range(1, 6))
def test_a_run_that_ended_at_its_very_beginning_goes_on(left: int, tmp_path: Path) -> None:
    """After any of its first files; so the recipe has to come before the samples."""
    made(ROWS, tmp_path / "whole")
    first = [".lock", JOURNAL, "network.json", RECIPE, SAMPLES]
    times = [(tmp_path / "whole" / name).stat().st_mtime_ns for name in first[3:]]
    assert times == sorted(times)
    folder = tmp_path / "run"
    folder.mkdir()
    for name in first[:left]:
        shutil.copy(tmp_path / "whole" / name, folder)
        if name == JOURNAL:
            (folder / name).write_bytes(b"")
    assert made(ROWS, folder) == 5
    assert (folder / RESULTS).read_bytes() == (tmp_path / "whole" / RESULTS).read_bytes()


@pytest.mark.parametrize("text", ['{"key": "mine"}\n', "Monday: rain", '{"key": "a"}\n{"key": "b"}'])
def test_a_journal_of_the_callers_is_known_by_its_lines(text: str, tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text(text)
    with pytest.raises(FolderError, match=r"a journal\.jsonl that no run left there"):
        made(ROWS, tmp_path)
    assert contents(tmp_path) == {JOURNAL: text.encode()}


def test_a_recipe_that_is_no_longer_one_does_not_make_a_run_the_callers(tmp_path: Path) -> None:
    """Its journal tells whose it is, and so does the recipe of another version."""
    made(ROWS, tmp_path)
    (tmp_path / RECIPE).write_text("{")
    assert made(ROWS, tmp_path) == 0
    (tmp_path / JOURNAL).write_bytes(b"")
    (tmp_path / RECIPE).write_text('{"metrics": 1, "judge": {}, "engine": [], "newer": true}')
    assert made(ROWS, tmp_path) == 5


def test_a_part_of_the_runs_own_samples_is_refused_and_all_of_them_are_not(tmp_path: Path) -> None:
    made(ROWS, tmp_path)
    before = contents(tmp_path)
    part = read_samples(tmp_path / SAMPLES, ids=["s0"])
    (tmp_path / "link").symlink_to(tmp_path / SAMPLES)
    for source in (part, read_samples(tmp_path / "link", limit=4)):
        with pytest.raises(InputError, match=r"only \d of 5 samples would be left; choose another folder"):
            made(source, tmp_path)
    (tmp_path / "link").unlink()
    assert made(tmp_path / SAMPLES, tmp_path) == 0
    assert contents(tmp_path) == before
    made(part, tmp_path / "other")


def test_the_command_line_refuses_the_callers_files_a_part_of_the_runs_own_and_an_empty_name(
    tmp_path: Path, tiny_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "mine" / SAMPLES, ROWS)
    (tmp_path / "mine" / SCORES).write_text("mine")
    made(ROWS, tmp_path / "run")
    before = contents(tmp_path)
    monkeypatch.chdir(tmp_path / "mine")
    given = ("--judge", tiny_path, "-m", "faithfulness", "-q")
    told = refused(capsys, "evaluate", SAMPLES, *given, "--limit", "2", "-o", ".")
    assert "samples.jsonl that no run left there" in told
    assert "-o is empty" in refused(capsys, "evaluate", SAMPLES, *given, "-o", "")
    own = tmp_path / "run" / SAMPLES
    for more in ((), ("--plan",)):
        told = refused(capsys, "evaluate", own, *given, "-o", tmp_path / "run", "--id", "s0", *more)
        assert "only 1 of 5 samples would be left" in told
    assert contents(tmp_path) == before
    with pytest.raises(InputError, match="output is empty"):
        made(ROWS, "")  # type: ignore[arg-type]


# A run in the folder that is of other samples.


def others(rows: Sequence[dict[str, Any]], **changed: Any) -> list[dict[str, Any]]:
    return [{**row, "response": "Another.", **changed} for row in rows]


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (ROWS, False),
        (ROWS[:2], False),
        ([*ROWS, *others(ROWS[:1], id="new")], False),
        ([*others(ROWS[1:]), ROWS[0]], False),
        (others(ROWS), True),
    ],
)
def test_results_of_none_of_these_samples_are_not_replaced_in_silence(
    now: list[dict[str, Any]], said: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that has grown, or is read in part, is no other one."""
    made(ROWS, tmp_path)
    kept = (tmp_path / JOURNAL).read_bytes()
    with caplog.at_level(logging.WARNING):
        made(now, tmp_path)
    assert ("held a run of 5 other samples; its results are replaced" in caplog.text) is said
    assert (tmp_path / JOURNAL).read_bytes().startswith(kept)


def test_a_run_that_was_not_finished_has_no_results_to_replace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(ROWS, tmp_path)
    (tmp_path / RESULTS).unlink()
    made(others(ROWS), tmp_path)
    assert "its results are replaced" not in caplog.text


def test_two_files_of_the_same_name_do_not_share_a_folder_that_nobody_chose(
    tmp_path: Path, tiny_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = written(tmp_path / "1" / "data.jsonl", ROWS)
    other = written(tmp_path / "2" / "data.jsonl", others(ROWS, user_input="Why?"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCALEVAL_N_CTX", "16384")
    given = ["--judge", str(tiny_path), "-m", "faithfulness", "--statements", "sentences", "-q"]
    main(["evaluate", str(one), *given])
    before = contents(tmp_path / "runs")
    told = refused(capsys, "evaluate", other, *given)
    assert "runs/data holds a finished run of 5 other samples" in told
    assert "-o" in told
    assert contents(tmp_path / "runs") == before
    written(one, [*others(ROWS[1:]), *others(ROWS[:1], id="new", user_input="Why?")])
    main(["evaluate", str(one), *given])  # the same questions, with new answers
    main(["evaluate", str(other), *given, "-o", "runs/data"])
    assert {s.sample.user_input for s in load("runs/data").samples} == {"Why?"}


@pytest.mark.parametrize(
    ("before", "changed", "same"),
    [
        ({}, {"id": "new{i}"}, True),
        ({}, {"retrieved_contexts": ["Coffee."]}, True),
        ({}, {"user_input": "Why {i}?"}, False),
        ({"user_input": None}, {"retrieved_contexts": ["Coffee."]}, False),
        ({"user_input": "Sum up."}, {"retrieved_contexts": ["Coffee."]}, False),
        ({"user_input": "Sum up."}, {"id": "new{i}", "reference": "Tea."}, True),
        (
            {"user_input": None, "retrieved_contexts": None, "reference": "Tea {i}."},
            {"reference": "Oh."},
            False,
        ),
        ({"user_input": None, "retrieved_contexts": None, "reference": "Tea {i}."}, {"id": "new{i}"}, True),
    ],
)
def test_samples_are_the_same_by_what_they_ask_or_where_many_ask_it_by_their_contexts(
    before: dict[str, Any], changed: dict[str, Any], same: bool
) -> None:
    def rows(**given: Any) -> list[Sample]:
        filled = [
            {name: v.format(i=i) if isinstance(v, str) else v for name, v in given.items()} for i in range(5)
        ]
        return [Sample(**{**row, **own}) for row, own in zip(others(ROWS), filled, strict=True)]

    first, second = rows(**before), rows(**{**before, **changed})
    assert bool(asked(first) & asked(second)) is same
    assert asked(first) & asked(first[:1])


# Files that a command is told to write.


@pytest.mark.parametrize("name", sorted({*FILES} - {RESULTS, REPORT}))
def test_no_file_of_a_run_is_written_over_by_a_command_that_makes_another(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, other = judged(tmp_path / "run", [0.9]), judged(tmp_path / "other", [0.8])
    before = contents(tmp_path)
    gate = ("--fail-under", "faithfulness=0")
    for folder in (run, other):
        for command in (
            ("rescore", run, "-o"),
            ("report", run, "--html"),
            ("rescore", run, *gate, "--junit"),
        ):
            assert "which has to stay" in refused(capsys, *command, folder / name)
    assert contents(tmp_path) == before
    (tmp_path / "plain").mkdir()
    main(["rescore", str(run), "-o", str(tmp_path / "plain" / name)])
    assert json.loads((tmp_path / "plain" / name).read_text("utf-8"))["schema"] == 1


def test_results_are_replaced_only_in_the_run_that_was_scored_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, other, plain = judged(tmp_path / "run", [0.6]), judged(tmp_path / "other", [0.6]), tmp_path / "plain"
    before = contents(other)
    told = refused(capsys, "rescore", run, "--threshold", "0.7", "-o", other / RESULTS)
    assert "which has to stay" in told
    assert contents(other) == before
    plain.mkdir()
    (plain / SCORES).write_text("mine")
    main(["rescore", str(run), "--threshold", "0.7", "-o", str(plain / RESULTS)])
    assert set(contents(plain)) == {RESULTS, SCORES}
    assert (plain / SCORES).read_text() == "mine"
    assert load(run)["faithfulness"].value == 1
    main(["rescore", str(run), "--threshold", "0.7", "-o", str(run / RESULTS)])
    assert load(run)["faithfulness"].value == 0
    assert ",0.0," in (run / SCORES).read_text("utf-8")


def test_what_is_no_file_to_write_is_said_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(tmp_path / "run", [0.9])
    (tmp_path / "adir").mkdir()
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    for command in (("rescore", "run", "-o"), ("report", "run", "--html")):
        for place in ("adir", ".", "nowhere/x"):
            assert place in refused(capsys, *command, place)
    assert contents(tmp_path) == before


def test_a_page_goes_into_a_pipe_and_through_a_link_and_both_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    before = contents(tmp_path / "run")
    (tmp_path / "own.html").symlink_to(run / SAMPLES)
    assert "which has to stay" in refused(capsys, "report", run, "--html", tmp_path / "own.html")
    assert contents(tmp_path / "run") == before


def test_a_file_in_a_folder_that_takes_no_file_beside_is_said_before_anything_is_computed(
    tmp_path: Path,
) -> None:
    page = tmp_path / "shut" / "page.html"
    page.parent.mkdir()
    page.write_text("")
    page.parent.chmod(0o500)
    # root may write anywhere, unless it gives that up
    plain = [] if os.geteuid() else ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]
    if plain and not shutil.which("setpriv"):
        pytest.skip("as root without setpriv a read-only folder can't be made")
    command = [*plain, sys.executable, "-m", "localeval", "report", "nowhere", "--html", str(page)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no file can be made there" in done.stderr


def test_files_that_can_not_all_be_moved_into_their_places_leave_no_part_beside(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_together(tmp_path, [(name, ["text"]) for name in "abc"])
    assert not list(tmp_path.glob(".*"))


def test_the_files_that_come_before_the_recipe_are_those_that_a_run_begins_with() -> None:
    assert set(BEGUN) < set(FILES)
    assert {SAMPLES, RECIPE, RESULTS, REPORT, SCORES, STATEMENTS} == set(FILES) - {*BEGUN, "plan.json"}


@pytest.mark.parametrize("name", [JOURNAL, DAMAGED, ".lock", "network.json", "plan.json", REPORT])
def test_a_link_in_a_folder_from_elsewhere_is_refused_and_nothing_is_written_through_it(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine, no line end")
    folder = tmp_path / "run"
    made(ROWS, folder)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "mine.txt")
    before = contents(tmp_path)
    with pytest.raises(FolderError, match=f"{name}: this is a link"):
        made(ROWS, folder)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("setting", [{"n_ctx": 1 << 20}, {"n_gpu_layers": 9}])
def test_a_run_that_is_refused_leaves_the_finished_one_before_it(
    setting: dict[str, Any], tiny_path: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    with Judge.load(tiny_path) as judge:
        evaluate(ROWS[:1], ["faithfulness"], judge, run, statements="sentences")
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    with Judge.load(tiny_path, **setting) as judge, pytest.raises(InputError, match=r"n_ctx is|GPU"):
        evaluate(ROWS[:1], ["faithfulness"], judge, run, statements="sentences")
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_plan_is_refused_where_the_run_could_not_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FolderError, match=r"file: no run can be kept there \(File exists\)"):
        plan(ROWS[:1], ["faithfulness"], steady_judge(SteadyEngine()), tmp_path / "file")
    plan(ROWS[:1], ["faithfulness"], steady_judge(SteadyEngine()), tmp_path / "new" / "run")
    assert not (tmp_path / "new").exists()


def test_a_card_takes_away_no_file_that_no_card_left(tmp_path: Path) -> None:
    judge = steady_judge(SteadyEngine())
    rows = [{**row, "id": f"{row['id']}-{i}", "label": i % 2} for i in range(8) for row in ROWS]
    labelled = written(tmp_path / "labelled.jsonl", rows)
    mine, cards = tmp_path / "mine", tmp_path / "cards"
    mine.mkdir()
    (mine / "calibration.json").write_text("mine")
    with pytest.raises(FolderError, match=r"calibration\.json: no card left this there"):
        make(str(labelled), "faithfulness", judge, mine, statements="sentences")
    assert (mine / "calibration.json").read_text() == "mine"

    make(str(labelled), "faithfulness", judge, cards, statements="sentences")
    (cards / "calibration.json").write_text("fitted before")
    make(str(labelled), "full_support", judge, cards, 20, statements="sentences")
    assert (cards / "calibration.json").read_text() == "fitted before"


@pytest.mark.parametrize("name", ["...jsonl", "..jsonl"])
def test_no_run_is_kept_in_a_folder_called_by_dots(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / name, ROWS)
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", name, "-m", "faithfulness"])
    assert ended.value.code == 2
    assert "no folder can be called" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_part_that_takes_the_place_of_a_finished_run_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made(ROWS, tmp_path / "run")
    made(ROWS, tmp_path / "run")
    assert not caplog.records
    assert made(ROWS[:2], tmp_path / "run") == 0
    (told,) = caplog.messages
    assert "held the results of 5 samples; those of 2 take their place" in told


@pytest.mark.parametrize(
    "command", [["evaluate", "--fail-under", "faithfulness=0.1", "--junit"], ["card", "--html"]]
)
def test_the_file_that_is_read_is_not_written_over(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = written(tmp_path / "data.jsonl", ROWS)
    before = data.read_bytes()
    with pytest.raises(SystemExit) as ended:
        main([command[0], str(data), *command[1:], str(data)])
    assert (ended.value.code, data.read_bytes()) == (2, before)
    assert "this is the file that is read" in capsys.readouterr().err


def test_metrics_whose_results_are_replaced_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Following the README, a second `-m` on the same file took the first one's results away unsaid."""
    run, judge = tmp_path / "run", steady_judge(SteadyEngine())
    for metrics in (["faithfulness"], ["faithfulness", "full_support"]):  # nothing goes
        evaluate(ROWS, metrics, judge, run, statements="sentences")
    assert not caplog.records
    evaluate(ROWS, ["context_relevance"], judge, run, statements="sentences")
    (told,) = caplog.messages
    assert "held the results of faithfulness, full_support; those of context_relevance take their" in told
