"""The results of a finished run stay until others that hold the same and more are whole."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, evaluate, rescore
from localeval.cli import main
from localeval.errors import ModelMissing
from localeval.judgements.journal import Journal
from localeval.runs.folder import load
from localeval.system.files import atomic_write
from tests.commands import fault, localeval, process, refused
from tests.finished_runs import judged, write_rows
from tests.steady import SteadyEngine, steady_judge

SHOWN = ("results.json", "scores.csv", "statements.csv", "report.html", "samples.jsonl", "run.json")
OPTIONS = ("--statements", "sentences", "-q")
ROWS: list[dict[str, Any]] = [
    {"id": f"s{i}", "user_input": f"Tea {i}?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
    for i in range(4)
]


def with_answer(answer: str) -> list[dict[str, Any]]:
    return [{**row, "response": f"{answer} {row['id']}."} for row in ROWS]


def shown(folder: Path) -> dict[str, bytes]:
    """What a reader of a finished run opens."""
    return {name: (folder / name).read_bytes() for name in SHOWN}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def finished(here: Path, steady: None) -> Iterator[Path]:
    """A run in its default folder, the files of which no test may change."""
    write_rows(here / "before" / "answers.jsonl", ROWS)
    main(["evaluate", "before/answers.jsonl", "-m", "faithfulness,full_support", *OPTIONS])
    folder = here / "runs" / "answers"
    before = shown(folder)
    yield folder
    assert shown(folder) == before


@pytest.mark.usefixtures("finished")
def test_other_answers_to_the_same_questions_do_not_replace_the_first_results(here: Path) -> None:
    write_rows(here / "after" / "answers.jsonl", with_answer("Another"))
    asked = ("evaluate", "after/answers.jsonl", "-m", "faithfulness,full_support", *OPTIONS)
    message = refused(*asked)
    assert "runs/answers" in message
    assert "-o" in message
    assert localeval(*asked, "-o", "runs/after", cwd=here).returncode == 0


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize("choice", [["--limit", "1"], ["--sample", "2"], ["--id", "s3"]])
def test_a_trial_with_fewer_samples_does_not_replace_the_whole_run(choice: list[str]) -> None:
    message = refused("evaluate", "before/answers.jsonl", "-m", "faithfulness,full_support", *choice)
    assert "more samples" in message


@pytest.mark.usefixtures("finished")
def test_a_run_of_other_metrics_does_not_replace_those_that_it_lacks() -> None:
    message = refused("evaluate", "before/answers.jsonl", "-m", "answer_relevance")
    assert "-m faithfulness,full_support,answer_relevance" in message


def test_a_default_metric_whose_model_is_gone_does_not_take_its_results_with_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(**_: Any) -> Judge:
        judge = steady_judge(SteadyEngine())
        judge.auxiliary_models.auto = True
        return judge

    monkeypatch.setattr(Judge, "load", load)
    write_rows(here / "answers.jsonl", ROWS)
    main(["evaluate", "answers.jsonl", *OPTIONS])
    before = shown(here / "runs" / "answers")
    check = Judge.check_requirements

    def check_without_embedder(judge: Judge, metrics: Any, options: Any) -> None:
        if any(metric.name == "answer_relevance" for metric in metrics):
            raise ModelMissing("the embedder is gone")
        check(judge, metrics, options)

    monkeypatch.setattr(Judge, "check_requirements", check_without_embedder)
    assert "answer_relevance" in refused("evaluate", "answers.jsonl", *OPTIONS)
    assert shown(here / "runs" / "answers") == before


@pytest.mark.usefixtures("steady")
def test_a_default_folder_takes_the_same_samples_with_more_metrics_and_more_samples(here: Path) -> None:
    for number, metrics in (
        (2, "faithfulness"),
        (2, "faithfulness,full_support"),
        (4, "full_support,faithfulness"),
    ):
        write_rows(here / "answers.jsonl", ROWS[:number])
        main(["evaluate", "answers.jsonl", "-m", metrics, *OPTIONS])
    result = load(here / "runs" / "answers")
    assert (len(result.samples), set(result.metrics)) == (4, {"faithfulness", "full_support"})


class Interrupted(SteadyEngine):
    """Ctrl-C comes at the first question."""

    def generate(self, *_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("rows", "metrics"), [(with_answer("Another"), ["faithfulness"]), (ROWS, ["context_relevance"])]
)
def test_the_first_results_are_there_after_ctrl_c_in_the_first_second_of_the_next_run(
    rows: Any, metrics: list[str], tmp_path: Path
) -> None:
    run = partial(evaluate, output=tmp_path, statements="sentences")
    run(ROWS, ["faithfulness"], steady_judge(SteadyEngine()))
    before = shown(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(rows, metrics, steady_judge(Interrupted()))
    assert shown(tmp_path) == before
    assert load(tmp_path).scores == rescore(tmp_path).scores


def test_a_run_that_was_interrupted_beside_finished_results_goes_on_to_its_own(tmp_path: Path) -> None:
    run = partial(evaluate, metrics=["faithfulness"], statements="sentences")
    first, second, whole = tmp_path / "first", with_answer("Another"), tmp_path / "whole"
    run(ROWS, judge=steady_judge(SteadyEngine()), output=first)
    run(second, judge=steady_judge(SteadyEngine()), output=whole)

    class Breaking(SteadyEngine):
        def generate(self, *arguments: Any, **options: Any) -> Any:
            if self.asked == 2:
                raise KeyboardInterrupt
            return super().generate(*arguments, **options)

    with pytest.raises(KeyboardInterrupt):
        run(second, judge=steady_judge(Breaking()), output=first)
    again = SteadyEngine()
    run(second, judge=steady_judge(again), output=first)
    assert again.asked == 2
    expected = shown(whole)
    del expected["report.html"]  # its heading is the folder's name
    assert {name: shown(first)[name] for name in expected} == expected
    assert {path.name for path in first.iterdir()} == {path.name for path in whole.iterdir()}


def test_what_is_left_of_an_interrupted_run_goes_when_the_first_is_given_again(tmp_path: Path) -> None:
    run = partial(evaluate, metrics=["faithfulness"], output=tmp_path, statements="sentences")
    run(ROWS, judge=steady_judge(SteadyEngine()))
    names = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(KeyboardInterrupt):
        run(with_answer("Another"), judge=steady_judge(Interrupted()))
    run(ROWS, judge=steady_judge(SteadyEngine()))
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize(
    "words",
    [
        "report run --html notes.html",
        "rescore run -o notes.json",
        "rescore run --fail-under faithfulness=0 --junit pom.xml",
        "evaluate data.jsonl --fail-under faithfulness=0 --junit pom.xml",
        "card data.jsonl --html notes.html",
        "fit data.jsonl -o notes.json",
    ],
)
def test_an_output_that_names_a_file_of_somebody_else_is_refused(words: str, here: Path) -> None:
    judged(here / "run", [0.9])
    write_rows(here / "data.jsonl", ROWS)
    texts = {
        "notes.html": "<!DOCTYPE html><p>Mine.",
        "notes.json": '{"mine": 1}',
        "pom.xml": "<?xml?><project/>",
    }
    for name, text in texts.items():
        (here / name).write_text(text)
    assert "this file is there" in refused(*words.split())
    assert {name: (here / name).read_text() for name in texts} == texts


@pytest.mark.parametrize(
    "words",
    [
        "report run --html out",
        "rescore run -o out",
        "rescore run --fail-under faithfulness=0 --junit out",
    ],
)
def test_an_output_may_be_written_again(words: str, here: Path) -> None:
    judged(here / "run", [0.9])
    for _ in range(2):
        assert localeval(*words.split(), cwd=here).returncode == 0
    assert (here / "out").stat().st_size > 0


def test_gates_are_appended_to_what_stdout_holds(here: Path) -> None:
    judged(here / "run", [0.9])
    words = ["-m", "localeval", "rescore", "run", "--fail-under", "faithfulness=0", "--junit", "/dev/stdout"]
    (here / "log").write_text("before\n")
    with (here / "log").open("a") as log:
        subprocess.run([sys.executable, *words], stdout=log, check=True, timeout=120)
    assert (here / "log").read_text().startswith("before\n")


def test_scores_are_not_replaced_in_a_run_that_another_process_writes_to(here: Path) -> None:
    folder = judged(here / "run", [0.9])
    before = shown(folder)
    with Journal(folder):
        assert "is writing to this run" in refused(
            "rescore", "run", "--threshold", "0.95", "-o", "run/results.json"
        )
    assert shown(folder) == before


def test_two_writers_of_one_file_do_not_take_each_others_half_written_one(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    code = "import sys, time; from pathlib import Path; from localeval.system.files import atomic_write\n"
    code += "def parts():\n    yield 'first'; print(flush=True); sys.stdin.read(); yield ' whole'\n"
    code += f"atomic_write(Path({str(target)!r}), parts())"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        other.stdout.readline()
        atomic_write(target, ["second"])
        assert target.read_text() == "second"
        other.stdin.close()
        assert other.wait(60) == 0
    assert target.read_text() == "first whole"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_half_written_file_of_a_killed_process_is_removed_when_it_is_old(tmp_path: Path) -> None:
    target, left, fresh = (tmp_path / name for name in ("a.json", ".a.json.1-2.part", ".a.json.1-3.part"))
    left.write_text("{")
    fresh.write_text("{")
    week_ago = time.time() - 7 * 86_400
    os.utime(left, (week_ago, week_ago))
    atomic_write(target, ["{}"])
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", ".a.json.1-3.part"}


def test_a_new_name_is_synced_to_the_disk_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = list[str]()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", noted)
    with Journal(tmp_path / "run"):
        assert {str(tmp_path), str(tmp_path / "run")} <= set(synced)
    synced.clear()
    atomic_write(tmp_path / "page.html", ["text"])
    assert synced[-1] == str(tmp_path)


@pytest.mark.parametrize("command", ["rescore", "verify"])
@pytest.mark.parametrize("option", ["calibration", "head", "prompts"])
def test_a_path_in_the_options_of_a_strangers_run_is_never_opened(
    option: str, command: str, tmp_path: Path
) -> None:
    folder = judged(tmp_path / "run", [0.9])
    pipe = tmp_path / "pipe"
    if sys.platform == "win32":
        pytest.skip("Windows has no named pipes in folders")
    os.mkfifo(pipe)  # opening it would wait for ever
    config = json.loads((folder / "run.json").read_text("utf-8"))
    config["options"][option] = {"support": {"en": str(pipe)}} if option == "prompts" else str(pipe)
    (folder / "run.json").write_text(json.dumps(config))
    done = process(command, "run", cwd=tmp_path)
    assert done.returncode == 2
    assert option.removesuffix("s") in fault(done)


def test_the_texts_of_files_in_a_runs_options_are_read(tmp_path: Path) -> None:
    prompt = (files("localeval.prompts") / "en" / "support.toml").read_text("utf-8")
    folder = judged(tmp_path / "run", [0.9], prompts={"support": {"en": prompt}})
    assert rescore(folder)["faithfulness"].value == 1
