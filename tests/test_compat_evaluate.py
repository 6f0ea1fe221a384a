"""Data sets under the original names: what is read, refused, printed, and cut off by the time limit."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localeval import Score
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
)
from localeval.compat.metric import OriginalMetric
from localeval.engine.interface import EngineError
from localeval.errors import InputError
from localeval.testing import FakeClassifier, FakeEmbedder, FakeEngine, fake_judge
from tests.originals import (
    ANSWER,
    BOTH,
    CONTEXTS,
    CORRECT,
    HALF,
    NEEDED,
    PAIR,
    QUESTION,
    ROWS,
    SINGS,
    VECTORS,
    Asking,
    judge,
)

# Data sets


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


def test_data_sets_that_numbered_their_samples_each_for_itself_can_be_joined() -> None:
    one, other = EvaluationDataset(ROWS), EvaluationDataset(ROWS[:2])
    joined = EvaluationDataset(samples=one.samples[1:] + other.samples)
    assert [s.id for s in joined] == ["2", "3", "1", "4"]
    assert [s.response for s in joined] == [row["response"] for row in [*ROWS[1:], *ROWS[:2]]]
    with pytest.raises(InputError, match="have the same id a"):
        EvaluationDataset([{"id": "a", "answer": "Tea."}] * 2)


def test_a_sample_without_contexts_is_no_zero_in_a_mean() -> None:
    result = evaluate(
        [{"query": QUESTION, "document_list": []}, {"query": QUESTION, "document_list": CONTEXTS}],
        [ContextRelevance(judge(*NEEDED))],
    )
    assert math.isnan(result["context_relevance"][0])
    assert repr(result) == "{'context_relevance': 0.3333}"


def test_what_is_no_data_set_is_refused() -> None:
    wrong: Any = "data.jsonl"
    with pytest.raises(InputError, match=r"samples is a str; give a list of samples"):
        EvaluationDataset(wrong)
    with pytest.raises(InputError, match=r"sample 2: 7 is no sample"):
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


def test_to_pandas_keeps_a_column_of_the_samples_with_the_name_of_a_score(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    (row,) = evaluate([{**ROWS[0], "faithfulness": 1}], [Faithfulness(judge(*HALF))]).to_pandas()
    assert (row["sample_faithfulness"], row["faithfulness"]) == (1, 1 / 2)


# Languages


def test_samples_in_a_language_that_a_model_does_not_read_are_logged_with_their_ids(
    caplog: pytest.LogCaptureFixture,
) -> None:
    texts = {"zh": "茶是绿色的。", "ru": "Чай зелёный.", "en": "Tea is green."}
    rows = [{"id": name, "response": text, "retrieved_contexts": ["Tea."]} for name, text in texts.items()]
    given = fake_judge(FakeEngine([]), classifier=FakeClassifier(dict.fromkeys(texts.values(), 0.9)))
    hhem = FaithfulnesswithHHEM(given, statements="sentences")
    evaluate(rows, [hhem])
    assert [record.getMessage() for record in caplog.records] == [
        "faithfulness_with_hhem: neither English nor Chinese: ru.",
        "faithfulness_with_hhem: HHEM reads English only, and this is another language: zh, ru.",
    ]
    caplog.clear()
    one = Faithfulness(fake_judge(FakeEngine([{"verdict": 0.9}])), statements="sentences")
    assert one.invoke({"answer": texts["ru"], "document_list": ["Tea."]}) == 1
    assert [r.getMessage() for r in caplog.records] == [
        "faithfulness: neither English nor Chinese: this sample."
    ]
    caplog.clear()
    assert hhem.invoke({"answer": texts["en"], "document_list": ["Tea."]}) == 1
    assert not caplog.records


# The time limit


def test_a_judgement_that_failed_is_asked_for_once_with_a_time_limit(slow: Callable[..., Slow]) -> None:
    refused: list[Any] = [EngineError("no")]
    engine = slow([*refused, *HALF], [1] * 4)
    result = evaluate(ROWS[:1], [Faithfulness()], fake_judge(engine), run_config=RunConfig(timeout=9))
    assert result.judged["faithfulness"][0].scores["faithfulness"] == Score.failed("engine_error")
    assert engine.clock == 1


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
