"""The ways to call an original metric, and its records in the original schemas."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import localeval
from localeval.compat import (
    AnswerRelevance,
    ContextRelevance,
    EvaluationDataset,
    FactualCorrectness,
    Faithfulness,
    FaithfulnesswithHHEM,
    SingleTurnSample,
    evaluate,
    to_original,
    to_ragas,
)
from localeval.compat.metric import OriginalMetric
from localeval.engine.interface import EngineError
from localeval.errors import InputError
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge
from tests.originals import (
    BOTH,
    CORRECT,
    HALF,
    INPUTS,
    NEEDED,
    PAIR,
    QUESTION,
    ROWS,
    SINGS,
    STATEMENTS,
    VECTORS,
    Asking,
    judge,
)

# The four ways to call a metric


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (Faithfulness, 1 / 2),
        (FaithfulnesswithHHEM, 2 / 2),
        (ContextRelevance, 1 / 3),
        (AnswerRelevance, 1.0),
        (FactualCorrectness, 2 * (1 / 2) * 1 / (1 / 2 + 1)),
    ],
)
def test_every_way_to_call_gives_the_same(metric: type[OriginalMetric], value: float) -> None:
    engine: FakeEngine = {
        Faithfulness: FakeEngine(HALF),
        FaithfulnesswithHHEM: FakeEngine(STATEMENTS),
        ContextRelevance: FakeEngine(NEEDED),
        AnswerRelevance: Asking([QUESTION]),
        FactualCorrectness: FakeEngine(CORRECT),
    }[metric]
    made = metric(fake_judge(engine, FakeEmbedder(VECTORS), FakeClassifier(BOTH)))
    sample = SingleTurnSample(**ROWS[0], reference="Tea is grown in Assam.")
    assert made.invoke(sample) == pytest.approx(value)
    assert made.single_turn_score(sample) == pytest.approx(value)
    assert asyncio.run(made.ainvoke(sample)) == pytest.approx(value)
    assert asyncio.run(made.single_turn_ascore(sample)) == pytest.approx(value)


def test_many_calls_can_wait_together() -> None:
    metric = AnswerRelevance(fake_judge(Asking([QUESTION]), FakeEmbedder(VECTORS)))

    async def together() -> list[float]:
        return await asyncio.gather(*(metric.ainvoke({**PAIR, "answer": f"Tea {n}."}) for n in range(8)))

    assert asyncio.run(together()) == pytest.approx([1.0] * 8)


def test_what_one_metric_judged_the_others_on_the_same_judge_do_not_ask_again() -> None:
    classifier = FakeClassifier(BOTH)
    given = fake_judge(FakeEngine(HALF), classifier=classifier)
    assert Faithfulness(given).invoke(INPUTS) == 1 / 2
    assert Faithfulness(given, threshold=0.1).invoke(INPUTS) == 2 / 2
    assert FaithfulnesswithHHEM(given).invoke(INPUTS) == 2 / 2


def test_inputs_that_are_no_columns_are_refused() -> None:
    with pytest.raises(InputError, match=r"faithfulness: expected a dict or a sample, found a str; give"):
        Faithfulness(judge()).invoke("Tea.")
    with pytest.raises(InputError, match=r"faithfulness: document_list is 'Tea.'"):
        Faithfulness(judge()).invoke({"answer": "Tea.", "document_list": "Tea."})


# The original schemas


def test_records_are_exported_in_the_original_schemas() -> None:
    assert to_original(Faithfulness(judge(*HALF)).judged(INPUTS)) == {
        "statements": {
            "sentence_and_statements": [
                {
                    "origin_sentence": "Tea is grown in Assam.",
                    "statements": [{"description": "Tea is grown in Assam."}],
                },
                {
                    "origin_sentence": "It was planted there in 1937.",
                    "statements": [{"description": "Tea was planted in Assam in 1937."}],
                },
            ]
        },
        "support": {
            "statement_verdications": [
                {"statement": "Tea is grown in Assam.", "verdication_reasoning": "", "verdication_result": 1},
                {
                    "statement": "Tea was planted in Assam in 1937.",
                    "verdication_reasoning": "",
                    "verdication_result": 0,
                },
            ]
        },
    }


@pytest.mark.parametrize("asked", [{"explain": True}, {"verdict": "reasoned"}])
def test_a_reason_that_was_asked_for_stands_before_its_verdict(asked: dict[str, Any]) -> None:
    reasons: list[dict[str, Any]] = [{"reason": "It says so."}, {"reason": "It says 1837."}]
    after = [{"verdict": 0.9}, {"verdict": 0.1}]
    written = (
        [*after, *reasons]
        if "explain" in asked
        else [{**r, **v} for r, v in zip(reasons, after, strict=True)]
    )
    judged = Faithfulness(judge(*STATEMENTS, *written), **asked).judged(INPUTS)
    assert to_ragas(judged) == {
        "statements": {"statements": ["Tea is grown in Assam.", "Tea was planted in Assam in 1937."]},
        "support": {
            "statements": [
                {"statement": "Tea is grown in Assam.", "reason": "It says so.", "verdict": 1},
                {"statement": "Tea was planted in Assam in 1937.", "reason": "It says 1837.", "verdict": 0},
            ]
        },
    }
    first = to_original(judged)["support"]["statement_verdications"][0]
    assert list(first) == ["statement", "verdication_reasoning", "verdication_result"]
    assert first["verdication_reasoning"] == "It says so."


def test_results_of_localeval_itself_are_exported_too_without_what_failed() -> None:
    result = localeval.evaluate([INPUTS], ["faithfulness"], judge(*STATEMENTS, EngineError("no")))
    assert list(to_original(result.samples[0])) == list(to_ragas(result.samples[0])) == ["statements"]


def test_a_verdict_is_exported_by_the_threshold_that_it_was_scored_with() -> None:
    judged = Faithfulness(judge(*HALF), threshold=0.1).judged(INPUTS)
    assert [verdict["verdict"] for verdict in to_ragas(judged)["support"]["statements"]] == [1, 1]
    again = to_ragas(judged, threshold=0.5)["support"]["statements"]
    assert [verdict["verdict"] for verdict in again] == [1, 0]
    result = localeval.evaluate([INPUTS], ["faithfulness"], judge(*HALF), threshold=0.1)
    (made,) = to_original(result.samples[0])["support"].values()
    assert [verdict["verdication_result"] for verdict in made] == [1, 1]


# Objects of ragas


class Ragas:
    """A sample as ragas makes them: a model that can dump itself, with columns that are None."""

    def __init__(self, **columns: Any) -> None:
        self._columns = columns

    def model_dump(self) -> dict[str, Any]:
        return {"reference_contexts": None, "rubric": None, "reference": None, **self._columns}


def test_samples_like_those_of_ragas_are_read_by_their_dump_or_their_attributes() -> None:
    dumped, plain = Ragas(**ROWS[0]), SimpleNamespace(**ROWS[0])
    assert Faithfulness(judge(*HALF)).single_turn_score(dumped) == 1 / 2
    assert Faithfulness(judge(*HALF)).single_turn_score(plain) == 1 / 2
    assert EvaluationDataset([dumped]).to_list() == [{"id": "1", **ROWS[0]}]
    talk = Ragas(user_input=[{"content": "Hello.", "type": "human"}])
    with pytest.raises(InputError, match="sample 1: user_input is"):
        EvaluationDataset([talk])


@pytest.mark.filterwarnings("ignore")
def test_ragas_own_objects_and_files_are_read_as_they_are(tmp_path: Path) -> None:
    ragas: Any = pytest.importorskip("ragas")
    samples = [ragas.SingleTurnSample(**row) for row in ROWS]
    dataset = ragas.EvaluationDataset(samples=samples)
    assert Faithfulness(judge(*HALF)).single_turn_score(samples[0]) == 1 / 2
    assert asyncio.run(Faithfulness(judge(*HALF)).single_turn_ascore(samples[0])) == 1 / 2
    result = evaluate(dataset, [Faithfulness()], judge(*HALF, *SINGS))
    assert repr(result) == "{'faithfulness': 0.2500}"
    assert result.to_pandas()["faithfulness"].tolist()[:2] == [1 / 2, 0.0]
    dataset.to_jsonl(tmp_path / "ragas.jsonl")
    read = EvaluationDataset.from_jsonl(tmp_path / "ragas.jsonl")
    assert [s.model_dump() for s in read] == [s.model_dump() for s in EvaluationDataset(dataset)]
