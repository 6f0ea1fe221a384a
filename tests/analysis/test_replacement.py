"""Another judge judges samples of a run again, and it is told whether the two are equivalent or different."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, Judge, compare_under, evaluate
from localeval.analysis.replacement import Replacement
from localeval.engine.interface import EngineError
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.finished_runs import judged, write_rows


def under(
    run: Path, probabilities: Sequence[float], output: Path | None = None, **numbers: Any
) -> Replacement:
    """Judge a run again by a judge that gives these probabilities to its drawn samples, in their order."""
    engine = FakeEngine([{"verdict": float(p)} for p in probabilities])
    return compare_under(run, another_judge(engine), output, **numbers)


def another_judge(engine: FakeEngine) -> Judge:
    return Judge(engine, {"name": "another", "sha256": "1" * 64, "size": 0})


def test_the_other_judge_is_asked_with_the_options_of_the_run_and_flips_are_counted(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.9, 0.9, 0.1])
    replacement = under(run, [0.9, 0.1, 0.9, 0.9])
    metric = replacement.metrics["faithfulness"]
    flips = (metric.both_yes, metric.yes_to_no, metric.no_to_yes, metric.both_no)
    assert flips == (2, 1, 1, 0)
    assert (metric.old, metric.new, metric.shift) == (0.75, 0.75, 0.0)
    assert [metric.agreement, metric.pabak, metric.mcnemar] == pytest.approx([0.5, 0.0, 1.0])
    # Chance agrees in 0.75 ** 2 + 0.25 ** 2 of the samples.
    assert metric.kappa == pytest.approx((0.5 - 0.625) / 0.375)
    assert replacement.new_judge == "another@11111111"


def test_the_known_table_has_its_known_figures(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9] * 45 + [0.1] * 55)
    replacement = under(run, [0.9] * 40 + [0.1] * 5 + [0.9] * 10 + [0.1] * 45)
    metric = replacement.metrics["faithfulness"]
    assert metric.kappa == pytest.approx(0.7)
    assert metric.pabak == pytest.approx(0.7)
    assert metric.mcnemar == pytest.approx(0.2101, abs=1e-4)
    assert metric.shift == pytest.approx(0.05)
    assert metric.outcome == "too few"
    assert "too few: about" in str(replacement)
    assert not replacement.is_safe


def test_a_judge_that_says_the_same_of_many_is_equivalent(tmp_path: Path) -> None:
    probabilities = [0.9] * 60 + [0.1] * 60
    replacement = under(judged(tmp_path / "run", probabilities), probabilities)
    assert replacement.metrics["faithfulness"].outcome == "equivalent"
    assert replacement.is_safe


def test_a_judge_that_says_no_much_oftener_is_different_and_not_called_worse_or_better(
    tmp_path: Path,
) -> None:
    run = judged(tmp_path / "run", [0.9] * 40 + [0.1] * 20)
    replacement = under(run, [0.9] * 20 + [0.1] * 40)
    assert replacement.metrics["faithfulness"].outcome == "different"
    assert "better" not in str(replacement)
    assert "worse" not in str(replacement)
    assert "which judge is right, only labels can tell" in str(replacement)


def test_of_a_large_run_half_of_the_drawn_samples_have_the_rarer_verdict_and_are_weighted_back(
    tmp_path: Path,
) -> None:
    run = judged(tmp_path / "run", [0.9] * 90 + [0.1] * 10)
    engine = SaysYes()
    replacement = compare_under(run, another_judge(engine), sample=20)
    assert (replacement.drawn, replacement.in_run) == (20, 100)
    assert (replacement.rare, replacement.rare_in_run) == (10, 10)
    metric = replacement.metrics["faithfulness"]
    assert (metric.both_yes, metric.no_to_yes) == (10, 10)
    # Ten of a hundred become a yes, though they are half of those that were judged again.
    assert metric.shift == pytest.approx(0.1)
    assert metric.agreement == pytest.approx(0.9)
    # Drawn unevenly, as many flips either way would not mean that the mean stays.
    assert metric.mcnemar is None
    assert "weighted to the whole run" in str(replacement)


class SaysYes(FakeEngine):
    """An engine that says yes to whatever it is asked."""

    def __init__(self) -> None:
        super().__init__([])

    def generate(self, prefix: Any, context: Any, items: Any, schema: Any, **options: Any) -> Any:
        self._answers = [{"verdict": 0.9} for _ in items]
        return super().generate(prefix, context, items, schema, **options)


def test_a_larger_draw_holds_the_samples_of_a_smaller_one(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9] * 30 + [0.1] * 6)
    compare_under(run, another_judge(SaysYes()), tmp_path / "small", sample=8)
    compare_under(run, another_judge(SaysYes()), tmp_path / "large", sample=16)
    small, large = (ids_in(tmp_path / name) for name in ("small", "large"))
    assert len(small) == 8
    assert small < large


def ids_in(folder: Path) -> set[str]:
    lines = (folder / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    return {json.loads(line)["id"] for line in lines}


def test_the_new_run_is_kept_so_that_a_second_call_asks_nothing(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.1, 0.9])
    first = under(run, [0.9, 0.9, 0.1], tmp_path / "new")
    again = under(run, [], tmp_path / "new")
    assert first == again
    assert (tmp_path / "new" / "results.json").exists()


def test_samples_of_one_group_are_one_unit(tmp_path: Path) -> None:
    texts = {"user_input": "Tea?", "retrieved_contexts": ["Tea."]}
    samples = [{"id": f"s{i}", "response": f"Tea {i}.", "group": i // 3, **texts} for i in range(12)]
    engine = FakeEngine([{"verdict": 0.9}] * 6 + [{"verdict": 0.1}] * 6)
    evaluate(samples, ["faithfulness"], fake_judge(engine), tmp_path / "run", statements="sentences")
    metric = under(tmp_path / "run", [0.9] * 6 + [0.1] * 3 + [0.9] * 3).metrics["faithfulness"]
    assert (metric.groups, metric.mcnemar) == (4, None)


def test_a_metric_that_asks_no_judge_is_not_compared(tmp_path: Path) -> None:
    samples = [{"id": "1", "response": "Tea.", "reference": "Tea."}]
    write_rows(tmp_path / "samples.jsonl", samples)
    evaluate(samples, ["exact_match"], fake_judge(FakeEngine([])), tmp_path / "run")
    message = said(InputError, under, tmp_path / "run", [])
    assert "no metric of the run asks the judge (exact_match)" in message


def test_a_metric_that_the_run_has_not_is_refused_by_name(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.1])
    message = said(InputError, under, run, [], metrics=["context_relevance"])
    assert "context_relevance is no metric of the run" in message
    assert "faithfulness" in message


@pytest.mark.parametrize(("name", "value"), [("margin", 0), ("margin", 0.9), ("cut", 2), ("sample", 1)])
def test_numbers_out_of_range_are_refused(tmp_path: Path, name: str, value: float) -> None:
    run = judged(tmp_path / "run", [0.9, 0.1])
    assert f"{name} is {value}" in said(InputError, under, run, [], **{name: value})


def test_a_sample_that_only_one_judge_scored_is_counted(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.9, 0.1])
    engine = FakeEngine([{"verdict": 0.9}, EngineError("broken"), {"verdict": 0.1}])
    metric = compare_under(run, another_judge(engine)).metrics["faithfulness"]
    assert (metric.pairs, metric.stopped, metric.started) == (2, 1, 0)


def test_the_judge_of_the_run_itself_is_named_as_such(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.1, 0.9])
    engine = FakeEngine([{"verdict": p} for p in (0.9, 0.1, 0.9)])
    replacement = compare_under(run, fake_judge(engine))
    assert "it is the judge of the run" in str(replacement)


def test_what_differs_beside_the_judge_is_told(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.1, 0.9])
    assert "not only the judge differs" not in str(under(run, [0.9, 0.1, 0.9]))
    engine = FakeEngine([{"verdict": p} for p in (0.9, 0.1, 0.9)], n_ctx=4096 * 4)
    replacement = compare_under(run, another_judge(engine))
    assert "not only the judge differs: engine.n_ctx (100000 and 16384)" in str(replacement)


def test_everything_is_in_the_json(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", [0.9, 0.1, 0.9])
    written = json.loads(json.dumps(under(run, [0.9, 0.1, 0.9]).to_dict()))
    assert written["metrics"]["faithfulness"]["both_yes"] == 2
    assert written["is_safe"] is False
    assert written["margin"] == 0.03
