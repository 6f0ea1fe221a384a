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
    return {**dict(zip(FIELDS, values, strict=True)), **extra}


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


def test_an_id_that_is_missing_is_the_number_of_the_row_in_every_table(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("answer\n\nA\nB\n")
    (tmp_path / "data.json").write_text('\n\n[{"answer": "A"},\n\n{"answer": "B"}]')
    for source in (tmp_path / "data.csv", tmp_path / "data.json", pd.DataFrame({"answer": ["A", "B"]})):
        assert [sample.id for sample in read_samples(source)] == ["1", "2"]
    rows: list[Sample | dict[str, str]] = [Sample(response="A."), {"id": "x"}, Sample(response="A.")]
    assert [sample.id for sample in read_samples(iter(rows))] == ["1", "x", "3"]


def test_nan_none_and_na_in_a_table_are_missing_columns(tmp_path: Path) -> None:
    columns = {"id": [1.0, float("nan")], "response": ["A", pd.NA], "retrieved_contexts": [["x"], None]}
    columns["when"] = pd.to_datetime(["2024-05-01", None])
    columns["image"] = [b"\xff", b"\x89"]  # no text, so left out
    pd.DataFrame(columns).to_parquet(tmp_path / "data.parquet")
    first = dump("1", None, "A", ["x"], None, when="2024-05-01 00:00:00")
    for source in (pd.DataFrame(columns), tmp_path / "data.parquet"):
        assert dumped(source) == [first, dump("2", None, None, None, None)]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_what_parts_the_cells_is_seen_in_the_first_line_that_is_not_blank(sign: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"\r\n\r\n{sign}id{sign} answer{sign}note\n0{sign}1{sign}A{sign}\n", newline="")
    assert dumped(path) == [dump("1", None, "A", None, None)]
    path.write_text(f'"id"{sign} "answer"\n"1"{sign} "A{sign} B"\n')  # with a space before a quote
    assert dumped(path) == [dump("1", None, f"A{sign} B", None, None)]
    path.write_text(f'id{sign}answer\n1{sign} "A" B\n')  # a space that is part of the cell
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


def test_a_format_is_said_and_what_it_lacks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = as_csv(ROWS, tmp_path / "data.txt")
    assert dumped(path, format="csv") == dumped(ROWS)
    assert "format xlsx" in fault(path, format="xlsx")
    assert "format and encoding are of files" in fault(ROWS, format="csv")
    path = as_parquet(ROWS, tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'localeval[tables]'" in fault(path)


def test_encodings_can_be_named_or_show_themselves_and_wrong_ones_are_told(tmp_path: Path) -> None:
    rows = [{"id": "a", "response": "水车，𠀀 €"}]
    for encoding in ("gb18030", "utf-16-le", "utf-8-sig", "utf-16", "utf-32"):
        for name, write in (WRITERS["jsonl"], WRITERS["json"], WRITERS["csv"]):
            path = write(rows, tmp_path / name)
            path.write_bytes(path.read_bytes().decode().encode(encoding))
            assert dumped(path, encoding=encoding) == dumped(rows)
            if encoding.startswith("utf"):
                assert dumped(path) == dumped(rows)
    path = tmp_path / "data.jsonl"
    path.write_bytes('{"answer": "A"}\n{"answer": "水车"}\n'.encode("gb18030"))
    assert "line 2: answer has bytes of another encoding" in fault(path)
    assert read_samples(path, skip_bad=True)[0].response == "A"
    assert "another encoding" in fault(path, encoding="utf-16")
    for unknown in ("klingon", "hex"):
        assert f"encoding {unknown} is not known" in fault(path, encoding=unknown)


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


def test_rows_of_langsmith_are_read_as_they_are() -> None:
    for inputs, outputs, reference in (
        ({"question": Q}, {"answer": A, "documents": DOCUMENTS}, {"answer": G}),
        ({"input": Q}, {"output": A, "contexts": C}, {"output": G}),
        ({"text": Q}, {"response": A, "docs": C}, {"text": G}),
    ):
        row: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference}
        dataset = datasets.Dataset.from_list([row])
        formats = [dataset.with_format(name) for name in (None, "arrow", "pandas")]
        for source in ([row], *formats, dataset.to_iterable_dataset().with_format("arrow")):
            assert dumped(source) == [dump("1", Q, A, C, G)]
        as_ours = dataset.with_transform(lambda rows: {"answer": [A] * len(rows["inputs"])})
        assert dumped(as_ours) == [dump("1", None, A, None, None)]


def test_what_else_langsmith_has_is_kept_and_columns_can_name_what_is_inside() -> None:
    row = {"id": "x", "inputs": {"question": Q}, "outputs": {"answer": A, "cost": 3}, "metadata": {"a": 1}}
    (sample,) = read_samples([row])
    assert (sample.id, sample.model_extra) == ("x", {"outputs.cost": 3, "metadata": {"a": 1}})
    (expected,) = read_samples([row], columns={"reference": "outputs.answer"})
    assert (expected.response, expected.reference) == (None, A)
    row = {"inputs": {"lang": "en", "q": C}, "outputs": {"answer": A, "category": "history"}}
    (rest,) = read_samples([row], columns={"reference": "outputs.answer", "retrieved_contexts": "inputs.q"})
    assert (rest.user_input, rest.response, rest.reference) == (None, None, A)
    twice = {"inputs": {"question": Q, "query": A}, "outputs": {"answer": A}}
    assert "question and query are one field but differ" in fault([twice])
    (traced,) = read_samples([{"inputs": {"question": Q}, "outputs": {"answer": A, "output": {"trace": 1}}}])
    assert (traced.response, traced.model_extra) == (A, {"outputs.output": {"trace": 1}})
    plain = {"inputs": {"question": Q}, "response": A}  # its own columns count
    assert read_samples([plain])[0].model_extra == {"inputs": {"question": Q}}


def test_named_columns_are_read_no_other_for_that_field_and_wrong_ones_are_told(tmp_path: Path) -> None:
    rows = [{"q": "Who?", "model_b": "Ann.", "answer": "Bob.", "ctx": '["Ann won."]', "id": "x", "key": 7}]
    columns = {"question": "q", "response": "model_b", "retrieved_contexts": "ctx", "id": "key"}
    pd.DataFrame(rows).to_csv(tmp_path / "data.csv", index=False)
    for source in (tmp_path / "data.csv", pd.DataFrame(rows)):
        assert dumped(source, columns=columns) == [dump("7", "Who?", "Ann.", ["Ann won."], None)]
    swapped = {"response": "reference", "reference": "response"}
    rows = [{"response": "A", "reference": "B"}]
    assert dumped(rows, columns=swapped) == [dump("1", None, "B", None, "A")]
    rows = [{"q": "Who?", "a": "Ann."}, {"a": 5}]
    assert "did you mean response?" in fault(rows, columns={"respons": "a"})
    assert "response is named twice" in fault(rows, columns={"response": "a", "answer": "q"})
    assert "no sample has the column aa, which was named" in fault(rows[:1], columns={"response": "aa"})


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


@pytest.mark.parametrize(
    ("name", "content", "place", "message"),
    [
        ("data.jsonl", "\n \n", ":", "no sample"),
        ("data.jsonl", LINE + '{"answer" "A."}', ", line 2:", "column 11"),
        ("data.jsonl", "\n" + '[{"answer": "A."}]', ", line 2:", "--format json"),
        ("data.jsonl", '{"contexts": ["\\udc00"]}', ", line 1:", "contexts has"),
        ("data.jsonl", '{"a": ' + "[" * 100_000, ", line 1:", "not JSON"),
        ("data.jsonl", '{"n": ' + "9" * 10_000 + "}", ", line 1:", "not JSON"),
        ("data.jsonl", '{"contexts": ["a", null]}', ", line 1:", "contexts, item 2 is None"),
        ("data.jsonl", '{"answer": "A", "response": "B"}', ", line 1:", "response and answer are one field"),
        ("data.jsonl", '{"id": "2"}\n' + LINE, ":", "line 2 (no id, so its position) have the same id 2"),
        ("data.jsonl.gz", gzip.compress(b'{"answer": "A"}')[:-9], ":", "can't be read"),
        ("data.csv", "answer,answer\nA,B\n", ", line 1:", "answer stands twice"),
        ("data.csv", HEAD + "1,A\n", ", line 2:", "2 cells"),
        ("data.csv", HEAD + '\n1,"A\nB",[]\n2,"A\n', ", line 5:", "quote"),
        ("data.csv", HEAD + '1,A,[]\n2,"A\nB"C,[]\n', ", lines 3 to 4:", "quote"),
        ("data.csv", HEAD + '1,A,"[\'The mill."\n', ", line 2:", 'contexts is "[\'The mill."'),
        ("data.csv", (HEAD + '1,"A\n').encode() + b'B\xe4",[]\n', ", lines 2 to 3:", "encoding"),
        ("data.json", '[{"answer": "A"},\n}', ":", "line 2"),
        ("data.json", '{"answer": "A"}\n{"answer": "B"}', ":", "--format jsonl"),
        ("data.json", '{"a": [{}],"b": [{}]}', ":", "several lists"),
        ("data.json", '[{},\n{"answer": true}]', ", sample 2:", "answer is True"),
        ("data.parquet", "PAR1 no", ":", "Parquet"),
        ("data.xlsx", b"PK\x03\x04\x14\0", ":", "CSV"),
    ],
    ids=range(22),
)
def test_a_faulty_file_is_refused_with_the_place_and_what_is_wrong(
    tmp_path: Path, name: str, content: str | bytes, place: str, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert fault(path).startswith(f"{path}{place} ")
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


def test_what_holds_no_samples_is_refused_with_its_place() -> None:
    for source, message in [
        *((path, "can't be read") for path in ("absent\n.jsonl", ".", "a\0b", "x" * 5000)),
        ({"a": "A."}, "expected a path or a list of samples"),
        (datasets.DatasetDict({"train": datasets.Dataset.from_list([{"answer": A}])}), "splits: train"),
        ([{"id": "x"}, Sample(id="x")], "sample 1 and sample 2 have the same id x"),
        ([{}, 5], "sample 2: 5 is no sample"),
        ([{1: "x"}], "sample 1: the column name 1 is no text"),
        ([{"answer": {"y": [{1}]}}], "sample 1: answer can't be written as JSON"),
        (pd.DataFrame({"answer": ["A", True]}), "DataFrame, row 2: answer is True"),
        *((pd.DataFrame({"answer": [x]}), "answer can't be written") for x in (pd.Timestamp(0), b"\xff")),
        (pd.DataFrame({"outputs": [{"docs": [{1}]}], "inputs": [{}]}), "row 1: docs can't be written as"),
        (pa.array(["A"]), "StringArray, row 1: 'A' is no sample"),
        (pd.DataFrame([["A", "B"]], columns=["answer", "answer"]), "DataFrame: two columns"),
        (pa.table([["A"], ["B"]], names=["answer", "answer"]), "Table: two columns"),
        (pd.DataFrame({"answer": []}), "DataFrame: there is no sample"),
    ]:
        assert message in fault(source)


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


def test_samples_are_drawn_by_the_seed_in_order_or_chosen_by_ids_each_of_which_must_be_there() -> None:
    ten = ids(sample=10, seed=1)
    assert len(ten) == 10
    assert ten == ids(sample=10, seed=1) == sorted(ten, key=lambda name: int(name[1:]))
    assert ten != ids(sample=10, seed=2)
    assert set(ten) < set(ids(sample=20, seed=1))
    assert set(ids(sample=5, limit=7)) < set(ids(limit=7))
    assert ids(ids=["s7", "s3", "s7"]) == ["s3", "s7"]
    assert ids(ids="s7") == ["s7"]
    assert ids(ids=["s0", "s2"], limit=3) == ["s0", "s2"]
    assert read_samples([{"answer": "A"}, {"answer": "B"}], ids=[2])[0].response == "B"
    assert "no sample has the id s7x; did you mean s7?" in fault(NUMBERED, ids=["s1", "s7x"], sample=1)
    assert "among the first 3 has the id s3" in fault(NUMBERED, ids=["s0", "s3"], limit=3)
    assert "among the first" not in fault(NUMBERED[:1], ids=["s3"], limit=5)


BAD_CSV = (HEAD + 'a,A,[]\nb,B\nc,"C"C,[]\nd,D,[None]\nf,"C\nd,D,"[""x""]"\ne,E,[]\n').encode()
BAD = b'{"answer": "A"}\n{"answer": [5]}\n\n[\n{"answer": "\\ud800"}\n{"answer": "B"}\n{"answer": "\xff"}\n'


def test_skip_bad_goes_on_behind_each_kind_of_fault_and_tells_what_was_skipped(tmp_path: Path) -> None:
    for name, content, good, places in (
        ("data.jsonl", BAD, ["1", "6"], ["line 2", "line 4", "line 5", "line 7"]),
        ("data.csv", BAD_CSV, ["a", "e"], ["line 3", "line 4", "line 5", "lines 6 to 7"]),
        (
            "data.json",
            b'[{"id": "a"}, 5,\n{"answer": true}, {"id": "e"}]',
            ["a", "e"],
            ["sample 2", "sample 3"],
        ),
    ):
        path = tmp_path / name
        path.write_bytes(content)
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


def test_a_run_keeps_skipped_rows_until_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {**GOOD, "id": "bad", "retrieved_contexts": "Tea."}
    data, folder = write_rows(tmp_path / "data.jsonl", [GOOD, bad, bad]), tmp_path / "run"
    result = judged(data, folder)
    written = (folder / "results.json").read_bytes()
    skipped = json.loads(written)["skipped"]
    assert skipped == result.to_dict()["skipped"]
    assert [row["place"] for row in skipped] == ["line 2", "line 3"]
    assert skipped[0]["reason"].startswith(f"{data}, line 2: retrieved_contexts is 'Tea.'")
    assert rescore(folder).skipped == result.skipped
    assert "were skipped: 2" in (folder / "report.html").read_text("utf-8")
    main(["report", str(folder)])
    assert f"  {data}, line 3: retrieved_contexts is 'Tea.'" in capsys.readouterr().out
    for source in (data, folder / "samples.jsonl"):  # which `rescore` names where a judgement is missing
        judged(source, folder)
        assert (folder / "results.json").read_bytes() == written
    mended = judged(write_rows(data, [GOOD]), folder)
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


@pytest.mark.parametrize("start", ["['", "['a' ", "[" * 9, "['\\", '["', "(", "['a'" + " " * 9])
def test_a_long_cell_is_read_or_refused_at_once(start: str) -> None:
    for cell in (start * 50_000, start * 50_000 + "]"):
        with suppress(InputError):
            read_samples(pd.DataFrame({"contexts": [cell]}))


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


def test_what_was_guessed_is_said_and_what_was_not_guessed_is_not() -> None:
    frame = pd.DataFrame({"question": ["Q?"], "answer": [1820], "docs": ["The mill."]})
    guesses = read_samples(frame).guesses
    for part in ("user_input from question", "response from answer", "answer: 1 cell", "docs: 1 cell"):
        assert part in "\n".join(guesses)
    assert read_samples(read_samples(frame)).guesses == guesses
    assert read_samples(ROWS).guesses == []
    mixed = read_samples([{"question": Q, "answer": A}, {"query": Q, "answer": A, "note": {1}}]).guesses
    assert "user_input from question and query" in "\n".join(mixed)
    assert "note: 1 cell" in "\n".join(mixed)
    named = read_samples(
        [{"question": Q, "answer": A}], columns={"user_input": "question", "response": "answer"}
    )
    assert named.guesses == []
