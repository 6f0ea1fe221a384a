"""What is computed of a prefix is kept for the next engine: the same bits; nothing of it fails a run."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from localeval import Judge, Sample, plan
from localeval.engine.engine import Engine
from localeval.engine.interface import Reply
from localeval.engine.prefix_cache import PrefixCache
from localeval.engine.settings import EngineSettings
from localeval.errors import ModelBroken
from localeval.judgements.deciders import ReasonedReply
from localeval.prompts import PromptPrefix

SETTINGS = EngineSettings(n_ctx=2048, n_threads=1)
PREFIX = PromptPrefix("Judge.", (("One?", '{"verdict":"yes"}'), ("Two?", '{"verdict":"no"}')))
ITEMS = ["Tea grows on hills.", "茶长在山上。", "Tea."]
SAMPLE = Sample(response="Tea grows on hills.", retrieved_contexts=["Tea grows on hills."])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "localeval" / "prefixes"


def ask(path: Path, states: PrefixCache | None) -> tuple[list[Reply[ReasonedReply]], int]:
    """(what an engine of its own answers, the rows of prefixes that it took)."""
    with closing(Engine([path], SETTINGS, states)) as engine:
        return engine.generate(PREFIX, "context", ITEMS, ReasonedReply, budget=12), engine.spent.prefix


def test_a_kept_prefix_costs_no_row_and_gives_the_same_bits(tiny_path: Path, folder: Path) -> None:
    replies, rows = ask(tiny_path, None)
    assert rows > 0
    assert not folder.exists()
    states = PrefixCache("a", SETTINGS)
    assert ask(tiny_path, states) == (replies, rows)
    assert ask(tiny_path, states) == (replies, 0)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:]):
        file.write_bytes(damaged)
        assert ask(tiny_path, states) == (replies, rows)
        assert file.read_bytes() == whole


def test_a_state_is_of_one_model_build_and_processor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    PrefixCache("a", SETTINGS).put([1, 2], b"state")
    assert PrefixCache("a", SETTINGS).get([1, 2]) == b"state"
    assert not PrefixCache("a", SETTINGS).get([1, 3])
    assert not PrefixCache("b", SETTINGS).get([1, 2])
    assert not PrefixCache("a", EngineSettings(n_ctx=2048, n_threads=2)).get([1, 2])
    for name, answer in (("processor", {"name": "another", "features": ""}), ("library_digest", "another")):
        with monkeypatch.context() as patch:
            patch.setattr(f"localeval.engine.prefix_cache.{name}", lambda answer=answer: answer)
            assert not PrefixCache("a", SETTINGS).get([1, 2])


def test_what_was_not_used_for_longest_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localeval.engine.prefix_cache.MAX_CACHE_BYTES", 3 * (32 + 100))
    states = PrefixCache("a", SETTINGS)
    for i in range(3):
        states.put([i], bytes(100))
    for age, file in enumerate(folder.iterdir()):
        os.utime(file, ns=(age, age))
    assert states.get([1]) == bytes(100)  # used, and so the newest
    states.put([3], bytes(100))
    assert states.get([1]) == bytes(100)
    assert states.get([3]) == bytes(100)
    assert len(list(folder.iterdir())) == 3


def test_a_folder_that_can_not_be_written_is_named(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.parent.mkdir()
    folder.write_text("a file in its place", encoding="utf-8")
    PrefixCache("a", SETTINGS).put([1, 2], b"state")
    assert PrefixCache("a", SETTINGS).get([1, 2]) is None
    assert str(folder) in caplog.text
    caplog.clear()
    folder.unlink()
    folder.mkdir()
    (folder / "gone").symlink_to(folder / "nowhere")  # as one that another process drops meanwhile
    PrefixCache("a", SETTINGS).put([1, 2], b"state")
    assert PrefixCache("a", SETTINGS).get([1, 2]) == b"state"
    assert caplog.text == ""


def test_two_threads_that_store_the_same_prefix_warn_of_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    both_written = threading.Barrier(2, timeout=5)
    replace = Path.replace

    def wait_and_replace(file: Path, target: Path) -> Path:
        both_written.wait()
        return replace(file, target)

    monkeypatch.setattr(Path, "replace", wait_and_replace)
    states = PrefixCache("a", SETTINGS)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(states.put, [[1, 2]] * 2, [b"state"] * 2))
    assert states.get([1, 2]) == b"state"
    assert caplog.text == ""


def test_nothing_is_kept_of_a_changed_model_file(tiny_path: Path, folder: Path, tmp_path: Path) -> None:
    """It would be found under the sha256 of the file that was there before."""
    path = Path(shutil.copy(tiny_path, tmp_path / "copy.gguf"))
    with closing(Engine([path], SETTINGS, PrefixCache("a", SETTINGS))) as engine:
        assert engine.llama  # loaded
        os.utime(path, ns=(1, 1))
        with pytest.raises(ModelBroken, match="replaced"):
            engine.generate(PREFIX, "context", ITEMS, ReasonedReply, budget=12)
    assert not folder.exists()


@pytest.mark.parametrize("keeps", [True, False], ids=["with a cache", "without"])
def test_a_judge_keeps_prefixes_and_a_plan_counts_them(keeps: bool, tiny_path: Path, folder: Path) -> None:
    runs = []
    for _ in range(2):
        with Judge.load(tiny_path, n_threads=1, cache_prefix=keeps) as judge:
            estimate = plan([SAMPLE], ["faithfulness"], judge, statements="sentences")
            score = judge.score("faithfulness", SAMPLE, statements="sentences")
            runs.append((score, estimate.spent.prefix, judge.engine.spent.prefix))
    first, second = runs
    score, planned, tokens = first
    assert planned == tokens > 0
    assert second == (score, planned, 0 if keeps else tokens)
    assert len(list(folder.glob("*"))) == keeps
