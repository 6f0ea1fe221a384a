"""The metrics as Runnables, in chains of the real LangChain with a fake chat model."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

from localeval import InputError, Judge
from localeval.compat import AnswerRelevance, FactualCorrectness, Faithfulness, FaithfulnesswithHHEM
from tests.commands import said
from tests.originals import HALF, INPUTS, PAIR, judge
from tests.steady import SteadyEngine, steady_judge

DOCUMENTS = [Document(page_content=text) for text in INPUTS["document_list"]]


def steady() -> Judge:
    return steady_judge(SteadyEngine())


def chain_that_answers(*answers: str, parsed: bool = True) -> Any:
    """A retrieval chain: question in; question, documents and answer out."""
    model = FakeListChatModel(responses=list(answers))
    answer: Any = ChatPromptTemplate.from_template("Answer {question} from {context}.") | model
    if parsed:
        answer = answer | StrOutputParser()
    retriever: Any = RunnableLambda(lambda inputs: DOCUMENTS)
    return RunnablePassthrough.assign(context=retriever).assign(answer=answer)


class Seen(BaseCallbackHandler):
    """Keeps the name, tags and metadata of each chain that starts, and each output of one that ends."""

    def __init__(self) -> None:
        self.started: list[str | None] = []
        self.tags: list[str] = []
        self.metadata: dict[str, Any] = {}
        self.outputs: list[Any] = []
        self.errors: list[BaseException] = []

    def on_chain_start(self, serialized: Any, inputs: Any, **details: Any) -> None:
        self.started.append(details.get("name"))
        self.tags.extend(details.get("tags") or [])
        self.metadata.update(details.get("metadata") or {})

    def on_chain_end(self, outputs: Any, **details: Any) -> None:
        self.outputs.append(outputs)

    def on_chain_error(self, error: BaseException, **details: Any) -> None:
        self.errors.append(error)


def test_a_chain_ends_in_a_metric_that_scores_its_answer_against_its_documents() -> None:
    chain = chain_that_answers(INPUTS["answer"]) | Faithfulness(llm=judge(*HALF))
    assert chain.invoke({"question": "Where is tea grown?"}) == 1 / 2


def test_an_answer_that_is_still_a_message_of_the_model_is_read_as_its_text() -> None:
    chain = chain_that_answers(INPUTS["answer"], parsed=False) | Faithfulness(llm=judge(*HALF))
    assert chain.invoke({"question": "Where is tea grown?"}) == 1 / 2


def test_the_names_of_a_retrieval_chain_are_read() -> None:
    outputs = {"input": "Where is tea grown?", "context": DOCUMENTS, "answer": INPUTS["answer"]}
    assert Faithfulness(judge(*HALF)).invoke(outputs) == 1 / 2


def test_the_names_of_an_older_retrieval_chain_are_read() -> None:
    outputs = {"query": "Where is tea grown?", "result": INPUTS["answer"], "source_documents": DOCUMENTS}
    assert Faithfulness(judge(*HALF)).invoke(outputs) == 1 / 2


def test_a_field_under_its_own_name_goes_before_the_name_of_a_chain() -> None:
    outputs = {**INPUTS, "context": [Document(page_content="Coffee is grown in Kodagu.")]}
    assert Faithfulness(judge(*HALF)).invoke(outputs) == 1 / 2


def test_a_chain_that_hands_over_only_its_answer_is_refused() -> None:
    model = FakeListChatModel(responses=["Tea."])
    assert "is no sample" in said(InputError, (model | Faithfulness(judge())).invoke, "Where?")


EIGHT = [
    {
        "question": f"Where is tea number {n} grown?",
        **INPUTS,
        "answer": f"Tea {n} is grown in Assam. It is old.",
    }
    for n in range(8)
]


def test_a_batch_gives_the_scores_of_its_samples_one_by_one_in_their_order() -> None:
    metric = Faithfulness(steady())
    one_by_one = [metric.invoke(inputs) for inputs in EIGHT]
    assert len(set(one_by_one)) > 1
    assert Faithfulness(steady()).batch(EIGHT) == one_by_one
    assert asyncio.run(Faithfulness(steady()).abatch(EIGHT)) == one_by_one


def test_a_batch_through_a_whole_chain_scores_each_question_with_its_own_answer() -> None:
    answers = [inputs["answer"] for inputs in EIGHT]
    chain = chain_that_answers(*answers) | Faithfulness(steady())
    questions = [{"question": inputs["question"]} for inputs in EIGHT]
    scores = chain.batch(questions, {"max_concurrency": 1})
    assert scores == [Faithfulness(steady()).invoke(inputs) for inputs in EIGHT]


def test_two_metrics_run_in_parallel_on_one_output() -> None:
    shared = steady()
    both = RunnableParallel(
        faithful=Faithfulness(shared), correct=FactualCorrectness(shared, mode="precision")
    )
    inputs = {**EIGHT[0], "reference": "Tea is grown in Assam."}
    scores = both.invoke(inputs)
    assert scores == {
        "faithful": Faithfulness(steady()).invoke(inputs),
        "correct": FactualCorrectness(steady(), mode="precision").invoke(inputs),
    }
    assert asyncio.run(both.ainvoke(inputs)) == scores


def test_callbacks_see_the_metric_by_its_name_and_its_score() -> None:
    seen = Seen()
    config = {"callbacks": [seen], "tags": ["nightly"], "metadata": {"release": 3}}
    Faithfulness(judge(*HALF), name="faithful").invoke(INPUTS, config)
    assert (seen.started, seen.outputs) == (["faithful"], [1 / 2])
    assert (seen.tags, seen.metadata["release"]) == (["nightly"], 3)


def test_callbacks_see_the_metric_of_an_awaited_call() -> None:
    seen = Seen()
    asyncio.run(Faithfulness(judge(*HALF)).ainvoke(INPUTS, {"callbacks": [seen]}))
    assert (seen.started, seen.outputs) == (["faithfulness"], [1 / 2])


def test_callbacks_of_a_chain_see_the_metric_as_its_last_step() -> None:
    seen = Seen()
    chain = chain_that_answers(INPUTS["answer"]) | Faithfulness(judge(*HALF))
    chain.invoke({"question": "Where is tea grown?"}, {"callbacks": [seen]})
    assert seen.started[-1] == "faithfulness"
    assert seen.outputs[-2:] == [1 / 2, 1 / 2]


def test_callbacks_see_an_error() -> None:
    seen = Seen()
    with pytest.raises(InputError):
        Faithfulness(judge()).invoke("no sample", {"callbacks": [seen]})
    assert [type(error) for error in seen.errors] == [InputError]


def test_callbacks_may_be_given_as_in_ragas() -> None:
    seen = Seen()
    metric = Faithfulness(judge(*HALF))
    assert metric.single_turn_score(INPUTS, callbacks=[seen]) == 1 / 2
    assert asyncio.run(metric.single_turn_ascore(INPUTS, callbacks=[seen])) == 1 / 2
    assert seen.outputs == [1 / 2, 1 / 2]


def test_a_config_and_options_can_be_bound_to_a_metric() -> None:
    seen = Seen()
    metric = Faithfulness(judge(*HALF)).with_config(run_name="nightly", callbacks=[seen])
    assert metric.bind(threshold=0.1).invoke(INPUTS) == 1.0
    assert seen.started == ["nightly"]


def test_a_number_of_questions_can_be_bound_to_answer_relevance() -> None:
    metric = AnswerRelevance(steady()).bind(num_of_gen=0)
    assert "questions is 0" in said(InputError, metric.invoke, PAIR)


def test_a_metric_tells_the_types_of_its_input_and_output() -> None:
    metric = FaithfulnesswithHHEM(judge())
    assert metric.get_output_jsonschema()["type"] == "number"
    assert metric.get_name() == "faithfulness_with_hhem"


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_localeval_itself_never_imports_langchain() -> None:
    code = """
import sys
import localeval
[getattr(localeval, name) for name in localeval.__all__]
print([name for name in sys.modules if name.startswith(("langchain", "langsmith"))])
"""
    assert run_python(code) == "[]\n"


def test_without_langchain_a_metric_is_called_as_ever_and_a_config_is_refused() -> None:
    code = """
import asyncio, sys
sys.modules["langchain_core"] = None
from localeval import InputError
from localeval.compat import Faithfulness
from tests.originals import HALF, INPUTS, judge
metric = Faithfulness(judge(*HALF))
print(metric.invoke(INPUTS), asyncio.run(metric.ainvoke(INPUTS)), hasattr(metric, "batch"))
for call in (metric.invoke, lambda *arguments: asyncio.run(metric.ainvoke(*arguments))):
    try:
        call(INPUTS, {"callbacks": []} | {"tags": ["a"]})
    except InputError as error:
        print("pip install 'localeval[langchain]'" in str(error))
"""
    assert run_python(code) == "0.5 0.5 False\nTrue\nTrue\n"
