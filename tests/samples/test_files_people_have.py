"""Files as people and other tools write them: each gives the samples that it holds, or a sentence.

The shapes of deepeval 4.3.1, LlamaIndex 0.14.25, ragas 0.4.3 and pandas were written with these packages, and
shortened; the columns of LangSmith 0.15.1 were read from its code, which writes them only with a server.
Those of ragas 0.0, RAGChecker, promptfoo and TruLens follow their documentation.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from localeval import InputError, Sample, read_samples
from localeval.samples.contexts import MAX_LITERAL
from tests.commands import said

QUESTION = "When was the mill built?"
ANSWER = "It was built in 1820."
CONTEXTS = ["The mill dates from 1820.", "It was restored in 1990."]
REFERENCE = "In 1820."
COMPLETE = Sample(
    id="1", user_input=QUESTION, response=ANSWER, retrieved_contexts=CONTEXTS, reference=REFERENCE
)


JUDGED_FIELDS = ("id", "user_input", "response", "retrieved_contexts", "reference")


def fields_of(sample: Sample) -> Sample:
    """The sample as it is judged, without its other columns."""
    return Sample(**{name: getattr(sample, name) for name in JUDGED_FIELDS})


def written(path: Path, value: Any) -> Path:
    """A file with this value in JSON; JSONL where the file is named so."""
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in value))
    else:
        path.write_text(json.dumps(value, indent=1))
    return path


def written_csv(path: Path, header: Sequence[str], *rows: Sequence[str]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


# Contexts, each the value of a column `contexts` in a row of JSONL.

NODES = [
    {
        "node": {"id_": "n1", "text": text, "class_name": "TextNode"},
        "score": 0.9,
        "class_name": "NodeWithScore",
    }
    for text in CONTEXTS
]
LANGCHAIN_DUMP = [
    {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "Document"],
        "kwargs": {"page_content": text},
    }
    for text in CONTEXTS
]


@pytest.mark.parametrize(
    "contexts",
    [
        pytest.param(CONTEXTS, id="a list of texts"),
        pytest.param(str(CONTEXTS), id="a list as pandas writes it"),
        pytest.param(json.dumps(CONTEXTS), id="a list in JSON as text"),
        pytest.param(
            [{"page_content": text, "metadata": {}} for text in CONTEXTS], id="documents of LangChain"
        ),
        pytest.param([{"pageContent": text} for text in CONTEXTS], id="documents of LangChain in JS"),
        pytest.param(LANGCHAIN_DUMP, id="documents that LangChain dumped"),
        pytest.param([{"doc_id": "d1", "text": text} for text in CONTEXTS], id="objects with text"),
        pytest.param([{"content": text, "meta": {}} for text in CONTEXTS], id="objects with content"),
        pytest.param(NODES, id="nodes of LlamaIndex"),
        pytest.param(
            [{"node": {"text_resource": {"text": text}}} for text in CONTEXTS], id="documents of LlamaIndex"
        ),
        pytest.param(json.dumps(NODES), id="objects in JSON as text"),
        pytest.param(str([{"page_content": text} for text in CONTEXTS]), id="objects as pandas writes them"),
    ],
)
def test_contexts_are_read_in_each_form(contexts: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "data.jsonl", [{"answer": ANSWER, "contexts": contexts}])
    (sample,) = read_samples(path)
    assert sample.retrieved_contexts == CONTEXTS


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        pytest.param(CONTEXTS[0], CONTEXTS[:1], id="one text"),
        pytest.param({"page_content": CONTEXTS[0]}, CONTEXTS[:1], id="one document"),
        pytest.param("", None, id="an empty text"),
        pytest.param([], [], id="an empty list"),
    ],
)
def test_one_context_and_none_are_read(contexts: Any, expected: list[str] | None, tmp_path: Path) -> None:
    path = written(tmp_path / "data.jsonl", [{"answer": ANSWER, "contexts": contexts}])
    assert read_samples(path)[0].retrieved_contexts == expected


@pytest.mark.parametrize(
    "contexts",
    [
        pytest.param(np.array(CONTEXTS), id="an array of numpy"),
        pytest.param(np.array(CONTEXTS, dtype=object), id="an array of objects"),
        pytest.param(pd.Series(CONTEXTS), id="a series of pandas"),
        pytest.param([SimpleNamespace(page_content=text) for text in CONTEXTS], id="documents in Python"),
        pytest.param(
            [SimpleNamespace(node=SimpleNamespace(text=text), score=0.9) for text in CONTEXTS],
            id="nodes in Python",
        ),
    ],
)
def test_contexts_of_python_are_read(contexts: Any) -> None:
    assert read_samples([{"answer": ANSWER, "contexts": contexts}])[0].retrieved_contexts == CONTEXTS


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("[Document(page_content='The mill')]", id="documents as Python prints them"),
        pytest.param("[NodeWithScore(node=TextNode(id_='n1'))]", id="nodes as Python prints them"),
        pytest.param("array(['The mill'], dtype=object)", id="an array as Python prints it"),
        pytest.param("['The mill' ... 'in 1820']", id="an array that numpy shortened"),
        pytest.param("[{'page_content': 'The mill'", id="a list that was cut"),
        pytest.param(str([{"text": "a" * MAX_LITERAL}]), id="a list of objects that is too long"),
    ],
)
def test_a_text_that_is_part_of_python_is_refused_with_what_to_write(cell: str) -> None:
    message = said(InputError, read_samples, [{"answer": ANSWER, "contexts": cell}])
    assert 'write the list in JSON, as ["first text", "second text"]' in message


# References.


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param([REFERENCE], id="a list of one"),
        pytest.param(np.array([REFERENCE]), id="an array of one"),
        pytest.param(str([REFERENCE]), id="a list of one as pandas writes it"),
        pytest.param(json.dumps([REFERENCE]), id="a list of one in JSON as text"),
    ],
)
@pytest.mark.parametrize("column", ["reference", "ground_truth", "ground_truths"])
def test_a_list_of_one_reference_is_read(reference: Any, column: str) -> None:
    (sample,) = read_samples([{"answer": ANSWER, column: reference}])
    assert sample.reference == REFERENCE


def test_a_list_of_several_references_is_refused_with_what_to_do() -> None:
    message = said(InputError, read_samples, [{"answer": ANSWER, "ground_truths": ["In 1820.", "1820"]}])
    assert "ground_truths holds 2 texts, and a reference is one; keep one of them, or join them" in message


def test_an_empty_list_of_references_is_a_missing_one() -> None:
    assert read_samples([{"answer": ANSWER, "ground_truths": []}])[0].reference is None


# Rows of other tools that hold the complete sample.

DEEPEVAL_GOLDEN = {
    "input": QUESTION,
    "actual_output": ANSWER,
    "expected_output": REFERENCE,
    "retrieval_context": CONTEXTS,
    "context": ["Built in 1820."],
    "name": None,
    "comments": None,
    "source_file": "mill.pdf",
}
RAGCHECKER_RESULT = {
    "query_id": "000",
    "query": QUESTION,
    "gt_answer": REFERENCE,
    "response": ANSWER,
    "retrieved_context": [{"doc_id": "d1", "text": text} for text in CONTEXTS],
}
PROMPTFOO_RESULT = {
    "promptIdx": 0,
    "testIdx": 0,
    "prompt": {"raw": "Answer.", "label": "Answer."},
    "vars": {"query": QUESTION, "context": CONTEXTS, "reference": REFERENCE, "language": "en"},
    "response": {"output": ANSWER, "cached": False, "tokenUsage": {"total": 9}},
    "success": True,
}
TRULENS_RECORD = {
    "app_name": "mill",
    "record_id": "record_1",
    "input": QUESTION,
    "output": ANSWER,
    "Context Relevance": 0.9,
    "Context Relevance_calls": [{"args": {"question": QUESTION, "context": c}, "ret": 0.9} for c in CONTEXTS],
}
LLAMAINDEX_RESPONSE = {
    "query": QUESTION,
    "response": ANSWER,
    "source_nodes": NODES,
    "reference_answer": REFERENCE,
    "metadata": None,
}
LANGSMITH_CHAT = {
    "inputs": {
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    },
    "outputs": {"output": {"type": "ai", "content": ANSWER}, "documents": CONTEXTS},
    "reference_outputs": {"messages": [{"role": "assistant", "content": REFERENCE}]},
}
LANGSMITH_FLAT = {
    "inputs.question": QUESTION,
    "outputs.answer": ANSWER,
    "outputs.documents": CONTEXTS,
    "error": None,
    "reference.answer": REFERENCE,
    "feedback.correctness": 1.0,
    "execution_time": 0.5,
    "example_id": "e1",
    "id": "1",
}
RAGAS_OLD = {"question": QUESTION, "answer": ANSWER, "contexts": CONTEXTS, "ground_truths": [REFERENCE]}
OTHER_CASES = {
    "Question": QUESTION,
    "ANSWER": ANSWER,
    "Retrieved Contexts": CONTEXTS,
    "groundTruth": REFERENCE,
}


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(RAGAS_OLD, id="ragas 0.0"),
        pytest.param(OTHER_CASES, id="names in other cases"),
        pytest.param(DEEPEVAL_GOLDEN, id="deepeval"),
        pytest.param(RAGCHECKER_RESULT, id="RAGChecker"),
        pytest.param(PROMPTFOO_RESULT, id="promptfoo"),
        pytest.param(LLAMAINDEX_RESPONSE, id="LlamaIndex"),
        pytest.param(LANGSMITH_CHAT, id="LangSmith with chat messages"),
        pytest.param(LANGSMITH_FLAT, id="LangSmith with a column a value"),
    ],
)
@pytest.mark.parametrize("name", ["data.jsonl", "data.json"])
def test_a_row_of_another_tool_is_read_and_what_was_taken_is_said(
    row: dict[str, Any], name: str, tmp_path: Path
) -> None:
    samples = read_samples(written(tmp_path / name, [row]))
    assert fields_of(samples[0]) == COMPLETE
    taken = samples.guesses[0]
    assert taken.startswith("read user_input from ")
    assert "retrieved_contexts from " in taken


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        pytest.param(
            DEEPEVAL_GOLDEN,
            {"reference_contexts": ["Built in 1820."], "source_file": "mill.pdf"},
            id="deepeval",
        ),
        pytest.param(RAGCHECKER_RESULT, {"query_id": "000"}, id="RAGChecker"),
        pytest.param(
            PROMPTFOO_RESULT,
            {
                "promptIdx": 0,
                "testIdx": 0,
                "prompt": {"raw": "Answer.", "label": "Answer."},
                "success": True,
                "vars.language": "en",
                "response.cached": False,
                "response.tokenUsage": {"total": 9},
            },
            id="promptfoo",
        ),
        pytest.param(
            LANGSMITH_FLAT,
            {"feedback.correctness": 1.0, "execution_time": 0.5, "example_id": "e1"},
            id="LangSmith with a column a value",
        ),
    ],
)
def test_the_other_columns_of_a_tool_are_kept(row: dict[str, Any], kept: dict[str, Any]) -> None:
    (sample,) = read_samples([row])
    columns = {name: value for name, value in sample.model_dump().items() if name not in JUDGED_FIELDS}
    assert {name: value for name, value in columns.items() if value is not None} == kept


def test_trulens_contexts_are_those_that_a_feedback_function_was_called_with(tmp_path: Path) -> None:
    in_memory = pd.DataFrame([TRULENS_RECORD])
    in_memory.to_csv(tmp_path / "records.csv", index=False)
    for source in (in_memory, tmp_path / "records.csv", written(tmp_path / "r.jsonl", [TRULENS_RECORD])):
        (sample,) = read_samples(source)
        assert sample.user_input == QUESTION
        assert sample.response == ANSWER
        assert sample.retrieved_contexts == CONTEXTS


# Files of other tools.


def test_the_csv_of_deepeval_is_read_with_its_bars_between_contexts(tmp_path: Path) -> None:
    header = ["input", "actual_output", "expected_output", "retrieval_context", "context", "name"]
    path = written_csv(
        tmp_path / "goldens.csv",
        header,
        [QUESTION, ANSWER, REFERENCE, "|".join(CONTEXTS), "Built in 1820.", ""],
        ["Who built it?", "", "", "", "", ""],
    )
    first, second = read_samples(path)
    assert fields_of(first) == COMPLETE
    assert second.user_input == "Who built it?"


def test_the_test_run_of_deepeval_is_read_beside_its_scores(tmp_path: Path) -> None:
    case = {
        "name": "test_case_0",
        "input": QUESTION,
        "actualOutput": ANSWER,
        "expectedOutput": REFERENCE,
        "retrievalContext": CONTEXTS,
        "metricsData": [],
    }
    scores = [{"metric": "Faithfulness", "scores": [1.0]}]
    path = written(tmp_path / "run.json", {"testCases": [case], "metricsScores": scores})
    assert fields_of(read_samples(path)[0]) == COMPLETE


def test_the_results_of_promptfoo_are_found_inside_of_its_file(tmp_path: Path) -> None:
    results = {
        "version": 3,
        "prompts": [{"raw": "Answer.", "label": "Answer."}],
        "results": [PROMPTFOO_RESULT],
        "stats": {"successes": 1},
    }
    config = {"tests": [{"vars": PROMPTFOO_RESULT["vars"]}], "prompts": ["Answer."]}
    path = written(tmp_path / "output.json", {"evalId": "e1", "results": results, "config": config})
    (sample,) = read_samples(path)
    assert fields_of(sample) == COMPLETE


def test_the_results_of_ragchecker_are_found_in_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "checking_inputs.json", {"results": [RAGCHECKER_RESULT]})
    assert fields_of(read_samples(path)[0]) == COMPLETE


def test_one_response_of_llamaindex_is_one_sample(tmp_path: Path) -> None:
    path = written(tmp_path / "response.json", LLAMAINDEX_RESPONSE)
    assert [fields_of(sample) for sample in read_samples(path)] == [COMPLETE]


def test_the_csv_of_langsmith_results_is_read(tmp_path: Path) -> None:
    # `get_test_results` calls the inputs so.
    row = {name.replace("inputs.", "input."): value for name, value in LANGSMITH_FLAT.items()}
    pd.DataFrame([row]).to_csv(tmp_path / "results.csv")
    assert fields_of(read_samples(tmp_path / "results.csv")[0]) == COMPLETE


# Conversations of ragas and LangSmith.

ONE_TURN = [
    {"content": QUESTION, "metadata": None, "type": "human"},
    {
        "content": "I look it up.",
        "metadata": None,
        "type": "ai",
        "tool_calls": [{"name": "search", "args": {}}],
    },
    {"content": CONTEXTS[0], "metadata": None, "type": "tool"},
    {"content": ANSWER, "metadata": None, "type": "ai", "tool_calls": None},
]


def test_a_multi_turn_sample_with_one_turn_is_read_with_what_its_tools_returned(tmp_path: Path) -> None:
    path = written(tmp_path / "data.jsonl", [{"user_input": ONE_TURN, "reference": REFERENCE}])
    samples = read_samples(path)
    expected = COMPLETE.model_copy(update={"retrieved_contexts": CONTEXTS[:1]})
    assert fields_of(samples[0]) == expected
    assert samples.guesses == [
        "read response from user_input, retrieved_contexts from user_input",
        "user_input: 1 cell with messages, read as their texts",
    ]


def test_a_multi_turn_sample_that_ragas_wrote_as_csv_is_read_as_messages(tmp_path: Path) -> None:
    path = written_csv(tmp_path / "data.csv", ["user_input", "reference"], [str(ONE_TURN), REFERENCE])
    (sample,) = read_samples(path)
    assert sample.user_input == QUESTION
    assert sample.response == ANSWER


SECOND_TURN = [
    {"content": "And who built it?", "type": "human"},
    {"content": "Ann built it.", "type": "tool"},
    {"content": "Ann.", "type": "ai"},
]


def test_of_a_multi_turn_sample_the_last_turn_is_judged_and_the_others_are_its_history(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "data.jsonl", [{"user_input": ONE_TURN + SECOND_TURN}])
    samples = read_samples(path)
    assert samples[0].user_input == "And who built it?"
    assert samples[0].response == "Ann."
    assert samples[0].retrieved_contexts == ["Ann built it."]
    assert samples[0].model_extra == {
        "history": [
            {"role": "user", "content": QUESTION},
            {"role": "assistant", "content": "I look it up."},
            {"role": "assistant", "content": ANSWER},
        ]
    }
    assert samples.guesses == [
        "read response from user_input, retrieved_contexts from user_input, history from user_input",
        "user_input: 1 cell with messages, read as their texts",
    ]


@pytest.mark.parametrize(
    "earlier",
    [
        pytest.param([{"role": "user", "content": "Who?"}, {"role": "ai", "content": "Ann."}], id="messages"),
        pytest.param([["Who?", "Ann."]], id="pairs of a question and its answer"),
        pytest.param("[{'role': 'user', 'content': 'Who?'}, {'role': 'ai', 'content': 'Ann.'}]", id="text"),
    ],
)
@pytest.mark.parametrize("column", ["history", "chat_history"])
def test_earlier_messages_are_read_from_a_column_of_their_own(column: str, earlier: Any) -> None:
    (sample,) = read_samples([{"user_input": "Why?", "response": "So.", column: earlier}])
    assert sample.earlier_messages() == (("user", "Who?"), ("assistant", "Ann."))


def test_a_column_history_that_holds_no_messages_is_kept_and_read_by_nobody() -> None:
    (sample,) = read_samples([{"user_input": "Why?", "response": "So.", "history": "bought twice"}])
    assert sample.earlier_messages() == ()
    assert sample.model_extra == {"history": "bought twice"}


def test_the_last_answer_in_the_messages_of_langsmith_is_the_response() -> None:
    row = {
        "inputs": {"messages": [{"role": "user", "content": [{"type": "text", "text": QUESTION}]}]},
        "outputs": {"messages": ONE_TURN},
    }
    (sample,) = read_samples([row])
    assert sample.user_input == QUESTION
    assert sample.response == ANSWER
    assert sample.retrieved_contexts == CONTEXTS[:1]


ASKED = {"role": "user", "content": QUESTION}
ANSWERED = {"role": "assistant", "content": ANSWER}
IN_LANGCHAIN = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain", "schema", "messages", "AIMessage"],
    "kwargs": {"content": ANSWER},
}


@pytest.mark.parametrize(
    "outputs",
    [
        pytest.param({"choices": [{"index": 0, "message": ANSWERED}], "model": "m"}, id="choices of OpenAI"),
        pytest.param(
            {"generations": [[{"text": ANSWER, "message": IN_LANGCHAIN}]]}, id="generations of LangChain"
        ),
        pytest.param(ANSWERED, id="a message"),
    ],
)
@pytest.mark.parametrize("messages", [[ASKED], [[ASKED]]], ids=["messages", "a batch of one"])
def test_what_a_chat_model_traced_by_langsmith_said_is_the_response(messages: Any, outputs: Any) -> None:
    (sample,) = read_samples([{"inputs": {"messages": messages}, "outputs": outputs}])
    assert (sample.user_input, sample.response) == (QUESTION, ANSWER)


@pytest.mark.parametrize("write", [json.dumps, repr], ids=["JSON", "as Python writes them"])
def test_objects_of_langsmith_in_the_cells_of_a_csv_file_are_read(write: Any, tmp_path: Path) -> None:
    row = {
        "inputs": write({"question": QUESTION}),
        "outputs": write({"answer": ANSWER, "contexts": CONTEXTS}),
        "reference_outputs": write({"answer": "So."}),
    }
    pd.DataFrame([row]).to_csv(tmp_path / "runs.csv", index=False)
    (sample,) = read_samples(tmp_path / "runs.csv")
    assert (sample.user_input, sample.response, sample.reference) == (QUESTION, ANSWER, "So.")
    assert sample.retrieved_contexts == CONTEXTS


DEEPEVAL_CONVERSATION: dict[str, Any] = {
    "scenario": "A visitor asks.",
    "turns": [
        {"role": "user", "content": "Who?", "retrieval_context": None},
        {"role": "assistant", "content": "Ann.", "retrieval_context": ["Ann won."]},
        {"role": "user", "content": QUESTION, "retrieval_context": None},
        {"role": "assistant", "content": ANSWER, "retrieval_context": CONTEXTS},
    ],
    "expected_outcome": "The visitor knows.",
    "context": None,
}


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_of_a_conversation_of_deepeval_the_last_turn_is_read_with_its_contexts(
    suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"conversations.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps([DEEPEVAL_CONVERSATION]), encoding="utf-8")
    else:
        cells = {**DEEPEVAL_CONVERSATION, "turns": json.dumps(DEEPEVAL_CONVERSATION["turns"])}
        pd.DataFrame([cells]).to_csv(path, index=False)
    (sample,) = read_samples(path)
    assert (sample.user_input, sample.response) == (QUESTION, ANSWER)
    assert sample.retrieved_contexts == CONTEXTS
    assert sample.earlier_messages() == (("user", "Who?"), ("assistant", "Ann."))
    assert (sample.model_extra or {})["expected_outcome"] == "The visitor knows."


def test_a_folder_is_refused_with_the_way_to_make_a_file_of_a_data_set(tmp_path: Path) -> None:
    assert "load_from_disk(FOLDER).to_json(FILE)" in said(InputError, read_samples, tmp_path)


# One list for each column.

COLUMNS = {"question": [QUESTION, "Who?"], "answer": [ANSWER, "Ann."], "contexts": [CONTEXTS, []]}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(COLUMNS, id="as a dict of lists"),
        pytest.param(json.loads(pd.DataFrame(COLUMNS).to_json()), id="as pandas writes columns"),
        pytest.param(json.loads(pd.DataFrame(COLUMNS).to_json(orient="split")), id="as pandas splits them"),
    ],
)
def test_one_list_for_each_column_is_read(data: Any, tmp_path: Path) -> None:
    first, second = read_samples(written(tmp_path / "data.json", data))
    assert first == COMPLETE.model_copy(update={"reference": None})
    assert second.response == "Ann."


def test_one_list_for_each_column_is_read_in_python() -> None:
    assert [sample.response for sample in read_samples(COLUMNS)] == [ANSWER, "Ann."]


def test_lists_of_different_length_are_no_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "data.json", {"question": [QUESTION], "answer": []})
    assert "holds no list of objects" in said(InputError, read_samples, path)


# Excel.


def excel(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    """An Excel table with these sheets, each a list of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def test_an_excel_table_is_read(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        ["ID", "Question", "Answer", "Contexts", "Ground truth", "Year"],
        [7, QUESTION, ANSWER, json.dumps(CONTEXTS), REFERENCE, 1820],
        [None, None, None, None, None, None],
        [8, "How old?", 200, CONTEXTS[0], None, None],
    ]
    first, second = read_samples(excel(tmp_path / "data.xlsx", Answers=rows))
    assert fields_of(first) == COMPLETE.model_copy(update={"id": "7"})
    assert first.model_extra == {"Year": 1820}
    assert second.response == "200"
    assert second.retrieved_contexts == CONTEXTS[:1]


def test_sheets_that_are_not_read_are_said(tmp_path: Path) -> None:
    path = excel(tmp_path / "data.xlsx", Answers=[["answer"], [ANSWER]], Notes=[["note"], ["old"]])
    assert "the sheet Answers is read, and not Notes" in read_samples(path).guesses


def test_cells_of_an_excel_table_under_no_name_are_said(tmp_path: Path) -> None:
    path = excel(tmp_path / "data.xlsx", Answers=[["answer", None], [ANSWER, "lost"]])
    assert any(
        "cells under no name in the header are left out" in line for line in read_samples(path).guesses
    )


def test_an_excel_table_with_a_header_that_names_nothing_is_refused(tmp_path: Path) -> None:
    path = excel(tmp_path / "data.xlsx", Answers=[["one", "two"], [ANSWER, "x"]])
    assert "row 1: the header names no column that is known (one, two)" in said(
        InputError, read_samples, path
    )


def test_excel_without_openpyxl_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = excel(tmp_path / "data.xlsx", Answers=[["answer"], [ANSWER]])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    assert "pip install 'localeval[excel]'" in said(InputError, read_samples, path)


# What is said of names.


def test_a_known_name_that_is_not_read_is_said_and_kept() -> None:
    samples = read_samples([{"answer": ANSWER, "reference": REFERENCE, "ground_truths": ["1820"]}])
    assert samples[0].reference == REFERENCE
    assert samples[0].model_extra == {"ground_truths": ["1820"]}
    assert "ground_truths is kept and not read, as reference is read from reference" in samples.guesses


def test_a_name_that_was_left_out_for_a_named_column_is_said() -> None:
    samples = read_samples([{"answer": ANSWER, "b": "Bob."}], columns={"response": "b"})
    assert samples.guesses == ["answer: 1 cell left out, as another column was named for its field"]


def test_a_field_without_a_column_is_said_with_the_nearest_name() -> None:
    samples = read_samples([{"answer": ANSWER, "context": CONTEXTS, "reference_contexts": CONTEXTS}])
    assert samples.guesses == [
        "read response from answer",
        "no column is retrieved_contexts; if context is, give --columns retrieved_contexts=context",
    ]


def test_a_column_of_several_responses_is_not_taken_for_the_response() -> None:
    assert read_samples([{"user_input": QUESTION, "responses": [ANSWER, ANSWER]}]).guesses == []


def test_a_column_that_the_caller_named_for_another_field_is_not_guessed() -> None:
    rows = [{"Question": QUESTION, "Answer": ANSWER}]
    (sample,) = read_samples(rows, columns={"reference": "Answer"})
    assert sample.reference == ANSWER
    assert sample.response is None


def test_an_empty_column_of_a_field_keeps_others_from_being_guessed(tmp_path: Path) -> None:
    path = written_csv(tmp_path / "data.csv", ["answer", "contexts", "Contexts"], [ANSWER, "", "b"])
    samples = read_samples(path)
    assert samples[0].retrieved_contexts is None
    assert samples[0].model_extra == {"Contexts": "b"}
    assert "Contexts is kept and not read, as retrieved_contexts is read from contexts" in samples.guesses


def test_a_cell_of_csv_under_no_name_is_said(tmp_path: Path) -> None:
    path = written_csv(tmp_path / "data.csv", ["answer", ""], [ANSWER, "lost"])
    assert any("cells under no name in the header" in line for line in read_samples(path).guesses)


def test_the_row_numbers_that_pandas_writes_under_no_name_are_no_loss(tmp_path: Path) -> None:
    pd.DataFrame({"response": [ANSWER]}).to_csv(tmp_path / "data.csv")
    assert read_samples(tmp_path / "data.csv").guesses == []
