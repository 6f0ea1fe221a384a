"""Reading samples: what is accepted, and that every fault is one sentence with its place."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localeval import Sample, read_samples
from localeval.errors import InputError
from localeval.samples import check_columns
from localeval.text.language import language, strip_thinking
from tests.patience import timed
from tests.test_formats import fault


def test_a_file_is_read_with_its_aliases_and_unknown_columns(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_text(
        '\n{"question": "Who?", "answer": "Ann.", "docs": ["Won."], "ground_truth": null, "split": "dev"}\n'
        '   \n{"id": 7, "query": "Wer?", "document_list": [], "response": ""}\r\n',
        encoding="utf-8",
    )
    first, second = read_samples(file)
    assert first.model_dump() == {
        "id": "2",
        "user_input": "Who?",
        "response": "Ann.",
        "retrieved_contexts": ["Won."],
        "reference": None,
        "split": "dev",
    }
    # What is empty is not missing.
    assert (second.id, second.user_input) == ("7", "Wer?")
    assert (second.response, second.retrieved_contexts, second.reference) == ("", [], None)
    assert read_samples(str(file)) == [first, second]


@pytest.mark.parametrize("text", ["a\u2028b\u0085c\x7f", "a\0b\x1b[31m\r"])
def test_line_separators_and_control_characters_in_a_text_are_data(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps({"answer": text}, ensure_ascii="\0" in text), encoding="utf-8-sig")
    assert read_samples(file)[0].response == text


def test_a_preview_is_short_and_free_of_control_characters() -> None:
    message = fault([{"contexts": "\x1b[2J\u202e" + "x" * 500}])
    preview = re.search(" is (.*);", message)
    assert preview
    assert len(preview[1]) == 60


def test_what_is_no_readable_file_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "absent\n.jsonl", tmp_path, "a\0b", "x" * 5000):
        assert "can't be read" in fault(path)


@pytest.mark.parametrize("source", [{"answer": "A."}, Sample(response="A."), 5, None])
def test_one_sample_or_no_samples_is_no_source(source: object) -> None:
    assert "expected a path or a list of samples" in fault(source)


def test_an_iterable_of_samples_and_mappings_gets_ids_by_place() -> None:
    rows: list[Sample | dict[str, str]] = [Sample(response="A."), {"id": "x"}, Sample(response="A.")]
    assert [sample.id for sample in read_samples(iter(rows))] == ["1", "x", "3"]
    assert "sample 1 and sample 2 have the same id x" in fault([{"id": "x"}, Sample(id="x")])
    assert "sample 2: 5 is no sample" in fault([{}, 5])
    assert "sample 1: 1 is 1" in fault([{1: "x"}])
    assert "sample 1: x can't be written as JSON" in fault([{"x": {"y": [{1}]}}])


def test_a_sample_made_in_python_takes_aliases_and_refuses_wrong_types() -> None:
    sample = Sample(question="Q", query="Q", user_input=None, contexts=("a", "b"), id=3)
    assert (sample.user_input, sample.retrieved_contexts, sample.id) == ("Q", ["a", "b"], "3")
    assert Sample.model_validate_json(sample.model_dump_json()) == sample
    with pytest.raises(InputError, match="response"):
        Sample(response=5)
    with pytest.raises(InputError, match="response"):
        Sample.model_validate({"response": "\ud800"})


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers() | st.lists(st.text())))
def test_any_columns_make_a_sample_that_keeps_the_unknown_ones_or_an_input_error(
    columns: dict[str, object],
) -> None:
    with suppress(InputError):
        sample = Sample.read(columns, "here")
        known = {"id", "question", "query", "answer", "contexts", "docs", "document_list", "ground_truth"}
        known |= {*Sample.model_fields}
        assert sample.model_extra == {name: columns[name] for name in columns if name not in known}


@pytest.mark.parametrize("name", ["self", "cls", "model_config", "copy", "__class__", "_x", "columns", ""])
def test_an_unknown_column_may_have_any_name(name: str) -> None:
    assert read_samples([{name: "v"}])[0].model_extra == {name: "v"}


def test_a_column_that_a_metric_needs_may_be_missing_in_some_samples_but_not_in_all() -> None:
    samples = [Sample(response="A."), Sample(response="B.", user_input="")]
    check_columns(samples, ["response", "user_input"], "answer_relevance", "data.jsonl")
    with pytest.raises(InputError, match="retrieved_contexts or contexts or docs or document_list"):
        check_columns(samples, ["response", "retrieved_contexts"], "faithfulness", "data.jsonl")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris.", ("Paris.", False)),
        ("  Paris.\n", ("  Paris.\n", False)),
        ("<think>\nHm.\n</think>\n\nParis.", ("Paris.", True)),
        ("A <think>x</think>B<think></think> C", ("A B C", True)),
        ("<think>never closed", ("", True)),
        ("\n<think>a</think> <think>never closed", ("", True)),
        ("The tag <think> opens a block.", ("The tag <think> opens a block.", False)),
        ("</think>", ("", True)),
        ("", ("", False)),
    ],
)
def test_thinking_is_stripped_and_said(text: str, expected: tuple[str, bool]) -> None:
    assert strip_thinking(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("法院判决被告赔偿。", "zh"),
        ("公司 OpenAI 发布了 GPT 模型的新版本", "zh"),
        ("The word 法院 means court of law.", "en"),
        ("", "en"),
        ("42 %", "en"),
        ("Il était une fois", "en"),
        ("東京へ行きました。とても楽しかったです。", "other"),
        ("법원이 판결했다", "other"),
        ("Суд принял решение", "other"),
        ("这家店名叫优の良品，味道非常不错", "zh"),
    ],
)
def test_the_language_is_told_by_the_share_of_scripts(text: str, expected: str) -> None:
    assert language(text) == expected


def test_long_texts_take_linear_time() -> None:
    with timed() as took:
        for unit in ("<think>", "</think>", "<think></think>", "a<think>", "你a"):
            strip_thinking(unit * 100_000)
            language(unit * 100_000)
    assert took.seconds < 5
