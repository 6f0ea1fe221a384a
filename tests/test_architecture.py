"""What ARCHITECTURE.md says is so: its rooms are there, and each of its recipes runs as it stands."""

import csv
import json
import re
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from localeval import evaluate, rescore
from localeval.cli import main
from localeval.engine.architectures import ARCHITECTURES
from localeval.fitted.files import FittedFor, file_text
from localeval.judgements import JUDGEMENTS
from localeval.metrics import METRICS
from localeval.prompts import PROMPTS
from localeval.report.formats import FORMATS
from localeval.testing import FakeEngine, fake_judge
from tests.finished_runs import write_rows
from tests.heads import head
from tests.reports import Page
from tests.tiny import N_EMBD, write_tiny_model

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "localeval" / "ARCHITECTURE.md").read_text(encoding="utf-8")


def recipe(title: str) -> str:
    """The block of Python below the paragraph that begins with this title in bold."""
    found = re.search(rf"\*\*{title}\*\*.*?```python\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def run_recipe(title: str) -> dict[str, Any]:
    """Run the recipe, and return the names that it leaves."""
    names: dict[str, Any] = {}
    exec(compile(recipe(title), "ARCHITECTURE.md", "exec"), names)  # noqa: S102
    return names


REGISTRIES: list[dict[str, Any]] = [ARCHITECTURES, FORMATS, JUDGEMENTS, METRICS, PROMPTS]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of a recipe. What the recipe registers is forgotten behind it."""
    monkeypatch.chdir(tmp_path)
    before = [dict(registry) for registry in REGISTRIES]
    yield tmp_path
    for registry, content in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(content)


def rows(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def page(run: Path) -> str:
    return (run / "report.html").read_text(encoding="utf-8")


def signature(run: Path) -> dict[str, Any]:
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = results["signature"]
    return found


def test_the_page_is_one_page() -> None:
    assert len(PAGE.splitlines()) <= 150


def layer_of_room() -> dict[str, int]:
    """Room -> number of its layer in the contract that lint-imports checks, counted from the top."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["name"]: contract for contract in project["tool"]["importlinter"]["contracts"]}
    layers = {}
    for number, layer in enumerate(contracts["Rooms import downwards only"]["layers"]):
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
    assert "brevity: 1 scored, 0 undefined, 0 failed" in table
    assert "signature brevity.1|" in table
    (row,) = rows(folder / "run" / "scores.csv")
    assert row["brevity"] == "0.5"  # two statements
    assert "1 / statements" in page(folder / "run")
    assert signature(folder / "run")["metrics"] == {"brevity": "1"}


def test_the_judgement_of_the_recipe_is_in_table_csv_page_and_signature(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_recipe("A judgement")
    run = folder / "run"
    table = capsys.readouterr().out
    assert "politeness: 2 scored, 0 undefined, 0 failed" in table
    assert [row["politeness"] for row in rows(run / "scores.csv")] == ["1.0", "0.0"]
    assert [row["politeness_soft"] for row in rows(run / "scores.csv")] == ["0.9", "0.2"]
    decided = [
        (row["judgement"], row["statement"], row["probability"], row["verdict"])
        for row in rows(run / "statements.csv")
    ]
    assert decided == [("polite", "Gladly.", "0.9", "1"), ("polite", "自己去查。", "0.2", "0")]
    shown = " ".join(Page(page(run)).text.split())
    assert "Decisions判断: polite" in shown
    assert "Gladly. polite: yes是 0.90" in shown
    assert signature(run)["judgements"] == {"polite": "1"}
    assert set(signature(run)["prompts"]) == {"polite/en", "polite/zh"}


def test_the_judgement_of_the_recipe_asks_in_the_language_of_the_response(folder: Path) -> None:
    judge = run_recipe("A judgement")["judge"]
    assert [call.prefix.system for call in judge.engine.calls] == [
        "You judge the tone of answers.",
        "你判断回答的语气。",
    ]
    assert [call.items for call in judge.engine.calls] == [("Is it polite?",), ("它有礼貌吗？",)]


def test_the_judgement_of_the_recipe_is_asked_once_and_then_read_from_the_journal(folder: Path) -> None:
    run_recipe("A judgement")
    never_asked = fake_judge(FakeEngine([]))
    samples = [{"response": "Gladly."}, {"response": "自己去查。"}]
    again = evaluate(samples, ["politeness"], never_asked, "run")
    assert again["politeness"].soft == pytest.approx((0.9 + 0.2) / 2)


def test_the_metric_on_the_judgement_of_the_recipe_follows_the_threshold(folder: Path) -> None:
    run_recipe("A judgement")
    assert rescore("run")["politeness"].value == 0.5  # one of two
    assert rescore("run", threshold=0.95)["politeness"].value == 0


def test_the_format_of_the_recipe_is_a_file_of_the_run(folder: Path) -> None:
    run_recipe("An output format")
    file = folder / "run" / "means.md"
    assert file.read_text(encoding="utf-8") == "# run\n- context_precision: 1.0\n"


def test_the_format_of_the_recipe_is_written_for_other_metrics_and_by_report(folder: Path) -> None:
    run_recipe("An output format")
    other = folder / "other"
    judge = fake_judge(FakeEngine([{"verdict": 0.9}]))
    sample = {"response": "Tea is green.", "retrieved_contexts": ["Tea is green."]}
    evaluate([sample], ["full_support"], judge, other, statements="sentences")
    (other / "means.md").unlink()
    main(["report", str(other)])
    assert (other / "means.md").read_text(encoding="utf-8") == "# other\n- full_support: 1.0\n"


def test_the_architecture_of_the_recipe_is_read_and_is_in_table_csv_page_and_signature(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tiny model with random weights, and a head with equal weights, stand for the reader's own."""
    model = write_tiny_model(folder / "model.gguf", architecture="llama")
    judge = FittedFor(name="model", sha256=sha256(model.read_bytes()).hexdigest())
    own = head(width=N_EMBD).model_copy(update={"judge": judge})
    (folder / "heads.json").write_text(file_text([own]), encoding="utf-8")
    write_rows(folder / "samples.jsonl", [{"response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}])
    run_recipe("An architecture")
    assert "groundedness: 1 scored, 0 undefined, 0 failed" in capsys.readouterr().out
    (row,) = rows(folder / "run" / "scores.csv")
    assert row["groundedness_status"] == "scored"
    assert "Tea grows." in page(folder / "run")
    assert list(signature(folder / "run")["heads"]) == ["en"]
