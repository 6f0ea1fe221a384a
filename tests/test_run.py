"""A run's folder is read back with no model: results.json has the numbers, the journal the records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from localeval import evaluate
from localeval.errors import InputError
from localeval.judgements.support import SupportRecord
from localeval.lines import FILE
from localeval.records import KeptRecords
from localeval.run import RESULTS, SAMPLES, load
from localeval.testing import FakeEngine, fake_judge

SAMPLE_A = {"id": "茶", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."], "more": 1}
SAMPLE_B = {"id": "b", "response": "", "retrieved_contexts": ["Tea grows."]}
YES: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.75}]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    evaluate([SAMPLE_A, SAMPLE_B], ["faithfulness"], fake_judge(FakeEngine(YES)), tmp_path / "run")
    return tmp_path / "run"


def test_a_loaded_run_is_what_evaluate_returned(run: Path) -> None:
    made = evaluate([SAMPLE_A, SAMPLE_B], ["faithfulness"], fake_judge(FakeEngine(YES)))
    read = load(run)
    assert read.to_dict() == made.to_dict()
    assert read.signature == made.signature
    assert [s.sample for s in read.samples] == [s.sample for s in made.samples]
    assert str(read) == str(made)


def test_results_json_has_the_documented_fields_and_the_keys_of_the_journals_lines(run: Path) -> None:
    kept = json.loads((run / RESULTS).read_text("utf-8"))
    assert list(kept) == ["schema", "signature", "metrics", "summary", "network", "skipped", "samples"]
    assert (kept["schema"], kept["metrics"]) == (1, ["faithfulness"])
    assert kept["summary"]["faithfulness"]["value"] == 1
    first = kept["samples"][0]
    assert (first["id"], first["scores"]["faithfulness"]["soft"]) == ("茶", 0.75)
    lines = [json.loads(line) for line in (run / FILE).read_text("utf-8").splitlines()]
    assert first["records"] == {line["judgement"]: line["key"] for line in lines if line["sample"] == "茶"}
    assert "Tea grows." not in (run / RESULTS).read_text("utf-8")


def test_records_are_read_from_the_journal_when_they_are_asked_for(run: Path) -> None:
    records = load(run).samples[0].records
    assert isinstance(records, KeptRecords)
    assert (set(records), len(records), "support" in records) == ({"statements", "support"}, 2, True)
    support = records["support"]
    assert isinstance(support, SupportRecord)
    assert support.verdicts[0].probability == 0.75
    assert records.get("needed") is None
    (run / FILE).unlink()
    with pytest.raises(InputError, match="bring the run's folder back"):
        records["support"]


def test_a_judgement_that_failed_stands_in_what_stands_on_it(tmp_path: Path) -> None:
    engine = FakeEngine([], n_ctx=2048)
    long = {"response": "x" * 5000, "retrieved_contexts": ["Tea grows."]}
    made = evaluate([long], ["faithfulness"], fake_judge(engine), tmp_path)
    assert made.scores[0]["faithfulness"].reason == "context_too_long"
    records = load(tmp_path).samples[0].records
    assert records["support"] == records["statements"]
    assert len((tmp_path / FILE).read_text().splitlines()) == 1


def test_a_folder_without_a_finished_run_says_what_to_do(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no run's folder \(run.json can't be read\)"):
        load(tmp_path)
    (run / RESULTS).unlink()
    with pytest.raises(InputError, match=r"not finished \(no results.json\); give its `evaluate` command"):
        load(run)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda kept: kept | {"schema": 2}, "its schema is 2, not 1"),
        (lambda kept: kept | {"samples": kept["samples"][:1]}, "its samples are not those of samples.jsonl"),
        (lambda kept: {k: v for k, v in kept.items() if k != "metrics"}, "not of the form"),
        (lambda kept: [], "not of the form"),
    ],
)
def test_results_of_another_form_are_refused(run: Path, change: Any, said: str) -> None:
    kept = json.loads((run / RESULTS).read_text("utf-8"))
    (run / RESULTS).write_text(json.dumps(change(kept)), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load(run)


def test_results_that_are_half_a_file_are_refused(run: Path) -> None:
    (run / RESULTS).write_bytes((run / RESULTS).read_bytes()[:-10])
    with pytest.raises(InputError, match=r"results.json can't be used"):
        load(run)


def test_columns_of_the_callers_own_are_there_again(run: Path) -> None:
    assert load(run).samples[0].sample.model_extra == {"more": 1}
    assert (run / SAMPLES).read_text("utf-8").count("\n") == 2
