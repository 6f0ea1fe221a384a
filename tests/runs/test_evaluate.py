"""The main path: each judgement once, in any company, and again from the journal."""

import asyncio
from pathlib import Path
from typing import Any

from localeval import Judge, evaluate
from localeval.engine.interface import EngineError
from localeval.errors import InputError
from localeval.runs.evaluate import aevaluate
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said

YES: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.75}]
NO: list[dict[str, Any]] = [{"statements": ["Tea sings."]}, {"verdict": 0.25}]
SAMPLES: list[dict[str, Any]] = [
    {"id": name, "response": text, "retrieved_contexts": ["Tea grows."]}
    for name, text in (("a", "Tea grows."), ("b", "Tea sings."), ("c", ""))
]


def records(result: Any) -> dict[str, Any]:
    return {s.sample.id: {n: r.model_dump() for n, r in s.records.items()} for s in result.samples}


def test_means_are_of_the_scored_samples_and_the_others_are_counted_and_shown() -> None:
    """With what the failed ones could make of a mean."""
    counts: list[int] = []
    judge = fake_judge(FakeEngine([*YES, *NO, EngineError("broken")]))
    good, bad, empty = SAMPLES
    samples = [good, {**bad, "id": "\x1b[31mred\x07"}, empty, {**good, "id": "d", "response": "Tea."}]
    result = evaluate(samples, ["faithfulness"], judge, progress=lambda done, _: counts.append(done))
    summary = result["faithfulness"]
    assert (summary.scored, summary.undefined, summary.failed) == (2, 1, 1)
    assert (summary.value, summary.soft) == (1 / 2, (0.75 + 0.25) / 2)
    assert (summary.lowest, summary.highest) == (1 / 3, 2 / 3)
    statuses = [scores["faithfulness"].status for scores in result.scores]
    assert (statuses, counts) == (["scored", "scored", "undefined", "failed"], [1, 2, 3, 4])
    rows = [" ".join(line.split()) for line in str(result).splitlines()]
    # Of one of two: Clopper and Pearson's interval, scipy's beta.ppf(0.025, 1, 2) and beta.ppf(0.975, 2, 1).
    for row in ("a 1.000 0.750 1", "mean 0.500 0.500", "95 % from 0.013 0.063", "95 % to 0.987 0.937"):
        assert row in rows
    for note in ("2 scored, 1 undefined, 1 failed", "undefined: no_statements", "0.333 (if all were 0)"):
        assert note in str(result)
    assert not {"\x1b", "\x07"} & {*str(result)}


def test_metrics_without_columns_are_refused_before_a_model_is_looked_for() -> None:
    bare, contexts = {"user_input": "Tea?"}, {"user_input": "?", "retrieved_contexts": ["."]}
    assert "response and retrieved_contexts" in said(InputError, evaluate, [bare], None, "nowhere")
    assert "reference, response" in said(InputError, evaluate, [contexts], ["context_precision"], "nowhere")


def test_the_async_ways_give_what_the_others_give() -> None:
    result = asyncio.run(aevaluate(SAMPLES, ["faithfulness"], judge=fake_judge(FakeEngine(YES + NO))))
    assert result["faithfulness"].value == 1 / 2
    assert asyncio.run(fake_judge(FakeEngine(YES)).ascore("faithfulness", SAMPLES[0])).value == 1


def test_with_more_metrics_than_fit_a_screen_the_table_has_a_row_for_each_metric() -> None:
    sample = {**SAMPLES[0], "reference": "Tea grows.", "user_input": "What grows?"}
    answers = [*YES, {"statements": ["Tea grows."]}, {"verdict": 0.9}, {"verdict": 0.8}, {"verdict": 0.2}]
    names = ["faithfulness", "context_recall", "self_knowledge", "factual_correctness", "hallucination"]
    lines = str(evaluate([sample], names, fake_judge(FakeEngine(answers)))).splitlines()
    assert ["hallucination", "0.000", "-", "0.050", "-", "1", "0", "0"] in [line.split() for line in lines]


# The same on a model that decodes: bits, not only values.
TEXTS = ["Tea grows in Assam. It sings!", "茶树种植于云南。产量很高,达到100吨。", "- one\n- two\n- three"]
DECODED: list[dict[str, Any]] = [
    {"id": str(i), "user_input": "What?", "response": t, "retrieved_contexts": TEXTS[:2]}
    for i, t in enumerate([*TEXTS, "No."])
]


def test_records_are_the_same_alone_in_company_reversed_and_explained(tiny_path: Path) -> None:
    tiny_judge = Judge.load(tiny_path, n_threads=1, n_ctx=16384)
    together = records(evaluate(DECODED, ["faithfulness"], tiny_judge))
    assert records(evaluate(DECODED[::-1], ["faithfulness"], tiny_judge)) == together
    for sample in DECODED:
        alone = records(evaluate([sample], ["faithfulness"], tiny_judge))
        assert alone == {sample["id"]: together[sample["id"]]}
    explained = records(evaluate(DECODED, ["faithfulness"], tiny_judge, explain=True))
    assert all("reasons" in r for r in explained.values())
    assert {i: {n: r[n] for n in together[i]} for i, r in explained.items()} == together
