"""Every format gives the same samples; what can't be read is told with its place, and the rest still is."""

import copy
import csv
import gzip
import io
import json
import os
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from localeval import InputError, Result, Sample, evaluate, read_samples, rescore
from localeval.cli import main
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said
from tests.finished_runs import write_rows
from tests.patience import timed

FIELDS = ("id", "user_input", "response", "retrieved_contexts", "reference")
Rows = Sequence[dict[str, Any]]


def as_json(rows: Any, path: Path) -> Path:
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return path


def as_csv(rows: Rows, path: Path, sign: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.DictWriter(file, FIELDS, delimiter=sign)
        writer.writeheader()
        for row in rows:
            lists = {k: json.dumps(v, ensure_ascii=False) for k, v in row.items() if isinstance(v, list)}
            writer.writerow({**row, **lists})
    return path


def complete(rows: Rows) -> list[dict[str, Any]]:
    return [{name: row.get(name) for name in FIELDS} for row in rows]


def as_parquet(rows: Rows, path: Path) -> Path:
    parquet.write_table(pa.Table.from_pylist(complete(rows)), path)
    return path


def packed(path: Path) -> Path:
    path.write_bytes(gzip.compress(path.read_bytes()))
    return path


WRITERS: dict[str, tuple[str, Callable[[Rows, Path], Any]]] = {
    "jsonl": ("data.jsonl", lambda rows, path: write_rows(path, rows)),
    "json": ("data.json", as_json),
    "json in an object": ("data.JSON", lambda rows, path: as_json({"v": [1], "rows": rows, "n": []}, path)),
    "csv": ("data.csv", as_csv),
    "csv as Excel writes it": ("data.csv", lambda rows, path: as_csv(rows, path, ",", "utf-8-sig")),
    "tsv in UTF-16": ("data.tsv", lambda rows, path: as_csv(rows, path, "\t", "utf-16")),
    "packed csv": ("data.CSV.GZ", lambda rows, path: packed(as_csv(rows, path))),
    "parquet": ("data.parquet", as_parquet),
    "gzip by another name": ("data.jsonl", lambda rows, path: packed(write_rows(path, rows))),
    "frame": ("", lambda rows, _: pd.DataFrame(complete(rows))),
    "frame of parquet": ("data.parquet", lambda rows, path: pd.read_parquet(as_parquet(rows, path))),
    "dataset": ("", lambda rows, _: datasets.Dataset.from_list(complete(rows)).to_iterable_dataset()),
    "polars": ("", lambda rows, _: pl.DataFrame(complete(rows))),
    "lazy polars": ("", lambda rows, _: pl.LazyFrame(complete(rows))),
    "arrow": ("", lambda rows, _: pa.Table.from_pylist(complete(rows))),
    "structs": ("", lambda rows, _: pa.array(complete(rows))),
}
ROWS: Rows = [
    {"id": "a", "user_input": "Tea?", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]},
    {
        "id": "b",
        "response": ' "Tea", or\r\n“coffee”;\t\u2028\x85[ ',
        "retrieved_contexts": ["Tea, or\n“coffee”.", ""],
        "reference": "null",
    },
    {"id": "c", "user_input": "nan", "response": "1.0", "retrieved_contexts": []},
]


def dumped(source: Any, **how: Any) -> list[dict[str, Any]]:
    return [sample.model_dump() for sample in read_samples(source, **how)]


def dump(*values: Any, **extra: Any) -> dict[str, Any]:
    """A sample with these values of `FIELDS` and no columns of retrieval."""
    retrieval = dict.fromkeys(("reference_contexts", "retrieved_ids", "reference_ids"))
    return {**dict(zip(FIELDS, values, strict=True)), **retrieval, **extra}


def fault(source: Any, **how: Any) -> str:
    """The message of the InputError, checked to be one printable sentence."""
    message = said(InputError, read_samples, source, **how)
    assert message.isprintable()
    assert message.endswith((".", "?", "…"))
    return message


@pytest.mark.parametrize("kind", WRITERS)
def test_what_is_written_is_read(kind: str, tmp_path: Path) -> None:
    name, write = WRITERS[kind]
    assert dumped(write(ROWS, tmp_path / name)) == dumped(ROWS)


@pytest.mark.parametrize(("kind", "packed"), [("jsonl", False), ("csv", True), ("parquet", False)])
def test_stdin_gives_the_same_samples_in_every_format_and_stays_open(
    kind: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = WRITERS[kind]
    content = write(ROWS, tmp_path / name).read_bytes()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(gzip.compress(content) if packed else content)
    with os.fdopen(reading, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert dumped("-", format=kind.split()[0]) == dumped(ROWS)
        assert not stdin.buffer.closed


def ids_of(source: Any) -> list[str]:
    return [sample.id for sample in read_samples(source)]


def test_an_id_that_is_missing_is_the_number_of_the_row_in_every_table(tmp_path: Path) -> None:
    table = tmp_path / "data.csv"
    table.write_text("answer\n\nA\nB\n")
    objects = tmp_path / "data.json"
    objects.write_text('\n\n[{"answer": "A"},\n\n{"answer": "B"}]')
    frame = pd.DataFrame({"answer": ["A", "B"]})
    assert ids_of(table) == ids_of(objects) == ids_of(frame) == ["1", "2"]


def test_an_id_that_is_missing_is_the_position_in_an_iterable() -> None:
    rows: list[Sample | dict[str, str]] = [Sample(response="A."), {"id": "x"}, Sample(response="A.")]
    assert ids_of(iter(rows)) == ["1", "x", "3"]


def test_nan_none_and_na_in_a_table_are_missing_columns(tmp_path: Path) -> None:
    columns = {"id": [1.0, float("nan")], "response": ["A", pd.NA], "retrieved_contexts": [["x"], None]}
    columns["when"] = pd.to_datetime(["2024-05-01", None])
    columns["image"] = [b"\xff", b"\x89"]  # no text, so left out
    pd.DataFrame(columns).to_parquet(tmp_path / "data.parquet")
    first = dump("1", None, "A", ["x"], None, when="2024-05-01 00:00:00")
    for source in (pd.DataFrame(columns), tmp_path / "data.parquet"):
        assert dumped(source) == [first, dump("2", None, None, None, None)]


DELIMITERS = pytest.mark.parametrize("sign", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])


@DELIMITERS
def test_the_delimiter_is_seen_in_the_first_line_that_is_not_blank(sign: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"\r\n\r\n{sign}id{sign} answer{sign}note\n0{sign}1{sign}A{sign}\n", newline="")
    assert dumped(path) == [dump("1", None, "A", None, None)]


@DELIMITERS
def test_a_space_between_delimiter_and_quote_belongs_to_no_cell(sign: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f'"id"{sign} "answer"\n"1"{sign} "A{sign} B"\n')
    assert dumped(path) == [dump("1", None, f"A{sign} B", None, None)]


@DELIMITERS
def test_a_space_is_part_of_a_cell_where_the_header_has_no_quotes(sign: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f'id{sign}answer\n1{sign} "A" B\n')
    assert dumped(path) == [dump("1", None, ' "A" B', None, None)]


def test_a_parquet_file_is_read_in_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set[int]()

    class Watched(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            threads.add(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr("io.BytesIO", Watched)
    assert dumped(as_parquet(ROWS, tmp_path / "data.parquet")) == dumped(ROWS)
    assert threads == {threading.get_ident()}  # another could free the file at exit, which aborts


def test_a_format_can_be_named_whatever_the_suffix(tmp_path: Path) -> None:
    path = as_csv(ROWS, tmp_path / "data.txt")
    assert dumped(path, format="csv") == dumped(ROWS)


def test_a_format_that_is_not_known_is_told(tmp_path: Path) -> None:
    path = as_csv(ROWS, tmp_path / "data.txt")
    message = fault(path, format="xls")
    assert message == "format xls is not known; choose one of: jsonl, json, csv, tsv, parquet, xlsx."


def test_a_format_is_of_files_alone() -> None:
    assert "format and encoding are of files" in fault(ROWS, format="csv")


def test_parquet_without_pyarrow_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = as_parquet(ROWS, tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'localeval[tables]'" in fault(path)


TEXT_FORMATS = pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
IN_CHINESE = [{"id": "a", "response": "水车，𠀀 €"}]


def write_in(encoding: str, kind: str, folder: Path) -> Path:
    """A file of one row in Chinese, in this format and encoding."""
    name, write = WRITERS[kind]
    path: Path = write(IN_CHINESE, folder / name)
    path.write_bytes(path.read_bytes().decode().encode(encoding))
    return path


@TEXT_FORMATS
@pytest.mark.parametrize("encoding", ["gb18030", "utf-16-le", "utf-8-sig", "utf-16", "utf-32"])
def test_an_encoding_can_be_named(kind: str, encoding: str, tmp_path: Path) -> None:
    path = write_in(encoding, kind, tmp_path)
    assert dumped(path, encoding=encoding) == dumped(IN_CHINESE)


@TEXT_FORMATS
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-8-sig", "utf-16", "utf-32"])
def test_an_encoding_of_unicode_shows_itself(kind: str, encoding: str, tmp_path: Path) -> None:
    assert dumped(write_in(encoding, kind, tmp_path)) == dumped(IN_CHINESE)


@pytest.fixture
def in_gb18030(tmp_path: Path) -> Path:
    """A file whose second line is in an encoding that nobody named."""
    path = tmp_path / "data.jsonl"
    path.write_bytes('{"answer": "A"}\n{"answer": "水车"}\n'.encode("gb18030"))
    return path


def test_a_line_in_another_encoding_is_told(in_gb18030: Path) -> None:
    assert "line 2: answer has bytes of another encoding" in fault(in_gb18030)
    assert read_samples(in_gb18030, skip_bad=True)[0].response == "A"


def test_a_file_that_is_not_in_the_named_encoding_is_told(in_gb18030: Path) -> None:
    assert "another encoding" in fault(in_gb18030, encoding="utf-16")


@pytest.mark.parametrize("encoding", ["klingon", "hex"])
def test_an_encoding_that_is_not_known_is_told(in_gb18030: Path, encoding: str) -> None:
    assert f"encoding {encoding} is not known" in fault(in_gb18030, encoding=encoding)


def test_a_file_is_read_with_its_aliases_and_unknown_columns(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_text(
        '\n{"question": "Who?", "answer": "Ann.", "docs": ["Won."], "ground_truth": null, "split": "dev"}\n'
        '   \n{"id": 7, "query": "Wer?", "document_list": [], "response": ""}\r\n',
        encoding="utf-8",
    )
    empty = dump("7", "Wer?", "", [], None)  # which is not missing
    assert dumped(file) == [dump("2", "Who?", "Ann.", ["Won."], None, split="dev"), empty]


Q, A, C, G = "Who won?", "Ann won.", ["Ann won the race."], "Ann."
DOCUMENTS = [{"page_content": C[0], "type": "Document", "metadata": {}}]


LANGSMITH_ROWS: dict[str, dict[str, Any]] = {
    "names of ragas": {
        "inputs": {"question": Q},
        "outputs": {"answer": A, "documents": DOCUMENTS},
        "reference_outputs": {"answer": G},
    },
    "names of LangSmith": {
        "inputs": {"input": Q},
        "outputs": {"output": A, "contexts": C},
        "reference_outputs": {"output": G},
    },
    "only values": {
        "inputs": {"text": Q},
        "outputs": {"response": A, "docs": C},
        "reference_outputs": {"text": G},
    },
}


@pytest.mark.parametrize("row", LANGSMITH_ROWS.values(), ids=LANGSMITH_ROWS)
def test_rows_of_langsmith_are_read_as_they_are(row: dict[str, Any]) -> None:
    assert dumped([row]) == [dump("1", Q, A, C, G)]


@pytest.mark.parametrize("row", LANGSMITH_ROWS.values(), ids=LANGSMITH_ROWS)
@pytest.mark.parametrize("format_name", [None, "arrow", "pandas"])
def test_a_dataset_of_rows_of_langsmith_is_read_in_each_format(
    row: dict[str, Any], format_name: str | None
) -> None:
    dataset = datasets.Dataset.from_list([row]).with_format(format_name)
    assert dumped(dataset) == [dump("1", Q, A, C, G)]


@pytest.mark.parametrize("row", LANGSMITH_ROWS.values(), ids=LANGSMITH_ROWS)
def test_a_stream_of_rows_of_langsmith_is_read(row: dict[str, Any]) -> None:
    stream = datasets.Dataset.from_list([row]).to_iterable_dataset().with_format("arrow")
    assert dumped(stream) == [dump("1", Q, A, C, G)]


def test_a_transform_of_a_dataset_is_kept() -> None:
    dataset = datasets.Dataset.from_list([LANGSMITH_ROWS["names of ragas"]])
    transformed = dataset.with_transform(lambda rows: {"answer": [A] * len(rows["inputs"])})
    assert dumped(transformed) == [dump("1", None, A, None, None)]


def test_what_else_langsmith_has_is_kept() -> None:
    row = {"id": "x", "inputs": {"question": Q}, "outputs": {"answer": A, "cost": 3}, "metadata": {"a": 1}}
    (sample,) = read_samples([row])
    assert sample.id == "x"
    assert sample.model_extra == {"outputs.cost": 3, "metadata": {"a": 1}}


def test_a_value_inside_of_langsmith_can_be_named_for_a_field_and_is_then_of_no_other() -> None:
    row = {"inputs": {"question": Q}, "outputs": {"answer": A, "cost": 3}}
    (sample,) = read_samples([row], columns={"reference": "outputs.answer"})
    assert sample.reference == A
    assert sample.response is None


def test_what_is_left_beside_a_named_value_is_not_taken_for_the_only_one() -> None:
    row = {"inputs": {"lang": "en", "q": C}, "outputs": {"answer": A, "category": "history"}}
    columns = {"reference": "outputs.answer", "retrieved_contexts": "inputs.q"}
    (sample,) = read_samples([row], columns=columns)
    assert sample.reference == A
    assert sample.user_input is None
    assert sample.response is None


def test_two_names_of_a_field_inside_of_langsmith_that_differ_are_told() -> None:
    row = {"inputs": {"question": Q, "query": A}, "outputs": {"answer": A}}
    assert "question and query are one field but differ" in fault([row])


def test_a_name_of_a_sample_comes_before_langsmiths_own() -> None:
    row = {"inputs": {"question": Q}, "outputs": {"answer": A, "output": {"trace": 1}}}
    (sample,) = read_samples([row])
    assert sample.response == A
    assert sample.model_extra == {"outputs.output": {"trace": 1}}


def test_a_row_with_a_column_of_a_sample_is_none_of_langsmith() -> None:
    (sample,) = read_samples([{"inputs": {"question": Q}, "response": A}])
    assert sample.user_input is None
    assert sample.model_extra == {"inputs": {"question": Q}}


def test_a_named_column_is_read_and_no_other_for_that_field(tmp_path: Path) -> None:
    rows = [{"q": "Who?", "model_b": "Ann.", "answer": "Bob.", "ctx": '["Ann won."]', "id": "x", "key": 7}]
    columns = {"question": "q", "response": "model_b", "retrieved_contexts": "ctx", "id": "key"}
    frame = pd.DataFrame(rows)
    table = tmp_path / "data.csv"
    frame.to_csv(table, index=False)
    expected = [dump("7", "Who?", "Ann.", ["Ann won."], None)]
    assert dumped(table, columns=columns) == expected
    assert dumped(frame, columns=columns) == expected


def test_two_columns_can_change_places() -> None:
    columns = {"response": "reference", "reference": "response"}
    rows = [{"response": "A", "reference": "B"}]
    assert dumped(rows, columns=columns) == [dump("1", None, "B", None, "A")]


def test_a_column_named_for_a_field_that_is_none_is_told() -> None:
    assert "did you mean response?" in fault([{"a": "Ann."}], columns={"respons": "a"})


def test_two_columns_named_for_one_field_are_told() -> None:
    columns = {"response": "a", "answer": "q"}
    assert "response is named twice" in fault([{"q": "Who?", "a": "Ann."}], columns=columns)


def test_a_named_column_that_no_sample_has_is_told() -> None:
    message = fault([{"q": "Who?", "a": "Ann."}], columns={"response": "aa"})
    assert "no sample has the column aa, which was named" in message


def test_a_sample_made_in_python_takes_aliases_and_refuses_what_is_no_text() -> None:
    sample = Sample(question="Q", query="Q", user_input=None, contexts=("a", "b"), id=3)
    assert (sample.user_input, sample.retrieved_contexts, sample.id) == ("Q", ["a", "b"], "3")
    assert Sample.model_validate_json(sample.model_dump_json()) == sample
    assert "response" in said(InputError, Sample, response="\ud800")


def test_a_column_that_a_metric_needs_may_be_missing_in_some_samples_but_not_in_all() -> None:
    def status(*rows: dict[str, Any]) -> list[str]:
        judge = fake_judge(FakeEngine([{"verdict": 0.9}]))
        result = evaluate(pd.DataFrame(rows), ["faithfulness"], judge, statements="sentences")
        return [scores["faithfulness"].status for scores in result.scores]

    assert status(ROWS[0], {"answer": "A."}) == ["scored", "undefined"]
    aliases = "retrieved_contexts or contexts or docs or document_list"
    assert aliases in said(InputError, status, {"answer": "A."}, {"answer": "B."})


LINE = '{"answer": "A."}\n'
HEAD = "id,answer,contexts\n"


def written(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        pytest.param("\n \n", ":", "no sample", id="blank"),
        pytest.param(LINE + '{"answer" "A."}', ", line 2:", "column 11", id="no colon"),
        pytest.param("\n" + '[{"answer": "A."}]', ", line 2:", "--format json", id="a list"),
        pytest.param('{"contexts": ["\\udc00"]}', ", line 1:", "contexts has", id="half a character"),
        pytest.param('{"a": ' + "[" * 100_000, ", line 1:", "not JSON", id="nested deep"),
        pytest.param('{"n": ' + "9" * 10_000 + "}", ", line 1:", "not JSON", id="a huge number"),
        pytest.param('{"contexts": ["a", null]}', ", line 1:", "contexts, item 2 is None", id="no context"),
        pytest.param(
            '{"answer": "A", "response": "B"}',
            ", line 1:",
            "response and answer are one field",
            id="two names of a field",
        ),
        pytest.param(
            '{"id": "2"}\n' + LINE,
            ":",
            "line 2 (no id, so its position) have the same id 2",
            id="a position that is an id",
        ),
    ],
)
def test_a_faulty_jsonl_file_is_refused_with_the_place(
    tmp_path: Path, content: str, place: str, message: str
) -> None:
    path = written(tmp_path, "data.jsonl", content)
    assert fault(path).startswith(f"{path}{place} ")
    assert message in fault(path)


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        pytest.param("answer,answer\nA,B\n", ", line 1:", "answer stands twice", id="a name twice"),
        pytest.param(HEAD + "1,A\n", ", line 2:", "2 cells", id="a cell too few"),
        pytest.param(HEAD + '\n1,"A\nB",[]\n2,"A\n', ", line 5:", "quote", id="an open quote"),
        pytest.param(
            HEAD + '1,A,[]\n2,"A\nB"C,[]\n', ", lines 3 to 4:", "quote", id="a quote inside of a cell"
        ),
        pytest.param(
            HEAD + '1,A,"[\'The mill."\n', ", line 2:", 'contexts is "[\'The mill."', id="half a list"
        ),
        pytest.param(
            (HEAD + '1,"A\n').encode() + b'B\xe4",[]\n', ", lines 2 to 3:", "encoding", id="encoding"
        ),
    ],
)
def test_a_faulty_csv_file_is_refused_with_the_place(
    tmp_path: Path, content: str | bytes, place: str, message: str
) -> None:
    path = written(tmp_path, "data.csv", content)
    assert fault(path).startswith(f"{path}{place} ")
    assert message in fault(path)


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        pytest.param('[{"answer": "A"},\n}', ":", "line 2", id="no value"),
        pytest.param('{"answer": "A"}\n{"answer": "B"}', ":", "--format jsonl", id="lines"),
        pytest.param('{"a": [{}],"b": [{}]}', ":", "several lists", id="two lists"),
        pytest.param('[{},\n{"answer": true}]', ", sample 2:", "answer is True", id="a truth value"),
    ],
)
def test_a_faulty_json_file_is_refused_with_the_place(
    tmp_path: Path, content: str, place: str, message: str
) -> None:
    path = written(tmp_path, "data.json", content)
    assert fault(path).startswith(f"{path}{place} ")
    assert message in fault(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.jsonl.gz", gzip.compress(b'{"answer": "A"}')[:-9], "can't be read"),
        ("data.parquet", b"PAR1 no", "Parquet"),
        ("data.xlsx", b"PK\x03\x04\x14\0", "CSV"),
    ],
    ids=["half a gzip file", "no Parquet", "Excel"],
)
def test_a_file_that_is_damaged_or_of_another_kind_is_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = written(tmp_path, name, content)
    assert fault(path).startswith(f"{path}: ")
    assert message in fault(path)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@settings(max_examples=25, deadline=None)
@given(place=st.integers(0, 10_000), byte=st.sampled_from(b"\"'\\,;[]{}:\n\r\t\0N\xff\xfe\x80"))
def test_another_byte_anywhere_is_read_or_told_in_one_sentence(
    kind: str, tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    name, write = WRITERS[kind]
    path = write(ROWS, tmp_path_factory.mktemp("damaged") / name)
    content = bytearray(path.read_bytes())
    content[place % len(content)] = byte
    path.write_bytes(content)
    with suppress(InputError):
        read_samples(path)
    with suppress(InputError):
        assert all(row.reason.isprintable() for row in read_samples(path, skip_bad=True).skipped)


@pytest.mark.parametrize(
    "path",
    ["absent\n.jsonl", ".", "a\0b", "x" * 5000],
    ids=["absent", "a folder", "with NUL", "too long"],
)
def test_a_path_that_leads_to_no_file_is_refused(path: str) -> None:
    assert "can't be read" in fault(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param({"a": "A."}, "expected a path or a list of samples", id="one row"),
        pytest.param(
            datasets.DatasetDict({"train": datasets.Dataset.from_list([{"answer": A}])}),
            "splits: train",
            id="a DatasetDict",
        ),
        pytest.param(pa.array(["A"]), "StringArray, row 1: 'A' is no sample", id="an array of texts"),
        pytest.param(pd.DataFrame({"answer": []}), "DataFrame: there is no sample", id="an empty frame"),
    ],
)
def test_what_holds_no_samples_is_refused(source: Any, message: str) -> None:
    assert message in fault(source)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(
            [{"id": "x"}, Sample(id="x")], "sample 1 and sample 2 have the same id x", id="an id twice"
        ),
        pytest.param([{}, 5], "sample 2: 5 is no sample", id="a number"),
        pytest.param([{1: "x"}], "sample 1: the column name 1 is no text", id="a number as a name"),
        pytest.param(
            [{"answer": {"y": [{1}]}}], "sample 1: answer can't be written as JSON", id="a set of Python"
        ),
    ],
)
def test_a_row_that_is_no_sample_is_refused_with_its_position(rows: Any, message: str) -> None:
    assert message in fault(rows)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        pytest.param(
            pd.DataFrame({"answer": ["A", True]}), "DataFrame, row 2: answer is True", id="a truth value"
        ),
        pytest.param(pd.DataFrame({"answer": [pd.Timestamp(0)]}), "answer can't be written", id="a time"),
        pytest.param(pd.DataFrame({"answer": [b"\xff"]}), "answer can't be written", id="bytes"),
        pytest.param(
            pd.DataFrame({"outputs": [{"docs": [{1}]}], "inputs": [{}]}),
            "row 1: docs can't be written as",
            id="a set inside of LangSmith",
        ),
    ],
)
def test_a_cell_of_a_field_that_is_no_text_is_refused_with_its_row(frame: Any, message: str) -> None:
    assert message in fault(frame)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame([["A", "B"]], columns=["answer", "answer"]), "DataFrame: two columns"),
        (pa.table([["A"], ["B"]], names=["answer", "answer"]), "Table: two columns"),
    ],
    ids=["pandas", "arrow"],
)
def test_a_table_with_two_columns_of_one_name_is_refused(table: Any, message: str) -> None:
    assert message in fault(table)


NUMBERED = [{"id": f"s{i}", "answer": "A."} for i in range(100)]


def ids(**how: Any) -> list[str]:
    return [sample.id for sample in read_samples(NUMBERED, **how)]


def test_samples_in_a_temporary_file_are_read_back_copied_and_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": str(n), "user_input": "茶" * n, "m": {"a": [n, None]}} for n in range(9)]
    samples = read_samples(rows)
    monkeypatch.setattr("localeval.system.spooled.MAX_BYTES_IN_MEMORY", 100)
    stored = read_samples(rows)
    assert stored == samples == [Sample(**row) for row in rows]
    assert pickle.loads(pickle.dumps(stored)) == copy.deepcopy(stored) == stored  # noqa: S301
    assert (stored[-1], stored[2:4], len(stored)) == (samples[8], [*samples][2:4], 9)
    with pytest.raises(IndexError):
        stored[9]
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")  # which has no room
    assert "TMPDIR" in fault(rows)


@pytest.mark.parametrize("depth", [150, 300, 5000])
def test_a_column_of_lists_in_lists_is_read_or_refused(depth: int) -> None:
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    samples = read_samples([{"user_input": "Tea?"}, {"user_input": "Coffee?", "m": nested}], skip_bad=True)
    assert [sample.user_input for sample in samples] == ["Tea?", "Coffee?"][: len(samples)]
    assert len(samples) + len(samples.skipped) == 2


def test_samples_are_drawn_by_the_seed() -> None:
    ten = ids(sample=10, seed=1)
    assert len(ten) == 10
    assert ten == ids(sample=10, seed=1)
    assert ten != ids(sample=10, seed=2)


def test_drawn_samples_are_in_the_order_of_the_file() -> None:
    ten = ids(sample=10, seed=1)
    assert ten == sorted(ten, key=lambda name: int(name[1:]))


def test_a_larger_draw_holds_the_smaller_ones() -> None:
    assert set(ids(sample=10, seed=1)) < set(ids(sample=20, seed=1))


def test_samples_are_drawn_among_those_before_the_limit() -> None:
    assert set(ids(sample=5, limit=7)) < set(ids(limit=7))


def test_samples_are_chosen_by_their_ids_in_the_order_of_the_file() -> None:
    assert ids(ids=["s7", "s3", "s7"]) == ["s3", "s7"]
    assert ids(ids="s7") == ["s7"]
    assert ids(ids=["s0", "s2"], limit=3) == ["s0", "s2"]


def test_an_id_may_be_the_number_of_a_row() -> None:
    assert read_samples([{"answer": "A"}, {"answer": "B"}], ids=[2])[0].response == "B"


def test_an_id_that_no_sample_has_is_told_even_if_it_would_not_be_drawn() -> None:
    message = fault(NUMBERED, ids=["s1", "s7x"], sample=1)
    assert "no sample has the id s7x; did you mean s7?" in message


def test_an_id_that_may_be_behind_the_limit_is_told_so() -> None:
    assert "among the first 3 has the id s3" in fault(NUMBERED, ids=["s0", "s3"], limit=3)
    assert "among the first" not in fault(NUMBERED[:1], ids=["s3"], limit=5)


BAD_JSONL = (
    b'{"answer": "A"}\n{"answer": [5]}\n\n[\n{"answer": "\\ud800"}\n{"answer": "B"}\n{"answer": "\xff"}\n'
)
BAD_CSV = (HEAD + 'a,A,[]\nb,B\nc,"C"C,[]\nd,D,[None]\nf,"C\nd,D,"[""x""]"\ne,E,[]\n').encode()
BAD_JSON = b'[{"id": "a"}, 5,\n{"answer": true}, {"id": "e"}]'


@pytest.mark.parametrize(
    ("name", "content", "good", "places"),
    [
        ("data.jsonl", BAD_JSONL, ["1", "6"], ["line 2", "line 4", "line 5", "line 7"]),
        ("data.csv", BAD_CSV, ["a", "e"], ["line 3", "line 4", "line 5", "lines 6 to 7"]),
        ("data.json", BAD_JSON, ["a", "e"], ["sample 2", "sample 3"]),
    ],
    ids=["jsonl", "csv", "json"],
)
def test_skip_bad_goes_on_behind_each_kind_of_fault_and_tells_what_was_skipped(
    name: str, content: bytes, good: list[str], places: list[str], tmp_path: Path
) -> None:
    path = written(tmp_path, name, content)
    samples = read_samples(path, skip_bad=True)
    assert [sample.id for sample in samples] == good
    assert [skipped.place for skipped in samples.skipped] == places
    assert fault(path) == samples.skipped[0].reason


def test_a_quote_that_takes_the_rest_of_the_file_is_refused_even_with_skip_bad(tmp_path: Path) -> None:
    (path := tmp_path / "data.csv").write_text(HEAD + '1,A,\n2,A,\n3,"A,\n' + "4,A,\n" * 7)
    assert fault(path, skip_bad=True).startswith(f"{path}, lines 4 to 11: not CSV")
    assert [sample.id for sample in read_samples(path, limit=2)] == ["1", "2"]


GOOD = {"id": "good", "user_input": "Tea?", "response": "Tea grows.", "retrieved_contexts": ["Tea."]}


def judged(source: Any, folder: Path) -> Result:
    judge, samples = fake_judge(FakeEngine([{"verdict": 0.75}])), read_samples(source, skip_bad=True)
    return evaluate(samples, ["faithfulness"], judge, folder, statements="sentences")


@pytest.fixture
def with_bad_rows(tmp_path: Path) -> Path:
    """A file of which the second and third row can't be read, and the run of the first beside it."""
    bad = {**GOOD, "id": "bad", "retrieved_contexts": 5}
    data = write_rows(tmp_path / "data.jsonl", [GOOD, bad, bad])
    judged(data, tmp_path / "run")
    return data


def stored_skipped(folder: Path) -> list[dict[str, str]]:
    """The skipped rows in a run's results."""
    rows: list[dict[str, str]] = json.loads((folder / "results.json").read_bytes())["skipped"]
    return rows


def test_a_run_lists_the_skipped_rows_with_their_reasons(with_bad_rows: Path) -> None:
    first, second = stored_skipped(with_bad_rows.parent / "run")
    assert (first["place"], second["place"]) == ("line 2", "line 3")
    assert first["reason"].startswith(f"{with_bad_rows}, line 2: retrieved_contexts is 5")


def test_a_report_and_a_page_list_the_skipped_rows(
    with_bad_rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = with_bad_rows.parent / "run"
    main(["report", str(folder)])
    assert f"  {with_bad_rows}, line 3: retrieved_contexts is 5" in capsys.readouterr().out
    assert "were skipped: 2" in (folder / "report.html").read_text("utf-8")


def test_a_rescored_run_has_the_skipped_rows(with_bad_rows: Path) -> None:
    folder = with_bad_rows.parent / "run"
    assert [row._asdict() for row in rescore(folder).skipped] == stored_skipped(folder)


@pytest.mark.parametrize("source", ["data.jsonl", "run/samples.jsonl"], ids=["the data", "the run's copy"])
def test_a_run_that_is_repeated_keeps_the_skipped_rows(with_bad_rows: Path, source: str) -> None:
    folder = with_bad_rows.parent / "run"
    before = (folder / "results.json").read_bytes()
    judged(with_bad_rows.parent / source, folder)
    assert (folder / "results.json").read_bytes() == before


def test_a_run_forgets_skipped_rows_once_they_are_mended(with_bad_rows: Path) -> None:
    folder = with_bad_rows.parent / "run"
    mended = judged(write_rows(with_bad_rows, [GOOD]), folder)
    assert mended.skipped == rescore(folder).skipped == []
    assert "skipped" not in str(mended)
    assert "were skipped: " not in (folder / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", '{"k": [NaN, 1]}', '"\\ud800"', '["\\udc00"]']
)
def test_a_value_in_a_column_that_nobody_reads_ends_nothing(value: str, tmp_path: Path) -> None:
    (path := tmp_path / "data.jsonl").write_text('{"answer": "A", "note": ' + value + "}\n" + LINE)
    samples = read_samples(path)
    assert [sample.response for sample in samples] == ["A", "A."]
    assert read_samples(write_rows(tmp_path / "again", (s.model_dump() for s in samples))) == samples


def test_an_object_in_a_column_that_nobody_reads_ends_nothing() -> None:
    columns = {"answer": ["A", "B"], "gain": [float("inf"), 1.0], "other": [{1}, object()]}
    for source in (
        pd.DataFrame(columns),
        [{"answer": "A", "x": {"y": [{1}]}}, {"answer": "B", "x": {1: object()}}],
    ):
        assert [sample.response for sample in read_samples(source)] == ["A", "B"]


def test_nan_and_infinity_are_missing_cells_in_jsonl_as_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text('{"id": NaN, "answer": NaN, "question": "Q?", "note": Infinity}\n')
    expected = [dump("1", "Q?", None, None, None)]
    nan = float("nan")
    frame = pd.DataFrame({"id": [nan], "answer": [nan], "question": ["Q?"], "note": [float("inf")]})
    assert dumped(path) == dumped(frame) == expected


@pytest.mark.parametrize(
    ("cell", "contexts"),
    [
        (
            str(["b", "it's", 'a "c"', "line\nend, \\ and 茶", ""]),
            ["b", "it's", 'a "c"', "line\nend, \\ and 茶", ""],
        ),
        (str(("b", "c")), ["b", "c"]),
        ("[ 'b',]", ["b"]),
        ("['b' 'c'\n 'd']", ["b", "c", "d"]),  # as numpy writes it
        ("The mill, [1] built in 1820.", ["The mill, [1] built in 1820."]),
        ("[1] The mill. [2]", ["[1] The mill. [2]"]),
        ("1820", ["1820"]),
        ('"The mill."', ["The mill."]),
        ('["b", "c"]', ["b", "c"]),
        ("[]", []),
    ],
)
def test_contexts_in_a_cell_are_a_list_in_json_or_as_python_writes_it_or_one_text(
    cell: str, contexts: list[str], tmp_path: Path
) -> None:
    frame = pd.DataFrame({"answer": ["A"], "contexts": [cell]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    for source in (tmp_path / "data.csv", frame):
        (sample,) = read_samples(source)
        assert sample.retrieved_contexts == contexts


def test_lists_that_pandas_wrote_as_csv_are_read_as_they_were(tmp_path: Path) -> None:
    frame = pd.DataFrame([{**row, "retrieved_contexts": ["Tea's", 'a "b"\n茶']} for row in ROWS[:1]])
    frame.to_csv(tmp_path / "data.csv", index=False)
    assert dumped(tmp_path / "data.csv") == dumped(frame)


@pytest.mark.parametrize("cell", ["['b', None]", "[None]", '["b', "['b'", "['b' + 'c']", "['b', open('x')]"])
def test_a_cell_that_seems_a_list_and_is_none_is_refused(cell: str) -> None:
    assert "contexts is" in fault(pd.DataFrame({"contexts": [cell]}))


@pytest.mark.parametrize(
    "start",
    [
        "['",
        "['a' ",
        "[" * 9,
        "[{",
        "[{'a': 1},",
        "[{'a': -",
        "[{'\\d': ",
        "['\\",
        '["',
        "(",
        "['a'" + " " * 9,
    ],
)
def test_a_long_cell_is_read_or_refused_at_once(start: str) -> None:
    for cell in (start * 50_000, start * 50_000 + "]"):
        with timed() as took, suppress(InputError):
            read_samples(pd.DataFrame({"contexts": [cell]}))
        # What is quadratic takes minutes.
        assert took.seconds < 5


def test_a_number_as_an_answer_is_its_text(tmp_path: Path) -> None:
    (path := tmp_path / "data.csv").write_text("answer,reference\n1820,2.5\n,7\n")
    expected = [("1820", "2.5"), (None, "7")]
    for source in (path, pd.read_csv(path), [{"answer": 1820, "reference": 2.5}, {"reference": 7}]):
        assert [(sample.response, sample.reference) for sample in read_samples(source)] == expected


def test_documents_of_langchain_are_contexts(tmp_path: Path) -> None:
    assert read_samples([{"answer": A, "docs": DOCUMENTS}])[0].retrieved_contexts == C
    assert (
        dumped(write_rows(tmp_path / "data.jsonl", [{"contexts": DOCUMENTS}]))[0]["retrieved_contexts"] == C
    )


def test_each_guess_is_said() -> None:
    frame = pd.DataFrame({"question": ["Q?"], "answer": [1820], "docs": ["The mill."]})
    assert read_samples(frame).guesses == [
        "read user_input from question, response from answer, retrieved_contexts from docs",
        "answer: 1 cell with a number, read as its text",
        "docs: 1 cell without a list, each read as one context",
    ]


def test_guesses_stay_with_samples_that_are_read_again() -> None:
    samples = read_samples([{"answer": 1820}])
    assert read_samples(samples).guesses == samples.guesses != []


def test_columns_with_the_names_of_fields_are_no_guess() -> None:
    assert read_samples(ROWS).guesses == []


def test_columns_that_the_caller_named_are_no_guess() -> None:
    columns = {"user_input": "question", "response": "answer"}
    assert read_samples([{"question": Q, "answer": A}], columns=columns).guesses == []


def test_all_names_that_a_field_was_read_from_are_said() -> None:
    guesses = read_samples([{"question": Q, "answer": A}, {"query": Q, "answer": A}]).guesses
    assert guesses == ["read user_input from question and query, response from answer"]


def test_a_column_that_is_kept_in_part_is_said() -> None:
    guesses = read_samples([{"response": A, "note": {1}}]).guesses
    assert guesses == ["note: 1 cell that JSON can't hold, kept in part"]
