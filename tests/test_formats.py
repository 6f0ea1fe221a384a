"""Every format gives the same samples; what can't be read is told with its place, and the rest still is."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from localeval import evaluate, read_samples
from localeval.errors import InputError
from localeval.testing import FakeEngine, fake_judge

SHIPPED = Path(__file__).parents[1] / "localeval" / "examples" / "answers.jsonl"
FIELDS = ("id", "user_input", "response", "retrieved_contexts", "reference")
Rows = Sequence[dict[str, Any]]
Writer = Callable[[Rows, Path], Any]


def as_jsonl(rows: Rows, path: Path) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def as_json(rows: Rows, path: Path) -> Path:
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return path


def as_wrapped_json(rows: Rows, path: Path) -> Path:
    path.write_text(json.dumps({"version": [1, 2], "rows": rows, "by": {"n": []}}), encoding="utf-8")
    return path


def as_csv(rows: Rows, path: Path, sign: str = ",", encoding: str = "utf-8") -> Path:
    """As people would write it by hand: nothing for None, "" for an empty text, lists as JSON."""

    def cell(value: Any) -> str:
        if value is None:
            return ""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return '"' + text.replace('"', '""') + '"'

    lines = [sign.join(FIELDS), *(sign.join(cell(row.get(name)) for name in FIELDS) for row in rows)]
    path.write_text("\r\n".join(lines) + "\r\n", encoding=encoding, newline="")
    return path


def as_parquet(rows: Rows, path: Path) -> Path:
    columns = {name: [row.get(name) for row in rows] for name in FIELDS}
    types = {name: pa.list_(pa.string()) if name == "retrieved_contexts" else pa.string() for name in FIELDS}
    parquet.write_table(pa.table(columns, schema=pa.schema(list(types.items()))), path)
    return path


def as_frame(rows: Rows, path: Path) -> pd.DataFrame:
    return pd.DataFrame([{name: row.get(name) for name in FIELDS} for row in rows])


def as_frame_of_parquet(rows: Rows, path: Path) -> pd.DataFrame:
    return pd.read_parquet(as_parquet(rows, path))


def as_gzip(rows: Rows, path: Path) -> Path:
    packed = path.with_name("data.jsonl.gz")
    packed.write_bytes(gzip.compress(as_jsonl(rows, path).read_bytes()))
    return packed


WRITERS: dict[str, tuple[str, Writer]] = {
    "jsonl": ("data.jsonl", as_jsonl),
    "json": ("data.json", as_json),
    "json in an object": ("data.JSON", as_wrapped_json),
    "csv": ("data.csv", as_csv),
    "csv with semicolons": ("data.csv", lambda rows, path: as_csv(rows, path, ";")),
    "csv as Excel writes it": ("data.csv", lambda rows, path: as_csv(rows, path, ",", "utf-8-sig")),
    "tsv in UTF-16": ("data.tsv", lambda rows, path: as_csv(rows, path, "\t", "utf-16")),
    "parquet": ("data.parquet", as_parquet),
    "frame": ("", as_frame),
    "frame of parquet": ("data.parquet", as_frame_of_parquet),
    "gzip": ("data.jsonl", as_gzip),
}


def shipped() -> Rows:
    return [json.loads(line) for line in SHIPPED.read_text(encoding="utf-8").splitlines()]


def dumped(source: Any, **how: Any) -> list[dict[str, Any]]:
    return [sample.model_dump() for sample in read_samples(source, **how)]


@pytest.mark.parametrize("kind", WRITERS)
def test_the_shipped_samples_are_the_same_in_every_format(kind: str, tmp_path: Path) -> None:
    name, write = WRITERS[kind]
    assert dumped(write(shipped(), tmp_path / name)) == dumped(SHIPPED)


@pytest.mark.parametrize("form", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_stdin_gives_the_same_samples_in_every_format(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = WRITERS[form if form != "tsv" else "tsv in UTF-16"]
    content = write(shipped(), tmp_path / name).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert dumped("-", format=form) == dumped(SHIPPED)
    assert sys.stdin.buffer.closed is False


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_what_gzip_packed_is_read_from_stdin_and_from_a_file_of_any_name(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = WRITERS[form]
    packed = gzip.compress(write(shipped(), tmp_path / name).read_bytes())
    (tmp_path / name).write_bytes(packed)
    assert dumped(tmp_path / name) == dumped(SHIPPED)
    plain = write(shipped(), tmp_path / name).rename(tmp_path / f"{name}.gz")
    assert dumped(plain) == dumped(SHIPPED)
    (tmp_path / name).write_bytes(packed)
    with subprocess.Popen(["cat", tmp_path / name], stdout=subprocess.PIPE) as pipe:  # noqa: S607
        assert pipe.stdout is not None
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(pipe.stdout))
        assert dumped("-", format=form) == dumped(SHIPPED)


@pytest.mark.parametrize("closed", [None, "by Python"])
def test_a_stdin_that_is_closed_is_said(closed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"{}")) if closed else None
    if stdin is not None:
        stdin.close()
    monkeypatch.setattr("sys.stdin", stdin)
    assert fault("-") == "stdin: is closed; send the samples there, or give the path of a file with samples."


def test_what_breaks_off_on_stdin_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(SHIPPED.read_bytes())[:500]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert "stdin: can't be read (Compressed file ended before" in fault("-")


ROWS: Rows = [
    {"id": "a", "user_input": "", "response": "Tea grows.", "retrieved_contexts": ["Tea grows."]},
    {"id": "b", "response": "Tea sings.", "retrieved_contexts": ["Tea, or\n“coffee”.", ""]},
    {"id": "c", "response": "", "retrieved_contexts": ["Tea grows."]},
    {"id": "d", "response": "Tea grows.", "retrieved_contexts": []},
    {"id": "e", "retrieved_contexts": ["Tea grows."]},
]


@pytest.mark.parametrize("kind", WRITERS)
def test_results_are_identical_whatever_the_format(kind: str, tmp_path: Path) -> None:
    def judged(source: Any) -> str:
        engine = FakeEngine([{"verdict": 0.75}, {"verdict": 0.25}])
        return evaluate(source, ["faithfulness"], fake_judge(engine), statements="sentences").to_json()

    name, write = WRITERS[kind]
    found = judged(write(ROWS, tmp_path / name))
    assert found == judged(ROWS)
    reasons = [s["scores"]["faithfulness"]["reason"] for s in json.loads(found)["samples"]]
    assert [reason or "" for reason in reasons] == [
        "",
        "",
        "no_statements",
        "no_contexts",
        "missing_response",
    ]


texts = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
tables = st.lists(
    st.fixed_dictionaries(
        {
            "user_input": texts,
            "response": texts,
            "reference": texts,
            "retrieved_contexts": st.none() | st.lists(texts.filter(lambda text: text is not None)),
        }
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("kind", WRITERS)
@settings(max_examples=25, deadline=None)
@given(rows=tables)
def test_what_is_written_is_read(kind: str, tmp_path_factory: pytest.TempPathFactory, rows: Rows) -> None:
    numbered = [{"id": f"r{place}", **row} for place, row in enumerate(rows)]
    name, write = WRITERS[kind]
    assert dumped(write(numbered, tmp_path_factory.mktemp("written") / name)) == dumped(numbered)


@settings(max_examples=25, deadline=None)
@given(rows=tables)
def test_what_pandas_writes_as_csv_is_read_with_empty_texts_missing(
    tmp_path_factory: pytest.TempPathFactory, rows: Rows
) -> None:
    numbered = [{"id": f"r{place}", **row} for place, row in enumerate(rows)]
    frame = as_frame(numbered, Path())
    frame["retrieved_contexts"] = [
        None if row is None else json.dumps(row) for row in frame.retrieved_contexts
    ]
    path = tmp_path_factory.mktemp("written") / "data.csv"
    frame.to_csv(path, lineterminator="\r\n")
    # pandas writes nothing for an empty text, as it does for None.
    assert dumped(path) == dumped([{k: None if v == "" else v for k, v in row.items()} for row in numbered])


def test_an_id_that_is_missing_is_the_number_of_the_row_in_every_table(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("answer\n\nA\nB\n")
    (tmp_path / "data.json").write_text('\n\n[{"answer": "A"},\n\n{"answer": "B"}]')
    for source in (tmp_path / "data.csv", tmp_path / "data.json", pd.DataFrame({"answer": ["A", "B"]})):
        assert [sample.id for sample in read_samples(source)] == ["1", "2"]


def test_nan_none_and_na_in_a_table_are_missing_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "id": [1.0, float("nan"), 3.0],
            "response": ["A", None, pd.NA],
            "retrieved_contexts": [["x"], None, '["y"]'],
            "score": [0.5, float("nan"), 1.0],
            "when": pd.to_datetime(["2024-05-01", None, None]),
        }
    )
    expected = [
        ("1", "A", ["x"], {"score": 0.5, "when": "2024-05-01 00:00:00"}),
        ("2", None, None, {}),
        ("3", None, ["y"], {"score": 1.0}),
    ]
    found = [(s.id, s.response, s.retrieved_contexts, s.model_extra) for s in read_samples(frame)]
    assert found == expected
    frame.drop(index=2).to_parquet(tmp_path / "data.parquet")
    samples = read_samples(tmp_path / "data.parquet")
    assert [(s.id, s.response, s.retrieved_contexts, s.model_extra) for s in samples] == expected[:2]


def test_a_named_index_of_a_frame_is_a_column_and_another_is_none() -> None:
    frame = pd.DataFrame({"id": ["x", "y"], "answer": ["A", "B"]})
    assert [sample.id for sample in read_samples(frame.set_index("id"))] == ["x", "y"]
    assert read_samples(frame[frame.answer == "B"])[0].model_extra == {}


def test_a_cell_of_a_million_characters_is_read(tmp_path: Path) -> None:
    row = {"id": "a", "response": "A", "retrieved_contexts": ["水" * 1_000_000]}
    assert read_samples(as_csv([row], tmp_path / "data.csv"))[0].retrieved_contexts == ["水" * 1_000_000]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("blank", ["\n", "\r\n\r\n"])
def test_what_parts_the_cells_is_seen_in_the_first_line_that_is_not_blank(
    sign: str, blank: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"{blank}id{sign}answer\n1{sign}A\n", newline="")
    assert [(one.id, one.response) for one in read_samples(path)] == [("1", "A")]


def test_cells_below_no_name_are_left_out_and_other_columns_are_text(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(',answer, label,note,\n0,A,1,,\n1,B,,"",\n')
    first, second = read_samples(tmp_path / "data.csv")
    assert (first.model_extra, second.model_extra) == ({"label": "1"}, {"note": ""})


def fault(source: Any, **how: Any) -> str:
    """The message of the InputError, checked to be one printable sentence."""
    with pytest.raises(InputError) as caught:
        read_samples(source, **how)
    message = str(caught.value)
    assert message.isprintable()
    assert message.endswith((".", "?"))
    return message


HEAD = "id,answer,contexts\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data.csv", "", ": there is no sample in it"),
        ("data.csv", HEAD, ": there is no sample in it"),
        (
            "data.csv",
            "x,y\n1,2\n",
            ", line 1: the header names no column that is known (x, y); put the names",
        ),
        ("data.csv", "answer,answer\nA,B\n", ", line 1: answer stands twice in the header; keep one"),
        ("data.csv", HEAD + "1,A\n", ", line 2: the row has 2 cells, and the header 3; put a cell with"),
        ("data.csv", HEAD + "1,A, B,[]\n", ", line 2: the row has 4 cells, and the header 3"),
        (
            "data.csv",
            HEAD + '\n1,"A\nB",[]\n2,"A\n',
            ", line 5: not CSV (a quote is not closed); close every",
        ),
        (
            "data.csv",
            HEAD + '1,A,[]\n2,"A\nB"C,[]\n',
            ", lines 3 to 4: not CSV, and read as one row (',' expected after '\"'); close every quote",
        ),
        ("data.csv", HEAD + '1,"A\n\nB"\n', ", lines 2 to 4: the row has 2 cells, and the header 3"),
        ("data.csv", HEAD + '1,"A"B,[]\n', ", line 2: not CSV ("),
        (
            "data.csv",
            HEAD + "1,A,The mill.\n",
            ', line 2: contexts: expected a list of strings in JSON, found a string "The mill."; write the '
            'list so: ["first text", "second text"].',
        ),
        ("data.csv", HEAD + "1,A,\"['a', 'b']\"\n", ", line 2: contexts: expected a list of strings in JSON"),
        ("data.csv", HEAD + "1,A,5\n", ", line 2: contexts: expected a list of strings in JSON"),
        ("data.csv", HEAD + "1,A,[5]\n", ", line 2: contexts, item 1: expected a string, found a number 5"),
        (
            "data.tsv",
            'id\tanswer\n1\t"A"B\n',
            ", line 2: not CSV (a tab expected after '\"'); close every quote",
        ),
        ("data.tsv", "id\tanswer\n1\tA\n1\tB\n", ": line 2 and line 3 have the same id 1; make every id"),
        (
            "data.csv",
            (HEAD + '1,"A\n').encode() + b'B\xe4",[]\n',
            ", line 3: byte 2 of the line is not UTF-8; save the file as UTF-8, or name its encoding, as "
            "--encoding gb18030.",
        ),
        ("data.json", "", ", line 1: no list begins here; write a list of objects"),
        ("data.json", "[]", ": there is no sample in it"),
        ("data.json", '[{"answer": "A"},\n]', ", line 2: not JSON at column 1 (Expecting value)"),
        ("data.json", '[{"answer": "A"}\n{}]', ", line 2: not JSON (] is missing here)"),
        ("data.json", '[{"answer": "A"}]\n{}', ", line 2: more stands behind the end of the JSON text"),
        (
            "data.json",
            '[\n{"answer": "A}\n]',
            ", line 2: not JSON at column 15 (Invalid control character at)",
        ),
        (
            "data.json",
            '{"answer": "A"}\n{"answer": "B"}',
            "no lists of objects; write a list of objects, as [{...}, {...}], or say "
            "--format jsonl for one object a line.",
        ),
        ("data.json", '{"answer": "A"}', ", line 1: an object with no lists of objects; write a list of"),
        ("data.json", '{"a": [{}],\n"a": [{}]}', ", line 2: a stands twice in one object; keep one of them."),
        ("data.json", '{"v": 1,\n"a": [{}], "v": 2}', ", line 2: v stands twice in one object; keep one of"),
        ("data.json", '{"a": [{}],"b": [{}]}', ", line 1: an object with 2 lists of objects (a, b); write"),
        ("data.json", '{"a": [{}] "b": 1}', ", line 1: not JSON (} is missing here)"),
        ("data.json", "{5: [{}]}", ', line 1: not JSON (" is missing here)'),
        (
            "data.json",
            "[{},\n\n5]",
            ", sample 2 (line 3): sample: expected an object with named columns, fou",
        ),
        ("data.json", '[{"answer": 5}]', ", sample 1 (line 1): answer: expected a string, found a number 5"),
        ("data.json", '[{},\n{"score": NaN}]', ", line 2: NaN is not JSON; write null or a number"),
        ("data.json", '[{},\n{"a": 1, "a": 2}]', ", line 2: a stands twice in one object; keep one"),
        ("data.json", "[" * 100_000, ", line 1: JSON that is nested too deeply"),
        (
            "data.json",
            '[{"id": 1}, {"id": 1}]',
            ": sample 1 (line 1) and sample 2 (line 1) have the same id 1",
        ),
        ("data.json", b'[\n"\xff"]', ", line 2: byte 2 of the line is not UTF-8"),
        ("data.parquet", "PAR1 no", ": can't be read as Parquet ("),
        ("data.jsonl.gz", gzip.compress(b'{"answer": "A"}')[:-9], ": can't be read (Compressed file ended"),
        (
            "data.xlsx",
            b"PK\x03\x04\x14\0",
            ": is a zip archive, as .xlsx files are; save an Excel table as CSV, and unpack any other.",
        ),
        ("data.csv", gzip.compress(b"PK\x03\x04\x14\0"), ": is a zip archive, as .xlsx files are"),
        (
            "data.xls",
            b"\xd0\xcf\x11\xe0\xa1\xb1",
            ": is an Office file, as .xls files are; save the table as CSV.",
        ),
    ],
    ids=range(42),
)
def test_a_faulty_file_is_refused_with_the_place_and_the_remedy(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = fault(path)
    assert found.startswith(str(path))
    assert message in found


def test_a_faulty_table_is_refused_with_row_and_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"answer": ["A", "B"], "contexts": [["x"], "The mill."]})
    expected = (
        'row 2: contexts: expected a list of strings in JSON, found a string "The mill."; write the list'
    )
    assert f"DataFrame, {expected}" in fault(frame)
    mixed = pa.table({"answer": ["A", "B"], "contexts": ['["x"]', "The mill."]})
    parquet.write_table(mixed, tmp_path / "data.parquet")
    assert f"{tmp_path / 'data.parquet'}, {expected}" in fault(tmp_path / "data.parquet")
    assert "row 1: answer: expected a string, found a number 5" in fault(pd.DataFrame({"answer": [5]}))
    assert "row 1: x: expected what JSON can hold, found a bytes" in fault(pd.DataFrame({"x": [b"\xff"]}))
    assert "two columns answer; rename one" in fault(pd.DataFrame([["A", "B"]], columns=["answer", "answer"]))
    assert "every name to be a string, found a number 0" in fault(pd.DataFrame([["A"]]))
    assert "DataFrame: there is no sample in it" in fault(pd.DataFrame({"answer": []}))


def test_text_of_a_parquet_file_that_is_not_utf_8_is_told_with_its_row(tmp_path: Path) -> None:
    bad = pa.array([b"A", b"\xff"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"answer": bad}), tmp_path / "data.parquet")
    assert "data.parquet, row 2: answer: can't be read (" in fault(tmp_path / "data.parquet")
    assert len(read_samples(tmp_path / "data.parquet", skip_bad=True)) == 1


def test_a_date_of_a_parquet_file_beyond_pythons_is_told_with_its_row(tmp_path: Path) -> None:
    far = pa.array([0, 10**7], pa.int32()).cast(pa.date32())
    parquet.write_table(pa.table({"answer": ["A", "B"], "seen": far}), tmp_path / "data.parquet")
    assert "data.parquet, row 2: seen: can't be read (" in fault(tmp_path / "data.parquet")
    assert len(read_samples(tmp_path / "data.parquet", skip_bad=True)) == 1


def test_a_column_of_a_parquet_file_whose_name_is_not_utf_8_is_a_fault_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"answerx": ["A"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"answerx", b"answer\xe1"))
    assert "data.parquet: can't be read as Parquet (" in fault(path)


def flipped(content: bytes, place: int, byte: int) -> bytes:
    at = place % len(content)
    return content[:at] + bytes([byte]) + content[at + 1 :]


@pytest.mark.parametrize("kind", ["jsonl", "json", "json in an object", "csv", "tsv in UTF-16", "gzip"])
@settings(max_examples=40, deadline=None)
@given(place=st.integers(0, 10_000), byte=st.sampled_from(b"\"'\\,;[]{}:\n\r\t\0N\xff\xfe\x80"))
def test_another_byte_anywhere_is_read_or_told_in_one_sentence(
    kind: str, tmp_path_factory: pytest.TempPathFactory, place: int, byte: int
) -> None:
    name, write = WRITERS[kind]
    path = write(ROWS, tmp_path_factory.mktemp("damaged") / name)
    path.write_bytes(flipped(path.read_bytes(), place, byte))
    for skip_bad in (False, True):
        told = ""
        try:
            read_samples(path, skip_bad=skip_bad)
        except InputError as error:
            told = str(error)
        assert told.isprintable()


def test_without_pyarrow_a_parquet_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = as_parquet(ROWS, tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pyarrow, which is not installed; pip install 'localeval[tables]'" in fault(path)


def test_formats_without_tables_load_neither_pandas_nor_pyarrow(tmp_path: Path) -> None:
    paths = [str(write(ROWS, tmp_path / name)) for name, write in (WRITERS["json"], WRITERS["csv"])]
    code = f"import sys, localeval; [localeval.read_samples(p) for p in {paths}]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "pyarrow", "numpy"} & set(done.stdout.split())


def test_the_format_can_be_said_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    path = as_csv(ROWS, tmp_path / "data.txt")
    assert dumped(path, format="csv") == dumped(ROWS)
    assert "format xlsx is not known; choose one of: jsonl, json, csv" in fault(path, format="xlsx")
    assert "format and encoding are of files" in fault(ROWS, format="csv")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings_that_show_themselves_need_not_be_named(encoding: str, tmp_path: Path) -> None:
    for name, write in (WRITERS["jsonl"], WRITERS["json"], WRITERS["csv"]):
        path = write(shipped(), tmp_path / name)
        path.write_bytes(path.read_bytes().decode().encode(encoding))
        assert dumped(path) == dumped(SHIPPED)


@pytest.mark.parametrize("encoding", ["gb18030", "big5hkscs", "shift_jis", "cp1252", "utf-16-le", "UTF-8"])
def test_any_encoding_can_be_named(encoding: str, tmp_path: Path) -> None:
    text = "café" if encoding == "cp1252" else "水車" if encoding != "gb18030" else "水车，𠀀 €"
    rows = [{"id": "a", "response": text, "retrieved_contexts": [text]}]
    for name, write in (WRITERS["jsonl"], WRITERS["json"], WRITERS["csv"]):
        path = write(rows, tmp_path / name)
        path.write_bytes(path.read_bytes().decode().encode(encoding))
        assert dumped(path, encoding=encoding) == dumped(rows)


def test_a_wrong_or_unknown_encoding_is_said_with_line_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes('{"answer": "A"}\n{"answer": "水车"}\n'.encode("gb18030"))
    assert "line 2: byte 15 of the line is not UTF-8; save the file as UTF-8, or name its" in fault(path)
    assert read_samples(path, encoding="gb18030")[1].response == "水车"
    assert "encoding klingon is not known; give another one" in fault(path, encoding="klingon")
    assert "encoding hex is not known" in fault(path, encoding="hex")
    assert "is not UTF-16 (UTF-16 stream does not start with BOM)" in fault(path, encoding="utf-16")
    path.write_bytes(
        '{"answer": "水"}\n{"answer": "'.encode("utf-16") + b"\x00\xdc" + '"}'.encode("utf-16-le")
    )
    assert "line 2: byte 25 of the line is not UTF-16" in fault(path)
    assert read_samples(path, skip_bad=True)[0].response == "水"
    path = tmp_path / "data.csv"
    path.write_bytes(b"answer\nA\x1b\x80A\xb7\n")  # \x80 is read as a sign that is never written
    assert "line 2: byte 5 of the line is not ISO2022_JP" in fault(path, encoding="iso2022_jp")


def test_named_columns_are_read_and_no_other_for_that_field(tmp_path: Path) -> None:
    rows = [{"q": "Who?", "model_b": "Ann.", "answer": "Bob.", "ctx": '["Ann won."]', "id": "x", "key": 7}]
    columns = {"question": "q", "response": "model_b", "retrieved_contexts": "ctx", "id": "key"}
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    for source in (tmp_path / "data.csv", pd.DataFrame(rows)):
        assert dumped(source, columns=columns) == [
            {
                "id": "7",
                "user_input": "Who?",
                "response": "Ann.",
                "retrieved_contexts": ["Ann won."],
                "reference": None,
            }
        ]


def test_columns_may_change_places() -> None:
    columns = {"response": "reference", "reference": "response"}
    sample = read_samples([{"response": "A", "reference": "B"}], columns=columns)[0]
    assert (sample.response, sample.reference) == ("B", "A")


def test_wrong_columns_are_said_with_what_there_is() -> None:
    rows = [{"q": "Who?", "a": "Ann."}, {"a": 5}]
    assert "columns: respons is no field of a sample; choose response." in fault(
        rows, columns={"respons": "a"}
    )
    assert "columns: x is no field of a sample; choose id, user_input" in fault(rows, columns={"x": "a"})
    assert "columns: response: expected the name of a column" in fault(rows, columns={"response": ""})
    assert (
        "samples: no sample has the column anwser, which was named for response; the first one has: q, a."
        in fault(rows[:1], columns={"response": "anwser"})
    )
    assert "sample 2: a: expected a string, found a number 5" in fault(rows, columns={"response": "a"})


NUMBERED = [{"id": f"s{place}", "answer": "A."} for place in range(100)]


def ids(**how: Any) -> list[str]:
    return [sample.id for sample in read_samples(NUMBERED, **how)]


def test_a_limit_reads_the_first_and_nothing_behind_them(tmp_path: Path) -> None:
    assert ids(limit=3) == ["s0", "s1", "s2"]
    assert len(ids(limit=1000)) == len(ids(limit=2**63)) == len(ids(sample=2**63)) == 100
    (tmp_path / "data.jsonl").write_text('{"answer": "A"}\n{"answer": "B"}\n[')
    assert len(read_samples(tmp_path / "data.jsonl", limit=2)) == 2
    assert "limit is 0; choose a whole number, at least 1." in fault(NUMBERED, limit=0)


def test_a_sample_is_drawn_by_the_seed_keeps_the_order_and_grows() -> None:
    ten, twenty = ids(sample=10, seed=1), ids(sample=20, seed=1)
    assert len(ten) == 10
    assert ten == ids(sample=10, seed=1) == sorted(ten, key=lambda name: int(name[1:]))
    assert ten != ids(sample=10, seed=2)
    assert set(ten) < set(twenty)
    assert ids(sample=1000) == ids()
    assert set(ids(sample=5, limit=7)) < set(ids(limit=7))
    assert "sample is -1; choose a whole number, at least 1." in fault(NUMBERED, sample=-1)


def test_a_sample_favours_no_place() -> None:
    """Over 400 seeds each of 20 is drawn 40 times on average; the bounds are 5 standard deviations (6.0)."""
    counts = dict.fromkeys(ids(limit=20), 0)
    for seed in range(400):
        for name in ids(limit=20, sample=2, seed=seed):
            counts[name] += 1
    assert min(counts.values()) > 40 - 5 * 6
    assert max(counts.values()) < 40 + 5 * 6


def test_samples_are_chosen_by_their_ids_and_an_unknown_one_is_refused() -> None:
    assert ids(ids=["s7", "s3", "s7"]) == ["s3", "s7"]
    assert ids(ids="s7") == ["s7"]
    assert read_samples([{"answer": "A"}, {"answer": "B"}], ids=[2])[0].response == "B"
    assert "samples: no sample has the id s7x; did you mean s7?" in fault(NUMBERED, ids=["s1", "s7x"])
    assert "no sample has the id ?; the first one has s0." in fault(NUMBERED, ids=["?"])
    assert "there is no sample in it" in fault([], ids=["?"])


def test_ids_are_looked_for_up_to_the_limit_and_each_must_be_there() -> None:
    assert ids(ids=["s0", "s2"], limit=3) == ["s0", "s2"]
    for behind in ("s3", "missing"):
        found = fault(NUMBERED, ids=["s0", behind], limit=3)
        assert f"no sample up to the limit of 3 has the id {behind}; raise the limit, or leave" in found
    assert "no sample has the id s7x; did you mean s7?" in fault(NUMBERED, ids=["s7x"], limit=1000)
    assert "no sample has the id s7x" in fault(NUMBERED, ids=["s1", "s7x"], sample=1)


BAD = '{"answer": "A"}\n{"answer": 5}\n\n[\n{"answer": "\\ud800"}\n{"answer": "B"}\n'


def test_skip_bad_reads_the_rest_and_tells_what_was_skipped(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(BAD.encode() + b'{"answer": "\xff"}\n')
    samples = read_samples(path, skip_bad=True)
    assert [(sample.id, sample.response) for sample in samples] == [("1", "A"), ("6", "B")]
    assert [skipped.place for skipped in samples.skipped] == ["line 2", "line 4", "line 5", "line 7"]
    assert samples.skipped[0].reason == (
        f"{path}, line 2: answer: expected a string, found a number 5; write text or null."
    )
    assert fault(path) == samples.skipped[0].reason


@pytest.mark.parametrize(
    ("name", "content", "places"),
    [
        ("data.csv", HEAD + 'a,A,[]\nb,B\nc,"C"C,[]\nd,D,x\ne,E,[]\n', ["line 3", "line 4", "line 5"]),
        ("data.csv", HEAD + 'a,A,[]\ne,E,[]\nc,"C\n', ["line 4"]),
        ("data.csv", HEAD + 'a,A,[]\ne,E,[]\nc,"C\n\n \n', ["line 4"]),
        ("data.csv", HEAD + 'a,A,[]\nc,"C\nd,D,"[""x""]"\ne,E,[]\n', ["lines 3 to 4"]),
        (
            "data.json",
            '[{"id": "a"}, 5,\n{"x": NaN}, {"x": 1, "x": 2}, {"id": "e"}]',
            ["sample 2 (line 1)", "sample 3 (line 2)", "sample 4 (line 2)"],
        ),
    ],
)
def test_skip_bad_goes_on_behind_each_kind_of_fault(
    tmp_path: Path, name: str, content: str, places: list[str]
) -> None:
    (tmp_path / name).write_text(content)
    samples = read_samples(tmp_path / name, skip_bad=True)
    assert [sample.id for sample in samples] == ["a", "e"]
    assert [skipped.place for skipped in samples.skipped] == places


def test_skip_bad_names_every_line_that_an_open_quote_took_into_one_row(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes((HEAD + 'a,A,[]\nb,"B\nc,C\n').encode() + b'd,\xff,"[]"\ne,E,[]\n')
    samples = read_samples(path, skip_bad=True)
    assert [sample.id for sample in samples] == ["a", "e"]
    assert samples.skipped == [
        (
            "lines 3 to 5",
            f"{path}, lines 3 to 5: not CSV, and read as one row (',' expected after '\"'); close every "
            "quote, and write a quote inside a cell twice.",
        )
    ]


def test_a_quote_that_takes_the_rest_of_the_file_is_refused_even_with_skip_bad(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = [f"{number},A{number},\n" for number in range(1, 11)]
    rows[2] = '3,"A3,\n'
    path.write_text(HEAD + "".join(rows) + "\n")
    expected = (
        f"{path}, lines 4 to 11: not CSV, and read as one row (a quote is not closed); close every quote"
    )
    assert fault(path, skip_bad=True).startswith(expected)
    assert fault(path) == fault(path, skip_bad=True)
    assert [sample.id for sample in read_samples(path, limit=2)] == ["1", "2"]


def test_skip_bad_skips_rows_of_tables_and_lists_and_tells_it_again_when_they_are_evaluated() -> None:
    rows = [{"answer": "A", "contexts": ["A"]}, {"answer": "B", "contexts": "x"}]
    for source in [rows, pd.DataFrame(rows)]:
        samples = read_samples(source, skip_bad=True)
        assert [len(samples), len(samples.skipped)] == [1, 1]
        assert read_samples(samples).skipped == samples.skipped


def test_equal_ids_stay_an_error_and_so_does_nothing_left(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"id": "x"}\n{"id": "x"}\n')
    assert "line 1 and line 2 have the same id x" in fault(tmp_path / "data.jsonl", skip_bad=True)
    (tmp_path / "data.jsonl").write_text("5\n6\n")
    message = fault(tmp_path / "data.jsonl", skip_bad=True)
    assert "no sample in it that can be used (2 were skipped); the first reason: " in message


def test_an_error_about_columns_names_the_file_whose_samples_are_evaluated(tmp_path: Path) -> None:
    path = as_csv([{"id": "a", "response": "A"}], tmp_path / "data.csv")
    for source in (path, read_samples(path)):
        with pytest.raises(InputError, match=r"data.csv: faithfulness needs the column retrieved_contexts"):
            evaluate(source, ["faithfulness"], fake_judge(FakeEngine([])))


def test_what_json_can_not_hold_is_refused_before_anything_is_judged() -> None:
    assert "sample 1: x: expected what JSON can hold, found a set" in fault([{"x": {"y": [{1}]}}])
    assert "sample 1: x: expected what JSON can hold, found a number nan" in fault([{"x": float("nan")}])


def test_500_samples_of_2_kb_take_less_than_2_mb(tmp_path: Path) -> None:
    rows = [
        {"id": f"s{place}", "response": f"{place} " * 140, "retrieved_contexts": [f"{place} mill " * 180]}
        for place in range(500)
    ]
    for name, write in (WRITERS["jsonl"], WRITERS["csv"]):
        path = write(rows, tmp_path / name)
        assert path.stat().st_size > 500 * 1900
        read_samples(path, limit=1)
        tracemalloc.start()
        samples = read_samples(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(samples) == 500
        assert peak < 2e6
