"""A run that judges nothing never ends well: gates are missed, the exit code is not 0, and it stops early."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, evaluate
from localeval.engine.interface import EngineError
from localeval.errors import EngineFailing
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval, said
from tests.finished_runs import judged, write_rows
from tests.steady import SteadyEngine, steady_judge

YES = {"verdict": 0.9}
BROKEN = EngineError("the GPU is gone")
METRIC = ("-m", "faithfulness", "--statements", "sentences")


def rows(count: int, **columns: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"s{i}",
            "user_input": "Tea?",
            "response": f"Tea {i}.",
            "retrieved_contexts": ["Tea."],
            **columns,
        }
        for i in range(count)
    ]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answers(monkeypatch: pytest.MonkeyPatch, queue: list[Any]) -> None:
    """Let the command load a judge that has these answers."""
    monkeypatch.setattr(Judge, "load", lambda *_, **__: fake_judge(FakeEngine(queue)))


def command(*arguments: str, code: int) -> str:
    done = localeval(*arguments, cwd=Path.cwd())
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_gate_is_missed_where_39_of_40_samples_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(Path("data.jsonl"), rows(40))
    answers(monkeypatch, [YES, *[BROKEN] * 39])
    gates = ("--fail-under", "faithfulness=0.8", "--junit", "out.xml")
    said_of_it = command("evaluate", "data.jsonl", "-q", "-o", "run", *METRIC, *gates, code=1)
    assert "gate missed" in said_of_it
    assert "1 scored, 0 undefined, 39 failed, 0 skipped" in said_of_it
    assert "39 failed" in Path("out.xml").read_text("utf-8")
    assert "gate met" in command("rescore", "run", *gates[:2], "--max-failed", "39", code=0)
    assert "at most 5 % failed" in command("rescore", "run", "--max-failed", "5%", code=1)


def test_rows_that_were_skipped_count_against_a_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_rows(Path("data.jsonl"), rows(10))
    path.write_text(path.read_text("utf-8") + "{\n" * 3, encoding="utf-8")
    answers(monkeypatch, [YES] * 10)
    gate = ("--fail-under", "faithfulness=0.8")
    message = command("evaluate", "data.jsonl", "-q", "--skip-bad", *METRIC, *gate, code=1)
    assert "3 skipped); more than 5 %" in message


def test_a_run_in_which_nothing_was_scored_is_exit_1(monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(Path("data.jsonl"), rows(3))
    answers(monkeypatch, [BROKEN] * 3)
    assert "none of 3 samples was scored" in command("evaluate", "data.jsonl", "-q", *METRIC, code=1)
    assert "none of 3 samples was scored" in command("rescore", "runs/data", code=1)


def test_a_sample_whose_judgement_failed_is_exit_1_and_an_undefined_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers(monkeypatch, [BROKEN])
    command("score", *METRIC, "--response", "Tea.", "--context", "Tea.", code=1)
    answers(monkeypatch, [])
    command("score", *METRIC, "--response", "", "--context", "Tea.", code=0)


def test_a_run_stops_where_the_engine_fails_sample_after_sample_and_keeps_what_was_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_rows(Path("data.jsonl"), rows(40))
    answers(monkeypatch, [BROKEN] * 5)
    message = command("evaluate", "data.jsonl", "-q", *METRIC, code=1)
    assert "the last 5 samples all failed (engine_error: the GPU is gone)" in message
    answers(monkeypatch, [YES] * 20 + [BROKEN] * 50)
    write_rows(Path("data.jsonl"), rows(100))
    message = command("evaluate", "data.jsonl", "-q", "-o", "run", *METRIC, code=1)
    assert "the last 50 samples all failed" in message
    lines = Path("run/journal.jsonl").read_text("utf-8").splitlines()
    assert sum('"verdicts"' in line for line in lines) == 20
    answers(monkeypatch, [YES] * 80)  # the 20 are not judged again
    command("evaluate", "data.jsonl", "-q", "-o", "run", *METRIC, code=0)


class _Ends(SteadyEngine):
    """Ends its process whenever it is asked, and leaves a file each time."""

    def generate(self, *arguments: Any, **options: Any) -> Any:
        (self.marks / f"{os.getpid()}").touch()
        os._exit(1)

    def __init__(self, marks: Path) -> None:
        super().__init__()
        self.marks = marks
        marks.mkdir()


def test_a_run_whose_workers_always_end_stops_after_a_few_samples(tmp_path: Path) -> None:
    judge = steady_judge(_Ends(tmp_path / "marks"))
    options: dict[str, Any] = {"workers": 2, "statements": "sentences"}
    message = said(EngineFailing, evaluate, rows(30), ["faithfulness"], judge, tmp_path / "run", **options)
    assert "samples all failed (worker_lost" in message
    # Three starts for each of the five, and of at most four samples more that were handed out by then.
    assert len([*(tmp_path / "marks").iterdir()]) <= 3 * 9
    assert not (tmp_path / "run" / "results.json").exists()


def test_a_bound_on_the_drop_is_given_beside_the_run_or_to_compare(tmp_path: Path) -> None:
    judged(tmp_path / "before", [0.9] * 20)
    judged(tmp_path / "now", [0.9] * 18 + [0.1] * 2)  # 0.1 lower, by two samples
    drop = "--fail-on-drop"
    assert "a drop can't be shown" in command("rescore", "now", drop, "before", code=1)
    command("rescore", "now", drop, "before", drop, "faithfulness:drop=0.1", code=0)
    command("rescore", "now", drop, "before", drop, "faithfulness:drop=0.09", code=1)
    assert "add --fail-on-drop RUN" in command("rescore", "now", drop, "faithfulness:drop=0.1", code=2)
    assert "names 2 runs" in command("rescore", "now", drop, "before", drop, "now", code=2)
    command("compare", "before", "now", drop, code=1)
    command("compare", drop, "before", "now", code=1)
    command("compare", "before", "now", drop, "faithfulness:drop=0.1", code=0)
    command("compare", drop, "faithfulness:drop=0.09", "before", "now", code=1)


def test_the_column_group_widens_the_intervals_and_the_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    data = [{**row, "group": f"document {i // 5}"} for i, row in enumerate(rows(40))]
    write_rows(Path("grouped.jsonl"), data)
    write_rows(Path("alone.jsonl"), rows(40))
    widths = []
    for name in ("grouped", "alone"):
        answers(monkeypatch, [{"verdict": 0.9 if i // 5 % 2 else 0.1} for i in range(40)])
        done = localeval("evaluate", f"{name}.jsonl", "-q", *METRIC, cwd=Path.cwd())
        assert ("8 groups of the column group" in done.stdout) == (name == "grouped")
        summary = json.loads(Path(f"runs/{name}/results.json").read_text("utf-8"))["summary"]["faithfulness"]
        assert summary.get("groups") == (8 if name == "grouped" else None)
        low, high = summary["interval"]
        widths.append(high - low)
    assert widths[0] > 1.5 * widths[1]
