"""Whatever ends or damages a run: nothing that was judged is lost, and one sentence says what to do."""

import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, Sample, evaluate, plan
from localeval.errors import FolderError, InputError, ModelBroken
from localeval.judgements.journal import JOURNAL, is_whole
from localeval.report import formats
from localeval.runs.folder import CONFIG, REPORT, RESULTS, SAMPLES
from localeval.runs.verify import verify
from tests.steady import SteadyEngine, steady_judge

TIMES = int(os.environ.get("LOCALEVAL_TEST_FAULTS", "10"))  # cuts, and bits flipped; 50 in a campaign

METRICS = ["faithfulness", "answer_relevance", "context_relevance"]
ROWS: list[dict[str, Any]] = [
    {
        "id": f"样本-{i}",
        "user_input": f"What grows on hill {i}?",
        "response": f"Tea number {i} grows on the hill. 它在第{i}座山上生长。",
        "retrieved_contexts": [f"Hill {i} has tea.", "Nobody knows why."],
    }
    for i in range(8)
]


def run(folder: Path, progress: Callable[[int, Sequence[Sample]], None] | None = None) -> int:
    """Run to the end; the number of judgements that were asked of the engine."""
    engine = SteadyEngine()
    evaluate(ROWS, METRICS, steady_judge(engine), folder, progress)
    return engine.asked


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the whole run's."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


def lines(folder: Path) -> list[bytes]:
    return (folder / JOURNAL).read_bytes().splitlines(keepends=True)


def repair(whole: Path, damaged: bytes, folder: Path) -> tuple[int, int]:
    """(lines lost, lines made again) where a run over this journal ends in the bytes of the whole one."""
    (folder / JOURNAL).write_bytes(damaged)
    (folder / RESULTS).unlink()
    run(folder)
    assert all((folder / name).read_bytes() == (whole / name).read_bytes() for name in (RESULTS, REPORT))
    ended = damaged[: damaged.rfind(b"\n") + 1]  # as it was written, it stays
    made_again = (folder / JOURNAL).read_bytes().removeprefix(ended).splitlines(keepends=True)
    assert all(map(is_whole, made_again))
    return len(set(lines(whole)) - set(ended.splitlines(keepends=True))), len(made_again)


def test_a_cut_costs_only_the_lines_cut(whole: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = (whole / JOURNAL).read_bytes()
    for cut in random.Random(7).sample(range(len(data)), TIMES):
        caplog.clear()
        lost, again = repair(whole, data[:cut], folder)
        assert again == lost == data[cut:].count(b"\n")
        torn, number = cut > 0 and data[cut - 1 : cut] != b"\n", data.count(b"\n", 0, cut) + 1
        assert (f"{JOURNAL}, line {number}: not" in caplog.text) == torn


def test_a_bit_flip_costs_only_its_lines(whole: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    data, rng = (whole / JOURNAL).read_bytes(), random.Random(7)
    line_ends = [i for i, byte in enumerate(data) if byte == 10][:2]  # two lines become one
    for place in (*rng.sample(range(len(data)), TIMES), *line_ends):
        caplog.clear()
        flipped = bytearray(data)
        flipped[place] ^= 1 << rng.randrange(8)
        lost, again = repair(whole, bytes(flipped), folder)
        assert again == lost in (1, 2)
        number = data.count(b"\n", 0, place) + 1
        assert f"{JOURNAL}, line {number}" in caplog.text


def test_verify_needs_each_line_whole_or_judged_again(folder: Path) -> None:
    (folder / JOURNAL).write_bytes((folder / JOURNAL).read_bytes().replace(b'"tokens":0', b'"tokens":1', 1))
    with pytest.raises(InputError, match="missing or damaged"):
        verify(folder, judge=steady_judge(SteadyEngine()))
    run(folder)
    assert verify(folder, judge=steady_judge(SteadyEngine())).difference == ""


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes, as on a disk that is full."""
    resource = pytest.importorskip("resource", reason="no such limits on Windows")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_stops_the_run_and_the_same_command_goes_on(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with room_for(10_000), pytest.raises(FolderError, match="all before it are kept"):
        run(folder)
    written = lines(folder)
    assert len(written) > 3
    assert all(map(is_whole, written))
    assert not (folder / RESULTS).exists()
    run(folder)
    assert lines(folder)[: len(written)] == written
    assert len(lines(folder)) == len(lines(whole))
    assert (folder / RESULTS).read_bytes() == (whole / RESULTS).read_bytes()


def test_results_that_find_no_room_leave_no_half_file(whole: Path, folder: Path) -> None:
    for name in (RESULTS, formats.SCORES.file, formats.STATEMENTS.file, REPORT):
        (folder / name).unlink()
    size = (whole / RESULTS).stat().st_size
    with room_for(size - 100), pytest.raises(FolderError, match="what was judged is kept"):
        run(folder)
    names = {path.name for path in folder.iterdir()}
    assert names - {REPORT} == {JOURNAL, SAMPLES, CONFIG, ".lock", ".lock.pid"}  # the report is smaller
    assert run(folder) == 0


@pytest.mark.parametrize("replaced", [False, True])
def test_a_folder_or_journal_that_is_moved_during_the_run_is_told(tmp_path: Path, replaced: bool) -> None:
    folder, moved = tmp_path / "run", tmp_path / "moved"

    def move(done: int, _: Sequence[Sample]) -> None:
        if done == 3:
            folder.rename(moved)
            if replaced:  # as an editor does
                shutil.copytree(moved, folder)

    with pytest.raises(FolderError, match="moved, removed or replaced"):
        run(folder, move)
    assert folder.exists() == replaced
    assert len(lines(moved)) == 3 * 5 + 1  # five judgements a sample, and the one in flight


# With a model that decodes, and processes.
TEXTS = ["Tea grows in Assam. It sings!", "茶树种植于云南。产量很高,达到100吨。", "No."]
DECODED = [
    {"id": f"{i}-{n}", "response": f"{text} {n}.", "retrieved_contexts": TEXTS[:2]}
    for n in range(4)
    for i, text in enumerate(TEXTS)
]


def test_a_model_file_that_is_replaced_stops_the_run(tiny_path: Path, tmp_path: Path) -> None:
    folder, model = tmp_path / "run", Path(shutil.copy(tiny_path, tmp_path / "own.gguf"))

    def change(done: int, _: Sequence[Sample]) -> None:
        if done == 2:
            Path(shutil.copy(tiny_path, tmp_path / "other.gguf")).replace(model)

    refused = pytest.raises(ModelBroken, match=r"own\.gguf: the model file was replaced")
    with Judge.load(model, n_threads=1, n_ctx=8192) as judge, refused:
        evaluate(DECODED, ["faithfulness"], judge, folder, change)
    written = lines(folder)
    assert len(written) == 4  # two samples: statements and support
    shutil.copy(tiny_path, model)
    with Judge.load(model, n_threads=1, n_ctx=8192) as judge:
        evaluate(DECODED, ["faithfulness"], judge, folder)
    assert lines(folder)[:4] == written


def test_a_model_file_that_is_gone_before_its_first_use_is_told(tiny_path: Path, tmp_path: Path) -> None:
    model = Path(shutil.copy(tiny_path, tmp_path / "own.gguf"))
    with Judge.load(model, n_threads=1) as judge:
        model.unlink()
        with pytest.raises(ModelBroken, match=r"own\.gguf: .*removed"):
            judge.score("faithfulness", DECODED[0])
        with pytest.raises(ModelBroken, match=r"own\.gguf: .*removed"):
            plan(DECODED, ["faithfulness"], judge)
        with pytest.raises(ModelBroken, match=r"own\.gguf: .*removed"):
            evaluate(DECODED, ["faithfulness"], judge, workers="auto")
