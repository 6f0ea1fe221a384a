"""A text is shown as it is written, without what a terminal would obey."""

import json
from pathlib import Path
from typing import Any

import pytest

from localeval import evaluate
from localeval.runs.folder import load
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval

WORDS = ("می\u200cخواهم", "क्\u200dष", "👩\u200d👩\u200d👧", "co\u00adoperate")
OBEYED = ("\x1b[2J", "\x9b2J", "\u202eevil", "\u2066x", "\u200fx", "\x7f")


def run_with(text: str, folder: Path, probability: float = 0.9) -> Path:
    sample = {"id": text, "response": f"Tea {text} grows.", "retrieved_contexts": [f"Tea {text} grows."]}
    judge = fake_judge(FakeEngine([{"verdict": probability}] * 3))  # one a sentence
    evaluate([sample], ["faithfulness"], judge, folder, statements="sentences")
    return folder


@pytest.mark.parametrize("word", WORDS)
def test_joiners_and_soft_hyphens_of_a_text_stay_in_table_and_page(word: str, tmp_path: Path) -> None:
    folder = run_with(word, tmp_path / "run")
    assert word in str(load(folder))
    assert f"Tea {word} grows." in (folder / "report.html").read_text("utf-8")


@pytest.mark.parametrize("text", OBEYED)
def test_what_a_terminal_obeys_is_in_no_table_and_on_no_page(text: str, tmp_path: Path) -> None:
    folder = run_with(text, tmp_path / "run")
    for shown in (str(load(folder)), (folder / "report.html").read_text("utf-8")):
        assert text not in shown


@pytest.mark.parametrize("text", [*OBEYED, *WORDS, "a\u2028b", "\U000e0041x"])
@pytest.mark.parametrize("command", ["rescore run --json", "compare run other --json"])
def test_json_on_a_terminal_has_no_mark_that_it_obeys_and_means_the_same(
    command: str, text: str, tmp_path: Path
) -> None:
    run_with(text, tmp_path / "run")
    run_with(text, tmp_path / "other", 0.1)
    out = localeval(*command.split(), cwd=tmp_path).stdout
    assert all(c.isprintable() or c == "\n" for c in out)
    assert text in strings(json.loads(out))


def test_text_that_a_terminal_only_shows_stays_as_it_is_in_json(tmp_path: Path) -> None:
    run_with("茶\u3000é", tmp_path / "run")
    assert "茶\u3000é" in localeval("rescore", "run", "--json", cwd=tmp_path).stdout


def strings(value: Any) -> list[str]:
    """All texts of a JSON value."""
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in strings(item)]
