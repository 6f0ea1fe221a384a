"""The original names: data sets, metrics, results, models, and records in the original schemas."""

import asyncio
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, patch

import pytest

import localeval
from localeval import InputError, Judge, Score
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
from localeval.engine.interface import EngineError
from localeval.models.catalog import DEFAULT_JUDGE, entries
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge
from tests.commands import said
from tests.originals import HALF, INPUTS, PAIR, QUESTION, STATEMENTS, VECTORS, Asking, built_in, judge
from tests.steady import SteadyEngine, steady_judge

ANSWER, CONTEXTS = INPUTS.values()
FIRST, SECOND = (answer["statements"][0] for answer in STATEMENTS)
ROWS: list[dict[str, Any]] = [
    {"user_input": QUESTION, "response": response, "retrieved_contexts": CONTEXTS}
    for response in (ANSWER, "Tea sings.", "")
]
BOTH = {FIRST: 0.9, SECOND: 0.9}
NEEDED: list[dict[str, Any]] = [{"verdict": 0.9}, {"verdict": 0.8}, {"verdict": 0.1}, {"verdict": 0.2}]
# Statements of the response, of the reference, the response's in the reference, and the other way round.
CORRECT: list[dict[str, Any]] = [*STATEMENTS, STATEMENTS[0], *({"verdict": p} for p in (0.9, 0.2, 0.8))]
SINGS: list[dict[str, Any]] = [{"statements": ["Tea sings."]}, {"verdict": 0.1}]


def relevance(sufficient: float = 0.9, **options: Any) -> AnswerRelevance:
    return AnswerRelevance(fake_judge(Asking(list(VECTORS), sufficient), FakeEmbedder(VECTORS)), **options)


def test_an_object_that_can_be_dumped_is_read_without_its_empty_fields() -> None:
    dumped = SimpleNamespace(model_dump=lambda: {"rubric": None, "reference": None, **ROWS[0]})
    assert Faithfulness(judge(*HALF)).single_turn_score(dumped) == 1 / 2


@pytest.mark.filterwarnings("ignore")
def test_ragas_own_objects_and_files_are_read_as_they_are(tmp_path: Path) -> None:
    ragas: Any = pytest.importorskip("ragas")
    samples = [ragas.SingleTurnSample(**row) for row in ROWS]
    dataset = ragas.EvaluationDataset(samples=samples)
    assert asyncio.run(Faithfulness(judge(*HALF)).single_turn_ascore(samples[0])) == 1 / 2
    assert repr(evaluate(dataset, [Faithfulness()], judge(*HALF, *SINGS))) == "{'faithfulness': 0.2500}"
    dataset.to_jsonl(tmp_path / "ragas.jsonl")
    read = EvaluationDataset.from_jsonl(tmp_path / "ragas.jsonl")
    assert [s.model_dump() for s in read] == [s.model_dump() for s in EvaluationDataset(dataset)]


REASONED = [{"reason": "It says so.", "verdict": 0.9}, {"reason": "It says 1837.", "verdict": 0.1}]
BOTH_TEXTS = {"user_input", "retrieved_contexts", "response"}


@pytest.mark.parametrize(
    ("metric", "name", "columns", "engine", "value"),
    [
        (Faithfulness, "faithfulness", BOTH_TEXTS, FakeEngine(HALF), 1 / 2),
        (FaithfulnesswithHHEM, "faithfulness_with_hhem", BOTH_TEXTS, FakeEngine(STATEMENTS), 2 / 2),
        (ContextRelevance, "context_relevance", BOTH_TEXTS - {"response"}, FakeEngine(NEEDED), 1 / 3),
        (AnswerRelevance, "answer_relevance", {"user_input", "response"}, Asking([QUESTION]), 1.0),
        (FactualCorrectness, "factual_correctness", {"response", "reference"}, FakeEngine(CORRECT), 2 / 3),
    ],
)
def test_names_columns_and_every_way_to_call_are_the_original_ones(
    metric: Any, name: str, columns: set[str], engine: FakeEngine, value: float
) -> None:
    scorer = metric(fake_judge(engine, FakeEmbedder(VECTORS), FakeClassifier(BOTH)))
    assert (scorer.name, scorer.max_retries, metric(name="mine", max_retries=5).name) == (name, 1, "mine")
    assert scorer.required_columns == {"SINGLE_TURN": columns}
    sample = SingleTurnSample(**ROWS[0], reference="Tea is grown in Assam.")
    awaited = [asyncio.run(call(sample)) for call in (scorer.ainvoke, scorer.single_turn_ascore)]
    assert [scorer.invoke(sample), scorer.single_turn_score(sample), *awaited] == pytest.approx([value] * 4)


TOO_SMALL = 2048
"""A context in which no question has room: every judgement fails."""


def test_an_undefined_score_is_nan_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    metric = AnswerRelevance(fake_judge(FakeEngine([])))
    assert math.isnan(metric.invoke({**PAIR, "query": ""}))
    assert ": undefined (missing_user_input): this sample." in caplog.text


def test_a_failed_score_is_nan_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    metric = ContextRelevance(fake_judge(FakeEngine([], n_ctx=TOO_SMALL)))
    assert math.isnan(metric.invoke({"query": QUESTION, "document_list": CONTEXTS}))
    assert ": failed (context_too_long): this sample." in caplog.text


def test_a_judgement_that_failed_is_not_asked_again_for_the_one_that_needs_it() -> None:
    engine = FakeEngine([EngineError("no memory"), *HALF])
    assert math.isnan(evaluate([INPUTS], [Faithfulness()], fake_judge(engine))["faithfulness"][0])
    assert len(engine.calls) == 1


NEEDED_INPUTS: dict[str, Any] = {"query": QUESTION, "document_list": CONTEXTS}


def test_context_relevance_is_the_share_of_needed_sentences() -> None:
    """One of three: the question can be answered, and the first sentence is the most probable one."""
    metric = ContextRelevance(judge(*NEEDED))
    assert metric.invoke(NEEDED_INPUTS) == 1 / 3
    assert to_original(metric.judged(NEEDED_INPUTS)) == {"needed": "Tea is grown in Assam."}


def test_context_relevance_is_0_where_the_question_can_not_be_answered() -> None:
    metric = ContextRelevance(judge({"verdict": 0.1}, *NEEDED[1:]))
    assert metric.invoke(NEEDED_INPUTS) == 0.0
    assert to_original(metric.judged(NEEDED_INPUTS)) == {"needed": "Insufficient Information"}


def test_context_relevance_is_0_for_contexts_without_a_sentence_though_it_is_undefined() -> None:
    metric = ContextRelevance(judge())
    inputs = {**NEEDED_INPUTS, "document_list": ["", " \n", "..."]}
    assert metric.invoke(inputs) == metric.single_turn_score(inputs) == 0.0
    assert metric.judged(inputs).scores["context_relevance"] == Score.undefined("no_contexts")


# Half of the drawn questions are the question itself, with the cosine 1; half have the cosine 0.6.
HALF_ALIKE = (1.0 + 0.6) / 2


def test_answer_relevance_is_the_mean_cosine_of_ten_sufficient_draws() -> None:
    metric = relevance()
    assert metric.options.temperature == 0.5
    assert metric.invoke(PAIR) == pytest.approx(HALF_ALIKE)
    assert len(to_original(metric.judged(PAIR))["questions"]) == 10


def test_answer_relevance_is_0_where_the_answer_is_not_sufficient() -> None:
    assert relevance(sufficient=0.1).invoke(PAIR) == 0.0


def test_a_call_may_say_how_many_questions_are_drawn() -> None:
    metric = relevance()
    assert metric.invoke(PAIR, num_of_gen=1) == metric.invoke(PAIR, 1) == pytest.approx(1.0)
    assert asyncio.run(relevance().ainvoke(PAIR, num_of_gen=4)) == pytest.approx(HALF_ALIKE)
    assert asyncio.run(relevance().ainvoke(PAIR, 1)) == pytest.approx(1.0)
    assert "questions is 0" in said(InputError, metric.invoke, PAIR, num_of_gen=0)


def test_with_the_relevance_of_ragas_three_questions_are_drawn() -> None:
    assert relevance(relevance="ragas").invoke(PAIR) == pytest.approx((1.0 + 0.6 + 1.0) / 3)


def test_a_replaced_prompt_holds_also_after_its_file_was_edited(tmp_path: Path) -> None:
    file = tmp_path / "nli.toml"
    file.write_text(built_in("support"), encoding="utf-8")
    engine = FakeEngine(HALF)
    prompts: Any = {"statement_generator_prompt": built_in("statements"), "nli_prompt": {"en": file}}
    metric = Faithfulness(fake_judge(engine), **prompts)
    file.write_text("no prompt any more", encoding="utf-8")
    assert metric.invoke(INPUTS) == 1 / 2
    assert [call.prefix.system for call in engine.calls] == ["Take care."] * 2


def test_a_replaced_prompt_holds_for_verdicts_with_reasons() -> None:
    engine = FakeEngine([*STATEMENTS, *REASONED])
    options: Any = {"verdict": "reasoned", "nli_prompt": {"en": built_in("support_reasoned")}}
    assert Faithfulness(fake_judge(engine), **options).invoke(INPUTS) == 1 / 2
    assert engine.calls[1].prefix.system == "Take care."


OTHER = Path(localeval.__file__).parent / "fitted" / "qwen2.5-coder-1.5b.en.json"


@pytest.mark.parametrize(
    "call",
    [
        lambda: Faithfulness(judge()).invoke({"answer": "Tea.", "document_list": 7}),
        lambda: Faithfulness(nli_prompt="Is it so?\nSay yes or no."),
        lambda: FactualCorrectness(mode="f2"),
        lambda: evaluate(ROWS, [Faithfulness(), Faithfulness(threshold=0.7)], "nowhere.gguf"),
        lambda: evaluate(ROWS, [Faithfulness()], SimpleNamespace(embed_query=len)),
        lambda: AnswerRelevance(judge(), SimpleNamespace(embed_query=len)).invoke(PAIR),
        lambda: Faithfulness(judge(), calibration=OTHER).invoke(INPUTS),
        lambda: evaluate(ROWS, ["faithfulness"], judge()),  # type: ignore[list-item]
        lambda: evaluate(ROWS, [Faithfulness], judge()),  # type: ignore[list-item]
        lambda: evaluate(ROWS, Faithfulness(), judge()),  # type: ignore[arg-type]
    ],
)
def test_what_can_not_be_scored_is_refused_before_anything_is_loaded(call: Callable[[], object]) -> None:
    assert said(InputError, call)


def test_the_result_prints_the_mean_of_the_scored_samples_and_the_log_says_what_is_missing(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    result = evaluate(dataset=EvaluationDataset(ROWS), metrics=[Faithfulness()], llm=judge(*HALF, *SINGS))
    assert repr(result) == str(result) == "{'faithfulness': 0.2500}"
    assert result["faithfulness"] == pytest.approx([1 / 2, 0.0, math.nan], nan_ok=True)
    assert "faithfulness: undefined (no_statements): 3." in caplog.text
    output = capsys.readouterr()
    assert ("Evaluating: 3/3" in output.err, output.out) == (True, "")
    none = evaluate([ROWS[2]] * 12, [Faithfulness()], judge(), show_progress=False)
    assert repr(none) == "{'faithfulness': nan}"
    assert capsys.readouterr().err == ""


PRECISION_AND_RECALL = [FactualCorrectness(mode="precision"), FactualCorrectness(mode="recall")]
WITH_REFERENCE = {**ROWS[0], "reference": "Tea is grown in Assam."}


def test_several_metrics_judge_nothing_twice_and_each_has_its_column() -> None:
    # The statements of the response are asked for once.
    fake = judge(*HALF, *CORRECT[2:])
    config = RunConfig(timeout=600, max_retries=3, max_workers=4)
    result = evaluate([WITH_REFERENCE], [Faithfulness(), *PRECISION_AND_RECALL], fake, run_config=config)
    fake.close()  # raises if an answer is left over
    assert result["faithfulness"] == [1 / 2]
    assert result["factual_correctness(mode=precision)"] == [1 / 2]
    assert result["factual_correctness(mode=recall)"] == [1.0]


def test_a_column_is_found_without_its_mode_where_there_is_one_mode_only() -> None:
    one = evaluate([WITH_REFERENCE], PRECISION_AND_RECALL[:1], judge(*CORRECT))
    assert one["factual_correctness"] == [1 / 2]
    two = evaluate([WITH_REFERENCE], PRECISION_AND_RECALL, judge(*CORRECT))
    with pytest.raises(InputError, match="'factual_correctness' is no column"):
        two["factual_correctness"]


def test_what_two_metrics_need_is_judged_once_also_of_more_samples_than_a_judge_remembers() -> None:
    """A judge remembers a thousand judgements: these are four for each of 260 samples."""
    rows = [{**ROWS[0], "id": str(n), "response": f"Tea {n}.", "reference": f"Tea {n}!"} for n in range(260)]
    counts = []
    for metrics in (PRECISION_AND_RECALL[:1], PRECISION_AND_RECALL):
        engine = SteadyEngine()
        evaluate(rows, metrics, steady_judge(engine), show_progress=False)
        counts.append(engine.asked)
    assert counts[0] == counts[1]


def test_the_embeddings_of_a_call_are_for_metrics_that_were_given_none() -> None:
    asked = fake_judge(Asking(list(VECTORS)))
    result = evaluate([PAIR], [AnswerRelevance()], asked, FakeEmbedder(VECTORS))
    assert result["answer_relevance"] == [pytest.approx(HALF_ALIKE)]
    unknowing = FakeEmbedder({})
    with_own = AnswerRelevance(embedding_model=FakeEmbedder(VECTORS))
    assert evaluate([PAIR], [with_own], asked, unknowing)["answer_relevance"] == [pytest.approx(HALF_ALIKE)]


def test_the_seed_of_a_call_is_the_seed_of_every_draw() -> None:
    engine = Asking(list(VECTORS))
    config = RunConfig(seed=7)
    evaluate([PAIR], [AnswerRelevance()], fake_judge(engine), FakeEmbedder(VECTORS), run_config=config)
    drawn = [call for call in engine.calls if call.temperature]
    assert {seed[0] for call in drawn for seed in call.seeds or ()} == {7}


def test_to_pandas_has_the_columns_of_samples_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    result = evaluate([{**ROWS[0], "faithfulness": 1}], [Faithfulness(judge(*HALF))])
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    (row,) = result.to_pandas()
    assert row == {"id": "1", **ROWS[0], "sample_faithfulness": 1, "faithfulness": 1 / 2}


def test_to_pandas_renames_a_column_of_the_sample_once_more_where_the_new_name_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample = {**ROWS[0], "faithfulness": 1, "sample_faithfulness": 2}
    result = evaluate([sample], [Faithfulness(judge(*HALF))])
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    (row,) = result.to_pandas()
    assert row["sample_faithfulness"] == 2
    assert row["sample_sample_faithfulness"] == 1


def test_to_pandas_without_pandas_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    result = evaluate(ROWS[:1], [Faithfulness(judge(*HALF))])
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pip install pandas" in said(InputError, result.to_pandas)


def test_samples_in_a_language_that_a_model_cannot_read_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    texts = {"zh": "茶是绿色的。", "ru": "Чай зелёный.", "en": "Tea is green."}
    samples = [{"id": name, "response": text, "retrieved_contexts": ["Tea."]} for name, text in texts.items()]
    classifier = FakeClassifier(dict.fromkeys(texts.values(), 0.9))
    metric = FaithfulnesswithHHEM(fake_judge(FakeEngine([]), classifier=classifier), statements="sentences")
    evaluate(samples, [metric])
    logged = [record.getMessage().rpartition(": ")[2] for record in caplog.records]
    assert logged == ["ru.", "zh, ru."]  # neither language; not the one that HHEM reads


@pytest.mark.parametrize(
    ("config", "reason"),  # the second sample's statements take 5 seconds
    [(SimpleNamespace(timeout=4.5, seed=3), "timeout"), (RunConfig(timeout=6.5), "")],
)
def test_only_a_sample_over_the_time_fails(config: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(FakeEngine):
        clock = 0.0

        def generate(self, *args: Any, **how: Any) -> Any:
            self.clock += 5 if "sings" in args[2][0] and len(self.calls) == 2 else 1
            return super().generate(*args, **how)

    rows = [{**ROWS[1], "response": f"Tea {verb}."} for verb in ("grows", "sings", "rises")]
    stated = [{"statements": [row["response"]]} for row in rows]
    verdict = {"verdict": 0.9}
    engine = Slow([stated[0], verdict, stated[1], *([] if reason else [verdict]), stated[2], verdict])
    monkeypatch.setattr("time.monotonic", lambda: engine.clock)
    result = evaluate(rows, [Faithfulness()], fake_judge(engine), run_config=config)
    assert result["faithfulness"][::2] == [1.0, 1.0]
    assert result.judged["faithfulness"][1].scores["faithfulness"].reason == reason
    engine.close()  # raises if an answer is left over


def test_records_are_exported_in_the_original_schemas() -> None:
    judged = Faithfulness(judge(*HALF)).judged(INPUTS)
    original, ragas = to_original(judged), to_ragas(judged)
    sentence = {"origin_sentence": "It was planted there in 1937.", "statements": [{"description": SECOND}]}
    assert original["statements"]["sentence_and_statements"][1] == sentence
    verdict = {"statement": FIRST, "verdication_reasoning": "", "verdication_result": 1}
    assert original["support"]["statement_verdications"][0] == verdict
    assert ragas["statements"] == {"statements": [FIRST, SECOND]}
    assert ragas["support"]["statements"][1] == {"statement": SECOND, "reason": "", "verdict": 0}
    flagged = relevance(0.1, questions=1, verdict="reasoned").judged(PAIR)
    drawn = {"query": QUESTION, "answer_sufficiency": "It names the place.", "answer_sufficiency_result": 0}
    assert to_original(flagged) == {"questions": [drawn]}


@pytest.mark.parametrize("asked", [{"explain": True}, {"verdict": "reasoned"}])
def test_a_reason_that_was_asked_for_is_exported_with_its_verdict(asked: dict[str, Any]) -> None:
    apart = [{name: answer[name]} for name in ("verdict", "reason") for answer in REASONED]
    answers = apart if "explain" in asked else REASONED
    judged = Faithfulness(judge(*STATEMENTS, *answers), **asked).judged(INPUTS)
    verdicts = to_ragas(judged)["support"]["statements"]
    assert [(v["reason"], v["verdict"]) for v in verdicts] == [("It says so.", 1), ("It says 1837.", 0)]
    first = to_original(judged)["support"]["statement_verdications"][0]
    assert first["verdication_reasoning"] == "It says so."


@pytest.mark.parametrize("way", ["compat", "evaluate", "rescore"])
def test_the_mean_of_exported_verdicts_is_the_calibrated_score(way: str, tmp_path: Path) -> None:
    """The shipped calibration of the usual judge takes 0.6 below one half for a number in no context."""
    file = entries()[DEFAULT_JUDGE].files[0]
    engine = FakeEngine([*STATEMENTS, {"verdict": 0.9}, {"verdict": 0.6}])
    calibrated = Judge(engine, {"name": file.name, "sha256": file.sha256, "size": 0})
    if way == "compat":
        sample = evaluate([INPUTS], [Faithfulness()], calibrated).judged["faithfulness"][0]
    else:
        result = localeval.evaluate([INPUTS], ["faithfulness"], calibrated, tmp_path)
        sample = (localeval.rescore(tmp_path) if way == "rescore" else result).samples[0]
    assert sample.scores["faithfulness"].value == 1 / 2
    assert [verdict["verdict"] for verdict in to_ragas(sample)["support"]["statements"]] == [1, 0]
    again = to_ragas(sample, threshold=0.1)["support"]["statements"]
    assert [verdict["verdict"] for verdict in again] == [1, 1]


class Closing(FakeEngine):
    """Can answer INPUTS once."""

    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Closing]]:
    """What `Judge.load` was asked for, and the engines that it gave."""
    calls: list[tuple[Any, Closing]] = []

    def load(model: Any) -> Judge:
        calls.append((model, Closing(HALF)))
        return fake_judge(calls[-1][1])

    monkeypatch.setattr(Judge, "load", load)
    return calls


def test_a_model_is_loaded_once_when_first_asked_and_freed_by_close(loads: list[tuple[Any, Closing]]) -> None:
    metric = Faithfulness(llm="judge.gguf")
    assert math.isnan(metric.invoke({"answer": "Tea grows."}))
    assert ContextRelevance(llm="judge.gguf").invoke({"query": "Tea?", "document_list": []}) == 0.0
    assert loads == []
    with metric:
        assert Faithfulness(llm=Path("judge.gguf")).invoke(INPUTS) == metric.invoke(INPUTS) == 1 / 2
    assert [(model, engine.closed) for model, engine in loads] == [(Path("judge.gguf"), True)]
    with Faithfulness() as usual:
        assert usual.invoke(INPUTS) == metric.invoke(INPUTS) == 1 / 2
    metric.close()
    assert [model for model, _ in loads[1:]] == ["qwen2.5-coder-1.5b", "judge.gguf"]


def test_evaluate_frees_what_it_loaded_and_leaves_what_was_open(loads: list[tuple[Any, Closing]]) -> None:
    engine = Closing(HALF)
    with Faithfulness(llm="open.gguf", name="open") as metric:
        metric.invoke(ROWS[0])
        metrics = [metric, Faithfulness(), Faithfulness(fake_judge(engine), name="own")]
        result = evaluate(ROWS[:1], metrics, llm="given.gguf")
        assert repr(result) == "{'open': 0.5000, 'faithfulness': 0.5000, 'own': 0.5000}"
        interrupted = patch.object(Closing, "generate", side_effect=KeyboardInterrupt)
        with interrupted, pytest.raises(KeyboardInterrupt):
            evaluate(ROWS, [Faithfulness()], llm="given.gguf")
        closed = [(model, loaded.closed) for model, loaded in loads]
        assert closed == [("open.gguf", False), ("given.gguf", True), ("given.gguf", True)]
    assert not engine.closed


@pytest.mark.parametrize(
    ("place", "metric", "arguments", "asked"),
    [
        ("embedder.Embedder", AnswerRelevance, ("bge-m3",), ("bge-m3", None, None)),
        ("hhem.Classifier", FaithfulnesswithHHEM, ("cuda", 4), ("hhem-2.1-open", "cuda", 4)),
    ],
)
def test_an_auxiliary_model_is_opened_by_its_name_once_and_closed(
    place: str, metric: Any, arguments: Any, asked: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Mock(embed=FakeEmbedder(VECTORS).embed, support=FakeClassifier(BOTH).support)
    model.signature.return_value = {"name": "auxiliary", "sha256": "1" * 64}
    monkeypatch.setattr(f"localeval.auxiliary.{place}.load", load := Mock(return_value=model))
    alone = Judge(Asking([QUESTION]) if "Embedder" in place else FakeEngine(STATEMENTS), model.signature())
    with metric(alone, *arguments) as scorer:
        assert scorer.invoke({**INPUTS, **PAIR}) == scorer.invoke({**INPUTS, **PAIR}) == pytest.approx(1.0)
    [call] = load.call_args_list
    assert (*call.args, call.kwargs.get("device"), call.kwargs.get("batch_size")) == asked
    model.close.assert_called_once()


def test_nothing_heavy_is_imported() -> None:
    code = """
import sys
import localeval.compat
print({"ragas", "pandas", "torch", "llama_cpp", "transformers"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_options_of_a_call_replace_the_metrics_own() -> None:
    metric = Faithfulness(judge(*HALF))
    assert metric.invoke(INPUTS) == 1 / 2
    assert asyncio.run(metric.ainvoke(INPUTS, threshold=0.1)) == 1
