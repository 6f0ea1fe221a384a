"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from localeval import Result
from localeval.cli import commands
from localeval.metrics import METRICS
from localeval.report.text import as_text
from localeval.samples import read_samples

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, nth: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)[nth])


def test_the_commands_of_the_first_screen_are_scripts_of_the_checkout() -> None:
    scripts = re.findall(r"^(scripts/\w+)", block("sh"), re.MULTILINE)
    assert scripts == ["scripts/start", "scripts/test"]
    for script in (*scripts, "scripts/localeval", "scripts/check", ".ci/run"):
        assert (ROOT / script).stat().st_mode & 0o111


def test_every_metric_and_every_option_is_in_its_table() -> None:
    assert all(f"| `{name}` |" in README for name in METRICS)
    for name in ("evaluate", "score"):
        for option in commands.commands[name].params:
            variable = option.envvar
            if variable:
                assert f"`{variable}`" in README, variable


def test_every_dependency_is_named_with_its_job() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[(.*?)^\]", project, re.DOTALL | re.MULTILINE)
    assert listed is not None
    jobs = README.split("## What it stands on")[1]
    for dependency in re.findall(r'"([a-z0-9-]+)', listed[1]):
        assert dependency in jobs, dependency


def test_the_sample_line_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(block("json"), encoding="utf-8")
    assert read_samples(tmp_path / "data.jsonl")[0].id == "42"


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each sample's row, by id, and of the row of means."""
    found = {}
    for line in text.splitlines():
        cells = line.split()
        if cells and (cells[0] == "mean" or cells[0][:3] in ("en-", "zh-")):
            found[cells[0]] = cells[1:]
    return found


@pytest.mark.model
def test_the_table_of_the_first_screen_is_what_the_shipped_example_gives(shipped: Result) -> None:
    shown = rows(block("text"))
    found = rows(as_text(shipped))
    assert shown.keys() == found.keys()
    for name, cells in shown.items():
        for here, there in zip(cells, found[name], strict=True):
            # Another type of processor moves the bits, and with them the last decimals.
            if re.fullmatch(r"[\d.]+", here):
                assert float(there) == pytest.approx(float(here), abs=0.1), name
            else:
                assert there == here, name


@pytest.mark.model
def test_the_python_example_runs_as_it_stands() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block("python"), "README.md", "exec"), {})  # noqa: S102
    said = out.getvalue()
    assert "faithfulness: 1 scored, 0 undefined, 0 failed" in said
    assert "The mill was built in 1820." in said
