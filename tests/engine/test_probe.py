"""Damaged and hostile model files get a sentence each: a seeded share; LOCALEVAL_TEST_DAMAGE=1 runs all."""

import json
import os
import re
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import pytest

from localeval import Judge, plan
from localeval.engine import probe
from localeval.engine.engine import Engine
from localeval.engine.settings import EngineSettings
from localeval.errors import InputError, ModelBroken, ModelError
from localeval.metrics.score import Score
from localeval.models import resolve
from localeval.models.files import hash_file
from localeval.models.gguf import check_gguf
from tests.commands import refused, said
from tests.loopback import HUB, move_in, toml_row
from tests.tiny import CHATML, write_tiny_model

SHARE = float(os.environ.get("LOCALEVAL_TEST_DAMAGE", "0.01"))
SETTINGS = EngineSettings(n_ctx=2048, n_threads=1)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def aborting(tiny_path: Path, tmp_path: Path) -> Path:
    """A file on which llama.cpp ends the process: its number of layers is beyond all bounds."""
    whole = tiny_path.read_bytes()
    path = tmp_path / "aborting.gguf"
    name = b"qwen2.block_count"
    # Behind the name and the type.
    start = whole.index(name) + len(name) + 4
    path.write_bytes(whole[:start] + struct.pack("<I", 1 << 20) + whole[start + 4 :])
    return path


def load(path: Path) -> None:
    """Load a judge with its weights."""
    with Judge.load(path, **vars(SETTINGS)) as judge:
        assert isinstance(judge.engine, Engine)
        assert judge.engine.llama


def probe_file(path: Path, settings: EngineSettings = SETTINGS) -> None:
    """Probe a file as a judge does before its weights are loaded."""
    probe.probe_model(resolve(path, kind="judge"), settings)


def in_the_catalog(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = f'{{ name = "tiny.gguf", sha256 = "{hash_file(path)}" }}'
    move_in(monkeypatch, tmp_path, toml_row("tiny", HUB, files=files))


def test_no_damaged_file_ends_or_hangs_the_callers_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.damage", str(tmp_path), str(SHARE)]
    output = subprocess.check_output(command, text=True, cwd=Path(__file__).parents[2])
    rows = [json.loads(line) for line in output.splitlines()]
    print(f"{len(rows)} files: {dict(Counter((row['stopped'], row['how']) for row in rows))}")
    assert [row for row in rows if row["harm"]] == []
    assert len(rows) >= SHARE * 1100
    for message in (row["said"] for row in rows if row["how"] == "fault"):
        assert str(tmp_path) in message
        assert "\n" not in message[:600] == message
    last = {row["what"]: row["stopped"] for row in rows[-5:]}
    assert (last.pop("whole"), set(last.values())) == ("works", {"tables", "probe"})


def test_an_aborting_file_is_refused(aborting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What aborts llama.cpp aborts a probe alone; where the file is the catalog's, its build is at fault."""
    check_gguf(aborting)  # its tables are sound
    assert "llama.cpp ended on it (SIG" in said(ModelBroken, load, aborting)
    (tmp_path / "data.jsonl").write_text('{"response": "Tea.", "contexts": ["Tea."]}')
    monkeypatch.chdir(tmp_path)
    assert "aborting.gguf" in refused("evaluate", "data.jsonl", "--judge", aborting, "-q", code=3)
    in_the_catalog(aborting, monkeypatch, tmp_path)
    assert re.search(r"\(SIG.*its build is at fault", said(ModelError, probe_file, aborting))


def test_what_never_ends_is_stopped_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loops = "{% for i in range(99999) %}" * 4 + "{% endfor %}" * 4
    # Behind 18 worked examples alone.
    loops = f"{{% if messages|length == 38 %}}{loops}{{% endif %}}"
    path = write_tiny_model(tmp_path / "endless.gguf", template=loops + CHATML)
    monkeypatch.setattr(probe, "SECONDS", 2)
    monkeypatch.setattr(probe, "BYTES_A_SECOND", path.stat().st_size)
    assert "did not end within 3 seconds" in said(ModelBroken, probe_file, path)


def score(judge: Judge, context: str) -> Score:
    sample = {"user_input": "?", "response": "Tea grows.", "retrieved_contexts": [context]}
    return judge.score("faithfulness", sample, statements="sentences")


def test_weights_of_nan_fail_only_their_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localeval.judge.probe_vocabulary", Mock())
    monkeypatch.setattr("localeval.judge.check_weights", Mock())
    path = write_tiny_model(tmp_path / "mine.gguf", lost="茶".encode()[0])
    with Judge.load(path, n_threads=1) as judge:
        first = score(judge, "Tea grows.")
        assert first.status == "scored"
        assert score(judge, "Tea 茶 grows.") == Score.failed("engine_error")
        assert score(judge, "Tea grows.") == first


def test_weights_of_nan_for_a_text_of_the_probe_are_refused(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "worse.gguf", lost=ord("a"))
    assert "the model answers with NaN or infinity" in said(ModelBroken, load, path)


@pytest.mark.parametrize(
    ("code", "output", "error", "message"),
    [
        (0, 'noise\n["InputError", "n_ctx is 1"]', InputError, "n_ctx is 1"),
        (0, "", ModelBroken, "(exit code 0: last words)"),
        (1, '["", ""]', ModelBroken, "(exit code 1: last words)"),
        (-11, '["", ""]', ModelBroken, "(SIGSEGV: last words)"),
    ],
    ids=["tells a fault", "ends without a word", "ends with an exit code", "crashes"],
)
def test_each_end_of_a_probe_is_told(
    code: int,
    output: str,
    error: type[Exception],
    message: str,
    tiny_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = subprocess.CompletedProcess([], code, output, "first\nlast words\n\n")
    monkeypatch.setattr(subprocess, "run", Mock(return_value=ended))
    assert message in said(error, probe_file, tiny_path)


@pytest.mark.parametrize("known", [True, False], ids=["of the catalog", "of one's own"])
def test_a_file_is_probed_once_a_build(known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf")
    if known:
        in_the_catalog(path, monkeypatch, tmp_path)
    probe_file(path)
    # A process that is started now is a TypeError.
    monkeypatch.setattr(subprocess, "run", None)
    # A longer context was proved too.
    probe_file(path, EngineSettings(n_ctx=8192, n_threads=2))
    monkeypatch.setattr(probe, "library_digest", lambda: "another")
    said(TypeError, probe_file, path)


def test_a_changed_file_is_probed_again(tmp_path: Path) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf")
    probe_file(path)
    path.write_bytes(path.read_bytes().replace(b"qwen2.block_count", b"qwen2.block_cound"))
    assert "key not found in model: qwen2.block_count" in said(ModelBroken, probe_file, path)


def test_the_vocabulary_of_a_file_of_the_catalog_is_opened_without_a_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf")
    monkeypatch.setattr(subprocess, "run", None)
    said(TypeError, Judge.load, path)
    in_the_catalog(path, monkeypatch, tmp_path)
    Judge.load(path).close()


def test_a_split_model_is_probed_with_all_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [tmp_path / f"part-0000{number}-of-00002.gguf" for number in (1, 2)]
    for path in paths:
        write_tiny_model(path)
    start = Mock(return_value=subprocess.CompletedProcess([], 0, '["", ""]', ""))
    monkeypatch.setattr(subprocess, "run", start)
    probe_file(paths[0])
    assert start.call_args.args[0][-2:] == [str(path) for path in paths]


def test_a_plan_does_not_measure_with_a_model_on_which_the_build_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf")
    in_the_catalog(path, monkeypatch, tmp_path)
    crashed = subprocess.CompletedProcess([], -4, "", "")
    monkeypatch.setattr(subprocess, "run", Mock(return_value=crashed))
    monkeypatch.setattr("localeval.engine.benchmark.measure", lambda *_: pytest.fail("it was measured"))
    sample = {"response": "Tea grows.", "retrieved_contexts": ["Tea grows."]}
    with Judge.load(path, n_threads=1) as judge:
        refusal = said(ModelError, plan, [sample], ["faithfulness"], judge)
    assert "llama.cpp ends the process on this model (SIGILL)" in refusal


@pytest.mark.parametrize(
    ("offset", "size", "value", "message"),
    [
        (4, 4, 1, "version 1"),
        (4, 4, 4, "version 4"),
        (8, 8, 1 << 40, "tensors"),
        (16, 8, 1 << 40, "pairs"),
        (24, 8, 1 << 62, "end of the file"),
    ],
    ids=["old version", "new version", "many tensors", "many pairs", "long name"],
)
def test_a_number_of_a_files_header_that_cant_be_is_refused(
    offset: int, size: int, value: int, message: str, tiny_path: Path, tmp_path: Path
) -> None:
    whole = tiny_path.read_bytes()
    path = tmp_path / "m.gguf"
    path.write_bytes(whole[:offset] + value.to_bytes(size, "little") + whole[offset + size :])
    assert message in said(ModelBroken, check_gguf, path)


def test_a_file_of_version_2_is_taken(tiny_path: Path, tmp_path: Path) -> None:
    whole = tiny_path.read_bytes()
    path = tmp_path / "m.gguf"
    path.write_bytes(whole[:4] + (2).to_bytes(4, "little") + whole[8:])
    check_gguf(path)
