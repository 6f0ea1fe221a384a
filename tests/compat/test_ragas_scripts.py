"""What scripts for ragas 0.4.3 do besides scoring: samples, data sets, results, criteria, calls by place.

Each script runs as it stands with the real package and a fake model, too.
"""

from pathlib import Path
from typing import Any

import pytest

import localeval
from localeval import InputError, Judge, compat
from localeval.samples import read_samples
from tests.commands import said
from tests.compat.ragas_scripts import run_script
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

ROWS: list[dict[str, Any]] = [
    {
        "user_input": f"Where is tea number {n} grown?",
        "retrieved_contexts": [f"Tea {n} is grown in Assam.", f"Coffee {n} is grown in Kodagu."],
        "response": f"Tea {n} is grown in Assam. It was planted there in 18{n}7.",
        "reference": f"Tea {n} is grown in Assam, where it was planted in 18{n}7.",
    }
    for n in range(10, 13)
]
RUBRICS = {"score1_description": "It contradicts the reference.", "score2_description": "It agrees with it."}
LEVELS = {"en": "Which of the levels does the response reach?", "zh": "回答达到哪一个等级？"}


def steady() -> Judge:
    return steady_judge(SteadyEngine())


SAMPLE = """
from ragas.dataset_schema import SingleTurnSample

sample = SingleTurnSample(user_input="When?", response="In 1820.", retrieved_contexts=["In 1820."])
features = sample.get_features()
columns = sample.to_dict()
text = sample.to_string()
"""


def test_a_sample_tells_its_columns_as_in_ragas() -> None:
    scope = run_script(SAMPLE)
    assert scope["features"] == ["user_input", "response", "retrieved_contexts"]
    assert scope["columns"]["retrieved_contexts"] == ["In 1820."]
    assert "\nresponse:\n\tIn 1820.\n" in scope["text"]


DATASETS = """
from ragas import EvaluationDataset

dataset = EvaluationDataset.from_list(rows, backend=None, name="tea")
dataset.to_csv(folder / "tea.csv")
dataset.to_jsonl(folder / "tea.jsonl")
again = EvaluationDataset.from_jsonl(folder / "tea.jsonl")
listed = EvaluationDataset.from_dict(rows)
from_frame = EvaluationDataset.from_pandas(dataset.to_pandas())
features = dataset[0].get_features()
kind = dataset.get_sample_type()
is_multi_turn = dataset.is_multi_turn()
"""


def test_a_data_set_is_made_written_and_asked_as_in_ragas(tmp_path: Path) -> None:
    scope = run_script(DATASETS, rows=ROWS, folder=tmp_path)
    dataset = scope["dataset"]
    assert (dataset.name, dataset.backend) == ("tea", None)
    for other in ("again", "listed", "from_frame"):
        assert scope[other].to_list() == dataset.to_list()
    assert set(scope["features"]) == set(ROWS[0])
    assert (scope["kind"], scope["is_multi_turn"]) == (compat.SingleTurnSample, False)


def test_the_csv_file_of_a_data_set_is_read_with_all_that_its_samples_have(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "note": "kept"}, {"response": "Tea sings."}]
    dataset = compat.EvaluationDataset.from_list(rows)
    dataset.to_csv(tmp_path / "rows.csv")
    read = [sample.model_dump(exclude_none=True) for sample in read_samples(tmp_path / "rows.csv")]
    assert read == dataset.to_list()


def test_a_data_set_becomes_one_of_hugging_face_and_is_read_from_it() -> None:
    pytest.importorskip("datasets")
    dataset = compat.EvaluationDataset.from_list(ROWS)
    assert compat.EvaluationDataset.from_hf_dataset(dataset.to_hf_dataset()).to_list() == dataset.to_list()


RESULT = """
from ragas import EvaluationDataset, evaluate
from ragas.metrics import AspectCritic, Faithfulness

dataset = EvaluationDataset.from_list(rows)
critic = AspectCritic(name="dated", definition="Does the response name a year?", strictness=3, max_retries=2)
result = evaluate(dataset, metrics=[critic, Faithfulness()], llm=llm, batch_size=2, show_progress=False)
frame = result.to_pandas(batch_size=10, batched=False)
means = result._repr_dict
"""


def test_a_result_tells_its_means_and_its_columns_of_yes_and_no() -> None:
    scope = run_script(RESULT, rows=ROWS, llm=steady())
    result = scope["result"]
    assert result.binary_columns == ["dated"]
    assert scope["means"] == {name: sum(result[name]) / 3 for name in ("dated", "faithfulness")}
    assert list(scope["frame"]["dated"]) == result["dated"]


@pytest.mark.parametrize("name", ["upload", "total_tokens", "total_cost", "traces"])
def test_what_a_result_lacks_says_what_to_use_instead(name: str) -> None:
    result = run_script(RESULT, rows=ROWS, llm=steady())["result"]
    with pytest.raises(AttributeError, match=f"^{name} is not available here; .+\\.$"):
        getattr(result, name)


SINGLE_TURN = """
from ragas import SingleTurnSample
from ragas.metrics import Faithfulness
from ragas.run_config import RunConfig

scorer = Faithfulness()
scorer.llm = llm
scorer.init(RunConfig())
needed = scorer.get_required_columns()
score = scorer.single_turn_score(SingleTurnSample(**rows[0]))
"""


def test_a_metric_is_prepared_as_in_ragas() -> None:
    scope = run_script(SINGLE_TURN, rows=ROWS, llm=steady())
    assert scope["needed"] == {"SINGLE_TURN": {"user_input", "response", "retrieved_contexts"}}
    assert scope["score"] == steady().score("faithfulness", ROWS[0]).value


BY_PLACE = """
import asyncio
from ragas.metrics.collections import ContextPrecision, Faithfulness, SemanticSimilarity

async def main():
    return [
        await Faithfulness(llm=llm).ascore(row["user_input"], row["response"], row["retrieved_contexts"]),
        await ContextPrecision(llm=llm).ascore(
            row["user_input"], row["reference"], row["retrieved_contexts"]
        ),
        await SemanticSimilarity(embeddings=embeddings).ascore(row["reference"], row["response"]),
    ]

results = asyncio.run(main())
traces = [result.traces for result in results]
"""


def test_columns_may_be_given_by_their_place() -> None:
    scope = run_script(BY_PLACE, row=ROWS[0], llm=steady(), embeddings=SteadyEmbedder())
    metrics = ("faithfulness", "context_precision", "semantic_similarity")
    assert scope["results"] == [steady().score(metric, ROWS[0]).value for metric in metrics]
    assert scope["traces"] == [None, None, None]


@pytest.mark.parametrize("arguments", [("a", "b", ["c"], "d"), ("a", "b")])
def test_a_column_too_many_or_twice_is_refused(arguments: tuple[Any, ...]) -> None:
    metric = compat.Faithfulness(llm=steady())
    message = said(InputError, metric.score, *arguments, user_input="Why?")
    assert "takes user_input, response, retrieved_contexts, each once" in message


CRITERIA = """
from ragas import SingleTurnSample, evaluate
from ragas.metrics import AspectCritic, RubricsScore
from ragas.metrics.collections import DomainSpecificRubrics, RubricsScoreWithReference

critic = AspectCritic(name="right", definition="Does the response agree with the reference?", llm=llm)
rubrics_score = RubricsScore(rubrics=rubrics, llm=llm)
sample = SingleTurnSample(response="It is flat.", reference="It is a sphere.")
right = critic.single_turn_score(sample)
level = rubrics_score.single_turn_score(sample)
described = critic.definition, rubrics_score.rubrics["score1_description"]
result = evaluate(
    rows,
    metrics=[
        critic,
        DomainSpecificRubrics(llm=llm, rubrics=rubrics, with_reference=True),
        RubricsScoreWithReference(llm=llm, rubrics=rubrics),
    ],
    show_progress=False,
)
"""


def criterion_scores(rows: list[dict[str, Any]], columns: list[str], **fields: Any) -> list[float | None]:
    criterion = localeval.Criterion(name="asked", columns=columns, **fields)
    result = localeval.evaluate(rows, ["asked"], steady(), criteria=[criterion])
    return [item.scores["asked"].value for item in result.samples]


def test_a_question_of_ones_own_shows_the_judge_all_columns_that_there_are() -> None:
    """As in ragas: a rubric may speak of a reference, and a sample may have no question."""
    scope = run_script(CRITERIA, rows=ROWS, rubrics=RUBRICS, llm=steady())
    question = "Does the response agree with the reference?"
    scale = {"question": LEVELS, "levels": list(RUBRICS.values())}
    alone = [{"response": "It is flat.", "reference": "It is a sphere."}]
    assert [scope["right"]] == criterion_scores(alone, ["response", "reference"], question=question)
    assert [scope["level"]] == criterion_scores(alone, ["response", "reference"], **scale)
    assert scope["described"] == (question, RUBRICS["score1_description"])
    columns = ["user_input", "response", "retrieved_contexts", "reference"]
    result = scope["result"]
    assert result["right"] == criterion_scores(ROWS, columns, question=question)
    assert result["domain_specific_rubrics"] == criterion_scores(ROWS, columns, **scale)
    assert result["rubrics_score_with_reference"] == result["domain_specific_rubrics"]


def test_the_columns_of_a_question_of_ones_own_can_be_chosen() -> None:
    question = "Is the response polite?"
    critic = compat.AspectCritic(name="polite", definition=question, columns=["response"])
    result = compat.evaluate(ROWS, [critic], steady(), show_progress=False)
    assert result["polite"] == criterion_scores(ROWS, ["response"], question=question)


STRINGS = """
from ragas import evaluate
from ragas.metrics import ChrfScore, ExactMatch, RougeScore

metrics = [ExactMatch(), RougeScore(rouge_type="rougeL", mode="fmeasure"), ChrfScore()]
result = evaluate(rows, metrics=metrics, show_progress=False)
"""


def test_texts_are_compared_without_a_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sacrebleu")
    pytest.importorskip("rouge_score")
    monkeypatch.setattr("localeval.judge.resolve", None)
    result = run_script(STRINGS, rows=ROWS)["result"]
    here = localeval.evaluate(ROWS, ["exact_match", "rouge_l", "chrf"], steady())
    for column, metric in {
        "exact_match": "exact_match",
        "rouge_score": "rouge_l",
        "chrf_score": "chrf",
    }.items():
        assert result[column] == [item.scores[metric].value for item in here.samples]


def test_other_ways_to_compare_texts_are_refused() -> None:
    assert "rouge1" in said(InputError, compat.RougeScore, rouge_type="rouge1")
    assert "kwargs" in said(InputError, compat.ChrfScore, kwargs={"word_order": 2})


def test_an_object_of_langchain_is_refused_as_llm_and_as_embeddings() -> None:
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    llm = models.FakeListChatModel(responses=["{}"])
    assert "give a Judge" in said(InputError, compat.evaluate, ROWS, [compat.Faithfulness()], llm)
    metric = compat.AnswerRelevancy(embeddings=llm)
    assert "is no embedder" in said(InputError, compat.evaluate, ROWS, [metric], steady())
