"""Each original metric on fakes: inputs, parameters, edge cases; every number is a counted fraction."""

from __future__ import annotations

import asyncio
import inspect
import math
from pathlib import Path
from types import SimpleNamespace
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
    evaluate,
    to_original,
)
from localeval.compat.metric import OriginalMetric
from localeval.engine.embedder import Embedder
from localeval.engine.interface import EngineError
from localeval.errors import InputError, PromptError
from localeval.testing import FakeEmbedder, FakeEngine, fake_judge
from tests.originals import (
    ANSWER,
    CONTEXTS,
    CORRECT,
    HALF,
    INPUTS,
    NEEDED,
    PAIR,
    QUESTION,
    ROWS,
    STATEMENTS,
    VECTORS,
    Asking,
    built_in,
    judge,
)

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


def test_a_prompt_is_replaced_beside_others_and_in_every_form_of_verdict() -> None:
    own = {"support": {"en": built_in("support")}}
    metric = Faithfulness(judge(), prompts=own, nli_prompt={"zh": built_in("support")})
    assert sorted(metric.options.prompts["support"]) == ["en", "zh"]
    metric = Faithfulness(judge(), nli_prompt=built_in("support"))
    assert sorted(metric.options.prompts["support"]) == ["en", "zh"]
    with pytest.raises(PromptError, match=r"prompt given for support_reasoned \(en\)"):  # it has no reasons
        metric.judged(INPUTS, verdict="reasoned")


def test_a_prompt_file_that_is_edited_later_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "nli.toml"
    file.write_text(built_in("support"), encoding="utf-8")
    engine = FakeEngine(HALF)
    metric = Faithfulness(fake_judge(engine), nli_prompt=file)
    file.write_text("no prompt any more", encoding="utf-8")
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


# Context relevance


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


def relevance(sufficient: float = 0.9, **options: Any) -> AnswerRelevance:
    engine = Asking(list(VECTORS), sufficient)
    return AnswerRelevance(fake_judge(engine, FakeEmbedder(VECTORS)), **options)


def test_answer_relevance_is_the_mean_cosine_where_every_draw_is_sufficient() -> None:
    # Half of the draws are the question itself, half have the cosine 0.6.
    assert relevance().invoke(PAIR) == pytest.approx((1.0 + 0.6) / 2)
    assert relevance(relevance="ragas").invoke(PAIR) == pytest.approx((1.0 + 0.6 + 1.0) / 3)


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


def test_as_ragas_has_it_three_questions_are_drawn_unless_it_is_told_how_many() -> None:
    def drawn(metric: AnswerRelevance, **options: Any) -> int:
        return len(to_original(metric.judged(PAIR, **options))["questions"])

    metric = relevance(relevance="ragas")
    assert metric.options.questions == 3
    assert drawn(metric) == 3
    assert drawn(metric, questions=5) == 5
    assert drawn(relevance(relevance="ragas", questions=10)) == 10
    assert drawn(relevance(), relevance="ragas") == 3
    assert drawn(relevance(relevance="question")) == 10
    assert metric.invoke(PAIR, num_of_gen=2) == pytest.approx((1.0 + 0.6) / 2)


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

    def opened(model: Any, *, threads: int) -> ClosingEmbedder:
        asked.append((model, threads))
        return embedder

    monkeypatch.setattr(Embedder, "load", opened)
    given = fake_judge(Asking([QUESTION]))
    assert AnswerRelevance(given, embedding_model=FakeEmbedder(VECTORS)).invoke(PAIR) == pytest.approx(1.0)
    one, other = AnswerRelevance(given, "bge-m3"), AnswerRelevance(given, "bge-m3")
    assert one.invoke(PAIR) == other.invoke(PAIR) == pytest.approx(1.0)
    assert asked == [("bge-m3", given.engine.settings.n_threads)]
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


def test_the_mode_of_one_call_names_its_column_and_that_of_the_metric_stays() -> None:
    metric = FactualCorrectness(judge(*CORRECT))
    inputs = {"answer": ANSWER, "ground_truth": "Tea is grown in Assam."}
    scores = metric.judged(inputs, mode="recall").scores
    assert {column: score.value for column, score in scores.items()} == {
        "factual_correctness(mode=recall)": 1 / 1
    }
    with pytest.raises(AttributeError):
        metric.mode = "recall"  # type: ignore[misc]


def test_an_unknown_mode_or_option_is_refused() -> None:
    with pytest.raises(InputError, match="mode is 'f2'"):
        FactualCorrectness(mode="f2")
    with pytest.raises(InputError, match="temperatur is not an option"):
        AnswerRelevance(temperatur=0.5)
