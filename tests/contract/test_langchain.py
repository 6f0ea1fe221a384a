"""The metrics of `localeval.compat` as Runnables of LangChain, in real chains."""

import asyncio
from typing import Any

import pytest

from localeval import evaluate
from localeval.compat import Faithfulness
from tests.originals import CONTEXTS, HALF, INPUTS, QUESTION, judge
from tests.steady import SteadyEngine, steady_judge

runnables: Any = pytest.importorskip("langchain_core.runnables")
callbacks: Any = pytest.importorskip("langchain_core.callbacks")
ANSWERS = [f"Tea number {n} is grown in Assam. It was planted in {1830 + n}. It sings." for n in range(8)]


def sample(answer: str) -> dict[str, Any]:
    return {"query": QUESTION, "document_list": CONTEXTS, "answer": answer}


def test_a_chain_and_a_batch_have_the_scores_of_evaluate_by_threads_and_by_tasks() -> None:
    inputs = [sample(answer) for answer in ANSWERS]
    result = evaluate(inputs, ["faithfulness"], steady_judge(SteadyEngine()))
    expected = [scores["faithfulness"].value for scores in result.scores]
    assert len(set(expected)) > 1
    metric = Faithfulness(llm=steady_judge(SteadyEngine()))
    chain = runnables.RunnableLambda(sample) | metric
    scores = [chain.invoke(ANSWERS[0]), asyncio.run(chain.ainvoke(ANSWERS[1])), *chain.stream(ANSWERS[2])]
    assert scores == expected[:3]
    assert metric.batch(inputs) == asyncio.run(metric.abatch(inputs)) == chain.batch(ANSWERS) == expected
    assert metric.bind(threshold=0.0).batch(inputs) == [1.0] * 8
    score, error = metric.batch([inputs[0], "Tea."], return_exceptions=True)
    assert (score, type(error).__name__) == (expected[0], "InputError")


class Recorder(callbacks.BaseCallbackHandler):  # type: ignore[misc]
    """Notes the runs that begin, end and fail."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **how: Any) -> None:
        self.events.append(("start", how["name"]))

    def on_chain_end(self, outputs: Any, **how: Any) -> None:
        self.events.append(("end", outputs))

    def on_chain_error(self, error: BaseException, **how: Any) -> None:
        self.events.append(("error", type(error).__name__))


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "bound"])
def test_callbacks_see_the_run_under_the_metrics_name(way: str) -> None:
    recorder, metric = Recorder(), Faithfulness(llm=judge(*HALF))
    config = {"callbacks": [recorder]}
    if way == "bound":
        metric.with_config(config).invoke(INPUTS)
    else:
        result = getattr(metric, way)(INPUTS, config)
        asyncio.run(result) if way == "ainvoke" else result
    assert recorder.events == [("start", "faithfulness"), ("end", 1 / 2)]
    with pytest.raises(Exception, match="faithfulness"):
        metric.invoke("Tea.", {**config, "run_name": "mine"})
    assert recorder.events[2:] == [("start", "mine"), ("error", "InputError")]
