"""The command: `compare A B --prefer` and `compare RUN --under JUDGE`."""

import json
from pathlib import Path

import pytest

from localeval import evaluate
from tests.commands import fault, localeval
from tests.finished_runs import judged
from tests.steady import SteadyEngine, steady_judge

pytestmark = pytest.mark.usefixtures("steady")


def run(folder: Path, color: str) -> Path:
    """A finished run whose responses name a color."""
    samples = [
        {
            "id": f"s{i}",
            "user_input": f"Tea {i}?",
            "response": f"Tea {i} is {color}.",
            "retrieved_contexts": ["Tea."],
        }
        for i in range(8)
    ]
    evaluate(samples, ["faithfulness"], steady_judge(SteadyEngine()), folder, statements="sentences")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """The folder in which the runs "a" and "b" are."""
    run(tmp_path / "a", "green")
    run(tmp_path / "b", "red")
    return tmp_path


def test_prefer_may_stand_with_its_question_or_alone_wherever_the_runs_stand(runs: Path) -> None:
    default = "asked: Which of the two answers the question better, given the documents?"
    for words in (["a", "b", "--prefer"], ["--prefer", "a", "b"], ["a", "--prefer", "b"]):
        assert default in localeval("compare", *words, "-q", cwd=runs).stdout
    own = localeval("compare", "a", "b", "--prefer", "Which is shorter?", cwd=runs)
    assert "asked: Which is shorter?" in own.stdout
    assert own.returncode == 0


def test_prefer_keeps_its_judgements_in_a_folder_and_names_it(runs: Path) -> None:
    done = localeval("compare", "a", "b", "--prefer", cwd=runs)
    assert "runs/a-or-b/journal.jsonl" in Path(done.stderr.strip().splitlines()[-1]).as_posix()
    localeval("compare", "a", "b", "--prefer", "-o", "kept", cwd=runs)
    assert (runs / "kept" / "journal.jsonl").exists()


def test_the_folder_of_prefer_is_a_run_that_report_shows(runs: Path) -> None:
    localeval("compare", "a", "b", "--prefer", "-o", "kept", cwd=runs)
    assert "preference: 8 scored" in localeval("report", "kept", cwd=runs).stdout


def test_prefer_prints_json(runs: Path) -> None:
    written = json.loads(localeval("compare", "a", "b", "--prefer", "--json", "-q", cwd=runs).stdout)
    assert sum(written["preferred"].values()) == 8


def test_under_judges_the_run_by_another_judge_and_keeps_its_run(runs: Path) -> None:
    done = localeval("compare", "a", "--under", "another", cwd=runs)
    assert done.returncode == 0
    assert "faithfulness: too few" in done.stdout
    assert (runs / "a-under-another" / "results.json").exists()
    written = json.loads(localeval("compare", "a", "--under", "another", "--json", "-q", cwd=runs).stdout)
    assert written["metrics"]["faithfulness"]["pairs"] == 8


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a", "b", "--prefer", "--under", "another"], "give one of them"),
        (["a", "--prefer"], "--prefer takes two runs, and 1 are given"),
        (["a", "b", "--under", "another"], "--under takes one run, and 2 are given"),
        (["a", "b", "--sample", "20"], "--sample is for --prefer or --under"),
        (["a", "b", "--prefer", "--margin", "0.1"], "--margin is for --under"),
        (["a", "--under", "another", "--judge", "other"], "--judge is for --prefer"),
        (["a", "b", "--prefer", "--fail-on-drop"], "--fail-on-drop is for two runs and no judge"),
        (["a", "b", "--prefer", "--by", "lang"], "--by is for two runs and no judge"),
    ],
)
def test_options_that_do_nothing_here_are_refused(runs: Path, words: list[str], sentence: str) -> None:
    done = localeval("compare", *words, cwd=runs)
    assert done.returncode == 2
    assert sentence in fault(done)


def test_two_runs_alone_are_compared_without_a_judge(runs: Path) -> None:
    judged(runs / "c", [0.9, 0.1])
    assert "faithfulness" in localeval("compare", "c", "c", cwd=runs).stdout
