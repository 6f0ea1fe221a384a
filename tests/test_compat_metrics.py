"""Each original metric on fakes: inputs, parameters, edge cases; every number is a counted fraction."""

from __future__ import annotations

import asyncio
import inspect
import math
from pathlib import Path
from typing import Any

import pytest

from localeval import Sample, Score
from localeval.compat import (
    AnswerRelevance,
    ContextRelevance,
    FactualCorrectness,
    Faithfulness,
    FaithfulnesswithHHEM,
    SingleTurnSample,
    to_original,
)
from localeval.compat.metrics import OriginalMetric
from localeval.engine.interface import EngineError
from localeval.errors import InputError, PromptError
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge
from tests.originals import (
    ANSWER,
    CONTEXTS,
    CORRECT,
    HALF,
    INPUTS,
    NEEDED,
    PAIR,
    QUESTION,
    STATEMENTS,
    VECTORS,
    Asking,
    built_in,
    judge,
)


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
def test_names_columns_and_parameters_are_the_original_ones(
    metric: type[OriginalMetric], name: str, columns: set[str]
) -> None:
    made = metric()
    assert (made.llm, made.name, made.max_retries) == (None, name, 1)
    assert made.required_columns == {"SINGLE_TURN": columns}
    assert metric(name="mine", max_retries=5).name == "mine"
    second = {
        FaithfulnesswithHHEM: ["device", "batch_size"],
        AnswerRelevance: ["embedding_model"],
        FactualCorrectness: ["mode"],
    }.get(metric, [])
    assert list(inspect.signature(metric).parameters)[: 1 + len(second)] == ["llm", *second]


# Faithfulness


@pytest.mark.parametrize(
    "inputs",
    [
        INPUTS,
        {"user_input": QUESTION, "response": ANSWER, "retrieved_contexts": CONTEXTS},
        {"question": QUESTION, "answer": ANSWER, "contexts": CONTEXTS},
        SingleTurnSample(user_input=QUESTION, response=ANSWER, retrieved_contexts=CONTEXTS),
        Sample(response=ANSWER, retrieved_contexts=CONTEXTS),
    ],
)
def test_faithfulness_takes_the_original_names_and_ours(inputs: Any) -> None:
    assert Faithfulness(llm=judge(*HALF)).invoke(inputs) == 1 / 2


def test_the_question_helps_the_first_step_and_the_contexts_are_joined_for_the_second() -> None:
    engine = FakeEngine(HALF)
    Faithfulness(fake_judge(engine)).invoke({"query": QUESTION, **INPUTS})
    assert QUESTION in engine.calls[0].branch
    assert QUESTION not in engine.calls[1].branch
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


def test_both_prompts_can_be_replaced_and_a_file_that_is_edited_later_changes_nothing(tmp_path: Path) -> None:
    file, engine = tmp_path / "nli.toml", FakeEngine(HALF)
    file.write_text(built_in("support"), encoding="utf-8")
    metric = Faithfulness(
        fake_judge(engine), statement_generator_prompt=built_in("statements"), nli_prompt={"en": file}
    )
    file.write_text("no prompt any more", encoding="utf-8")
    assert metric.invoke(INPUTS) == 1 / 2
    assert [call.trunk.system for call in engine.calls] == ["Take care."] * 2


def test_a_prompt_is_replaced_beside_others_and_in_every_form_of_verdict() -> None:
    written = [{"reason": "It says so.", "verdict": 0.9}, {"reason": "It says 1837.", "verdict": 0.1}]
    engine = FakeEngine([*STATEMENTS, *written])
    reasoned = {"en": built_in("support_reasoned")}
    metric = Faithfulness(fake_judge(engine), verdict="reasoned", nli_prompt=reasoned)
    assert metric.invoke(INPUTS) == 1 / 2
    assert engine.calls[1].trunk.system == "Take care."
    own = {"support": {"en": built_in("support")}}
    metric = Faithfulness(judge(), prompts=own, nli_prompt={"zh": built_in("support")})
    assert sorted(metric.options.prompts["support"]) == ["en", "zh"]
    with pytest.raises(PromptError, match="support_reasoned"):  # it has no reasons
        metric.judged(INPUTS, verdict="reasoned")
    with pytest.raises(PromptError):
        Faithfulness(nli_prompt="Is it so?\nSay yes or no.")


# Faithfulness by HHEM


def test_hhem_rounds_at_one_half_and_keeps_the_raw_mean_beside() -> None:
    classifier = FakeClassifier({"Tea is grown in Assam.": 0.5, "Tea was planted in Assam in 1937.": 0.4})
    engine = FakeEngine(STATEMENTS)
    own = fake_judge(engine, classifier=classifier)
    metric = FaithfulnesswithHHEM(own, statement_generator_prompt=built_in("statements"))
    found = metric.judged(INPUTS).scores["faithfulness_with_hhem"]
    assert found.value == 1 / 2
    assert found.soft == pytest.approx((0.5 + 0.4) / 2)
    assert {call.trunk.system for call in engine.calls} == {"Take care."}


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"nli_prompt": built_in("support")}, "nli_prompt"),
        ({"prompts": {"support": {"en": built_in("support")}}}, "nli_prompt"),
        ({"verdict": "reasoned"}, "verdict"),
        ({"explain": True}, "explain"),
    ],
)
def test_what_is_for_verdicts_of_a_judge_is_refused(given: dict[str, Any], name: str) -> None:
    with pytest.raises(InputError, match=name):
        FaithfulnesswithHHEM(**given)


# Context relevance


@pytest.mark.parametrize("names", [("query", "document_list"), ("user_input", "retrieved_contexts")])
@pytest.mark.parametrize(
    ("answers", "value", "text"),
    [
        (NEEDED, 1 / 3, "Tea is grown in Assam."),
        ([{"verdict": 0.9}] * 4, 3 / 3, CONTEXTS[0].replace(". ", ".\n") + "\n" + CONTEXTS[1]),
        ([{"verdict": 0.9}, *[{"verdict": 0.1}] * 3], 0.0, "Insufficient Information"),
        ([{"verdict": 0.1}, *[{"verdict": 0.9}] * 3], 0.0, "Insufficient Information"),
    ],
)
def test_context_relevance_is_the_needed_share_and_what_is_extracted_is_unchanged(
    answers: list[dict[str, Any]], value: float, text: str, names: tuple[str, str]
) -> None:
    metric = ContextRelevance(judge(*answers))
    inputs = dict(zip(names, (QUESTION, CONTEXTS), strict=True))
    assert metric.invoke(inputs) == value
    assert to_original(metric.judged(inputs)) == {"needed": text}


@pytest.mark.parametrize("contexts", [[], ["", " \n"], ["...", "--"]])
def test_without_a_context_sentence_invoke_gives_zero_and_score_is_undefined(contexts: list[str]) -> None:
    inputs = {"query": QUESTION, "document_list": contexts}
    metric = ContextRelevance(judge())
    assert metric.invoke(inputs) == metric.single_turn_score(inputs) == 0.0
    assert metric.judged(inputs).scores["context_relevance"] == Score.undefined("no_contexts")


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


def relevance(sufficient: float = 0.9, **options: Any) -> AnswerRelevance:
    engine = Asking(list(VECTORS), sufficient)
    return AnswerRelevance(fake_judge(engine, FakeEmbedder(VECTORS)), **options)


@pytest.mark.parametrize(
    ("sufficient", "options", "value"),
    [  # half of the draws are the question itself, half have the cosine 0.6
        (0.9, {}, (1.0 + 0.6) / 2),
        (0.9, {"relevance": "ragas"}, (1.0 + 0.6 + 1.0) / 3),
        (0.1, {}, 0.0),
        (0.1, {"relevance": "ragas"}, 0.0),
    ],
)
def test_answer_relevance_is_the_mean_cosine_of_sufficient_draws(
    sufficient: float, options: dict[str, Any], value: float
) -> None:
    assert relevance(sufficient, **options).invoke(PAIR) == pytest.approx(value)


@pytest.mark.parametrize(
    ("own", "of_the_call", "drawn"),
    [
        ({}, {}, 10),
        ({"questions": 3}, {}, 3),
        ({"relevance": "question"}, {}, 10),
        ({"relevance": "ragas"}, {}, 3),
        ({"relevance": "ragas"}, {"questions": 5}, 5),
        ({"relevance": "ragas", "questions": 10}, {}, 10),
        ({}, {"relevance": "ragas"}, 3),
    ],
)
def test_ten_questions_are_drawn_or_three_as_in_ragas_or_as_many_as_it_is_told(
    own: dict[str, Any], of_the_call: dict[str, Any], drawn: int
) -> None:
    assert len(to_original(relevance(**own).judged(PAIR, **of_the_call))["questions"]) == drawn


def test_a_call_may_say_how_many_questions_are_drawn() -> None:
    metric = relevance()
    assert metric.options.temperature == 0.5
    assert metric.invoke(PAIR, num_of_gen=1) == pytest.approx(1.0)
    assert asyncio.run(relevance().ainvoke(PAIR, num_of_gen=4)) == pytest.approx((1.0 + 0.6) / 2)
    with pytest.raises(InputError, match="questions is 0"):
        metric.invoke(PAIR, num_of_gen=0)


def test_each_draw_is_exported_with_its_flag_of_one_or_zero() -> None:
    drawn = {"query": QUESTION, "answer_sufficiency": "", "answer_sufficiency_result": 1}
    assert to_original(relevance(questions=1).judged(PAIR)) == {"questions": [drawn]}
    flagged = relevance(0.1, questions=1, verdict="reasoned").judged(PAIR)
    drawn |= {"answer_sufficiency": "It names the place.", "answer_sufficiency_result": 0}
    assert to_original(flagged)["questions"] == [drawn]


@pytest.mark.parametrize(
    "inputs", [{**PAIR, "answer": ""}, {"answer": "Tea."}, {"query": QUESTION}, {**PAIR, "query": ""}]
)
def test_without_an_answer_or_a_question_answer_relevance_is_nan(inputs: dict[str, Any]) -> None:
    assert math.isnan(relevance().invoke(inputs))


# Factual correctness


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
    scores = metric.judged(inputs, mode="recall").scores  # of one call
    assert {name: score.value for name, score in scores.items()} == {"factual_correctness(mode=recall)": 1}
    assert metric.mode == options.get("mode", "f1")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(InputError, match="mode is 'f2'"):
        FactualCorrectness(mode="f2")
