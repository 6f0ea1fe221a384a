"""A run is scored again from its journal: no model, no judgement, and what is not there is named."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from localeval import METRICS, InputError, Metric, Score, evaluate, register, rescore
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.steady import SteadyEngine, steady_judge

ANSWERS: list[Any] = [{"statements": ["Tea grows.", "Tea sings."]}, {"verdict": 0.75}, {"verdict": 0.25}]
SAMPLES: list[dict[str, Any]] = [
    {"id": "a", "user_input": "Tea?", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]},
    {"id": "b", "user_input": "Tea?", "response": "", "retrieved_contexts": ["Tea grows."]},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), tmp_path)
    return tmp_path


@pytest.mark.parametrize(("options", "value"), [({}, 0.5), ({"threshold": 0.2}, 1)])
def test_it_gives_what_a_new_run_gives_and_writes_nothing(run: Path, options: Any, value: float) -> None:
    result = evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), **options)
    assert result["faithfulness"].value == value
    for _ in range(2):  # finished, and without its results
        before = {path.name: path.read_bytes() for path in run.iterdir()}
        assert rescore(run, **options).to_dict() == result.to_dict()
        assert {path.name: path.read_bytes() for path in run.iterdir()} == before
        (run / "results.json").unlink(missing_ok=True)


def test_a_metric_of_ones_own_reads_the_records_that_are_there(run: Path) -> None:
    def brevity(records: Any, options: Any) -> Score:
        share = 1 / max(1, len(records["support"].verdicts))
        return Score(share, share)

    register(Metric("brevity", "1", ("response",), ("statements", "support"), brevity, "1 / statements"))
    try:
        again = rescore(run, ["brevity", "faithfulness"])
    finally:
        METRICS.pop("brevity")
    assert again.scores[0]["brevity"].value == 1 / 2
    assert again.signature.metrics == {"brevity": "1", "faithfulness": "1"}


def test_judgements_of_several_calls_in_one_folder_are_all_there(tmp_path: Path) -> None:
    metrics = ["faithfulness", "answer_relevance", "context_relevance"]
    for metric in metrics:
        evaluate(SAMPLES, [metric], steady_judge(SteadyEngine()), tmp_path)
    together = evaluate(SAMPLES, metrics, steady_judge(SteadyEngine()))
    assert rescore(tmp_path, metrics).to_dict() == together.to_dict()


@pytest.mark.parametrize("explain", [False, True])
def test_reasons_stay_only_beside_the_verdicts_that_they_are_of(tmp_path: Path, explain: bool) -> None:
    evaluate(SAMPLES, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path, explain=explain)
    assert ("reasons" in rescore(tmp_path).samples[0].records) == explain
    assert "reasons" not in rescore(tmp_path, threshold=0.2).samples[0].records


def test_what_needs_other_judgements_is_refused_and_named_with_its_samples(run: Path) -> None:
    refused = partial(said, InputError, rescore, run)
    assert "statements can't be changed without judging again" in refused(statements="sentences")
    assert "threshold is 2" in refused(threshold=2)
    assert "metric" in refused([])
    with pytest.raises(InputError, match=r"needed of 2 samples \(a, b\).*-m faithfulness,context_relevance,"):
        rescore(run, ["context_relevance"])
    journal = run / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    assert "support of 2 samples (a, b), statements of 1 sample (b)" in refused()


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("machine", 3, "machine"),
        ("judge", {"name": "fake"}, "sha256"),
        ("calibration", {"en": {"slope": 0}}, "slope"),
    ],
)
def test_a_configuration_of_another_form_is_refused_with_the_part_that_is(
    field: str, value: Any, named: str, run: Path
) -> None:
    config = json.loads((run / "run.json").read_text("utf-8"))
    config["signature"][field] = value
    (run / "run.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=rf"its run\.json was made by another .*{named}.*give the run"):
        rescore(run)


def test_a_folder_without_a_configuration_is_refused(run: Path) -> None:
    (run / "run.json").unlink()
    assert "run.json can't be read" in said(InputError, rescore, run)
