"""Damaged and hostile model files: the caller's process never ends or hangs, and each gets a sentence.

A seeded share of the campaign by default; with LOCALEVAL_TEST_DAMAGE=1 all of it, as `scripts/prove` does.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from localeval import Judge
from localeval.engine import loading, trial
from localeval.engine.interface import EngineSettings
from localeval.engine.tree import Engine
from localeval.errors import InputError, ModelBroken, ModelError
from localeval.metrics.score import Score
from localeval.models.files import hash_file
from localeval.models.gguf import check_gguf
from tests.damage import damaged
from tests.loopback import HUB, move_in, toml_row
from tests.tiny import CHATML, write_tiny_bert, write_tiny_model

SHARE = float(os.environ.get("LOCALEVAL_TEST_DAMAGE", "0.03"))
SETTINGS = EngineSettings(n_ctx=2048, n_threads=1)


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def aborting(tiny_path: Path, tmp_path: Path) -> Path:
    """A file on which llama.cpp ends the process: its number of layers is beyond all bounds."""
    content = bytearray(tiny_path.read_bytes())
    at = content.index(b"qwen2.block_count") + len(b"qwen2.block_count") + 4  # behind the type
    content[at : at + 4] = struct.pack("<I", 1 << 20)
    path = tmp_path / "aborting.gguf"
    path.write_bytes(content)
    return path


def no_process(*_: object, **__: object) -> None:
    pytest.fail("a process was started")


def test_no_damaged_file_ends_or_hangs_the_callers_process_and_each_gets_a_sentence_or_works(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.damage", str(tmp_path), str(SHARE)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    tried = Counter(f"{row['stopped']} {row.get('how', '')}".strip() for row in found)
    print(f"{len(found)} files: {dict(tried)}")
    assert [row for row in found if row["harm"]] == []
    assert len(found) >= SHARE * 1100
    for row in found:
        # A trial that ended badly is put into words by its parent, which other tests look at.
        if row["stopped"] != "works" and row.get("how", "fault") == "fault":
            assert row["said"].count("\n") == 0
            assert str(tmp_path) in row["said"]
            assert len(row["said"]) < 600
    last = {row["what"]: row["stopped"] for row in found[-5:]}
    assert last.pop("whole") == "works"
    assert set(last.values()) == {"tables", "trial"}


def test_a_known_file_is_refused_by_its_checksum_whatever_is_damaged_in_it(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tiny_path.read_bytes()
    files = f'{{ name = "tiny.gguf", size = {len(whole)}, sha256 = "{hash_file(tiny_path)}" }}'
    models = move_in(monkeypatch, tmp_path, toml_row("tiny", HUB, files=files))
    models.mkdir()
    monkeypatch.setattr(subprocess, "run", no_process)
    for what, content in damaged(whole, SHARE):
        (models / "tiny.gguf").write_bytes(content)
        with pytest.raises(ModelBroken, match="is not the catalog's file: found"):
            Judge.load("tiny")
        assert what


def test_what_aborts_llama_cpp_aborts_a_trial_and_is_refused_here(aborting: Path) -> None:
    check_gguf(aborting)  # its tables are sound
    with pytest.raises(ModelBroken, match=r"llama.cpp ended on it \(SIG.*in a trial apart from this process"):
        Engine(aborting, SETTINGS)


@pytest.mark.parametrize("turns", [None, 38])  # of any prompt, or behind 18 worked examples alone
def test_what_never_ends_is_stopped_and_refused(
    turns: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops = "".join("{% for i in range(99999) %}" for _ in range(4)) + "{% endfor %}" * 4
    if turns:
        loops = f"{{% if messages|length == {turns} %}}{loops}{{% endif %}}"
    path = write_tiny_model(tmp_path / "endless.gguf", template=loops + CHATML)
    monkeypatch.setattr(trial, "SECONDS", 10)
    with pytest.raises(ModelBroken, match="did not end within 10 seconds"):
        trial.try_first(path, SETTINGS)


def test_no_file_of_the_current_folder_is_run_by_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("llama_cpp", "localeval", "runpy"):
        (tmp_path / f"{name}.py").write_text("open('it-was-run', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # as in an interactive Python
    trial.try_first(write_tiny_model(tmp_path / "mine.gguf"), SETTINGS)
    assert not (tmp_path / "it-was-run").exists()


def test_a_model_in_a_folder_whose_name_is_no_utf_8_is_loaded_as_any_other(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/mod\xe8les"))
    folder.mkdir()
    engine = Engine(write_tiny_model(folder / "mine.gguf"), SETTINGS)
    assert engine.count("tea") > 0
    engine.close()


def test_weights_that_are_nan_for_some_texts_fail_these_samples_and_no_other(tmp_path: Path) -> None:
    texts = {"sound": "Tea grows.", "lost": "Tea 茶 grows."}
    path = write_tiny_model(tmp_path / "mine.gguf", lost="茶".encode()[0])

    def score(judge: Judge, text: str) -> Score:
        sample = {"user_input": "?", "response": "Tea grows.", "retrieved_contexts": [texts[text]]}
        return judge.score("faithfulness", sample, statements="sentences")

    with Judge.load(path, n_threads=1) as judge:
        alone = score(judge, "sound")
        assert alone.status == "scored"
        assert score(judge, "lost") == Score.failed("engine_error")
        assert score(judge, "sound") == alone


def test_weights_that_are_nan_for_a_text_of_the_trial_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelBroken, match="the model answers with NaN or infinity; copy or fetch it again"):
        Engine(write_tiny_model(tmp_path / "mine.gguf", lost=ord("a")), SETTINGS)


def test_an_unknown_file_is_tried_once_and_again_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf")
    trial.try_first(path, SETTINGS)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", no_process)
        trial.try_first(path, SETTINGS)
        Engine(path, EngineSettings(n_ctx=8192, n_threads=2)).close()  # a longer context was proved too
    path.write_bytes(path.read_bytes().replace(b"qwen2.block_count", b"qwen2.block_cound"))
    with pytest.raises(ModelBroken, match=r"key not found in model: qwen2\.block_count"):
        trial.try_first(path, SETTINGS)


def in_the_catalog(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = f'{{ name = "tiny.gguf", sha256 = "{hash_file(path)}" }}'
    move_in(monkeypatch, tmp_path, toml_row("tiny", HUB, files=files))


def test_a_file_of_the_catalog_is_tried_once_for_a_build_and_a_processor(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_catalog(tiny_path, monkeypatch, tmp_path)
    trial.try_first(tiny_path, SETTINGS)
    monkeypatch.setattr(subprocess, "run", no_process)
    trial.try_first(tiny_path, SETTINGS)
    for name, answer in (("library", "another"), ("processor", {"name": "another", "features": ""})):
        with monkeypatch.context() as patch:
            patch.setattr(trial, name, lambda answer=answer: answer)
            with pytest.raises(pytest.fail.Exception, match="a process was started"):
                trial.try_first(tiny_path, SETTINGS)
            trial.try_first(tiny_path)  # its vocabulary alone: nothing is computed


def test_a_build_that_ends_on_a_file_of_the_catalog_is_told_and_does_no_harm(
    aborting: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_catalog(aborting, monkeypatch, tmp_path)
    for _ in range(2):  # a failure is not remembered
        with pytest.raises(ModelError, match=r"\(SIG.*so it was not compiled for this processor"):
            Engine(aborting, SETTINGS)


def test_a_file_of_the_catalog_whose_trial_finds_something_else_is_loaded_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf", lost=ord("a"))
    in_the_catalog(path, monkeypatch, tmp_path)
    trial.try_first(path, SETTINGS)
    monkeypatch.setattr(subprocess, "run", no_process)
    with pytest.raises(pytest.fail.Exception, match="a process was started"):
        trial.try_first(path, SETTINGS)


def test_a_file_of_the_catalog_is_loaded_where_nothing_can_be_tried(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_catalog(tiny_path, monkeypatch, tmp_path)
    monkeypatch.setattr(trial, "library", lambda: "of a frozen program")  # was not tried before
    monkeypatch.setattr(subprocess, "run", no_process)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    engine = Engine(tiny_path, SETTINGS)
    assert engine.count("tea") > 0
    engine.close()


def test_a_model_too_large_for_the_memory_is_not_even_tried(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "run", no_process)
    monkeypatch.setattr(loading, "available", lambda: 1000)
    with pytest.raises(InputError, match=r"0\.0 GB are free"):
        Engine(tiny_path, SETTINGS)


def test_a_program_without_a_python_says_how_to_try_the_file(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(ModelError, match=r"python -m localeval doctor --judge .*tiny\.gguf"):
        trial.try_first(tiny_path, SETTINGS)


def test_the_command_line_refuses_such_a_file_with_exit_3(aborting: Path, tmp_path: Path) -> None:
    from tests.test_cli import fault, localeval

    (tmp_path / "data.jsonl").write_text('{"response": "Tea.", "contexts": ["Tea."]}')
    run = localeval("evaluate", "data.jsonl", "--judge", aborting, "-q", cwd=tmp_path)
    assert run.returncode == 3
    assert "aborting.gguf: llama.cpp ended on it" in fault(run)


@pytest.mark.parametrize(
    ("at", "value", "found"),
    [
        (8, struct.pack("<Q", 1 << 40), "found 1,099,511,627,776 tensors"),
        (16, struct.pack("<Q", 1 << 40), "found 1,099,511,627,776 metadata pairs"),
        (24, struct.pack("<Q", 1 << 62), "found the end of the file"),
    ],
)
def test_counts_and_lengths_beyond_the_file_are_refused_before_they_are_believed(
    at: int, value: bytes, found: str, tiny_path: Path, tmp_path: Path
) -> None:
    content = bytearray(tiny_path.read_bytes())
    content[at : at + 8] = value
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(ModelBroken, match=found):
        check_gguf(tmp_path / "m.gguf")


def test_a_tokenizer_that_no_judge_has_never_reaches_llama_cpp(tmp_path: Path) -> None:
    with pytest.raises(
        ModelBroken, match=r"tokenizer of the kind 'bert', expected gpt2 or llama; .* can't judge"
    ):
        check_gguf(write_tiny_bert(tmp_path / "bert.gguf"))
