"""Reading samples: what is accepted, and that every fault is one sentence with its place."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localeval.errors import InputError
from localeval.samples import Sample, check_columns, read_samples
from localeval.text.language import language, strip_thinking
from tests.patience import timed


def fault(source: object) -> str:
    """The message of the InputError that reading raises, checked to be one printable sentence."""
    with pytest.raises(InputError) as caught:
        read_samples(source)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message.isprintable()
    assert message.endswith(".")
    return message


def fault_in(path: Path, content: str | bytes) -> str:
    """The same for a file with this content."""
    file = path / "data.jsonl"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    message = fault(file)
    assert message.startswith(str(file))
    return message.removeprefix(str(file))


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
    assert (second.id, second.user_input) == ("7", "Wer?")
    assert read_samples(str(file)) == [first, second]


def test_missing_and_empty_are_different() -> None:
    missing, empty = read_samples([{"response": None}, {"response": "", "contexts": []}])
    assert (missing.response, missing.retrieved_contexts) == (None, None)
    assert (empty.response, empty.retrieved_contexts) == ("", [])


def test_a_byte_order_mark_and_line_separators_inside_strings_are_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    text = "a\u2028b\u0085c\x7f"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"answer": text}, ensure_ascii=False).encode())
    assert read_samples(file)[0].response == text


def test_control_characters_in_text_are_data(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"answer": "a\\u0000b\\u001b[31m"}')
    assert read_samples(file)[0].response == "a\0b\x1b[31m"


def test_a_dash_is_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"answer": "A."}\n[')))
    assert "stdin, line 2" in fault("-")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO('{"answer": "好"}'.encode())))
    assert read_samples("-")[0].response == "好"


GOOD = '{"answer": "A."}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": there is no sample"),
        ("\n \n", ": there is no sample"),
        (GOOD + '{"answer" "A."}', ", line 2: not JSON at column 11 (Expecting ':' delimiter)"),
        (GOOD + "{", ", line 2: not JSON at column 2"),
        (GOOD + '{"answer": "A."\n', ", line 2: not JSON at column 16 (Expecting ',' delimiter)"),
        (GOOD + '{"answer": "A."} {}', ", line 2: not JSON at column 18 (Extra data)"),
        ('[{"answer": "A."}]', ", line 1: a JSON array begins here; JSONL wants one object a line"),
        ("\n  [\n", ", line 2: a JSON array begins here"),
        (GOOD + "[1, 2]", ", line 2: sample: expected an object with named columns, found a list of 2"),
        (GOOD + "null", ", line 2: sample: expected an object with named columns, found null"),
        (GOOD + '"x\\u0007"', 'found a string "x\ufffd"'),
        (GOOD.encode() + b'{"answer": "\xe9"}', ", line 2: byte 13 of the line is not UTF-8"),
        (b"{}" + b"\xff\xfe", ", line 1: byte 3 of the line is not UTF-8"),
        ('{"score": NaN}', ", line 1: NaN is not JSON"),
        ('{"answer": -Infinity}', ", line 1: -Infinity is not JSON"),
        ('{"answer": "\\ud800"}', ", line 1: answer: has half a character (a lone surrogate)"),
        ('{"meta": {"k": ["\\udc00"]}}', ", line 1: meta: has half a character"),
        ('{"\\ud800": 1}', ", line 1: \ufffd: has half a character"),
        ('{"a": ' + "[" * 100_000, ", line 1: JSON that is nested too deeply"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", ", line 1: a: more than 100 levels deep"),
        ('{"n": ' + "9" * 10_000 + "}", ", line 1: JSON with a number of too many digits"),
        ('{"answer": "A.", "answer": "B."}', ", line 1: answer stands twice"),
        ('{"answer": 5}', ", line 1: answer: expected a string, found a number 5"),
        ('{"answer": true}', ", line 1: answer: expected a string, found true"),
        ('{"question": ["x"]}', ", line 1: question: expected a string, found a list of 1"),
        ('{"reference": {}}', ", line 1: reference: expected a string, found an object"),
        (
            '{"docs": "text"}',
            ', line 1: docs: expected a list of strings, found a string "text"; put the text in',
        ),
        ('{"contexts": 1e999}', ", line 1: contexts: expected a list of strings, found a huge number"),
        ('{"contexts": ["a", null]}', ", line 1: contexts, item 2: expected a string, found null"),
        ('{"id": true}', ", line 1: id: expected a string or an integer, found true"),
        ('{"id": 1.5}', ", line 1: id: expected a string or an integer, found a number 1.5"),
        ('{"id": ' + "9" * 99 + "}", ", line 1: id: expected a string or an integer, found a huge number"),
        ('{"answer": "A.", "response": "B."}', ", line 1: response and answer are one field but differ"),
        ('{"id": "2"}\n' + GOOD, ": line 1 and line 2 have the same id 2"),
        ('{"id": "x"}\n\n{"id": "x"}', ": line 1 and line 3 have the same id x"),
    ],
    ids=range(35),
)
def test_a_faulty_file_is_refused_with_the_place_and_the_remedy(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    assert message in fault_in(tmp_path, content)


def test_a_preview_is_short_and_free_of_control_characters(tmp_path: Path) -> None:
    message = fault_in(tmp_path, json.dumps({"contexts": "\x1b[2J\u202e" + "x" * 500}))
    preview = re.search('"(.*)"', message)
    assert preview
    assert len(preview[1]) == 40


def test_two_names_of_one_field_may_agree_or_be_null() -> None:
    sample = read_samples([{"question": "Q", "query": "Q", "user_input": None}])[0]
    assert sample.user_input == "Q"
    assert sample.model_extra == {}


def test_what_is_no_readable_file_is_named(tmp_path: Path) -> None:
    assert "No such file" in fault(tmp_path / "absent\n.jsonl")
    assert "Is a directory" in fault(tmp_path)
    assert "not a path" in fault("a\0b")
    assert "can't be read" in fault("x" * 5000)


@pytest.mark.parametrize("source", [{"answer": "A."}, Sample(response="A."), 5, None])
def test_one_sample_or_no_samples_is_no_source(source: object) -> None:
    assert "expected a path or a list of samples" in fault(source)


def test_an_iterable_of_samples_and_mappings_gets_ids_by_place() -> None:
    rows: list[Sample | dict[str, str]] = [Sample(response="A."), {"id": "x"}, Sample(response="A.")]
    samples = read_samples(iter(rows))
    assert [sample.id for sample in samples] == ["1", "x", "3"]
    assert "sample 1 and sample 2 have the same id x" in fault([{"id": "x"}, Sample(id="x")])
    assert "sample 2: sample: expected an object" in fault([{}, 5])
    assert "every name to be a string, found a number 1" in fault([{1: "x"}])
    assert "no sample" in fault([])


def test_a_sample_made_in_python_takes_aliases_and_refuses_wrong_types() -> None:
    sample = Sample(question="Q", contexts=("a", "b"), id=3)
    assert (sample.user_input, sample.retrieved_contexts, sample.id) == ("Q", ["a", "b"], "3")
    with pytest.raises(InputError, match="Sample: response: expected a string, found a number nan"):
        Sample(response=float("nan"))
    with pytest.raises(InputError, match="Sample: response: has half a character"):
        Sample.model_validate({"response": "\ud800"})
    assert Sample.model_validate_json(sample.model_dump_json()) == sample


@given(st.dictionaries(st.text(), st.none() | st.text() | st.integers() | st.lists(st.text())))
def test_any_columns_make_a_sample_or_an_input_error(columns: dict[str, object]) -> None:
    with suppress(InputError):
        sample = Sample.read(columns, "here")
        assert sample.model_extra is not None
        known = {"id", "question", "query", "answer", "contexts", "docs", "document_list", "ground_truth"}
        assert {name: columns[name] for name in sample.model_extra} == {
            name: value
            for name, value in columns.items()
            if name not in known and name not in Sample.model_fields
        }


@pytest.mark.parametrize("name", ["self", "cls", "model_config", "copy", "__class__", "_x", "columns", ""])
def test_an_unknown_column_may_have_any_name(name: str) -> None:
    assert read_samples([{name: "v"}])[0].model_extra == {name: "v"}


@given(st.binary(max_size=60))
def test_no_bytes_make_reading_fail_in_another_way(content: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch, suppress(InputError):
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert read_samples("-")


def test_a_column_that_a_metric_needs_may_be_missing_in_some_samples_but_not_in_all() -> None:
    samples = [Sample(response="A."), Sample(response="B.", user_input="")]
    check_columns(samples, ["response", "user_input"], "answer_relevance", "data.jsonl")
    with pytest.raises(InputError) as caught:
        check_columns(samples, ["response", "retrieved_contexts"], "faithfulness", "data.jsonl")
    assert str(caught.value) == (
        "data.jsonl: faithfulness needs the column retrieved_contexts or contexts or docs or document_list, "
        "which no sample has; add it, or leave the metric out."
    )


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


def test_importing_it_loads_no_model_library_and_no_splitter() -> None:
    code = "import sys, localeval.samples; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pysbd", "torch", "llama_cpp"} & set(done.stdout.split())
