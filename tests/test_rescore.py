"""A run is scored again from its journal: no model, no judgement, and what is not there is named."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from localeval import METRICS, Judge, Metric, Score, evaluate, register, rescore
from localeval.errors import InputError
from localeval.judgements.calibration.choice import write
from localeval.judgements.journal.lines import FILE
from localeval.prompts.options import Options
from localeval.runs.folder import RECIPE, RESULTS, load
from localeval.testing import FakeEngine, fake_judge
from tests.steady import SteadyEngine, steady_judge
from tests.test_calibration import calibration
from tests.test_run import other_form

ANSWERS: list[dict[str, Any]] = [
    {"statements": ["Tea grows.", "Tea sings."]},
    {"verdict": 0.75},
    {"verdict": 0.25},
]
SAMPLES: list[dict[str, Any]] = [
    {"id": "a", "user_input": "Tea?", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]},
    {"id": "b", "user_input": "Tea?", "response": "", "retrieved_contexts": ["Tea grows."]},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), tmp_path / "run")
    return tmp_path / "run"


def test_rescored_as_it_was_it_is_the_run(run: Path) -> None:
    assert rescore(run).to_dict() == load(run).to_dict()


def test_another_threshold_gives_what_a_run_with_it_gives_and_leaves_the_folder_alone(run: Path) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    again = rescore(run, threshold=0.2)
    made = evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), threshold=0.2)
    assert again["faithfulness"].value == 1
    assert again.to_dict() == made.to_dict()
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_an_unfinished_run_is_scored_as_soon_as_its_judgements_are_there(run: Path) -> None:
    (run / RESULTS).unlink()
    assert rescore(run)["faithfulness"].value == 1 / 2


def test_a_metric_of_ones_own_reads_the_records_that_are_there(run: Path) -> None:
    def brevity(records: Any, options: Any) -> Score:
        share = 1 / max(1, len(records["support"].verdicts))
        return Score(share, share)

    columns = ("response", "retrieved_contexts")
    register(Metric("brevity", "1", columns, ("statements", "support"), brevity, "1 / statements"))
    try:
        again = rescore(run, ["brevity", "faithfulness"])
    finally:
        METRICS.pop("brevity")
    assert again.scores[0]["brevity"].value == 1 / 2
    assert again.signature.metrics == {"brevity": "1", "faithfulness": "1"}


def test_judgements_of_several_calls_in_one_folder_are_all_there(tmp_path: Path) -> None:
    metrics = ["faithfulness", "answer_relevance", "context_relevance"]
    for metric in metrics:
        evaluate(SAMPLES, [metric], steady_judge(SteadyEngine()), tmp_path / "run")
    together = evaluate(SAMPLES, metrics, steady_judge(SteadyEngine()))
    assert rescore(tmp_path / "run", metrics).to_dict() == together.to_dict()


def test_an_option_that_judgements_hang_on_is_refused(run: Path) -> None:
    with pytest.raises(InputError, match=r"statements can't be changed without judging again"):
        rescore(run, statements="sentences")
    with pytest.raises(InputError, match="threshold is 2"):
        rescore(run, threshold=2)


def test_what_is_missing_is_named_with_its_samples(run: Path) -> None:
    with pytest.raises(InputError, match=r"does not hold needed of 2 samples \(a, b\)\. This makes"):
        rescore(run, ["context_relevance"])
    (run / FILE).write_bytes((run / FILE).read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(InputError, match=r"does not hold support of 1 samples \(a\)"):
        rescore(run)


def missing(run: Path) -> str:
    with pytest.raises(InputError) as caught:
        rescore(run, ["context_relevance"])
    return str(caught.value)


def test_the_command_that_makes_what_is_missing_keeps_the_runs_calibration(run: Path, tmp_path: Path) -> None:
    assert "--calibration" not in missing(run)
    raw = tmp_path / "raw"
    evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), raw, calibration="none")
    assert missing(raw).endswith(" --calibration none")
    own, file = tmp_path / "own", tmp_path / "own.json"
    file.write_text(write([calibration(options=Options())]))
    evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), own, calibration=file)
    assert missing(own).endswith(" (and --calibration with a file of the text that run.json holds)")


def test_settings_without_a_flag_are_told_beside_the_command(tiny_path: Path, tmp_path: Path) -> None:
    with Judge.load(tiny_path, n_ctx=4096, width=8, cache_type="q8_0") as judge:
        evaluate(SAMPLES[:1], ["faithfulness"], judge, tmp_path, statements="sentences")
    with pytest.raises(InputError) as caught:
        rescore(tmp_path, ["context_relevance"])
    told = str(caught.value)
    assert "--n-ctx 4096" in told
    assert told.endswith(
        " (in Python, with Judge.load(..., width=8, flash_attention=True, cache_type='q8_0'))"
    )


def test_the_command_never_names_a_catalog_model_in_the_place_of_ones_own(tmp_path: Path) -> None:
    """It would judge the run's own metrics again, by another model, and replace their scores."""
    evaluate(SAMPLES, ["answer_relevance"], steady_judge(SteadyEngine()), tmp_path)
    said = missing(tmp_path)
    assert "--embedder" not in said
    assert re.search(r" \(in Python, with the embedder <SteadyEmbedder \w{16}>\)$", said)
    evaluate(SAMPLES, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path)
    assert "<SteadyEmbedder" in missing(tmp_path)  # else what is known of it would go
    evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(ANSWERS)), tmp_path / "none")
    assert "in Python" not in missing(tmp_path / "none")  # they were not used: any will do


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda kept: kept["signature"].pop("machine"), "machine: Field required"),
        (lambda kept: kept["signature"]["judge"].pop("sha256"), "'sha256' is missing"),
        (lambda kept: kept["engine"].pop("model"), "'model' is missing"),
        (lambda kept: kept["engine"].update(settings=[1]), "its parts are of other types"),
        (lambda kept: kept["options"].update(newer=1), "newer is not an option"),
        (lambda kept: kept["options"].update(threshold="x"), "threshold is 'x'"),
        (lambda kept: kept["options"].update(prompts=1), "prompts is 1"),
        (lambda kept: kept["options"].update(calibration=1), "its parts are of other types"),
        (lambda kept: kept.pop("judge"), "judge: Field required"),
    ],
)
def test_a_recipe_of_another_form_is_refused_in_a_sentence(run: Path, change: Any, why: str) -> None:
    kept = json.loads((run / RECIPE).read_text("utf-8"))
    change(kept)
    (run / RECIPE).write_text(json.dumps(kept))
    said = rf"its run\.json was made by another version or changed by hand \({why}.*give the run's"
    for metrics in (None, ["context_relevance"]):
        with pytest.raises(InputError, match=said):
            rescore(run, metrics)


def test_a_recipe_that_is_no_json_or_too_deep_is_refused_in_a_sentence(run: Path) -> None:
    for text in ("{", "[" * 100_000, "\udcff"):
        (run / RECIPE).write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(InputError, match=r"its run\.json was made by another version or changed by hand"):
            rescore(run)


def test_a_record_of_another_form_is_told_with_its_line(run: Path) -> None:
    other_form(run / FILE, "support", {"verdicts": 1})
    with pytest.raises(InputError, match=r"line of support with the key \w{16}\.\.\. was made by another"):
        rescore(run)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json can't be read"):
        rescore(tmp_path)


def localeval(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "localeval", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_the_command_needs_no_model_and_the_one_that_it_names_makes_what_is_missing(
    tiny_path: Path, tmp_path: Path
) -> None:
    run, model = tmp_path / "a run", tmp_path / "own.gguf"
    model.symlink_to(tiny_path)
    with Judge.load(model, n_threads=1, n_ctx=16384) as judge:
        evaluate(SAMPLES, ["faithfulness"], judge, run, statements="sentences")
    kept = (run / RESULTS).read_bytes()
    model.unlink()

    done = localeval("rescore", run, "--threshold", "0.01", "-o", tmp_path / "other.json")
    assert done.returncode == 0, done.stderr
    assert "faithfulness: 1 scored, 1 undefined, 0 failed" in done.stdout
    assert (
        json.loads((tmp_path / "other.json").read_text("utf-8"))["signature"]["options"]["threshold"] == 0.01
    )
    assert (run / RESULTS).read_bytes() == kept

    for wrong in (("rescore", run, "--threshold", "3"), ("verify", run, "--share", "2")):
        done = localeval(*wrong)
        assert done.returncode == 2
        assert str(wrong[2]).lstrip("-") in done.stderr

    done = localeval("rescore", run, "-m", "context_relevance")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    command = shlex.split(done.stderr[done.stderr.index("localeval evaluate") :])[1:]
    assert command[command.index("--statements") + 1] == "sentences"
    recipe = json.loads((run / RECIPE).read_text("utf-8"))
    assert command[command.index("--judge") + 1] == recipe["judge"]
    model.symlink_to(tiny_path)
    journal = (run / FILE).read_bytes()
    assert localeval(*command).returncode == 0
    assert (run / FILE).read_bytes().startswith(journal)  # the others were not made again
    assert (run / FILE).read_bytes().count(b"\n") == journal.count(b"\n") + 1
    done = localeval("rescore", run, "-m", "context_relevance", "--json")
    assert json.loads(done.stdout)["summary"]["context_relevance"]["scored"] == 2
