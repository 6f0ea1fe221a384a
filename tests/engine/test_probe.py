"""Damaged and hostile model files get a sentence each: a seeded share; LOCALEVAL_TEST_DAMAGE=1 runs all."""

import json
import os
import re
import struct
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest

from localeval import Judge
from localeval.engine import probe
from localeval.engine.engine import Engine
from localeval.engine.interface import EngineSettings
from localeval.errors import InputError, ModelBroken, ModelError
from localeval.metrics.score import Score
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
    whole, path = tiny_path.read_bytes(), tmp_path / "aborting.gguf"
    start = whole.index(b"qwen2.block_count") + len(b"qwen2.block_count") + 4  # behind the type
    path.write_bytes(whole[:start] + struct.pack("<I", 1 << 20) + whole[start + 4 :])
    return path


def load(path: Path) -> None:
    with closing(Engine(path, SETTINGS)) as engine:
        assert engine.llama


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
    assert re.search(r"\(SIG.*its build is at fault", said(ModelError, probe.probe_model, aborting, SETTINGS))


def test_what_never_ends_is_stopped_and_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loops = "{% for i in range(99999) %}" * 4 + "{% endfor %}" * 4
    loops = f"{{% if messages|length == 38 %}}{loops}{{% endif %}}"  # behind 18 worked examples alone
    path = write_tiny_model(tmp_path / "endless.gguf", template=loops + CHATML)
    monkeypatch.setattr(probe, "SECONDS", 2)
    monkeypatch.setattr(probe, "BYTES_A_SECOND", path.stat().st_size)
    assert "did not end within 3 seconds" in said(ModelBroken, probe.probe_model, path, SETTINGS)


def test_weights_of_nan_fail_only_their_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "IN_CHILD", True)

    def score(judge: Judge, text: str) -> Score:
        sample = {"user_input": "?", "response": "Tea grows.", "retrieved_contexts": [text]}
        return judge.score("faithfulness", sample, statements="sentences")

    path = write_tiny_model(tmp_path / "mine.gguf", lost="茶".encode()[0])
    with Judge.load(path, n_threads=1) as judge:
        first = score(judge, "Tea grows.")
        assert first.status == "scored"
        assert score(judge, "Tea 茶 grows.") == Score.failed("engine_error")
        assert score(judge, "Tea grows.") == first
    monkeypatch.setattr(probe, "IN_CHILD", False)
    worse = write_tiny_model(tmp_path / "worse.gguf", lost=ord("a"))  # for a text of the probe
    assert "the model answers with NaN or infinity" in said(ModelBroken, load, worse)


def test_each_end_of_a_probe_is_told(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for code, output, error, message in (
        (0, 'noise\n["InputError", "n_ctx is 1"]', InputError, "n_ctx is 1"),
        (0, "", ModelBroken, "(exit code 0: last words)"),
        (1, '["", ""]', ModelBroken, "(exit code 1: last words)"),
        (-11, '["", ""]', ModelBroken, "(SIGSEGV: last words)"),
    ):
        ended = subprocess.CompletedProcess([], code, output, "first\nlast words\n\n")
        monkeypatch.setattr(subprocess, "run", Mock(return_value=ended))
        assert message in said(error, probe.probe_model, tiny_path, SETTINGS)


@pytest.mark.parametrize("known", [True, False])
def test_a_file_is_probed_once_a_build(known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf")
    if known:
        in_the_catalog(path, monkeypatch, tmp_path)
    probe.probe_model(path, SETTINGS)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", None)  # a process that is started now is a TypeError
        probe.probe_model(path, EngineSettings(n_ctx=8192, n_threads=2))  # a longer context was proved too
        patch.setattr(probe, "library", lambda: "another")
        said(TypeError, probe.probe_model, path, SETTINGS)
        if known:
            probe.probe_model(path)  # its vocabulary alone: nothing is computed
    path.write_bytes(path.read_bytes().replace(b"qwen2.block_count", b"qwen2.block_cound"))
    assert "key not found in model: qwen2.block_count" in said(ModelBroken, probe.probe_model, path, SETTINGS)


def test_what_a_files_tables_tell_is_not_believed(tiny_path: Path, tmp_path: Path) -> None:
    path, whole = tmp_path / "m.gguf", tiny_path.read_bytes()
    rows = [(8, 8, 1 << 40, "tensors"), (16, 8, 1 << 40, "pairs"), (24, 8, 1 << 62, "end of the file")]
    for start, size, value, message in [*rows, (4, 4, 1, "version 1"), (4, 4, 4, "version 4")]:
        path.write_bytes(whole[:start] + value.to_bytes(size, "little") + whole[start + size :])
        assert message in said(ModelBroken, check_gguf, path)
    path.write_bytes(whole[:4] + (2).to_bytes(4, "little") + whole[8:])
    check_gguf(path)
