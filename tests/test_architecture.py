"""What ARCHITECTURE.md says is so: its rooms are there, and each of its recipes runs as it stands."""

import csv
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from localeval.metrics import METRICS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "localeval" / "ARCHITECTURE.md").read_text(encoding="utf-8")


def recipe(title: str) -> str:
    """The block of Python below the paragraph that begins with this title in bold."""
    found = re.search(rf"\*\*{title}\*\*.*?```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def run_recipe(title: str) -> None:
    exec(compile(recipe(title), "ARCHITECTURE.md", "exec"), {})  # noqa: S102


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of a recipe. What the recipe registers is forgotten behind it."""
    monkeypatch.chdir(tmp_path)
    tables = [METRICS]
    before = [dict(table) for table in tables]
    yield tmp_path
    for table, content in zip(tables, before, strict=True):
        table.clear()
        table.update(content)


def scores(run: Path) -> dict[str, str]:
    """The only row of a run's scores.csv."""
    with (run / "scores.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    return row


def test_the_page_is_one_page() -> None:
    assert len(PAGE.splitlines()) <= 150


def layer_of_room() -> dict[str, int]:
    """Room -> number of its layer in the contract that lint-imports checks, counted from the top."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [c for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    layers = {}
    for number, layer in enumerate(contract["layers"]):
        for room in layer.split(" : "):
            layers[room.removeprefix("localeval.")] = number
    return layers


def test_the_rooms_stand_in_the_order_in_which_they_may_import() -> None:
    expected = layer_of_room()
    table = PAGE.partition("| room |")[2].partition("\n\n")[0]
    shown = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE)))
    assert sorted(shown) == sorted(expected.keys() - {"__main__", "errors"})
    layers = [expected[room] for room in shown]
    assert layers == sorted(layers)


def test_every_file_and_folder_that_the_page_names_is_there() -> None:
    names = re.findall(r"`([\w/.*-]+(?:/|\.py|\.json|\.toml))`", PAGE)
    assert len(names) > 5
    missing = [name for name in names if not any([*(ROOT / "localeval").glob(name), *ROOT.glob(name)])]
    assert missing == []


def test_the_metric_of_the_recipe_is_in_table_csv_page_and_signature(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_recipe("A metric")
    table = capsys.readouterr().out
    assert "conciseness: 1 scored, 0 undefined, 0 failed" in table
    assert "signature conciseness.1|" in table
    assert scores(folder / "run")["conciseness"] == "0.5"
    assert "1 / statements of the response" in (folder / "run" / "report.html").read_text(encoding="utf-8")
