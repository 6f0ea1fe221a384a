"""A run's folder is read back with no model: results.json has the numbers, the journal the records."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, Sample, evaluate, rescore
from localeval.engine.interface import EngineError
from localeval.errors import InputError
from localeval.judgements.journal import JOURNAL
from localeval.runs.folder import CONFIG, RESULTS, SAMPLES, finish, load
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.finished_runs import other_form

SAMPLE_A = {"id": "茶", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."], "more": 1}
SAMPLE_B = {"id": "b", "response": "", "retrieved_contexts": ["Tea grows."]}
YES: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.75}]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    evaluate([SAMPLE_A, SAMPLE_B], ["faithfulness"], fake_judge(FakeEngine(YES)), tmp_path / "run")
    return tmp_path / "run"


def test_a_run_that_is_read_back_is_written_again_with_the_same_bytes(tmp_path: Path) -> None:
    half = {"id": "half", "response": "Tea grows. Tea sings.", "retrieved_contexts": ["Tea grows."]}
    broken = {"id": "broken", "response": "Tea rests.", "retrieved_contexts": ["Tea grows."]}
    replies: list[Any] = [
        {"statements": ["Tea grows."]},
        {"statements": ["Tea sings."]},
        {"verdict": 0.75},
        {"verdict": 0.25},
        {"statements": ["Tea rests."]},
        EngineError("no cell is free"),
    ]
    run, copy = tmp_path / "run", tmp_path / "copy"
    evaluate([half, SAMPLE_B, broken], ["faithfulness"], fake_judge(FakeEngine(replies)), run)
    copy.mkdir()
    for name in (JOURNAL, CONFIG, SAMPLES):
        (copy / name).write_bytes((run / name).read_bytes())
    read = load(run)
    assert [scores["faithfulness"].status for scores in read.scores] == ["scored", "undefined", "failed"]
    assert read["faithfulness"].value == 1 / 2
    assert rescore(run, threshold=0.2)["faithfulness"].value == 1
    finish(copy, read)
    for name in (RESULTS, "scores.csv", "statements.csv"):
        assert (copy / name).read_bytes() == (run / name).read_bytes()


def test_results_json_has_the_documented_fields_and_the_keys_of_the_journals_lines(run: Path) -> None:
    results = json.loads((run / RESULTS).read_text("utf-8"))
    assert list(results) == ["schema", "signature", "metrics", "summary", "network", "skipped", "samples"]
    assert (results["schema"], results["summary"]["faithfulness"]["value"]) == (1, 1)
    first = results["samples"][0]
    assert (first["id"], first["scores"]["faithfulness"]["soft"]) == ("茶", 0.75)
    lines = [json.loads(line) for line in (run / JOURNAL).read_text("utf-8").splitlines()]
    assert first["records"] == {line["judgement"]: line["key"] for line in lines if line["sample"] == "茶"}
    assert "Tea grows." not in (run / RESULTS).read_text("utf-8")


def test_records_are_read_from_the_journal_when_they_are_asked_for(run: Path) -> None:
    records = load(run).samples[0].records
    assert set(records) == {"statements", "support"}
    support: Any = records["support"]
    assert support.verdicts[0].probability == 0.75
    (run / JOURNAL).unlink()
    with pytest.raises(InputError, match="bring the run's folder back"):
        records["support"]


def test_a_judgement_that_failed_stands_in_what_stands_on_it(tmp_path: Path) -> None:
    long = {"response": "x" * 5000, "retrieved_contexts": ["Tea grows."]}
    evaluate([long], ["faithfulness"], fake_judge(FakeEngine([], n_ctx=2048)), tmp_path)
    (sample,) = load(tmp_path).samples
    assert sample.scores["faithfulness"].reason == "context_too_long"
    assert sample.records["support"] == sample.records["statements"]
    assert len((tmp_path / JOURNAL).read_text().splitlines()) == 1


def rewrite_value(value: Any, results: Any) -> None:
    results["samples"][0]["scores"]["faithfulness"]["value"] = value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda results: results.update(schema=2), "schema"),
        (lambda results: results["samples"].pop(), "samples.jsonl"),
        (partial(rewrite_value, "x"), "value"),
        (lambda results: results["samples"][0].update(records={"newer": "k"}), "no judgement 'newer'"),
        *((partial(rewrite_value, value), "changed by hand") for value in (float("nan"), 5, None)),
    ],
)
def test_results_of_another_form_are_refused(run: Path, change: Callable[[Any], Any], message: str) -> None:
    results = json.loads((run / RESULTS).read_text("utf-8"))
    change(results)
    (run / RESULTS).write_text(json.dumps(results), encoding="utf-8")
    with pytest.raises(InputError, match=rf"{RESULTS} can't be used.*{message}.*give the run's `evaluate`"):
        load(run)
    assert said(InputError, rescore, run) == said(InputError, load, run)
    (run / RESULTS).write_text("{")
    assert f"{RESULTS} can't be used" in said(InputError, load, run)
    (run / RESULTS).unlink()
    assert "not finished" in said(InputError, load, run)
    assert "no run's folder" in said(InputError, load, run.parent)


def test_no_verdict_is_shown_beside_a_text_that_was_edited_since(run: Path) -> None:
    text = (run / SAMPLES).read_text("utf-8")
    (run / SAMPLES).write_text(text.replace('"more"', '"note"'), encoding="utf-8")
    assert load(run).samples[0].sample.model_extra == {"note": 1}
    (run / SAMPLES).write_text(text.replace('"response": "Tea', '"response": "All tea'), encoding="utf-8")
    assert "another text" in said(InputError, load, run)


@pytest.mark.parametrize("record", [{"newer": 1}, 1])
def test_a_record_of_another_form_is_told_with_its_line(run: Path, record: Any) -> None:
    other_form(run / JOURNAL, "support", record)
    for use in (
        lambda: load(run).samples[0].records["support"],
        lambda: evaluate([SAMPLE_A, SAMPLE_B], ["faithfulness"], fake_judge(FakeEngine([])), run),
    ):
        with pytest.raises(InputError, match=r"the journal's line of support with the key \w{16}"):
            use()


def test_a_judgement_of_another_judge_is_made_anew(tmp_path: Path) -> None:
    sample = Sample(response="Tea grows.", retrieved_contexts=["Tea grows."])
    for sha256, share in (("0" * 64, 0.9), ("1" * 64, 0.2)):
        engine = FakeEngine([{"statements": ["Tea grows."]}, {"verdict": share}])
        with Judge(engine, {"name": "fake", "sha256": sha256, "size": 0}) as judge:
            result = evaluate([sample], ["faithfulness"], judge, tmp_path / "run")
        assert result["faithfulness"].soft == pytest.approx(share)
