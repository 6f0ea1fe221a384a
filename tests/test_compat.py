"""The original names: data sets, calls, models, the time limit, and records in the original schemas."""

from __future__ import annotations

import asyncio
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import localeval
from localeval import Judge, Score
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
from localeval.compat import metrics as compat_metrics
from localeval.engine.auxiliary_models import AuxiliaryModels
from localeval.engine.embedder import Embedder
from localeval.engine.hhem import Classifier
from localeval.engine.interface import EngineError
from localeval.errors import InputError
from localeval.models.catalog import DEFAULT_JUDGE, rows
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge
from tests.originals import (
    ANSWER,
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

# Data sets


def test_a_data_set_is_read_from_a_file_of_any_name_or_a_list(tmp_path: Path) -> None:
    file = tmp_path / "data.txt"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    read, listed = EvaluationDataset.from_jsonl(str(file)), EvaluationDataset.from_list(ROWS)
    assert len(read) == len(listed) == 3
    assert [s.response for s in read] == [s.response for s in listed] == [ANSWER, "Tea sings.", ""]
    assert [s.id for s in read[1:]] == ["2", "3"]
    assert repr(read) == "EvaluationDataset(features=['user_input', 'response', 'retrieved_contexts'], len=3)"
    sample = SingleTurnSample(response="Tea.", reference_contexts=["Tea: Assam."])
    (kept,) = EvaluationDataset(samples=[sample])
    assert isinstance(kept, SingleTurnSample)
    assert EvaluationDataset([sample]).to_list() == [
        {"id": "1", "response": "Tea.", "reference_contexts": ["Tea: Assam."]}
    ]


def test_data_sets_that_numbered_their_samples_each_for_itself_can_be_joined() -> None:
    one, other = EvaluationDataset(ROWS), EvaluationDataset(ROWS[:2])
    joined = EvaluationDataset(samples=one.samples[1:] + other.samples)
    assert len({s.id for s in joined}) == 4
    assert [s.response for s in joined] == [row["response"] for row in [*ROWS[1:], *ROWS[:2]]]
    with pytest.raises(InputError, match="same id"):
        EvaluationDataset([{"id": "a", "answer": "Tea."}] * 2)


@pytest.mark.parametrize("bad", ["data.jsonl", [{"response": "Tea."}, 7], []])
def test_what_is_no_data_set_is_refused(bad: Any) -> None:
    with pytest.raises(InputError):
        EvaluationDataset(bad)


def test_samples_like_those_of_ragas_are_read_by_their_dump_or_their_attributes() -> None:
    dumped = SimpleNamespace(model_dump=lambda: {"rubric": None, "reference": None, **ROWS[0]})
    for given in (dumped, SimpleNamespace(**ROWS[0])):
        assert Faithfulness(judge(*HALF)).single_turn_score(given) == 1 / 2
        assert EvaluationDataset([given]).to_list() == [{"id": "1", **ROWS[0]}]


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


# Calls


@pytest.mark.parametrize(
    ("metric", "engine", "value"),
    [
        (Faithfulness, lambda: FakeEngine(HALF), 1 / 2),
        (FaithfulnesswithHHEM, lambda: FakeEngine(STATEMENTS), 2 / 2),
        (ContextRelevance, lambda: FakeEngine(NEEDED), 1 / 3),
        (AnswerRelevance, lambda: Asking([QUESTION]), 1.0),
        (FactualCorrectness, lambda: FakeEngine(CORRECT), 2 * (1 / 2) * 1 / (1 / 2 + 1)),
    ],
)
def test_every_way_to_call_gives_the_same(
    metric: Any, engine: Callable[[], FakeEngine], value: float
) -> None:
    made = metric(fake_judge(engine(), FakeEmbedder(VECTORS), FakeClassifier(BOTH)))
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
    given = fake_judge(FakeEngine(HALF), classifier=FakeClassifier(BOTH))
    assert Faithfulness(given).invoke(INPUTS) == 1 / 2
    assert Faithfulness(given, threshold=0.1).invoke(INPUTS) == 2 / 2
    assert FaithfulnesswithHHEM(given).invoke(INPUTS) == 2 / 2


@pytest.mark.parametrize("bad", ["Tea.", {"answer": "Tea.", "document_list": "Tea."}])
def test_inputs_that_are_no_columns_are_refused_by_the_metrics_name(bad: Any) -> None:
    with pytest.raises(InputError, match="faithfulness"):
        Faithfulness(judge()).invoke(bad)


# Results


def test_the_result_prints_the_mean_of_the_scored_samples(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    result = evaluate(dataset=EvaluationDataset(ROWS), metrics=[Faithfulness()], llm=judge(*HALF, *SINGS))
    assert repr(result) == str(result) == "{'faithfulness': 0.2500}"
    assert result["faithfulness"][:2] == [1 / 2, 0.0]
    assert math.isnan(result["faithfulness"][2])
    assert result.scores[0] == {"faithfulness": 1 / 2}
    assert result.judged["faithfulness"][2].scores["faithfulness"] == Score.undefined("no_statements")
    assert "faithfulness: 2 of 3 scored; undefined (no_statements): sample 3." in caplog.text
    told = capsys.readouterr()
    assert ("Evaluating: 3/3" in told.err, told.out) == (True, "")
    none = evaluate([ROWS[2]] * 12, [Faithfulness()], judge(), show_progress=False)
    assert repr(none) == "{'faithfulness': nan}"
    assert "0 of 12 scored; undefined (no_statements): sample 1, 2, " in caplog.text
    assert "10 and 2 more." in caplog.text
    assert capsys.readouterr().err == ""


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
    with pytest.raises(InputError, match="'factual_correctness' is no column"):
        result["factual_correctness"]
    assert evaluate([row], metrics[1:2], judge(*CORRECT))["factual_correctness"] == [1 / 2]


def test_metrics_that_can_not_be_evaluated_are_refused_before_anything_is_loaded() -> None:
    wrong: list[Any] = [[Faithfulness(), Faithfulness(threshold=0.7)], [Faithfulness], []]
    for metrics in wrong:
        with pytest.raises(InputError):
            evaluate(ROWS, metrics, llm="nowhere.gguf")
    with pytest.raises(InputError, match="faithfulness needs the column retrieved_contexts"):
        evaluate([{"response": "Tea."}], [Faithfulness()], llm="nowhere.gguf")


def test_embeddings_are_for_metrics_that_were_given_none_and_a_seed_for_all_draws() -> None:
    class Seeds(Asking):
        seen: set[int]

        def generate(self, *args: Any, seeds: Any = None, **how: Any) -> Any:
            self.seen = {seed[0] for seed in seeds} if seeds else set()
            return super().generate(*args, seeds=seeds, **how)

    engine = Seeds([QUESTION, "Where does tea grow?"])
    config = RunConfig(seed=7)
    result = evaluate([PAIR], [AnswerRelevance()], fake_judge(engine), FakeEmbedder(VECTORS), config)
    assert result["answer_relevance"] == [pytest.approx((1.0 + 0.6) / 2)]
    assert engine.seen == {7}


def test_to_pandas_has_the_columns_of_samples_and_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    result = evaluate([{**ROWS[0], "faithfulness": 1}], [Faithfulness(judge(*HALF))])
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    assert result.to_pandas() == [{"id": "1", **ROWS[0], "sample_faithfulness": 1, "faithfulness": 1 / 2}]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        result.to_pandas()


def test_samples_in_a_language_that_a_model_does_not_read_are_logged_with_their_ids(
    caplog: pytest.LogCaptureFixture,
) -> None:
    texts = {"zh": "茶是绿色的。", "ru": "Чай зелёный.", "en": "Tea is green."}
    samples = [{"id": name, "response": text, "retrieved_contexts": ["Tea."]} for name, text in texts.items()]
    given = fake_judge(FakeEngine([]), classifier=FakeClassifier(dict.fromkeys(texts.values(), 0.9)))
    hhem = FaithfulnesswithHHEM(given, statements="sentences")
    evaluate(samples, [hhem])
    assert [record.getMessage() for record in caplog.records] == [
        "faithfulness_with_hhem: neither English nor Chinese: ru.",
        "faithfulness_with_hhem: HHEM reads English only, and this is another language: zh, ru.",
    ]
    caplog.clear()
    assert hhem.invoke({"answer": texts["en"], "document_list": ["Tea."]}) == 1
    assert not caplog.records
    assert hhem.invoke({"answer": texts["ru"], "document_list": ["Tea."]}) == 1
    assert "neither English nor Chinese: this sample" in caplog.text


# The time limit


class Slow(FakeEngine):
    """Takes the seconds that it is told, by a clock of its own, for each call."""

    def __init__(self, answers: Sequence[dict[str, Any] | Exception], seconds: Sequence[float]) -> None:
        super().__init__(answers)
        self.clock, self._seconds = 0.0, list(seconds)

    def generate(self, *args: Any, **how: Any) -> Any:
        self.clock += self._seconds.pop(0)
        return super().generate(*args, **how)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Slow]:
    def made(answers: Sequence[dict[str, Any] | Exception], seconds: Sequence[float]) -> Slow:
        engine = Slow(answers, seconds)
        monkeypatch.setattr(compat_metrics, "time", SimpleNamespace(monotonic=lambda: engine.clock))
        return engine

    return made


def test_a_sample_over_the_time_fails_and_says_so_and_the_others_go_on(
    slow: Callable[..., Slow], caplog: pytest.LogCaptureFixture
) -> None:
    grows: list[dict[str, Any]] = [{"statements": ["Tea grows."]}, {"verdict": 0.9}]
    samples = [{**ROWS[1], "response": f"Tea {verb}."} for verb in ("grows", "sings", "rises")]
    # The statements of the second sample take too long, so that its verdict is not asked for.
    engine = slow(
        [*grows, {"statements": ["Tea sings."]}, {"statements": ["Tea rises."]}, {"verdict": 0.9}],
        [2, 2, 5, 2, 2],
    )
    result = evaluate(samples, [Faithfulness()], fake_judge(engine), run_config=RunConfig(timeout=4))
    assert result["faithfulness"][::2] == [1.0, 1.0]
    assert result.judged["faithfulness"][1].scores["faithfulness"] == Score.failed("timeout")
    assert repr(result) == "{'faithfulness': 1.0000}"
    assert "faithfulness: 2 of 3 scored; failed (timeout): sample 2." in caplog.text
    assert len(engine.calls) == 5


@pytest.mark.parametrize(
    ("answers", "seconds", "config", "score"),
    [
        (HALF, [3, 2], RunConfig(timeout=4.5), Score.failed("timeout")),
        (HALF, [3, 1], RunConfig(timeout=4.5), Score(1 / 2, (0.9 + 0.2) / 2)),
        (HALF, [900, 900], None, Score(1 / 2, (0.9 + 0.2) / 2)),
        (HALF, [900, 900], SimpleNamespace(timeout=None, seed=3), Score(1 / 2, (0.9 + 0.2) / 2)),
        ([EngineError("no"), *HALF], [1] * 4, RunConfig(timeout=9), Score.failed("engine_error")),
    ],
)
def test_the_seconds_of_a_samples_judgements_are_counted_together(
    answers: Any, seconds: list[float], config: Any, score: Score, slow: Callable[..., Slow]
) -> None:
    engine = slow(answers, seconds)
    result = evaluate(ROWS[:1], [Faithfulness()], fake_judge(engine), run_config=config)
    found = result.judged["faithfulness"][0].scores["faithfulness"]
    assert (found.value, found.status, found.reason) == (score.value, score.status, score.reason)
    assert len(engine.calls) <= 2


# Records in the original schemas


def test_records_are_exported_in_the_original_schemas() -> None:
    first, second = "Tea is grown in Assam.", "Tea was planted in Assam in 1937."
    judged = Faithfulness(judge(*HALF)).judged(INPUTS)
    assert to_original(judged) == {
        "statements": {
            "sentence_and_statements": [
                {"origin_sentence": first, "statements": [{"description": first}]},
                {
                    "origin_sentence": "It was planted there in 1937.",
                    "statements": [{"description": second}],
                },
            ]
        },
        "support": {
            "statement_verdications": [
                {"statement": first, "verdication_reasoning": "", "verdication_result": 1},
                {"statement": second, "verdication_reasoning": "", "verdication_result": 0},
            ]
        },
    }
    assert to_ragas(judged) == {
        "statements": {"statements": [first, second]},
        "support": {
            "statements": [
                {"statement": first, "reason": "", "verdict": 1},
                {"statement": second, "reason": "", "verdict": 0},
            ]
        },
    }


@pytest.mark.parametrize("asked", [{"explain": True}, {"verdict": "reasoned"}])
def test_a_reason_that_was_asked_for_stands_before_its_verdict(asked: dict[str, Any]) -> None:
    reasons: list[dict[str, Any]] = [{"reason": "It says so."}, {"reason": "It says 1837."}]
    after = [{"verdict": 0.9}, {"verdict": 0.1}]
    both = [{**r, **v} for r, v in zip(reasons, after, strict=True)]
    written = [*after, *reasons] if "explain" in asked else both
    judged = Faithfulness(judge(*STATEMENTS, *written), **asked).judged(INPUTS)
    verdicts = to_ragas(judged)["support"]["statements"]
    assert [(one["reason"], one["verdict"]) for one in verdicts] == [("It says so.", 1), ("It says 1837.", 0)]
    first = to_original(judged)["support"]["statement_verdications"][0]
    assert list(first) == ["statement", "verdication_reasoning", "verdication_result"]
    assert first["verdication_reasoning"] == "It says so."


def test_results_of_localeval_itself_are_exported_too_without_what_failed(tmp_path: Path) -> None:
    result = localeval.evaluate([INPUTS], ["faithfulness"], judge(*STATEMENTS, EngineError("no")))
    assert list(to_original(result.samples[0])) == list(to_ragas(result.samples[0])) == ["statements"]
    localeval.evaluate([INPUTS], ["faithfulness"], judge(*HALF), tmp_path / "run")
    again = localeval.rescore(tmp_path / "run", threshold=0.1).samples[0]
    assert [one["verdict"] for one in to_ragas(again)["support"]["statements"]] == [1, 1]


def test_a_verdict_is_exported_by_the_threshold_that_it_was_scored_with() -> None:
    judged = Faithfulness(judge(*HALF), threshold=0.1).judged(INPUTS)
    assert [verdict["verdict"] for verdict in to_ragas(judged)["support"]["statements"]] == [1, 1]
    again = to_ragas(judged, threshold=0.5)["support"]["statements"]
    assert [verdict["verdict"] for verdict in again] == [1, 0]


@pytest.mark.parametrize("way", ["judged", "compat", "evaluate", "folder", "rescore"])
def test_the_mean_of_the_exported_verdicts_is_the_calibrated_score(way: str, tmp_path: Path) -> None:
    """The shipped calibration of the usual judge takes 0.6 below one half for a number in no context."""
    file = rows()[DEFAULT_JUDGE].files[0]
    engine = FakeEngine([*STATEMENTS, {"verdict": 0.9}, {"verdict": 0.6}])
    given = Judge(engine, {"name": file.name, "sha256": file.sha256, "size": 0})
    if way == "judged":
        sample = Faithfulness(given).judged(INPUTS)
    elif way == "compat":
        sample = evaluate([INPUTS], [Faithfulness()], given).judged["faithfulness"][0]
    else:
        folder = None if way == "evaluate" else tmp_path / "run"
        sample = localeval.evaluate([INPUTS], ["faithfulness"], given, folder).samples[0]
        sample = localeval.rescore(tmp_path / "run").samples[0] if way == "rescore" else sample
    raw: Any = sample.records["support"]
    assert [verdict.probability for verdict in raw.verdicts] == [0.9, 0.6]
    assert [verdict["verdict"] for verdict in to_ragas(sample)["support"]["statements"]] == [1, 0]
    assert sample.scores["faithfulness"].value == 1 / 2


# Models


class Closing:
    closed = False

    def close(self) -> None:
        self.closed = True


class ClosingEngine(Closing, FakeEngine):
    """Can answer INPUTS once."""


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, ClosingEngine]]]:
    """What `Judge.load` was asked for, and the engines that it gave."""
    made: list[tuple[Any, ClosingEngine]] = []

    def load(model: Any) -> Judge:
        made.append((model, ClosingEngine(HALF)))
        return fake_judge(made[-1][1])

    monkeypatch.setattr(Judge, "load", load)
    yield made
    compat_metrics.close(compat_metrics.opened())


def test_a_model_is_loaded_when_first_asked_once_for_all_and_freed_by_close(
    loads: list[tuple[Any, ClosingEngine]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = Faithfulness(llm="judge.gguf")
    assert math.isnan(one.invoke({"answer": "Tea grows."}))
    assert ContextRelevance(llm="judge.gguf").invoke({"query": "Tea?", "document_list": []}) == 0.0
    assert loads == []
    for path in ("judge.gguf", tmp_path / "judge.gguf", str(tmp_path / "." / "judge.gguf")):
        assert Faithfulness(llm=path).invoke(INPUTS) == 1 / 2
    with one:
        assert one.invoke(INPUTS) == 1 / 2
    assert [(model, engine.closed) for model, engine in loads] == [("judge.gguf", True)]
    assert Faithfulness().invoke(INPUTS) == one.invoke(INPUTS) == 1 / 2
    assert [model for model, _ in loads] == ["judge.gguf", "qwen2.5-coder-1.5b", "judge.gguf"]


def test_evaluate_frees_what_it_loaded_and_leaves_what_was_open(
    loads: list[tuple[Any, ClosingEngine]],
) -> None:
    class Interrupted(Faithfulness):
        def judged(self, *args: Any, **options: Any) -> Any:
            raise KeyboardInterrupt

    mine, own = Faithfulness(llm="mine.gguf", name="mine"), ClosingEngine(HALF)
    mine.invoke(ROWS[0])
    metrics = [mine, Faithfulness(), Faithfulness(fake_judge(own), name="own")]
    result = evaluate(ROWS[:1], metrics, llm="given.gguf")
    assert repr(result) == "{'mine': 0.5000, 'faithfulness': 0.5000, 'own': 0.5000}"
    with pytest.raises(KeyboardInterrupt):
        evaluate(ROWS, [Interrupted()], llm="given.gguf")
    told = [(model, engine.closed) for model, engine in loads]
    assert told == [("mine.gguf", False), ("given.gguf", True), ("given.gguf", True)]
    assert not own.closed


@pytest.mark.parametrize("bad", ["", SimpleNamespace(embed_query=len)])
def test_a_model_of_another_library_and_an_empty_name_are_refused(bad: Any) -> None:
    for call in (
        lambda: Faithfulness(llm=bad),
        lambda: evaluate(ROWS[:1], [Faithfulness()], llm=bad),
        lambda: AnswerRelevance(embedding_model=bad),
    ):
        with pytest.raises(InputError, match=r"(llm|embedding_model) is"):
            call()


def test_the_embedding_model_is_a_name_a_path_or_an_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    class ClosingEmbedder(Closing, FakeEmbedder):
        pass

    asked: list[Any] = []
    embedder = ClosingEmbedder(VECTORS)

    def load(*given: Any, **how: Any) -> Any:
        asked.append((given, how))
        return embedder

    monkeypatch.setattr(Embedder, "load", load)
    given = fake_judge(Asking([QUESTION]))
    assert AnswerRelevance(given, embedding_model=FakeEmbedder(VECTORS)).invoke(PAIR) == pytest.approx(1.0)
    one, other = AnswerRelevance(given, "bge-m3"), AnswerRelevance(given, "bge-m3")
    assert one.invoke(PAIR) == other.invoke(PAIR) == pytest.approx(1.0)
    assert asked == [(("bge-m3",), {"threads": given.engine.settings.n_threads})]
    one.close()
    assert embedder.closed


def test_another_device_or_batch_size_opens_the_judges_classifier_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Opened(Closing, FakeClassifier):
        def __init__(self, model: str, **how: Any) -> None:
            super().__init__(BOTH)
            self.source, self.how = model, how

    made: list[Opened] = []

    def load(*given: Any, **how: Any) -> Any:
        made.append(Opened(*given, **how))
        return made[-1]

    monkeypatch.setattr(Classifier, "load", load)
    for own in ("hhem-2.1-open", Opened("hhem-2.1-open")):
        given = fake_judge(FakeEngine(STATEMENTS))
        given.companions = AuxiliaryModels(FakeEmbedder({}), own)
        with FaithfulnesswithHHEM(given, device="cuda", batch_size=4) as metric:
            assert metric.invoke(INPUTS) == metric.invoke(INPUTS) == 2 / 2
        assert (made[-1].source, made[-1].closed) == ("hhem-2.1-open", True)
        assert made[-1].how == {"device": "cuda", "batch_size": 4, "threads": given.engine.settings.n_threads}
    made.clear()
    fake = fake_judge(FakeEngine(STATEMENTS), classifier=FakeClassifier(BOTH))
    with pytest.raises(InputError, match="FakeClassifier"):
        FaithfulnesswithHHEM(fake, device="cuda").invoke(INPUTS)
    assert made == []


def test_importing_it_loads_no_model_library_and_no_ragas() -> None:
    heavy = "{'ragas', 'pandas', 'torch', 'llama_cpp', 'transformers'}"
    code = f"import sys, localeval.compat; print({heavy} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\n"
