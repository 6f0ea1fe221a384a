"""A run's folder is read back with no model: results.json has the numbers, the journal the records."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from localeval import evaluate, rescore
from localeval.errors import FolderError, InputError
from localeval.judgements.journal.lines import FILE, Lines, line_of
from localeval.judgements.journal.records import KeptRecords
from localeval.judgements.support import SupportRecord
from localeval.runs.folder import RECIPE, REPORT, RESULTS, SAMPLES, finish, load, write_report
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
        (
            lambda kept: kept | {"samples": [{**row, "sha256": "0"} for row in kept["samples"]]},
            "has the scores of another text than samples.jsonl for sample 茶",
        ),
        (lambda kept: {k: v for k, v in kept.items() if k != "metrics"}, "'metrics' is missing"),
        (lambda kept: [], "its parts are of other types"),
    ],
)
def test_results_of_another_form_are_refused(run: Path, change: Any, said: str) -> None:
    kept = json.loads((run / RESULTS).read_text("utf-8"))
    (run / RESULTS).write_text(json.dumps(change(kept)), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        load(run)


def test_no_verdict_is_shown_beside_a_text_that_was_edited_since(run: Path) -> None:
    samples = (run / SAMPLES).read_text("utf-8")
    (run / SAMPLES).write_text(
        samples.replace('"retrieved_contexts"', '"note": "mine", "retrieved_contexts"')
    )
    assert load(run).samples[0].sample.model_extra == {"note": "mine", "more": 1}
    row = json.loads(samples.splitlines()[0])
    row["response"] = "Tea grows in valleys."
    (run / SAMPLES).write_text("\n".join([json.dumps(row), *samples.splitlines()[1:]]))
    with pytest.raises(InputError, match=r"scores of another text .* sample 茶\); give the run's `evaluate`"):
        load(run)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda kept: kept["metrics"].append("brevity"), "sample 茶 has no score of brevity"),
        (lambda kept: kept.update(metrics=[1]), "its parts are of other types"),
        (lambda kept: score(kept).update(value="x"), "a score is 'x'"),
        (lambda kept: score(kept).update(soft=float("inf")), "a score is inf"),
        (lambda kept: score(kept).update(status="odd"), "a status is 'odd'"),
        (lambda kept: score(kept).update(reason=1), "its parts are of other types"),
        (lambda kept: score(kept).update(newer=1), "its parts are of other types"),
        (lambda kept: kept["samples"][0].update(records={"newer": "k"}), "there is no judgement 'newer'"),
        (lambda kept: kept["samples"][0].update(records={"support": 1}), "its parts are of other types"),
        (lambda kept: kept["samples"][0].update(records=["support"]), "its parts are of other types"),
        (lambda kept: kept["signature"].pop("machine"), "machine: Field required"),
        (lambda kept: kept["signature"]["engine"].clear(), "'n_ctx' is missing"),
        (lambda kept: kept["signature"]["judge"].update(name=1), "its parts are of other types"),
        (lambda kept: kept["signature"]["options"].pop("support_by"), "'support_by' is missing"),
        (lambda kept: kept["signature"]["options"].update(threshold="x"), "could not convert"),
        (lambda kept: kept.update(skipped=[{"place": 2, "reason": "bad"}]), "its parts are of other types"),
        (lambda kept: kept.update(network={"watched": "x"}), "watched: Input should be a valid boolean"),
    ],
)
def test_results_with_a_part_of_another_form_are_refused_in_a_sentence(
    run: Path, change: Any, said: str
) -> None:
    kept = json.loads((run / RESULTS).read_text("utf-8"))
    change(kept)
    (run / RESULTS).write_text(json.dumps(kept), encoding="utf-8")
    with pytest.raises(InputError, match=rf"made by another version or changed by hand \({said}.*give the"):
        load(run)


def score(kept: Any) -> dict[str, Any]:
    found: dict[str, Any] = kept["samples"][0]["scores"]["faithfulness"]
    return found


def test_results_that_are_nested_too_deeply_are_refused(run: Path) -> None:
    (run / RESULTS).write_text('{"schema":' + "[" * 100_000)
    with pytest.raises(InputError, match="nested too deeply"):
        load(run)


def test_results_that_are_there_and_cannot_be_read_are_not_called_unfinished(run: Path) -> None:
    (run / RESULTS).unlink()
    (run / RESULTS).mkdir()
    with pytest.raises(FolderError, match=r"results\.json: can't be read \(Is a directory\)"):
        load(run)


def other_form(journal: Path, judgement: str, record: Any) -> None:
    """Lines of the journal that are whole by their check, and hold another record, or none."""
    lines = []
    for text in journal.read_text("utf-8").splitlines():
        line = json.loads(text)
        del line["check"]
        if line["judgement"] == judgement:
            line["record"] = record
            if record is None:
                del line["record"]
        lines.append(line_of(line))
    journal.write_bytes(b"".join(lines))


@pytest.mark.parametrize("record", [{"verdicts": 1}, {"newer": 1}, 1, None, {"failed": []}])
def test_a_record_of_another_form_is_told_with_its_line(run: Path, record: Any) -> None:
    other_form(run / FILE, "support", record)
    with pytest.raises(
        InputError, match=r"journal\.jsonl: the line .* was made by another version or changed"
    ):
        load(run).samples[0].records["support"]
    judge = fake_judge(FakeEngine([]))
    with pytest.raises(InputError, match=r"was made by another version or changed"):
        evaluate([SAMPLE_A, SAMPLE_B], ["faithfulness"], judge, run)


def test_a_journal_that_is_no_file_or_may_not_be_read_is_told(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.open", refuse)  # root may read anything
        with pytest.raises(FolderError, match=r"can't be read \(Permission denied\)"):
            Lines(run / FILE)
    (run / FILE).unlink()
    (run / FILE).mkdir()
    for read in (load, rescore):
        with pytest.raises(FolderError, match=r"journal\.jsonl: the judgements can't be read \(Is a direct"):
            read(run)


def test_the_report_of_a_run_does_not_ask_how_its_recipe_was(run: Path) -> None:
    """It needs no more of it than that there is one; `rescore` does."""
    recipe = json.loads((run / RECIPE).read_text("utf-8"))
    (run / RECIPE).write_text(json.dumps({**recipe, "engine": {}}))
    assert load(run)["faithfulness"].value == 1


def test_results_that_are_half_a_file_are_refused(run: Path) -> None:
    (run / RESULTS).write_bytes((run / RESULTS).read_bytes()[:-10])
    with pytest.raises(InputError, match=r"results.json can't be used"):
        load(run)


def test_a_judge_whose_path_is_no_utf_8_is_read_back(tmp_path: Path) -> None:
    judge = fake_judge(FakeEngine([*YES, {"verdict": 0.75}]))
    judge.source = os.fsdecode(b"/mod\xe8les/x.gguf")
    evaluate([SAMPLE_A], ["faithfulness"], judge, tmp_path)
    assert rescore(tmp_path).scores == load(tmp_path).scores


def test_nothing_of_a_run_is_written_through_a_link_in_its_folder(run: Path, tmp_path: Path) -> None:
    result, mine = load(run), tmp_path / "mine.txt"
    mine.write_text("mine")
    for name in (RESULTS, REPORT, "scores.csv"):
        (run / f".{name}.part").symlink_to(mine)
    (run / RESULTS).unlink()
    (run / RESULTS).symlink_to(mine)
    finish(run, result)
    assert load(run).to_dict() == result.to_dict()
    (run / REPORT).unlink()
    (run / REPORT).symlink_to(mine)
    with pytest.raises(FolderError, match=rf"{REPORT}: this is a link"):
        write_report(run, result, run / REPORT)
    assert mine.read_text() == "mine"


def test_columns_of_the_callers_own_are_there_again(run: Path) -> None:
    assert load(run).samples[0].sample.model_extra == {"more": 1}
    assert (run / SAMPLES).read_text("utf-8").count("\n") == 2
