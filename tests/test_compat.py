"""The original names, on fakes: each input, parameter and edge case; every number is a counted fraction."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import localeval
from localeval import Judge, Sample, Score
from localeval.classifier import Classifier
from localeval.compat import (
    AnswerRelevance,
    ContextRelevance,
    EvaluationDataset,
    FactualCorrectness,
    Faithfulness,
    FaithfulnesswithHHEM,
    RunConfig,
    SingleTurnSample,
    evaluate,
    to_original,
    to_ragas,
)
from localeval.compat.metric import OriginalMetric
from localeval.compat.models import release_all
from localeval.embedder import Embedder
from localeval.engine.interface import EngineError
from localeval.errors import InputError, PromptError
from localeval.prompts import load
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge

QUESTION = "Where is tea grown?"
ANSWER = "Tea is grown in Assam. It was planted there in 1937."
CONTEXTS = ["Tea is grown in Assam. It was planted there in 1837.", "Coffee is grown in Kodagu."]
INPUTS: dict[str, Any] = {"answer": ANSWER, "document_list": CONTEXTS}

# Two sentences, a statement each; the first is supported.
STATEMENTS: list[dict[str, Any]] = [
    {"statements": ["Tea is grown in Assam."]},
    {"statements": ["Tea was planted in Assam in 1937."]},
]
HALF: list[dict[str, Any]] = [*STATEMENTS, {"verdict": 0.9}, {"verdict": 0.2}]

ROWS: list[dict[str, Any]] = [
    {"user_input": QUESTION, "response": ANSWER, "retrieved_contexts": CONTEXTS},
    {"user_input": QUESTION, "response": "Tea sings.", "retrieved_contexts": CONTEXTS},
    {"user_input": QUESTION, "response": "", "retrieved_contexts": CONTEXTS},
]
BOTH = {"Tea is grown in Assam.": 0.9, "Tea was planted in Assam in 1937.": 0.9}


def judge(*answers: dict[str, Any] | Exception) -> Judge:
    return fake_judge(FakeEngine(answers))


# Faithfulness


@pytest.mark.parametrize(
    "inputs",
    [
        INPUTS,
        {"user_input": QUESTION, "response": ANSWER, "retrieved_contexts": CONTEXTS},
        {"query": QUESTION, **INPUTS},
        {"question": QUESTION, "answer": ANSWER, "contexts": CONTEXTS},
        SingleTurnSample(user_input=QUESTION, response=ANSWER, retrieved_contexts=CONTEXTS),
        Sample(response=ANSWER, retrieved_contexts=CONTEXTS),
    ],
)
def test_faithfulness_takes_the_original_names_and_ours(inputs: Any) -> None:
    assert Faithfulness(llm=judge(*HALF)).invoke(inputs) == 1 / 2


def test_the_question_when_present_helps_the_first_step() -> None:
    engine = FakeEngine(HALF)
    Faithfulness(fake_judge(engine)).invoke({"query": QUESTION, **INPUTS})
    assert QUESTION in engine.calls[0].branch
    assert QUESTION not in engine.calls[1].branch


def test_the_contexts_are_joined_by_a_newline_and_each_statement_is_asked_once() -> None:
    engine = FakeEngine(HALF)
    Faithfulness(fake_judge(engine)).invoke(INPUTS)
    assert f"<documents>\n{CONTEXTS[0]}\n{CONTEXTS[1]}\n</documents>" in engine.calls[1].branch
    assert len(engine.calls[1].leaves) == 2


@pytest.mark.parametrize(
    ("statements", "verdicts", "value"),
    [
        (["The dam was opened in 1931."], [1.0], 1 / 1),
        (["The dam is in Kerala.", "The dam was opened in 1931."], [1.0, 0.0], 1 / 2),
        (["The dam in Kerala was opened in 1931."], [0.0], 0 / 1),
    ],
)
def test_one_statement_of_one_one_of_two_and_none_where_they_stay_one(
    statements: list[str], verdicts: list[float], value: float
) -> None:
    inputs = {"answer": "The dam in Kerala was opened in 1931.", "document_list": ["A dam in Kerala."]}
    given = judge({"statements": statements}, *({"verdict": share} for share in verdicts))
    assert Faithfulness(given).invoke(inputs) == value


def test_a_chinese_answer_of_seven_sentences_against_three_documents() -> None:
    answer = "".join(f"第{n}座桥建于一九{n}年。" for n in "一二三四五六七")
    written = [{"statements": [f"第{n}座桥建于一九{n}年。"]} for n in "一二三四五六七"]
    engine = FakeEngine([*written, *[{"verdict": 0.9}] * 7])
    inputs = {"answer": answer, "document_list": [answer[:30], answer[30:50], answer[50:]]}
    assert Faithfulness(fake_judge(engine)).invoke(inputs) == 7 / 7
    assert "陈述" in engine.calls[1].trunk.system


@pytest.mark.parametrize(
    ("inputs", "answers", "score"),
    [
        ({**INPUTS, "answer": ""}, [], Score.undefined("no_statements")),
        ({**INPUTS, "answer": "I can't say."}, [{"statements": []}], Score.undefined("no_statements")),
        ({**INPUTS, "document_list": []}, [], Score.undefined("no_contexts")),
        ({"answer": ANSWER}, [], Score.undefined("missing_retrieved_contexts")),
        ({"document_list": CONTEXTS}, [], Score.undefined("missing_response")),
        (INPUTS, [EngineError("no")], Score.failed("engine_error")),
    ],
)
def test_undefined_and_failed_scores_are_nan_and_the_log_says_why(
    inputs: dict[str, Any], answers: list[Any], score: Score, caplog: pytest.LogCaptureFixture
) -> None:
    assert math.isnan(Faithfulness(judge(*answers)).invoke(inputs))
    assert f"faithfulness is {score.status} for this sample: {score.reason}." in caplog.text
    assert judge(*answers).score("faithfulness", inputs) == score


def test_the_parameters_have_their_original_defaults() -> None:
    metric = Faithfulness()
    assert (metric.llm, metric.name, metric.max_retries) == (None, "faithfulness", 1)
    assert Faithfulness(name="truth", max_retries=5).name == "truth"
    hhem = FaithfulnesswithHHEM()
    assert (hhem.llm, hhem.device, hhem.batch_size) == (None, "cpu", 10)
    assert list(inspect.signature(FaithfulnesswithHHEM).parameters)[:3] == ["llm", "device", "batch_size"]
    assert list(inspect.signature(AnswerRelevance).parameters)[:2] == ["llm", "embedding_model"]
    assert FactualCorrectness().mode == "f1"


@pytest.mark.parametrize(
    ("metric", "name", "columns"),
    [
        (Faithfulness, "faithfulness", {"user_input", "retrieved_contexts", "response"}),
        (FaithfulnesswithHHEM, "faithfulness_with_hhem", {"user_input", "retrieved_contexts", "response"}),
        (ContextRelevance, "context_relevance", {"user_input", "retrieved_contexts"}),
        (AnswerRelevance, "answer_relevance", {"user_input", "response"}),
        (FactualCorrectness, "factual_correctness", {"response", "reference"}),
    ],
)
def test_names_and_required_columns(metric: type[OriginalMetric], name: str, columns: set[str]) -> None:
    assert metric().name == name
    assert metric().required_columns == {"SINGLE_TURN": columns}


def built_in(judgement: str) -> str:
    """The text of a built-in prompt, with another system text."""
    path = Path(localeval.__file__).parent / "prompts" / "en" / f"{judgement}.toml"
    system = load(judgement, "en").system
    return path.read_text(encoding="utf-8").replace(system, "Take care.")


def test_both_prompts_of_faithfulness_can_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / "nli.toml"
    file.write_text(built_in("support"), encoding="utf-8")
    engine = FakeEngine(HALF)
    metric = Faithfulness(
        fake_judge(engine), statement_generator_prompt=built_in("statements"), nli_prompt={"en": file}
    )
    assert metric.invoke(INPUTS) == 1 / 2
    assert [call.trunk.system for call in engine.calls] == ["Take care."] * 2


def test_the_prompt_of_a_reasoned_verdict_is_the_one_that_is_replaced() -> None:
    written = [{"reason": "It says so.", "verdict": 0.9}, {"reason": "It says 1837.", "verdict": 0.1}]
    engine = FakeEngine([*STATEMENTS, *written])
    metric = Faithfulness(
        fake_judge(engine), verdict="reasoned", nli_prompt={"en": built_in("support_reasoned")}
    )
    assert metric.invoke(INPUTS) == 1 / 2
    assert engine.calls[1].trunk.system == "Take care."


def test_what_is_no_prompt_file_is_refused() -> None:
    template: Any = SimpleNamespace(template="{context}")
    with pytest.raises(
        InputError, match=r"the prompt for statements is a SimpleNamespace; give a prompt file"
    ):
        Faithfulness(statement_generator_prompt=template)
    with pytest.raises(PromptError):
        Faithfulness(nli_prompt="Is it so?\nSay yes or no.")


# With HHEM


def test_hhem_rounds_at_one_half_and_keeps_the_raw_mean_beside() -> None:
    classifier = FakeClassifier({"Tea is grown in Assam.": 0.5, "Tea was planted in Assam in 1937.": 0.4})
    metric = FaithfulnesswithHHEM(fake_judge(FakeEngine(STATEMENTS), classifier=classifier))
    found = metric.judged(INPUTS).scores["faithfulness_with_hhem"]
    assert found.value == 1 / 2
    assert found.soft == pytest.approx((0.5 + 0.4) / 2)
    assert metric.invoke(INPUTS) == 1 / 2


class Closing(FakeClassifier):
    closed = False

    def close(self) -> None:
        self.closed = True


def test_another_device_or_batch_size_opens_a_classifier_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[dict[str, Any], Closing]] = []

    def opened(**settings: Any) -> Closing:
        made.append((settings, Closing(BOTH)))
        return made[-1][1]

    monkeypatch.setattr(Classifier, "load", opened)
    with FaithfulnesswithHHEM(judge(*STATEMENTS), device="cuda", batch_size=4) as metric:
        assert metric.invoke(INPUTS) == 2 / 2
        assert metric.invoke(INPUTS) == 2 / 2
        ((settings, classifier),) = made
        assert settings == {"device": "cuda", "batch_size": 4}
        assert not classifier.closed
    assert classifier.closed


# Context relevance

NEEDED: list[dict[str, Any]] = [{"verdict": 0.9}, {"verdict": 0.8}, {"verdict": 0.1}, {"verdict": 0.2}]


@pytest.mark.parametrize("names", [("query", "document_list"), ("user_input", "retrieved_contexts")])
def test_context_relevance_is_the_needed_share_of_the_sentences(names: tuple[str, str]) -> None:
    inputs = dict(zip(names, (QUESTION, CONTEXTS), strict=True))
    assert ContextRelevance(judge(*NEEDED)).invoke(inputs) == 1 / 3


@pytest.mark.parametrize(
    ("answers", "value", "text"),
    [
        (NEEDED, 1 / 3, "Tea is grown in Assam."),
        ([{"verdict": 0.9}] * 4, 3 / 3, CONTEXTS[0].replace(". ", ".\n") + "\n" + CONTEXTS[1]),
        ([{"verdict": 0.9}, *[{"verdict": 0.1}] * 3], 0.0, "Insufficient Information"),
        ([{"verdict": 0.1}, *[{"verdict": 0.9}] * 3], 0.0, "Insufficient Information"),
    ],
)
def test_what_is_extracted_is_unchanged_or_insufficient(
    answers: list[dict[str, Any]], value: float, text: str
) -> None:
    metric = ContextRelevance(judge(*answers))
    inputs = {"query": QUESTION, "document_list": CONTEXTS}
    assert metric.invoke(inputs) == value
    assert to_original(metric.judged(inputs)) == {"needed": text}


@pytest.mark.parametrize("contexts", [[], ["", " \n"], ["...", "--"]])
def test_without_a_context_sentence_invoke_gives_zero_and_score_is_undefined(contexts: list[str]) -> None:
    inputs = {"query": QUESTION, "document_list": contexts}
    metric = ContextRelevance(judge())
    assert metric.invoke(inputs) == 0.0
    assert metric.single_turn_score(inputs) == 0.0
    assert metric.judged(inputs).scores["context_relevance"] == Score.undefined("no_contexts")
    assert judge().score("context_relevance", inputs) == Score.undefined("no_contexts")


@pytest.mark.parametrize(
    ("inputs", "answers"),
    [
        ({"document_list": CONTEXTS}, []),
        ({"query": " ", "document_list": CONTEXTS}, []),
        ({"query": QUESTION}, []),
        ({"query": QUESTION, "document_list": CONTEXTS}, [EngineError("no")]),
    ],
)
def test_any_other_missing_score_of_context_relevance_is_nan(
    inputs: dict[str, Any], answers: list[Any]
) -> None:
    assert math.isnan(ContextRelevance(judge(*answers)).invoke(inputs))


# Answer relevance


class Asking(FakeEngine):
    """Draws the questions in turn, and finds the answer sufficient, or not, for all of them."""

    def __init__(self, questions: Sequence[str], sufficient: float = 0.9) -> None:
        super().__init__([])
        self._questions, self._sufficient = cycle(questions), sufficient

    def _reply(self, schema: type[Any]) -> Any:
        fields = schema.model_fields
        values = {"sufficient": self._sufficient, "analysis": "It names the place."}
        if "question" in fields:
            values["question"] = next(self._questions)
        self._answers = [{name: values[name] for name in fields}]
        return super()._reply(schema)


VECTORS = {QUESTION: (1.0, 0.0), "Where does tea grow?": (0.6, 0.8)}
PAIR = {"query": QUESTION, "answer": "Tea is grown in Assam."}


def relevance(sufficient: float = 0.9, **options: Any) -> AnswerRelevance:
    engine = Asking(list(VECTORS), sufficient)
    return AnswerRelevance(fake_judge(engine, FakeEmbedder(VECTORS)), **options)


def test_answer_relevance_is_the_mean_cosine_where_every_draw_is_sufficient() -> None:
    # Half of the draws are the question itself, half have the cosine 0.6.
    assert relevance().invoke(PAIR) == pytest.approx((1.0 + 0.6) / 2)
    assert relevance(relevance="ragas").invoke(PAIR) == pytest.approx((1.0 + 0.6) / 2)


def test_an_evasive_answer_is_of_no_relevance() -> None:
    assert relevance(0.1).invoke(PAIR) == 0.0
    assert relevance(0.1, relevance="ragas").invoke(PAIR) == 0.0


def test_it_draws_ten_questions_at_one_half_or_as_many_as_it_is_told() -> None:
    metric = relevance()
    assert len(to_original(metric.judged(PAIR))["questions"]) == 10
    assert metric.options.temperature == 0.5
    assert metric.invoke(PAIR, num_of_gen=1) == pytest.approx(1.0)
    assert asyncio.run(relevance().ainvoke(PAIR, num_of_gen=4)) == pytest.approx((1.0 + 0.6) / 2)
    assert len(to_original(relevance(questions=3).judged(PAIR))["questions"]) == 3
    with pytest.raises(InputError, match="questions is 0"):
        metric.invoke(PAIR, num_of_gen=0)


def test_each_draw_is_exported_with_its_flag_of_one_or_zero() -> None:
    drawn = {"query": QUESTION, "answer_sufficiency": "", "answer_sufficiency_result": 1}
    assert to_original(relevance(questions=1).judged(PAIR)) == {"questions": [drawn]}
    flagged = relevance(0.1, questions=1, verdict="reasoned").judged(PAIR)
    assert to_original(flagged)["questions"] == [
        {
            "query": QUESTION,
            "answer_sufficiency": "It names the place.",
            "answer_sufficiency_result": 0,
        }
    ]


@pytest.mark.parametrize(
    "inputs", [{**PAIR, "answer": ""}, {"answer": "Tea."}, {"query": QUESTION}, {**PAIR, "query": ""}]
)
def test_without_an_answer_or_a_question_answer_relevance_is_nan(inputs: dict[str, Any]) -> None:
    assert math.isnan(relevance().invoke(inputs))


class ClosingEmbedder(FakeEmbedder):
    closed = False

    def close(self) -> None:
        self.closed = True


def test_the_embedding_model_is_a_name_a_path_or_an_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    embedder = ClosingEmbedder(VECTORS)

    def opened(model: Any) -> ClosingEmbedder:
        asked.append(model)
        return embedder

    monkeypatch.setattr(Embedder, "load", opened)
    given = fake_judge(Asking([QUESTION]))
    assert AnswerRelevance(given, embedding_model=FakeEmbedder(VECTORS)).invoke(PAIR) == pytest.approx(1.0)
    one, other = AnswerRelevance(given, "bge-m3"), AnswerRelevance(given, "bge-m3")
    assert one.invoke(PAIR) == other.invoke(PAIR) == pytest.approx(1.0)
    assert asked == ["bge-m3"]
    one.close()
    assert not embedder.closed
    other.close()
    assert embedder.closed


def test_models_of_other_libraries_are_refused() -> None:
    other: Any = SimpleNamespace(embed_query=len)
    with pytest.raises(InputError, match=r"embedding_model is a SimpleNamespace; give a name"):
        AnswerRelevance(embedding_model=other)
    with pytest.raises(InputError, match=r"llm is a SimpleNamespace, .*; give a localeval.Judge"):
        Faithfulness(llm=other)
    with pytest.raises(InputError, match=r"llm is a SimpleNamespace"):
        evaluate(ROWS, [Faithfulness()], llm=other)


# Factual correctness


# Statements of the response, of the reference, the response's in the reference, and the other way round.
CORRECT: list[dict[str, Any]] = [
    *STATEMENTS,
    {"statements": ["Tea is grown in Assam."]},
    {"verdict": 0.9},
    {"verdict": 0.2},
    {"verdict": 0.8},
]


@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({}, 2 * (1 / 2) * 1 / (1 / 2 + 1)),
        ({"mode": "f1", "beta": 2.0}, 5 * (1 / 2) * 1 / (4 / 2 + 1)),
        ({"mode": "precision"}, 1 / 2),
        ({"mode": "recall"}, 1 / 1),
    ],
)
def test_factual_correctness_decomposes_and_judges_both_ways(options: dict[str, Any], value: float) -> None:
    metric = FactualCorrectness(judge(*CORRECT), **options)
    inputs = {"answer": ANSWER, "ground_truth": "Tea is grown in Assam."}
    assert metric.invoke(inputs) == pytest.approx(value)
    verdicts = to_original(metric.judged(inputs))["response_in_reference"]["statement_verdications"]
    assert [verdict["verdication_result"] for verdict in verdicts] == [1, 0]


def test_an_unknown_mode_or_option_is_refused() -> None:
    with pytest.raises(InputError, match="mode is 'f2'"):
        FactualCorrectness(mode="f2")
    with pytest.raises(InputError, match="temperatur is not an option"):
        AnswerRelevance(temperatur=0.5)


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
    with pytest.raises(InputError, match=r"faithfulness: document_list: expected a list of strings"):
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
    verdicts = to_ragas(judged, threshold=0.1)["support"]["statements"]
    assert [verdict["verdict"] for verdict in verdicts] == [1, 1]


# Data sets

SINGS: list[dict[str, Any]] = [{"statements": ["Tea sings."]}, {"verdict": 0.1}]


def test_a_data_set_is_read_from_a_file_of_any_name(tmp_path: Path) -> None:
    file = tmp_path / "data.txt"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    read, listed = EvaluationDataset.from_jsonl(str(file)), EvaluationDataset.from_list(ROWS)
    assert len(read) == len(listed) == 3
    assert [s.response for s in read] == [s.response for s in listed] == [ANSWER, "Tea sings.", ""]
    assert read[1].response == "Tea sings."
    assert [s.id for s in read[1:]] == ["2", "3"]
    assert repr(read) == "EvaluationDataset(features=['user_input', 'response', 'retrieved_contexts'], len=3)"


def test_a_data_set_of_samples_keeps_them() -> None:
    sample = SingleTurnSample(response="Tea.", reference_contexts=["Tea: Assam."])
    (kept,) = EvaluationDataset(samples=[sample])
    assert isinstance(kept, SingleTurnSample)
    assert kept.model_dump(exclude_none=True) == {
        "id": "1",
        "response": "Tea.",
        "reference_contexts": ["Tea: Assam."],
    }


def test_what_is_no_data_set_is_refused() -> None:
    wrong: Any = "data.jsonl"
    with pytest.raises(InputError, match=r"samples is a str; give a list of samples"):
        EvaluationDataset(wrong)
    with pytest.raises(InputError, match=r"sample 2: sample: expected an object with named columns"):
        EvaluationDataset([{"response": "Tea."}, 7])
    with pytest.raises(InputError, match="there is no sample"):
        EvaluationDataset([])


def test_the_result_prints_the_mean_of_the_scored_samples(caplog: pytest.LogCaptureFixture) -> None:
    result = evaluate(dataset=EvaluationDataset(ROWS), metrics=[Faithfulness()], llm=judge(*HALF, *SINGS))
    assert repr(result) == str(result) == "{'faithfulness': 0.2500}"
    assert result["faithfulness"][:2] == [1 / 2, 0.0]
    assert math.isnan(result["faithfulness"][2])
    assert result.scores[0] == {"faithfulness": 1 / 2}
    assert result.judged["faithfulness"][2].scores["faithfulness"] == Score.undefined("no_statements")
    assert "faithfulness: 2 of 3 scored; undefined (no_statements): sample 3." in caplog.text


def test_no_scored_sample_prints_nan_and_a_long_list_of_them_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    result = evaluate([ROWS[2]] * 12, [Faithfulness()], judge())
    assert repr(result) == "{'faithfulness': nan}"
    assert (
        "0 of 12 scored; undefined (no_statements): sample 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more."
        in caplog.text
    )


def test_the_progress_line_is_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(ROWS, [Faithfulness(judge(*HALF, *SINGS))])
    captured = capsys.readouterr()
    assert captured.err == "Evaluating: 100% 3/3\n"
    assert captured.out == ""
    evaluate(ROWS, [Faithfulness(judge(*HALF, *SINGS))], show_progress=False)
    assert capsys.readouterr().err == ""


def test_a_terminal_sees_the_line_grow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    evaluate(ROWS, [Faithfulness(judge(*HALF, *SINGS))])
    assert capsys.readouterr().err == "\rEvaluating: 33% 1/3\rEvaluating: 66% 2/3\rEvaluating: 100% 3/3\n"


def test_several_metrics_judge_nothing_twice_and_each_has_its_column() -> None:
    given = judge(*HALF, *CORRECT[2:])
    row = {**ROWS[0], "reference": "Tea is grown in Assam."}
    metrics = [Faithfulness(), FactualCorrectness(mode="precision"), FactualCorrectness(mode="recall")]
    result = evaluate([row], metrics, given, run_config=RunConfig(timeout=600, max_retries=3, max_workers=4))
    given.close()  # raises if an answer is left over
    assert repr(result) == (
        "{'faithfulness': 0.5000, 'factual_correctness(mode=precision)': 0.5000, "
        "'factual_correctness(mode=recall)': 1.0000}"
    )
    assert result["factual_correctness(mode=recall)"] == [1.0]
    with pytest.raises(InputError, match="'factual_correctness' is no column of this result; it has: faith"):
        result["factual_correctness"]
    one = evaluate([row], metrics[1:2], judge(*CORRECT))
    assert one["factual_correctness"] == [1 / 2]
    both = evaluate([row], [Faithfulness(name="factual_correctness"), metrics[2]], judge(*HALF, *CORRECT[2:]))
    assert repr(both) == "{'factual_correctness': 0.5000, 'factual_correctness(mode=recall)': 1.0000}"


def test_two_metrics_of_one_name_and_what_is_no_metric_are_refused() -> None:
    with pytest.raises(InputError, match="two metrics are called 'faithfulness'"):
        evaluate(ROWS, [Faithfulness(), Faithfulness(threshold=0.7)])
    wrong: Any = Faithfulness
    with pytest.raises(InputError, match="give objects of it, as Faithfulness"):
        evaluate(ROWS, [wrong])
    with pytest.raises(InputError, match="metrics is empty"):
        evaluate(ROWS, [])


def test_a_column_that_no_sample_has_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(InputError, match="the dataset: faithfulness needs the column retrieved_contexts"):
        evaluate([{"response": "Tea."}], [Faithfulness()], llm="nowhere.gguf")


def test_embeddings_are_for_metrics_that_were_given_none() -> None:
    given = fake_judge(Asking([QUESTION, "Where does tea grow?"]))
    result = evaluate([PAIR], [AnswerRelevance()], given, embeddings=FakeEmbedder(VECTORS))
    assert result["answer_relevance"] == [pytest.approx((1.0 + 0.6) / 2)]


def test_a_seed_of_the_run_is_the_seed_of_the_draws() -> None:
    class Seeds(Asking):
        seen: set[int]

        def generate(self, *args: Any, seeds: Any = None, **how: Any) -> Any:
            self.seen = {seed[0] for seed in seeds} if seeds else set()
            return super().generate(*args, seeds=seeds, **how)

    engine = Seeds([QUESTION])
    evaluate(
        [PAIR], [AnswerRelevance()], fake_judge(engine, FakeEmbedder(VECTORS)), run_config=RunConfig(seed=7)
    )
    assert engine.seen == {7}


def test_to_pandas_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    result = evaluate(ROWS[:1], [Faithfulness(judge(*HALF))])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        result.to_pandas()


def test_to_pandas_has_the_columns_of_samples_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    (row,) = evaluate(ROWS[:1], [Faithfulness(judge(*HALF))]).to_pandas()
    assert row == {"id": "1", **ROWS[0], "faithfulness": 1 / 2}


# The time limit


class Slow(FakeEngine):
    """Takes the seconds that it is told, by a clock of its own, for each call."""

    def __init__(self, answers: Sequence[dict[str, Any]], seconds: Sequence[float]) -> None:
        super().__init__(answers)
        self.clock, self._seconds = 0.0, list(seconds)

    def generate(self, *args: Any, **how: Any) -> Any:
        self.clock += self._seconds.pop(0)
        return super().generate(*args, **how)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Slow]:
    def made(answers: Sequence[dict[str, Any]], seconds: Sequence[float]) -> Slow:
        engine = Slow(answers, seconds)
        monkeypatch.setattr("localeval.judge.time", SimpleNamespace(perf_counter=lambda: engine.clock))
        return engine

    return made


def test_a_sample_over_the_time_fails_and_says_so_and_the_others_go_on(
    slow: Callable[..., Slow], caplog: pytest.LogCaptureFixture
) -> None:
    grows: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.9}]
    rows = [{**ROWS[1], "response": f"Tea {verb}."} for verb in ("grows", "sings", "rises")]
    # The statements of the second sample take too long, so that its verdict is not asked for.
    engine = slow(
        [*grows, {"statements": ["Tea sings."]}, {"statements": ["Tea rises."]}, {"verdict": 0.9}],
        [2, 2, 5, 2, 2],
    )
    result = evaluate(rows, [Faithfulness()], fake_judge(engine), run_config=RunConfig(timeout=4))
    assert result["faithfulness"][::2] == [1.0, 1.0]
    assert math.isnan(result["faithfulness"][1])
    assert result.judged["faithfulness"][1].scores["faithfulness"] == Score.failed("timeout")
    assert repr(result) == "{'faithfulness': 1.0000}"
    assert "faithfulness: 2 of 3 scored; failed (timeout): sample 2." in caplog.text
    assert len(engine.calls) == 5


def test_the_seconds_of_a_samples_judgements_are_counted_together(slow: Callable[..., Slow]) -> None:
    config = RunConfig(timeout=4.5)
    late = evaluate(ROWS[:1], [Faithfulness()], fake_judge(slow(HALF, [3, 2])), run_config=config)
    assert late.judged["faithfulness"][0].scores["faithfulness"] == Score.failed("timeout")
    just = evaluate(ROWS[:1], [Faithfulness()], fake_judge(slow(HALF, [3, 1])), run_config=config)
    assert just["faithfulness"] == [1 / 2]


@pytest.mark.parametrize("order", [1, -1])
def test_which_metrics_run_out_of_time_depends_on_no_order(slow: Callable[..., Slow], order: int) -> None:
    classifier = FakeClassifier(BOTH)
    given = fake_judge(slow(HALF, [3, 2]), classifier=classifier)
    metrics: Sequence[OriginalMetric] = [Faithfulness(), FaithfulnesswithHHEM()][::order]
    result = evaluate(ROWS[:1], metrics, given, run_config=RunConfig(timeout=4))
    assert math.isnan(result["faithfulness"][0])
    assert result["faithfulness_with_hhem"] == [2 / 2]


def test_without_a_run_config_there_is_no_limit_and_with_one_that_of_ragas(slow: Callable[..., Slow]) -> None:
    result = evaluate(ROWS[:1], [Faithfulness()], fake_judge(slow(HALF, [900, 900])))
    assert result["faithfulness"] == [1 / 2]
    config = RunConfig()
    assert (config.timeout, config.max_retries, config.max_workers) == (180, 10, 16)
    with pytest.raises(InputError, match="timeout is 0"):
        RunConfig(timeout=0)


# Models by name


class Opened(NamedTuple):
    model: Any
    engine: ClosingEngine


class ClosingEngine(FakeEngine):
    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Opened]]:
    """What `Judge.load` was asked for; each judge can answer INPUTS once."""
    made: list[Opened] = []

    def load_one(model: Any) -> Judge:
        made.append(Opened(model, ClosingEngine(HALF)))
        return fake_judge(made[-1].engine)

    monkeypatch.setattr(Judge, "load", load_one)
    yield made
    release_all()


def test_a_model_is_loaded_when_first_asked_once_for_all_and_freed_after_the_last(
    loads: list[Opened],
) -> None:
    one, other = Faithfulness(llm="qwen2.5-coder-1.5b"), Faithfulness()
    assert loads == []
    assert one.invoke({"answer": "", "document_list": CONTEXTS}) != 1
    assert one.invoke(INPUTS) == other.invoke(INPUTS) == 1 / 2
    assert [opened.model for opened in loads] == ["qwen2.5-coder-1.5b"]
    one.close()
    assert not loads[0].engine.closed
    other.close()
    assert loads[0].engine.closed
    with one:
        assert one.invoke(INPUTS) == 1 / 2
    assert [opened.engine.closed for opened in loads] == [True, True]


def test_one_path_is_one_model_however_it_is_written(
    loads: list[Opened], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("judge.gguf", tmp_path / "judge.gguf", str(tmp_path / "." / "judge.gguf")):
        assert Faithfulness(llm=path).invoke(INPUTS) == 1 / 2
    Faithfulness(llm="other.gguf").invoke(INPUTS)
    assert len(loads) == 2


def test_evaluate_frees_what_it_loaded_and_leaves_what_a_metric_had(loads: list[Opened]) -> None:
    mine = Faithfulness(llm="mine.gguf", name="mine")
    mine.invoke(ROWS[0])
    result = evaluate(ROWS[:1], [mine, Faithfulness()], llm="given.gguf")
    assert repr(result) == "{'mine': 0.5000, 'faithfulness': 0.5000}"
    assert [(opened.model, opened.engine.closed) for opened in loads] == [
        ("mine.gguf", False),
        ("given.gguf", True),
    ]


def test_evaluate_frees_what_it_loaded_also_when_it_is_interrupted(loads: list[Opened]) -> None:
    class Interrupted(Faithfulness):
        def judged(self, *args: Any, **options: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(ROWS, [Interrupted()], llm="given.gguf")
    assert loads[0].engine.closed


def test_a_judge_of_the_caller_stays_open() -> None:
    engine = ClosingEngine(HALF)
    with Faithfulness(llm=fake_judge(engine)) as metric:
        metric.invoke(ROWS[0])
    evaluate(ROWS[:1], [metric])
    assert not engine.closed


def test_what_is_left_open_is_freed_at_the_end(loads: list[Opened]) -> None:
    Faithfulness(llm="left.gguf").invoke(INPUTS)
    release_all()
    assert loads[0].engine.closed


def test_importing_it_loads_no_model_library_and_no_ragas() -> None:
    heavy = "{'ragas', 'pandas', 'torch', 'llama_cpp', 'transformers'}"
    code = f"import sys, localeval.compat; print({heavy} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"


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
    with pytest.raises(InputError, match="sample 1: user_input: expected a string"):
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
