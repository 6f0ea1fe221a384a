"""Metrics that ask no model: a run needs none, and is a run like any other."""

import json
from pathlib import Path

import pytest

from localeval import InputError, Judge, Sample, compare, evaluate
from localeval.runs.folder import load
from localeval.runs.rescore import rescore
from localeval.testing import FakeEmbedder, FakeEngine, fake_judge
from tests.commands import localeval, refused, said

SAMPLES = [
    {
        "id": "a",
        "response": "In 1820.",
        "reference": "in 1820",
        "retrieved_ids": ["x", "y"],
        "reference_ids": ["y"],
    },
    {
        "id": "b",
        "response": "磨坊建于1820年。",
        "reference": "1820年",
        "retrieved_ids": ["x"],
        "reference_ids": ["y"],
    },
]


@pytest.fixture(autouse=True)
def _no_models(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any model; opening one is an error."""
    monkeypatch.setenv("LOCALEVAL_MODELS", str(tmp_path / "no models"))

    def open_no_model(*_: object, **__: object) -> None:
        raise AssertionError("a model is looked for")

    monkeypatch.setattr("localeval.judge.resolve", open_no_model)


def data_file(folder: Path) -> Path:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in SAMPLES), "utf-8")
    return path


def test_a_score_without_a_model_needs_no_judge() -> None:
    result = evaluate(SAMPLES, ["exact_match", "token_f1"])
    assert result["exact_match"].value == 1 / 2
    # Both words of the first; 1820 and 年 of the second's 磨 坊 建 于 1820 年: 2 x 2 / (6 + 2).
    assert result["token_f1"].value == pytest.approx((1 + 4 / 8) / 2)


def test_the_signature_names_no_judge_but_the_packages(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
    signature = evaluate(SAMPLES, ["chrf"], output=tmp_path / "run").signature
    assert (signature.judge, signature.engine) == ({}, {})
    assert "judge:" not in str(signature)
    assert "sacrebleu:" in str(signature)


def test_a_loaded_judge_that_is_not_asked_is_not_in_the_signature() -> None:
    by_judge = evaluate(SAMPLES, ["exact_match"], fake_judge(FakeEngine([])))
    assert by_judge.signature.judge == {}


def test_workers_and_a_time_limit_change_nothing(tmp_path: Path) -> None:
    plain = evaluate(SAMPLES, ["token_f1"], output=tmp_path / "plain")
    by_workers = evaluate(SAMPLES, ["token_f1"], output=tmp_path / "workers", workers=2, timeout=60)
    assert [s.scores for s in by_workers.samples] == [s.scores for s in plain.samples]


def test_a_second_call_in_the_folder_may_add_metrics_of_a_judge(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    evaluate(SAMPLES, ["exact_match"], output=folder)
    texts = [SAMPLES[0] | {"retrieved_contexts": ["Built in 1820."]}]
    judge = fake_judge(FakeEngine([{"verdict": 0.9}]))
    result = evaluate(texts, ["exact_match", "faithfulness"], judge, folder, statements="sentences")
    assert result["faithfulness"].value == 1
    assert load(folder).signature.judge["name"] == "fake"
    assert rescore(folder, ["exact_match"]).signature.judge == {}


def test_rescore_computes_other_metrics_and_another_k(tmp_path: Path) -> None:
    pytest.importorskip("ir_measures", reason="ir-measures is not installed")
    folder = tmp_path / "run"
    evaluate(SAMPLES, ["exact_match"], output=folder)
    assert rescore(folder, ["hit_rate"], retrieval_k=2)["hit_rate"].value == 1 / 2
    again = rescore(folder, ["hit_rate"], retrieval_k=1)
    assert again["hit_rate"].value == 0
    assert "retrieval_k=1" in str(again.signature)


def test_two_runs_are_compared(tmp_path: Path) -> None:
    evaluate(SAMPLES, ["token_f1"], output=tmp_path / "a")
    better = [sample | {"response": sample["reference"]} for sample in SAMPLES]
    evaluate(better, ["token_f1"], output=tmp_path / "b")
    compared = compare(tmp_path / "a", tmp_path / "b").metrics["token_f1"].value
    assert compared is not None
    assert compared.difference == pytest.approx(1 - (1 + 4 / 8) / 2)


def test_an_edited_id_is_noticed(tmp_path: Path) -> None:
    pytest.importorskip("ir_measures", reason="ir-measures is not installed")
    folder = tmp_path / "run"
    evaluate(SAMPLES, ["mrr"], output=folder)
    stored = folder / "samples.jsonl"
    stored.write_text(stored.read_text("utf-8").replace('["x"]', '["y"]'), "utf-8")
    assert "has the scores of another text" in said(InputError, load, folder)


def test_a_metric_of_the_judge_is_refused_without_one() -> None:
    with Judge.load(None) as judge:
        sample = Sample(response="Tea.", retrieved_contexts=["Tea."])
        assert said(InputError, judge.score, "faithfulness", sample) == (
            "faithfulness needs a judge, and none was loaded; name one for Judge.load."
        )


def test_the_embedder_alone_is_asked_for_semantic_similarity(tmp_path: Path) -> None:
    """Vectors at 60 degrees have the cosine 1/2."""
    embedder = FakeEmbedder({"Tea.": [1, 0], "Green tea.": [0.5, 3**0.5 / 2]})
    with Judge.load(None, embedder=embedder) as judge:
        samples = [
            {"response": "Tea.", "reference": "Green tea."},
            {"response": "", "reference": "Green tea."},
        ]
        result = evaluate(samples, ["semantic_similarity"], judge, tmp_path / "run")
    first, empty = (sample.scores["semantic_similarity"] for sample in result.samples)
    assert first.value == pytest.approx(0.5)
    assert empty.value == 0
    assert result.signature.judge == {}
    assert result.signature.embedder["name"] == "fake"
    assert rescore(tmp_path / "run").samples[0].scores["semantic_similarity"] == first


def test_the_command_line_scores_reports_and_gates_without_any_model(tmp_path: Path) -> None:
    file = data_file(tmp_path)
    gates = ("--fail-under", "token_f1=0.7")
    run = localeval("evaluate", file, "-m", "exact_match,token_f1", "-o", "run", *gates, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "no model is asked" in run.stderr
    assert "token_f1: 2 scored" in run.stdout
    assert "gate met" in run.stderr
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "token_f1" in page
    assert localeval("report", "run", cwd=tmp_path).returncode == 0
    again = localeval("rescore", "run", "-m", "token_f1", "--retrieval-k", "3", cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def test_a_missing_package_ends_the_command_with_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localeval.metrics.metric.is_installed", lambda package: False)
    assert refused("score", "-m", "chrf", "--response", "a", "--reference", "a") == (
        "localeval: chrf needs the package sacrebleu, which is not installed; "
        "pip install 'localeval[strings]', or leave the metric out."
    )
