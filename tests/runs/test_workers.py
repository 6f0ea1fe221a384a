"""Several processes judge side by side, and nothing else changes."""

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from time import sleep
from typing import Any
from unittest.mock import Mock

import pytest

from localeval import METRICS, Judge, Result, Sample, evaluate, offline
from localeval.engine.interface import EngineError
from localeval.errors import InputError, ModelMissing
from localeval.judgements.base import Failure
from localeval.judgements.journal import JOURNAL, Journal, JournalFile
from localeval.judgements.standalone_question import ReplyQuestion
from localeval.metrics.sample_result import SampleResult
from localeval.options import Options
from localeval.runs import cluster
from localeval.runs.pool import InProcessPool, Pool, WorkerPool, choose_pool
from localeval.runs.workers import OnEntry, SampleTask, TaskResult, WorkerLost, judge_task
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval, said
from tests.finished_runs import write_rows
from tests.steady import SteadyEngine, steady_judge

NAMES = ["faithfulness", "answer_relevance", "context_relevance"]
SAMPLES = [
    Sample(
        id=str(n),
        user_input=f"What grows in garden {n}?",
        response=f"Tea grows on the hill in garden {n}. Rice grows in garden {n + 1}.",
        retrieved_contexts=[f"In garden {n} tea grows. There is no rice.", "Barley grows on hills."],
    )
    for n in range(12)
]


class _Odd(SteadyEngine):
    """Does something odd at the questions of garden 2, the first `times` times that any process is asked."""

    def __init__(self, marks: Path, times: int) -> None:
        super().__init__()
        self.marks, self.times = marks, times
        marks.mkdir()

    def generate(self, prefix: Any, context: str, items: Any, *rest: Any, **options: Any) -> Any:
        marks = len(list(self.marks.iterdir()))
        if marks and parent_process():  # no actor of a cluster: its statements are in the journal
            assert "garden 2?\n</question>\n<answer>" not in context
        if "Question: What grows in garden 2?" in str(items) and marks < self.times:
            (self.marks / str(os.getpid())).touch()
            self.odd()
        return super().generate(prefix, context, items, *rest, **options)

    def odd(self) -> None:
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


class _Caller(_Odd):
    def odd(self) -> None:
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", 9))


def run(folder: Path, engine: SteadyEngine | None = None, **options: Any) -> Result:
    return evaluate(SAMPLES, NAMES, steady_judge(engine or SteadyEngine()), folder, **options)


def judged(folder: Path) -> dict[str, Any]:
    """The journal's records by key; no key is there twice."""
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    records = {line["key"]: line["record"] for line in lines}
    assert len(records) == len(lines)
    return records


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that one process made."""
    folder = tmp_path_factory.mktemp("alone")
    run(folder)
    return folder


def same(a: Path, b: Path) -> bool:
    names = ("results.json", "scores.csv", "statements.csv", "samples.jsonl", "run.json")
    return all((a / n).read_bytes() == (b / n).read_bytes() for n in names) and judged(a) == judged(b)


@pytest.mark.parametrize("killed", [0, 2])
def test_three_workers_write_what_one_process_writes(killed: int, alone: Path, tmp_path: Path) -> None:
    counts, engine = list[int](), _Odd(tmp_path / "marks", killed)
    run(tmp_path / "run", engine, workers=3, progress=lambda done, _: counts.append(done))
    assert len(list((tmp_path / "marks").iterdir())) == killed
    assert same(alone, tmp_path / "run")
    assert counts == list(range(1, 13))


def test_an_interrupted_run_goes_on_and_asks_nothing_twice(alone: Path, tmp_path: Path) -> None:
    def stop(*_: object) -> None:
        while not any(slow.marks.iterdir()):
            sleep(0.01)
        raise KeyboardInterrupt

    slow = _Odd(tmp_path / "marks", 1)
    slow.odd = partial(sleep, 600)  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", slow, workers=2, progress=stop)
    assert len(judged(tmp_path / "run")) < len(judged(alone))
    assert '"judgement":"support","sample":"2"' in (tmp_path / "run" / "journal.jsonl").read_text()
    run(tmp_path / "run", workers=2)
    assert same(alone, tmp_path / "run")


def test_a_sample_that_ends_three_workers_fails_and_is_made_later(alone: Path, tmp_path: Path) -> None:
    result = run(tmp_path / "run", _Odd(tmp_path / "marks", 99), workers=2)
    failed = [(row.sample.id, name) for row in result.samples for name, s in row.scores.items() if s.reason]
    assert failed == [("2", name) for name in NAMES[1:]]  # the first was made before
    assert result.samples[2].scores["answer_relevance"].reason == "worker_lost"
    assert len(list((tmp_path / "marks").iterdir())) == 3
    run(tmp_path / "run")
    assert (alone / "results.json").read_bytes() == (tmp_path / "run" / "results.json").read_bytes()


def conversations(folder: Path, engine: SteadyEngine | None = None, **options: Any) -> Result:
    """Run samples of which every second follows the question before it."""
    pairs = [(one.user_input or "", one.response or "") for one in SAMPLES]
    samples = [
        sample if n % 2 == 0 else sample.model_copy(update={"history": [pairs[n - 1]]})
        for n, sample in enumerate(SAMPLES)
    ]
    return evaluate(samples, NAMES, steady_judge(engine or SteadyEngine()), folder, **options)


def test_workers_write_of_conversations_what_one_process_writes(tmp_path: Path) -> None:
    conversations(tmp_path / "alone")
    conversations(tmp_path / "run", workers=2)
    assert same(tmp_path / "alone", tmp_path / "run")
    made = [json.loads(line)["judgement"] for line in (tmp_path / "run" / JOURNAL).read_text().splitlines()]
    assert made.count("standalone_question") == 6


class _EndsAtFollowUps(SteadyEngine):
    """Ends its process where the question of a conversation is to be written."""

    def generate(self, prefix: Any, context: str, items: Any, schema: Any, **options: Any) -> Any:
        if schema is ReplyQuestion:
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        return super().generate(prefix, context, items, schema, **options)


def test_a_question_that_ends_the_workers_is_not_judged_as_it_was_asked(tmp_path: Path) -> None:
    """Also where the same texts without a conversation were judged before."""
    without = SAMPLES[0]
    after = without.model_copy(update={"id": "after", "history": [("Who is Ann?", "A gardener.")]})
    samples, names = [without, after], ["faithfulness"]
    evaluate(samples[:1], names, steady_judge(SteadyEngine()), tmp_path / "run")
    result = evaluate(samples, names, steady_judge(_EndsAtFollowUps()), tmp_path / "run", workers=2)
    assert result.samples[1].scores["faithfulness"].reason == "worker_lost"
    assert set(result.samples[1].keys) == {"standalone_question", "statements", "support"}
    evaluate(samples, names, steady_judge(SteadyEngine()), tmp_path / "alone")
    assert (
        evaluate(samples, names, steady_judge(SteadyEngine()), tmp_path / "run")["faithfulness"].failed == 0
    )
    assert judged(tmp_path / "alone").items() <= judged(tmp_path / "run").items()


def test_what_tries_to_use_the_network_in_a_worker_is_refused_and_counted(tmp_path: Path) -> None:
    offline()
    assert run(tmp_path / "run", _Caller(tmp_path / "marks", 1), workers=2).network.refused == 1


SHARES = [(6, 2, 3), (2, 3, 1), (6, 1, 0), (2, "auto", 2), (5, "auto", 5), (6, "auto", 3), (16, "auto", 4)]
ACTORS = [(1, 4), ("auto", 4), (2, 2), (5, 5)]  # on a cluster with room for four


@pytest.mark.parametrize(
    ("cores", "workers", "threads", "actors"),
    [*((*row, 0) for row in SHARES), *((6, number, 0, started) for number, started in ACTORS)],
)
def test_workers_of_a_judge_that_is_named_share_the_cores_and_those_of_a_cluster_fill_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cores: int, workers: Any, threads: int, actors: int
) -> None:
    load, start = Mock(side_effect=lambda *_, **__: steady_judge(SteadyEngine())), Mock(wraps=late_worker)
    monkeypatch.setattr(Judge, "load", load)
    monkeypatch.setattr("localeval.runs.pool.physical_cores", lambda: cores)
    for name, double in (("connect", Mock()), ("count", lambda threads: 4), ("Actor", start)):
        monkeypatch.setattr(cluster, name, double)
    parallel = {"workers": workers} | ({"ray": "auto"} if actors else {})
    evaluate(SAMPLES[:6], ["context_relevance"], "a name", **parallel)
    path = write_rows(tmp_path / "data.jsonl", (sample.model_dump() for sample in SAMPLES[:6]))
    words = [word for name, value in parallel.items() for word in (f"--{name}", str(value))]
    assert localeval("evaluate", path, "-q", "-m", "context_relevance", *words, cwd=tmp_path).returncode == 0
    assert [call.kwargs["n_threads"] for call in load.call_args_list] == [threads] * 2
    assert start.call_count == 2 * actors


@pytest.fixture(scope="module")
def wide(tiny_path: Path) -> Judge:
    """A judge whose workers need memory of their own."""
    return Judge.load(tiny_path, n_threads=2, n_ctx=16384)


def memory_of(judge: Judge, workers: int) -> int:
    """The bytes that so many workers need: they share the weights, and each needs the rest."""
    weights = int(judge.model["size"])
    each = judge.engine.memory() - weights  # type: ignore[attr-defined]
    return weights + workers * int(each)


def number_of_workers(pool: Pool) -> int:
    return 1 if isinstance(pool, InProcessPool) else pool._number  # type: ignore[attr-defined]


@pytest.fixture
def nine_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for four workers of two threads."""
    monkeypatch.setattr("localeval.runs.pool.physical_cores", lambda: 9)


@pytest.mark.usefixtures("nine_cores")
@pytest.mark.parametrize(
    ("room_for", "spare", "number"),
    [(20, 0, 4), (3, 0, 3), (3, -1, 2), (1, -1, 1)],
    ids=["more than the cores", "exactly 3", "a byte less than 3", "not even 1"],
)
def test_auto_is_as_many_workers_as_cores_and_memory_allow(
    room_for: int, spare: int, number: int, wide: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = memory_of(wide, room_for) + spare
    monkeypatch.setattr("localeval.runs.pool.available", lambda: free)
    assert number_of_workers(choose_pool(wide, "auto", None)) == number


@pytest.mark.usefixtures("nine_cores")
def test_auto_counts_the_cores_alone_where_the_free_memory_is_not_known(
    wide: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localeval.runs.pool.available", lambda: None)
    assert number_of_workers(choose_pool(wide, "auto", None)) == 4


@pytest.mark.usefixtures("nine_cores")
def test_auto_is_one_worker_for_a_gpu_as_nothing_tells_what_it_has_left(
    wide: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localeval.runs.pool.available", lambda: memory_of(wide, 20))
    monkeypatch.setattr(wide.engine, "settings", replace(wide.engine.settings, n_gpu_layers=-1))
    assert number_of_workers(choose_pool(wide, "auto", None)) == 1


def test_more_workers_than_the_memory_holds_are_refused_with_the_number_that_it_holds(
    wide: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = memory_of(wide, 3)
    monkeypatch.setattr("localeval.runs.pool.available", lambda: free)
    assert number_of_workers(choose_pool(wide, 3, None)) == 3
    assert "--workers 3" in said(InputError, evaluate, SAMPLES, ["context_relevance"], wide, workers=4)


def test_any_number_of_workers_is_taken_where_the_free_memory_is_not_known(
    wide: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localeval.runs.pool.available", lambda: None)
    assert number_of_workers(choose_pool(wide, 64, None)) == 64


def test_a_pool_has_no_workers_before_the_first_sample() -> None:
    assert str(WorkerPool(steady_judge(SteadyEngine()), 3)) == "0 workers"


def missing_model() -> Judge:
    raise ModelMissing("the model is gone; fetch it again.")


@pytest.mark.parametrize("workers", [2, "auto"])
def test_a_judge_that_another_process_can_not_load_is_refused(
    workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localeval.runs.pool.physical_cores", lambda: 64)
    judge = fake_judge(FakeEngine([]))
    assert "Judge.load" in said(InputError, evaluate, SAMPLES, ["faithfulness"], judge, workers=workers)


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": -1, "ray": "auto"}], ids=str)
def test_a_number_of_workers_below_1_is_refused(options: Any) -> None:
    judge = steady_judge(SteadyEngine())
    assert "workers" in said(InputError, evaluate, SAMPLES, ["faithfulness"], judge, **options)


def test_a_model_that_is_missing_in_a_worker_ends_the_run_with_that_error() -> None:
    judge = steady_judge(SteadyEngine())
    judge.loader = missing_model
    told = said(ModelMissing, evaluate, SAMPLES, ["context_relevance"], judge, workers=2)
    assert "fetch it again" in told


def score_by(pool: WorkerPool, samples: list[Sample], folder: Path) -> list[tuple[int, SampleResult]]:
    """The results of context_relevance by the workers of a pool."""
    with Journal(folder) as journal:
        return list(pool.score(samples, [METRICS["context_relevance"]], Options.read({}), journal))


def score_with_starts(starts: list[Any], answers: list[Any], folder: Path) -> list[tuple[int, SampleResult]]:
    """The results of one worker that starts, and answers, as these lists say: an exception is raised."""
    worker = Mock()
    worker.wait_until_started.side_effect = starts
    worker.judge.side_effect = answers
    return score_by(WorkerPool(steady_judge(SteadyEngine()), 1, lambda _: worker), SAMPLES[:1], folder)


LOST = WorkerLost("gone")


def test_workers_that_can_not_be_started_end_the_run_at_the_fourth_in_a_row(tmp_path: Path) -> None:
    assert "no worker can be started" in said(InputError, score_with_starts, [LOST] * 4, [], tmp_path)


def test_a_worker_that_starts_makes_earlier_failed_starts_forgotten(tmp_path: Path) -> None:
    starts = [LOST, LOST, LOST, None, LOST, LOST, None]
    error = ModelMissing("asked at last")
    assert said(ModelMissing, score_with_starts, starts, [LOST, error], tmp_path) == "asked at last"


def test_an_error_of_the_system_at_the_start_of_a_worker_ends_the_run(tmp_path: Path) -> None:
    error = OSError(11, "no more processes")
    assert "no more processes" in said(OSError, score_with_starts, [error], [], tmp_path)
    pool = WorkerPool(steady_judge(SteadyEngine()), 2, Mock(side_effect=error))
    assert "no more processes" in said(OSError, score_by, pool, SAMPLES, tmp_path)


def test_a_worker_that_ends_at_its_start_ends_the_run_and_fails_no_sample(tmp_path: Path) -> None:
    """As in a script that calls `evaluate` while it is imported: each worker imports it again."""
    script = tmp_path / "script.py"
    call = f"run({str(tmp_path / 'run')!r}, workers=2)"
    script.write_text(f"from tests.runs.test_workers import run\n{call}\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert '__name__ == "__main__"' in done.stderr.splitlines()[-1]
    assert not (tmp_path / "run" / "results.json").exists()


def late_worker(judge: Judge) -> Any:
    """A worker whose second answer comes with an error of the engine."""

    def judge_or_fail(task: SampleTask, on_entry: OnEntry) -> TaskResult:
        if worker.judge.call_count > 1:
            error = EngineError("out of memory")
            judge.engine.generate = Mock(side_effect=error)  # type: ignore[method-assign]
        return judge_task(judge, task, on_entry)

    worker = Mock()
    worker.judge.side_effect = judge_or_fail
    return worker


def test_a_late_error_does_not_take_the_place_of_a_record(tmp_path: Path) -> None:
    twins = [SAMPLES[0], SAMPLES[0].model_copy(update={"id": "twin"})]
    pool = WorkerPool(steady_judge(SteadyEngine()), 1, late_worker)
    results = [result for _, result in score_by(pool, twins, tmp_path)]
    assert results[1].records["needed"] == Failure(failed="engine_error", detail="out of memory")
    journal = JournalFile(tmp_path / JOURNAL)
    for result in results:
        assert journal.get(result.keys["needed"]) == result.records["needed"].model_dump(mode="json")
