"""The main path: each judgement once, in any company, and again from the journal."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, Sample, evaluate
from localeval.engine.interface import EngineError
from localeval.errors import InputError
from localeval.judgements.journal.lines import FILE
from localeval.runs.evaluate import aevaluate
from localeval.runs.folder import RESULTS, load
from localeval.testing import FakeEngine, fake_judge

YES: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.75}]
NO: list[dict[str, Any]] = [{"statements": ["Tea sings."]}, {"verdict": 0.25}]
SAMPLES: list[dict[str, Any]] = [
    {"id": "a", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]},
    {"id": "b", "response": "Tea sings.", "retrieved_contexts": ["Tea grows."]},
    {"id": "c", "response": "", "retrieved_contexts": ["Tea grows."]},
]


@pytest.fixture(scope="module")
def tiny_judge(tiny_path: Path) -> Judge:
    return Judge.load(tiny_path, n_threads=2, n_ctx=16384)


def records(result: Any) -> dict[str, Any]:
    return {s.sample.id: {n: r.model_dump() for n, r in s.records.items()} for s in result.samples}


def test_means_are_of_the_scored_samples_and_the_others_are_counted() -> None:
    result = evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(YES + NO)))
    summary = result["faithfulness"]
    assert (summary.scored, summary.undefined, summary.failed) == (2, 1, 0)
    assert summary.value == 1 / 2
    assert summary.soft == (0.75 + 0.25) / 2
    assert [scores["faithfulness"].status for scores in result.scores] == ["scored", "scored", "undefined"]


def test_a_second_run_in_the_same_folder_asks_nothing_and_gives_the_same(tmp_path: Path) -> None:
    first = evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(YES + NO)), tmp_path)
    written = (tmp_path / RESULTS).read_bytes()
    again = evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine([])), tmp_path)
    assert again.to_json() == first.to_json() == load(tmp_path).to_json()
    assert (tmp_path / RESULTS).read_bytes() == written


def test_an_interrupted_run_goes_on_where_it_ended(tmp_path: Path) -> None:
    engine = FakeEngine([*YES, {"statements": ["Tea sings."]}, InterruptedError()])
    with pytest.raises(InterruptedError):
        evaluate(SAMPLES, ["faithfulness"], fake_judge(engine), tmp_path)
    assert len((tmp_path / FILE).read_text().splitlines()) == 3
    result = evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine([{"verdict": 0.25}])), tmp_path)
    assert result["faithfulness"].value == 1 / 2


def test_another_threshold_asks_nothing_again(tmp_path: Path) -> None:
    evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine(YES + NO)), tmp_path)
    again = evaluate(SAMPLES, ["faithfulness"], fake_judge(FakeEngine([])), tmp_path, threshold=0.2)
    assert again["faithfulness"].value == 1


def test_equal_samples_are_judged_once() -> None:
    twins = [SAMPLES[0], {**SAMPLES[0], "id": "twin"}]
    result = evaluate(twins, ["faithfulness"], fake_judge(FakeEngine(YES)))
    assert result["faithfulness"].scored == 2


def test_a_column_that_no_sample_has_is_refused_before_anything_is_judged() -> None:
    with pytest.raises(InputError, match="retrieved_contexts"):
        evaluate([{"response": "Tea."}], ["faithfulness"], fake_judge(FakeEngine([])))


def test_samples_without_any_of_the_columns_of_which_a_metric_needs_one_are_refused() -> None:
    given = {"user_input": "Tea?", "retrieved_contexts": ["Tea grows."]}
    with pytest.raises(InputError, match="context_precision needs one of the columns reference, response"):
        evaluate([given, {**given, "reference": None}], ["context_precision"], "nowhere.gguf")


def test_without_metrics_and_columns_it_says_what_the_samples_need() -> None:
    with pytest.raises(InputError, match="response, retrieved_contexts"):
        evaluate([{"user_input": "Tea?"}], None, fake_judge(FakeEngine([])))


def test_an_unknown_metric_is_refused_with_its_nearest_neighbour() -> None:
    with pytest.raises(InputError, match="did you mean faithfulness"):
        evaluate(SAMPLES, ["faithfullness"], fake_judge(FakeEngine([])))


def test_progress_is_called_after_each_sample() -> None:
    seen: list[int] = []
    evaluate(
        SAMPLES, None, fake_judge(FakeEngine(YES + NO)), progress=lambda done, samples: seen.append(done)
    )
    assert seen == [1, 2, 3]


def test_the_async_ways_give_what_the_others_give() -> None:
    result = asyncio.run(aevaluate(SAMPLES, metrics=["faithfulness"], judge=fake_judge(FakeEngine(YES + NO))))
    assert result["faithfulness"].value == 1 / 2
    score = asyncio.run(fake_judge(FakeEngine(YES)).ascore("faithfulness", SAMPLES[0]))
    assert score.value == 1


def test_records_keep_statement_sentence_probability_evidence_coverage_and_numbers() -> None:
    result = evaluate(SAMPLES[:1], None, fake_judge(FakeEngine(YES)))
    verdict = json.loads(result.to_json())["samples"][0]["records"]["support"]["verdicts"][0]
    assert verdict == {
        "statement": "Tea grows.",
        "sentence": 0,
        "probability": 0.75,
        "evidence": {"text": "Tea grows.", "context": 0, "start": 0, "end": 10},
        "reason": None,
        "coverage": 1,
        "unknown_numbers": [],
        "core": None,
    }


def test_the_table_shows_every_sample_the_mean_and_the_counts() -> None:
    text = str(evaluate(SAMPLES, None, fake_judge(FakeEngine(YES + NO))))
    lines = text.splitlines()
    assert any(line.split() == ["b", "0.000", "0.250", "1"] for line in lines)
    assert any(line.split() == ["mean", "0.500", "0.500"] for line in lines)
    assert any(line.split() == ["95", "%", "from", "0.000", "0.000"] for line in lines)
    assert any(line.split() == ["95", "%", "to", "1.000", "1.000"] for line in lines)
    assert any("undefined: no_statements" in line for line in lines)
    assert "faithfulness: 2 scored, 1 undefined, 0 failed" in lines


def test_what_the_failed_samples_could_make_of_a_mean_is_shown_only_where_some_failed() -> None:
    given = [*SAMPLES, {"id": "d", "response": "Tea rests.", "retrieved_contexts": ["Tea grows."]}]
    result = evaluate(given, ["faithfulness"], fake_judge(FakeEngine([*YES, *NO, EngineError("broken")])))
    summary = result["faithfulness"]
    assert (summary.scored, summary.failed) == (2, 1)
    assert (summary.lowest, summary.highest) == (1 / 3, 2 / 3)
    assert "between 0.333 (if all were 0) and 0.667 (if all were 1)" in str(result)
    assert "if all were" not in str(evaluate(SAMPLES, None, fake_judge(FakeEngine(YES + NO))))


def test_with_more_metrics_than_fit_a_screen_the_table_has_a_row_for_each_metric() -> None:
    given = {**SAMPLES[0], "reference": "Tea grows.", "user_input": "What grows?"}
    answers = [*YES, {"statements": ["Tea grows."]}, {"verdict": 0.9}, {"verdict": 0.8}, {"verdict": 0.2}]
    names = ["faithfulness", "context_recall", "claim_recall", "factual_correctness", "hallucination"]
    text = str(evaluate([given], names, fake_judge(FakeEngine(answers))))
    lines = [line.split() for line in text.splitlines()]
    assert ["faithfulness", "1.000", "-", "0.750", "-", "1", "0", "0"] in lines
    assert ["hallucination", "0.000", "-", "0.050", "-", "1", "0", "0"] in lines
    assert max(map(len, text.splitlines()[:-1])) <= 100


def test_the_note_says_which_of_several_metrics_has_no_score() -> None:
    given = {"id": "d", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
    silent = {**SAMPLES[2], "reference": "Tea grows."}
    engine = FakeEngine([*YES, {"statements": ["Tea grows."]}, {"verdict": 0.9}])
    text = str(evaluate([given, silent], ["faithfulness", "context_recall"], fake_judge(engine)))
    assert "context_recall undefined: missing_reference" in text
    assert "faithfulness undefined: no_statements" in text


def test_control_characters_of_an_id_never_reach_the_terminal() -> None:
    hostile = {**SAMPLES[0], "id": "\x1b[31mred\x07"}
    text = str(evaluate([hostile], None, fake_judge(FakeEngine(YES))))
    assert "\x1b" not in text
    assert "\x07" not in text


# The same on a model that decodes: bits, not only values.

TEXTS = [
    "Tea grows in Assam. It sings!",
    "茶树种植于云南。产量很高,达到100吨。",
    "- one\n- two\n- three",
    "No.",
]
DECODED: list[dict[str, Any]] = [
    {"id": str(i), "user_input": "What?", "response": t, "retrieved_contexts": TEXTS[:2]}
    for i, t in enumerate(TEXTS)
]


def test_records_are_the_same_alone_in_company_reversed_and_explained(tiny_judge: Judge) -> None:
    together = records(evaluate(DECODED, ["faithfulness"], tiny_judge))
    backwards = records(evaluate(DECODED[::-1], ["faithfulness"], tiny_judge))
    assert backwards == together
    for sample in DECODED:
        assert (
            records(evaluate([sample], ["faithfulness"], tiny_judge))[sample["id"]] == together[sample["id"]]
        )
    explained = evaluate(DECODED, ["faithfulness"], tiny_judge, explain=True)
    assert all("reasons" in r for r in records(explained).values())
    assert {i: {n: r[n] for n in together[i]} for i, r in records(explained).items()} == together


def test_a_reasoned_verdict_keeps_its_reason(tiny_judge: Judge) -> None:
    result = evaluate(DECODED[:1], ["faithfulness"], tiny_judge, verdict="reasoned")
    support = records(result)["0"]["support"]
    assert support["verdicts"]
    assert all(isinstance(v["reason"], str) for v in support["verdicts"])


def test_a_sample_that_is_too_long_fails_and_the_run_goes_on(tiny_judge: Judge) -> None:
    long = Sample(id="long", response="Tea.", retrieved_contexts=["x" * 200_000])
    result = evaluate([long, Sample(**DECODED[0])], ["faithfulness"], tiny_judge)
    assert [s["faithfulness"].status for s in result.scores] == ["failed", "scored"]
    assert result.scores[0]["faithfulness"].reason == "context_too_long"
