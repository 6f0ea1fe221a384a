"""An output format of one's own: one function, registered once, is written wherever a run is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import localeval
from localeval import InputError, evaluate, register_format
from localeval.cli import commands
from localeval.report.formats import FORMATS, RESERVED, file_names
from localeval.report.view import RunView
from localeval.runs.folder import FILES
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said

TEA = {"id": "tea", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}


def markdown(run: RunView, title: str) -> Iterator[str]:
    """A table of the samples' values, as a caller would write it."""
    yield f"# {title}\n\n| sample | {' | '.join(run.metrics)} |\n"
    yield "|---" * (1 + len(run.metrics)) + "|\n"
    for one in run.samples:
        values = [f"{one.scores[name].value}" for name in run.metrics]
        yield f"| {one.sample.id} | {' | '.join(values)} |\n"


@pytest.fixture
def own_format() -> Iterator[None]:
    register_format("markdown", "scores.md", markdown)
    yield
    del FORMATS["markdown"]


def run_in(folder: Path, probability: float = 0.9) -> localeval.Result:
    judge = fake_judge(FakeEngine([{"verdict": probability}]))
    return evaluate([TEA], ["faithfulness"], judge, folder, statements="sentences")


EXPECTED = "# run\n\n| sample | faithfulness |\n|---|---|\n| tea | 1.0 |\n"


@pytest.mark.usefixtures("own_format")
def test_evaluate_writes_a_registered_format_into_the_runs_folder(tmp_path: Path) -> None:
    run_in(tmp_path / "run")
    assert (tmp_path / "run" / "scores.md").read_text(encoding="utf-8") == EXPECTED


@pytest.mark.usefixtures("own_format")
def test_the_report_command_writes_a_registered_format_again(tmp_path: Path) -> None:
    run_in(tmp_path / "run")
    (tmp_path / "run" / "scores.md").unlink()
    command = CliRunner().invoke(commands, ["report", str(tmp_path / "run")])
    assert command.exit_code == 0
    assert (tmp_path / "run" / "scores.md").read_text(encoding="utf-8") == EXPECTED
    assert f"markdown: {tmp_path / 'run' / 'scores.md'}" in command.output


@pytest.mark.usefixtures("own_format")
def test_another_run_in_the_folder_replaces_the_file_of_a_registered_format(tmp_path: Path) -> None:
    run_in(tmp_path / "run")
    other = {**TEA, "response": "Tea sings."}
    judge = fake_judge(FakeEngine([{"verdict": 0.1}]))
    evaluate([other], ["faithfulness"], judge, tmp_path / "run", statements="sentences")
    assert "| tea | 0.0 |" in (tmp_path / "run" / "scores.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("own_format")
def test_a_command_replaces_the_file_of_a_registered_format_by_nothing_else(tmp_path: Path) -> None:
    run_in(tmp_path / "run")
    arguments = ["rescore", str(tmp_path / "run"), "-o", str(tmp_path / "run" / "scores.md")]
    command = CliRunner().invoke(commands, arguments)
    assert command.exit_code == 2
    assert "a file of a run" in command.output
    assert (tmp_path / "run" / "scores.md").read_text(encoding="utf-8") == EXPECTED


def test_a_format_that_is_not_registered_is_not_written(tmp_path: Path) -> None:
    run_in(tmp_path / "run")
    assert not (tmp_path / "run" / "scores.md").exists()


@pytest.mark.parametrize("file", ["results.json", "RUN.json", "scores.csv", "report.html"])
def test_a_format_can_not_have_a_file_of_the_run_or_of_another_format(file: str) -> None:
    assert f"{file} is a file of" in said(InputError, register_format, "mine", file, markdown)
    assert "mine" not in FORMATS


@pytest.mark.parametrize("file", ["", "a/b.md", "../b.md", ".hidden"])
def test_the_file_of_a_format_is_a_plain_name(file: str) -> None:
    assert "is no file name" in said(InputError, register_format, "mine", file, markdown)


def test_every_file_of_a_run_is_reserved_or_a_formats() -> None:
    visible: Any = {name for name in FILES if not name.startswith(".")}
    assert visible == RESERVED | set(file_names())
