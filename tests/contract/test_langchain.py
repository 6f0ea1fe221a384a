"""The metrics of `localeval.compat` as Runnables of LangChain, in real chains."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from localeval import Judge, evaluate
from localeval.compat import AnswerRelevance, ContextRelevance, Faithfulness
from tests.originals import CONTEXTS, HALF, INPUTS, QUESTION, judge
from tests.steady import SteadyEngine, steady_judge

runnables: Any = pytest.importorskip("langchain_core.runnables")
callbacks: Any = pytest.importorskip("langchain_core.callbacks")
ANSWERS = [f"Tea number {n} is grown in Assam. It was planted in {1830 + n}. It sings." for n in range(8)]


def rag() -> Any:
    """A chain that answers a question by a model's text: prompt, model, parser."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    model = GenericFakeChatModel(messages=iter([AIMessage(content=text) for text in ANSWERS]))
    answer = ChatPromptTemplate.from_messages([("human", "{query}")]) | model | StrOutputParser()
    return runnables.RunnablePassthrough.assign(answer=answer)


def sample(answer: str) -> dict[str, Any]:
    return {"query": QUESTION, "document_list": CONTEXTS, "answer": answer}


def scores(name: str, given: Judge, **options: Any) -> list[Any]:
    result = evaluate([sample(answer) for answer in ANSWERS], [name], given, **options)
    return [row[name].value for row in result.scores]


def test_a_metric_ends_a_chain_with_the_score_of_evaluate() -> None:
    chain = rag() | Faithfulness(llm=steady_judge(SteadyEngine()))
    question = {"query": QUESTION, "document_list": CONTEXTS}
    found = [chain.invoke(question), asyncio.run(chain.ainvoke(question)), *chain.stream(question)]
    expected = scores("faithfulness", steady_judge(SteadyEngine()))
    assert found == expected[:3]
    assert len(set(expected)) > 1


def test_a_batch_has_the_scores_of_evaluate_in_its_order_by_threads_and_by_tasks() -> None:
    inputs = [sample(answer) for answer in ANSWERS]
    expected = scores("faithfulness", steady_judge(SteadyEngine()))
    metric = Faithfulness(llm=steady_judge(SteadyEngine()))
    assert metric.batch(inputs) == asyncio.run(metric.abatch(inputs)) == expected
    assert (runnables.RunnableLambda(sample) | metric).batch(ANSWERS) == expected
    assert metric.bind(threshold=0.0).batch(inputs) == [1.0] * 8
    told = metric.batch([inputs[0], "Tea."], return_exceptions=True)
    assert (told[0], type(told[1]).__name__) == (expected[0], "InputError")


def test_two_metrics_run_side_by_side_and_what_follows_takes_their_scores() -> None:
    given = steady_judge(SteadyEngine())
    metrics = {"faithful": Faithfulness(llm=given), "relevant": AnswerRelevance(llm=given, questions=3)}
    chain = runnables.RunnableLambda(sample) | runnables.RunnableParallel(metrics)
    faithful = scores("faithfulness", steady_judge(SteadyEngine()))
    relevant = scores("answer_relevance", steady_judge(SteadyEngine()), relevance="draws", questions=3)
    pairs = [{"faithful": f, "relevant": r} for f, r in zip(faithful, relevant, strict=True)]
    assert chain.batch(ANSWERS) == pairs
    assert (chain | (lambda both: min(both.values()))).invoke(ANSWERS[0]) == min(faithful[0], relevant[0])


class Told(callbacks.BaseCallbackHandler):  # type: ignore[misc]
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
    told, metric = Told(), Faithfulness(llm=judge(*HALF))
    config = {"callbacks": [told]}
    if way == "bound":
        metric.with_config(config).invoke(INPUTS)
    else:
        found = getattr(metric, way)(INPUTS, config)
        asyncio.run(found) if way == "ainvoke" else found
    assert told.events == [("start", "faithfulness"), ("end", 1 / 2)]
    with pytest.raises(Exception, match="faithfulness"):
        metric.invoke("Tea.", {**config, "run_name": "mine"})
    assert told.events[2:] == [("start", "mine"), ("error", "InputError")]


@pytest.mark.parametrize("most", [1, 3])
def test_a_batch_takes_no_more_threads_than_max_concurrency_says(most: int) -> None:
    threads = set[int]()

    class Seen(ContextRelevance):
        def judged(self, *args: Any, **options: Any) -> Any:
            threads.add(threading.get_ident())
            return super().judged(*args, **options)

    metric = Seen(llm=steady_judge(SteadyEngine()))
    metric.batch([sample(answer) for answer in ANSWERS], {"max_concurrency": most})
    assert 1 <= len(threads) <= most


def test_a_chain_can_be_drawn_and_asked_for_its_schemas() -> None:
    chain = runnables.RunnableLambda(sample) | Faithfulness()
    assert "faithfulness" in chain.get_graph().draw_mermaid()
    assert chain.get_output_jsonschema()["type"] == "number"
