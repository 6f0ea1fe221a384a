"""Scripts written for ragas 0.4.3, with only their imports changed; and the names of ragas."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler

import localeval
from localeval import InputError, Judge, LocalevalError, compat
from localeval.compat import missing_names
from localeval.engine.interface import EngineError
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.compat.ragas_scripts import run_script
from tests.originals import HALF, INPUTS, judge
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

ROWS: list[dict[str, Any]] = [
    {
        "user_input": f"Where is tea number {n} grown?",
        "response": f"Tea {n} is grown in Assam. It was planted there in 18{n}7.",
        "retrieved_contexts": [f"Tea {n} is grown in Assam.", f"Coffee {n} is grown in Kodagu."],
        "reference": f"Tea {n} is grown in Assam, where it was planted in 18{n}7.",
    }
    for n in range(10, 14)
]


def steady() -> Judge:
    return steady_judge(SteadyEngine())


def expected(metric: str, rows: list[dict[str, Any]] = ROWS, **options: Any) -> list[float | None]:
    """The scores of `localeval.evaluate` by the same judge."""
    result = localeval.evaluate(rows, [metric], steady(), **options)
    return [item.scores[metric].value for item in result.samples]


def without(column: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != column} for row in ROWS]


LEGACY = """
from ragas import EvaluationDataset, SingleTurnSample, evaluate
from ragas.metrics import (
    FactualCorrectness, LLMContextPrecisionWithReference, LLMContextPrecisionWithoutReference,
    LLMContextRecall, NoiseSensitivity, ResponseRelevancy, faithfulness,
)
from ragas.run_config import RunConfig

dataset = EvaluationDataset(samples=[SingleTurnSample(**row) for row in rows])
result = evaluate(
    dataset,
    metrics=[
        faithfulness,
        ResponseRelevancy(),
        LLMContextPrecisionWithReference(),
        LLMContextPrecisionWithoutReference(),
        LLMContextRecall(),
        FactualCorrectness(mode="precision"),
        NoiseSensitivity(),
    ],
    llm=evaluator_llm,
    embeddings=evaluator_embeddings,
    run_config=RunConfig(max_workers=4),
    show_progress=False,
)
frame = result.to_pandas()
"""


def test_a_script_of_the_older_api_gives_the_scores_of_localeval() -> None:
    scope = run_script(LEGACY, rows=ROWS, evaluator_llm=steady(), evaluator_embeddings=SteadyEmbedder())
    result = scope["result"]
    assert result["faithfulness"] == expected("faithfulness")
    assert result["answer_relevancy"] == expected("answer_relevance", relevance="ragas", questions=3)
    assert result["llm_context_precision_with_reference"] == expected("context_precision")
    no_reference = expected("context_precision", without("reference"))
    assert result["llm_context_precision_without_reference"] == no_reference
    assert result["context_recall"] == expected("context_recall")
    assert result["factual_correctness(mode=precision)"] == expected("factual_correctness", mode="precision")
    assert result["noise_sensitivity"] == expected("noise_sensitivity")
    assert list(scope["frame"]["faithfulness"]) == result["faithfulness"]
    assert len(set(result["faithfulness"])) > 1


def test_that_script_leaves_the_shared_metric_without_a_judge_as_before() -> None:
    run_script(LEGACY, rows=ROWS, evaluator_llm=steady(), evaluator_embeddings=SteadyEmbedder())
    assert compat.faithfulness.llm is None


FIRST_VERSION = """
from datasets import Dataset
from ragas import evaluate
from ragas.metrics import answer_relevancy, context_precision, context_recall, faithfulness

dataset = Dataset.from_dict({
    "question": [row["user_input"] for row in rows],
    "answer": [row["response"] for row in rows],
    "passages": [row["retrieved_contexts"] for row in rows],
    "ground_truth": [row["reference"] for row in rows],
})
result = evaluate(
    dataset,
    [context_precision, faithfulness, answer_relevancy, context_recall],
    llm,
    embeddings,
    column_map={"contexts": "passages"},
    raise_exceptions=True,
)
"""


def test_a_script_of_the_first_columns_and_a_column_map_gives_the_scores_of_localeval() -> None:
    pytest.importorskip("datasets")
    scope = run_script(FIRST_VERSION, rows=ROWS, llm=steady(), embeddings=SteadyEmbedder())
    result = scope["result"]
    assert list(result.scores[0]) == [
        "context_precision",
        "faithfulness",
        "answer_relevancy",
        "context_recall",
    ]
    assert result["context_precision"] == expected("context_precision")
    assert result["answer_relevancy"] == expected("answer_relevance", relevance="ragas", questions=3)


COLLECTIONS = """
import asyncio
from ragas.metrics.collections import (
    AnswerRelevancy, ContextPrecision, ContextPrecisionWithoutReference, ContextRecall, ContextUtilization,
    FactualCorrectness, Faithfulness, NoiseSensitivity,
)

async def main():
    row = rows[0]
    question, response = row["user_input"], row["response"]
    contexts, reference = row["retrieved_contexts"], row["reference"]
    return [
        await Faithfulness(llm=llm).ascore(
            user_input=question, response=response, retrieved_contexts=contexts
        ),
        await AnswerRelevancy(llm=llm, embeddings=embeddings, strictness=5).ascore(
            user_input=question, response=response
        ),
        await ContextPrecision(llm=llm).ascore(
            user_input=question, reference=reference, retrieved_contexts=contexts
        ),
        await ContextPrecisionWithoutReference(llm=llm).ascore(
            user_input=question, response=response, retrieved_contexts=contexts
        ),
        await ContextUtilization(llm=llm).ascore(
            user_input=question, response=response, retrieved_contexts=contexts
        ),
        await ContextRecall(llm=llm).ascore(
            user_input=question, retrieved_contexts=contexts, reference=reference
        ),
        await FactualCorrectness(llm=llm, mode="f1", beta=2.0).ascore(response=response, reference=reference),
        await NoiseSensitivity(llm=llm).ascore(
            user_input=question, response=response, reference=reference, retrieved_contexts=contexts
        ),
    ]

results = asyncio.run(main())
values = [result.value for result in results]
"""


def test_a_script_of_the_current_api_gives_the_scores_of_localeval() -> None:
    scope = run_script(COLLECTIONS, rows=ROWS, llm=steady(), embeddings=SteadyEmbedder())
    without_reference = expected("context_precision", without("reference"))[0]
    # The metric sees the columns that it is given: without the question the response's statements may differ.
    only_answers = without("user_input")
    assert scope["values"] == [
        expected("faithfulness")[0],
        expected("answer_relevance", relevance="ragas", questions=5)[0],
        expected("context_precision")[0],
        without_reference,
        without_reference,
        expected("context_recall")[0],
        expected("factual_correctness", only_answers, mode="f1", beta=2.0)[0],
        expected("noise_sensitivity")[0],
    ]


def test_a_sample_is_scored_as_in_the_pages_of_ragas() -> None:
    metric = compat.Faithfulness(llm=judge(*HALF))
    sample = compat.SingleTurnSample(**INPUTS)
    assert metric.single_turn_score(sample) == 1 / 2
    assert asyncio.run(metric.single_turn_ascore(sample)) == 1 / 2


def test_a_result_of_score_counts_as_its_number_and_has_a_reason_where_there_is_none() -> None:
    metric = compat.Faithfulness(llm=judge(*HALF))
    scored, undefined = metric.batch_score([INPUTS, {**INPUTS, "answer": ""}])
    assert (scored.value, scored + 1, scored > 0.4, scored.reason) == (1 / 2, 1.5, True, None)
    assert repr(scored) == "MetricResult(value=0.5)"
    assert math.isnan(undefined.value)
    assert undefined.reason == "undefined (no_statements)"
    assert asyncio.run(metric.abatch_score([INPUTS])) == [1 / 2]


def test_without_a_reference_of_one_sample_the_precision_with_reference_is_undefined() -> None:
    """localeval.evaluate would compare its contexts with the response."""
    rows = [ROWS[0], {**ROWS[1], "reference": None}]
    result = compat.evaluate(rows, [compat.ContextPrecision()], steady(), show_progress=False)
    assert result["context_precision"] == pytest.approx(
        [expected("context_precision")[0], math.nan], nan_ok=True
    )
    score = result.judged["context_precision"][1].scores["context_precision"]
    assert score == localeval.Score.undefined("missing_reference")


def test_a_metric_whose_column_no_sample_has_is_refused_by_its_name() -> None:
    precision = [compat.ContextPrecision()]
    message = said(InputError, compat.evaluate, without("reference"), precision, steady())
    assert message.startswith("the dataset: context_precision needs the column reference")


def test_the_default_metrics_are_those_of_ragas() -> None:
    result = compat.evaluate(ROWS, llm=steady(), embeddings=SteadyEmbedder(), show_progress=False)
    columns = ["answer_relevancy", "context_precision", "faithfulness", "context_recall"]
    assert list(result.scores[0]) == columns


def test_evaluate_can_be_awaited() -> None:
    result = asyncio.run(compat.aevaluate(ROWS, [compat.faithfulness], steady(), show_progress=False))
    assert result["faithfulness"] == expected("faithfulness")


def test_a_failed_sample_is_raised_where_that_is_asked_for() -> None:
    failing = fake_judge(FakeEngine([*HALF, EngineError("no memory")]))
    rows = [INPUTS, {**INPUTS, "answer": "Tea sings."}]
    with pytest.raises(LocalevalError, match="faithfulness: sample 2 failed"):
        compat.evaluate(rows, [compat.faithfulness], failing, raise_exceptions=True, show_progress=False)


def test_a_column_map_is_also_used_for_a_data_set_and_a_file(tmp_path: Path) -> None:
    rows = [{"q": INPUTS["answer"], "answer": INPUTS["answer"], "passages": INPUTS["document_list"]}]
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(rows[0]), encoding="utf-8")
    for dataset in (compat.EvaluationDataset(rows), file, rows):
        result = compat.evaluate(
            dataset, [compat.faithfulness], judge(*HALF), column_map={"contexts": "passages"}
        )
        assert result["faithfulness"] == [1 / 2]


class Seen(BaseCallbackHandler):
    """Keeps the names of the runs that start, and the output of each that ends."""

    def __init__(self) -> None:
        self.started: list[str | None] = []
        self.outputs: list[Any] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **details: Any) -> None:
        self.started.append(details.get("name"))

    def on_chain_end(self, outputs: Any, **details: Any) -> None:
        self.outputs.append(outputs)


def test_callbacks_of_evaluate_see_the_experiment_and_in_it_each_metric() -> None:
    seen = Seen()
    metrics = [compat.faithfulness, compat.context_recall]
    result = compat.evaluate(
        ROWS, metrics, steady(), experiment_name="nightly", callbacks=[seen], show_progress=False
    )
    assert seen.started == ["nightly", "faithfulness", "context_recall"]
    assert seen.outputs[0] == {"scores": result["faithfulness"]}
    assert seen.outputs[2] == {"scores": result.scores}


def test_similarity_and_correctness_give_the_scores_of_localeval() -> None:
    metrics = [compat.SemanticSimilarity(), compat.answer_similarity, compat.AnswerCorrectness()]
    result = compat.evaluate(ROWS, metrics, steady(), SteadyEmbedder(), show_progress=False)
    assert result["semantic_similarity"] == result["answer_similarity"] == expected("semantic_similarity")
    assert result["answer_correctness"] == expected("answer_correctness")


def test_questions_of_ones_own_give_the_scores_of_localeval() -> None:
    aspect = compat.AspectCritic(name="old", definition="Does the response name a year?")
    rubrics = {"score2_description": "It names a year.", "score1_description": "It names no year."}
    result = compat.evaluate(
        ROWS, [aspect, compat.RubricsScore("dated", rubrics)], steady(), show_progress=False
    )
    columns = ["user_input", "response", "retrieved_contexts", "reference"]
    years = localeval.Criterion(name="old", question="Does the response name a year?", columns=columns)
    assert result["old"] == expected("old", criteria=[years])
    levels = ["It names no year.", "It names a year."]
    question = {
        "en": "Which of the levels does the response reach?",
        "zh": "回答达到哪一个等级？",
    }
    dated = localeval.Criterion(name="dated", question=question, levels=levels, columns=columns)  # type: ignore[arg-type]
    assert result["dated"] == expected("dated", criteria=[dated])
    assert "score1_description" in said(InputError, compat.RubricsScore)


def test_semantic_similarity_looks_for_no_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localeval.judge.resolve", None)
    metric = compat.SemanticSimilarity(embeddings=SteadyEmbedder())
    assert metric.single_turn_score(ROWS[0]) == expected("semantic_similarity")[0]
    metric.close()


def test_strictness_and_models_can_be_set_on_a_metric_that_exists() -> None:
    metric = compat.AnswerRelevancy()
    assert metric.strictness == 3
    metric.llm, metric.embeddings, metric.strictness = steady(), SteadyEmbedder(), 5
    value = expected("answer_relevance", relevance="ragas", questions=5)[0]
    assert metric.single_turn_score(ROWS[0]) == value


@pytest.mark.parametrize(
    ("metric", "name", "columns"),
    [
        (compat.ResponseRelevancy, "answer_relevancy", {"user_input", "response"}),
        (compat.AnswerRelevancy, "answer_relevancy", {"user_input", "response"}),
        (
            compat.LLMContextPrecisionWithReference,
            "llm_context_precision_with_reference",
            {"user_input", "retrieved_contexts", "reference"},
        ),
        (
            compat.LLMContextPrecisionWithoutReference,
            "llm_context_precision_without_reference",
            {"user_input", "response", "retrieved_contexts"},
        ),
        (
            compat.ContextPrecision,
            "context_precision",
            {"user_input", "retrieved_contexts", "reference"},
        ),
        (
            compat.ContextUtilization,
            "context_utilization",
            {"user_input", "response", "retrieved_contexts"},
        ),
        (compat.LLMContextRecall, "context_recall", {"user_input", "retrieved_contexts", "reference"}),
        (compat.ContextRecall, "context_recall", {"user_input", "retrieved_contexts", "reference"}),
        (
            compat.NoiseSensitivity,
            "noise_sensitivity",
            {"user_input", "response", "reference", "retrieved_contexts"},
        ),
    ],
)
def test_names_and_columns_are_those_of_ragas(metric: Any, name: str, columns: set[str]) -> None:
    assert metric().name == name
    assert metric().required_columns == {"SINGLE_TURN": columns}


def test_a_folder_of_a_run_has_the_scores_of_a_metric_of_ragas(tmp_path: Path) -> None:
    result = compat.evaluate(
        ROWS, [compat.ContextPrecision()], steady(), output=tmp_path, show_progress=False
    )
    rescored = localeval.rescore(tmp_path / "context_precision")
    values = [item.scores["context_precision"].value for item in rescored.samples]
    assert values == result["context_precision"]


@pytest.mark.parametrize("name", sorted(missing_names.NAMES))
def test_a_name_that_can_not_work_says_what_to_use_instead(name: str) -> None:
    with pytest.raises(ImportError, match=f"^{name} of ragas is not available here; .+\\.$"):
        getattr(compat, name)
    assert name not in compat.__all__


def test_a_name_that_ragas_does_not_have_is_missing_as_in_any_module() -> None:
    assert not hasattr(compat, "Faithfullness")


def test_an_argument_that_can_not_work_says_what_to_do() -> None:
    for argument in ("language", "nli_statements_prompt"):
        message = said(InputError, compat.Faithfulness, **{argument: "hindi"})
        assert f"{argument} can't be used here; " in message
    assert "mode" in said(InputError, compat.NoiseSensitivity, mode="irrelevant")
    assert "atomicity is 'low'" in said(InputError, compat.FactualCorrectness, atomicity="low")
    assert "threshold" in said(InputError, compat.SemanticSimilarity, threshold=0.5)
    assert "weights is [1, 0]" in said(InputError, compat.AnswerCorrectness, weights=[1, 0])
    assert compat.FactualCorrectness(coverage="high").mode == "f1"
    positional = compat.RunConfig()
    message = said(InputError, compat.evaluate, ROWS, None, steady(), None, positional)
    assert "the other arguments by their names" in message
    arguments = {"metrics": [compat.faithfulness], "llm": steady()}
    for name in ("token_usage_parser", "return_executor"):
        assert name in said(InputError, compat.evaluate, ROWS, **arguments, **{name: True})


def test_a_method_that_can_not_work_says_what_to_do() -> None:
    with pytest.raises(AttributeError, match="set_prompts is not available here; prompts are files"):
        compat.faithfulness.set_prompts(nli="Is it so?")  # type: ignore[attr-defined]


def test_a_data_set_is_written_and_read_again(tmp_path: Path) -> None:
    dataset = compat.EvaluationDataset.from_list(ROWS)
    dataset.to_jsonl(tmp_path / "rows.jsonl")
    read = compat.EvaluationDataset.from_jsonl(tmp_path / "rows.jsonl")
    assert read.to_list() == dataset.to_list()
    frame = dataset.to_pandas()
    assert compat.EvaluationDataset.from_pandas(frame).to_list() == dataset.to_list()
