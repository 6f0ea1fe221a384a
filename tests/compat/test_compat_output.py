"""`compat.evaluate` with `output`: a run's folder for each metric, in which an interrupted call goes on."""

from pathlib import Path
from typing import Any

import pytest

import localeval
from localeval import InputError
from localeval.compat import ContextRelevance, FactualCorrectness, Faithfulness, RunConfig, evaluate
from localeval.runs.folder import load
from tests.commands import localeval as command
from tests.commands import said
from tests.steady import SteadyEngine, steady_judge

ROWS: list[dict[str, Any]] = [
    {
        "user_input": f"Tea {i}?",
        "response": f"Tea {i} grows.",
        "retrieved_contexts": ["Tea."],
        "reference": f"Tea {i}.",
    }
    for i in range(4)
]


class Interrupted(SteadyEngine):
    """Ctrl-C comes when it was asked five times."""

    def generate(self, *arguments: Any, **options: Any) -> Any:
        if self.asked == 5:
            raise KeyboardInterrupt
        return super().generate(*arguments, **options)


def judged(folder: Path | None, engine: SteadyEngine, metrics: Any = None, **how: Any) -> Any:
    metrics = metrics or [Faithfulness(), ContextRelevance()]
    return evaluate(ROWS, metrics, steady_judge(engine), show_progress=False, output=folder, **how)


def test_each_metric_has_a_run_that_reports_rescores_and_compares_as_any_other(tmp_path: Path) -> None:
    result = judged(tmp_path / "runs", SteadyEngine())
    assert result.scores == judged(None, SteadyEngine()).scores
    for column in ("faithfulness", "context_relevance"):
        folder = tmp_path / "runs" / column
        values = [scores[column].value for scores in load(folder).scores]
        assert values == result[column]
        assert localeval.rescore(folder).scores == load(folder).scores
        assert command("report", folder, cwd=tmp_path).returncode == 0
        assert command("compare", folder, folder, cwd=tmp_path).returncode == 0


def test_the_run_of_a_metric_is_the_one_that_localeval_makes(tmp_path: Path) -> None:
    judged(tmp_path, SteadyEngine(), [Faithfulness()])
    rows = [{"id": str(number), **row} for number, row in enumerate(ROWS, 1)]
    localeval.evaluate(rows, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path / "own")
    for name in ("results.json", "scores.csv", "statements.csv", "samples.jsonl"):
        assert (tmp_path / "faithfulness" / name).read_bytes() == (tmp_path / "own" / name).read_bytes()


def test_an_interrupted_call_goes_on_and_asks_only_what_is_missing(tmp_path: Path) -> None:
    whole = SteadyEngine()
    expected = judged(tmp_path / "whole", whole)
    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path / "cut", Interrupted())
    again = SteadyEngine()
    assert judged(tmp_path / "cut", again).scores == expected.scores
    assert again.asked == whole.asked - 5
    for column in ("faithfulness", "context_relevance"):
        files = (tmp_path / name / column / "results.json" for name in ("cut", "whole"))
        assert len({path.read_bytes() for path in files}) == 1


def test_what_two_metrics_need_is_judged_once(tmp_path: Path) -> None:
    def metrics() -> list[FactualCorrectness]:
        return [FactualCorrectness(mode="precision"), FactualCorrectness(mode="recall")]

    in_memory, kept = SteadyEngine(), SteadyEngine()
    expected = judged(None, in_memory, metrics())
    assert judged(tmp_path, kept, metrics()).scores == expected.scores
    assert kept.asked == in_memory.asked
    for folder in tmp_path.iterdir():
        assert localeval.rescore(folder).scores == load(folder).scores


def test_records_of_a_kept_run_are_read_from_its_journal(tmp_path: Path) -> None:
    result = judged(tmp_path, SteadyEngine(), [Faithfulness()])
    in_memory = judged(None, SteadyEngine(), [Faithfulness()])
    for kept, held in zip(result.judged["faithfulness"], in_memory.judged["faithfulness"], strict=True):
        assert dict(kept.records) == dict(held.records)


def test_a_sample_over_the_time_fails_and_is_scored_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = SteadyEngine()
    monkeypatch.setattr("time.monotonic", lambda: float(engine.asked))
    slow = judged(tmp_path, engine, [Faithfulness()], run_config=RunConfig(timeout=0.5))
    assert {score["faithfulness"].reason for score in load(tmp_path / "faithfulness").scores} == {"timeout"}
    assert [s.scores["faithfulness"].reason for s in slow.judged["faithfulness"]] == ["timeout"] * len(ROWS)
    for _ in range(2):
        judged(tmp_path, engine, [Faithfulness()], run_config=RunConfig(timeout=0.5))
    assert {score["faithfulness"].status for score in load(tmp_path / "faithfulness").scores} == {"scored"}


def test_a_folder_of_something_else_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    engine = SteadyEngine()
    (tmp_path / "context_relevance").mkdir()
    (tmp_path / "context_relevance" / "notes.txt").write_text("mine")
    assert "not empty" in said(InputError, judged, tmp_path, engine)
    names = [Faithfulness(name="a b"), ContextRelevance(name="a/b")]
    assert "name=" in said(InputError, judged, tmp_path, engine, names)
    assert engine.asked == 0
