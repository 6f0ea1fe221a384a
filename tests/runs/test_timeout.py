"""A sample has a time limit: nothing that hangs or is slow keeps a run from its end."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, Sample, evaluate
from localeval.errors import EngineFailing, InputError
from localeval.runs import workers as run_workers
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval, said
from tests.finished_runs import write_rows
from tests.steady import SteadyEngine, steady_judge

METRICS = ["faithfulness", "context_relevance"]
SAMPLES = [
    Sample(
        id=name,
        user_input=f"What grows in the {name} garden?",
        response=f"Tea grows in the {name} garden.",
        retrieved_contexts=[f"In the {name} garden tea grows.", "Barley grows on hills."],
    )
    for name in ("northern", "eastern", "southern")
]


class Sleepy(SteadyEngine):
    """Sleeps at the statements of the eastern garden, by default for ever."""

    def __init__(self, seconds: float = 3600) -> None:
        super().__init__()
        self.seconds = seconds

    def generate(self, prefix: Any, context: str, items: Any, *rest: Any, **options: Any) -> Any:
        if "eastern" in f"{context}{items}":
            time.sleep(self.seconds)
        return super().generate(prefix, context, items, *rest, **options)


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_workers, "GRACE_SECONDS", 0.5)


def reasons(result: Any) -> dict[str, set[str]]:
    return {row.sample.id: {score.reason for score in row.scores.values()} for row in result.samples}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_judgement_that_sleeps_for_ever_fails_its_sample_by_timeout_and_the_run_ends(
    workers: int, tmp_path: Path
) -> None:
    start = time.monotonic()
    result = evaluate(SAMPLES, METRICS, steady_judge(Sleepy()), tmp_path / "run", workers=workers, timeout=2)
    assert time.monotonic() - start < 120  # two starts of a worker on a busy machine
    assert reasons(result) == {"northern": {""}, "eastern": {"timeout"}, "southern": {""}}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_goes_on_after_a_timeout_ends_as_one_without(workers: int, tmp_path: Path) -> None:
    evaluate(SAMPLES, METRICS, steady_judge(Sleepy()), tmp_path / "run", workers=workers, timeout=2)
    again = evaluate(SAMPLES, METRICS, steady_judge(SteadyEngine()), tmp_path / "run")
    alone = evaluate(SAMPLES, METRICS, steady_judge(SteadyEngine()), tmp_path / "alone")
    assert again.scores == alone.scores


def test_a_judge_that_only_this_process_has_is_timed_between_judgements(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    judge = steady_judge(Sleepy(1.5))
    judge.loader = None
    result = evaluate(SAMPLES, METRICS, judge, tmp_path / "run", timeout=1)
    assert reasons(result) == {"northern": {""}, "eastern": {"timeout"}, "southern": {""}}
    assert "nothing ends a judgement that hangs" in caplog.text


def judge_late(in_worker: bool, folder: Path) -> None:
    """Make a run of one sample whose statements come 0.2 s after its time limit."""
    judge = steady_judge(Sleepy(1.2))
    if not in_worker:
        judge.loader = None
    evaluate(SAMPLES[1:2], METRICS[:1], judge, folder, timeout=1)


@pytest.mark.parametrize("in_worker", [True, False])
def test_what_was_judged_late_is_kept(in_worker: bool, tmp_path: Path) -> None:
    judge_late(in_worker, tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    assert [(line["judgement"], line["record"].get("failed")) for line in lines] == [
        ("statements", None),
        ("statements", "timeout"),
    ]


@pytest.mark.parametrize("in_worker", [True, False])
def test_what_was_judged_late_is_asked_no_second_time(in_worker: bool, tmp_path: Path) -> None:
    """Another run asks only for the support of the statements."""
    judge_late(in_worker, tmp_path / "run")
    engine = SteadyEngine()
    result = evaluate(SAMPLES[1:2], METRICS[:1], steady_judge(engine), tmp_path / "run")
    assert (reasons(result), engine.asked) == ({"eastern": {""}}, 1)


def load_slowly() -> Judge:
    time.sleep(6)
    return steady_judge(SteadyEngine())


def test_the_load_of_a_model_takes_no_time_of_a_sample(tmp_path: Path) -> None:
    judge = steady_judge(SteadyEngine())
    judge.loader = load_slowly
    assert reasons(evaluate(SAMPLES, METRICS, judge, timeout=5))["northern"] == {""}


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "3", True])
def test_a_time_limit_that_is_no_number_above_0_is_refused(timeout: Any) -> None:
    assert "timeout" in said(
        InputError, evaluate, SAMPLES, ["faithfulness"], fake_judge(FakeEngine([])), timeout=timeout
    )


class Peculiar(Exception):
    """Can be pickled, and not be made again: it has another number of arguments."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


class Unsendable(Exception):
    """Can't be pickled."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.function = lambda: text


class Raising(SteadyEngine):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def generate(self, *arguments: Any, **options: Any) -> Any:
        if self.kind == "peculiar":
            raise Peculiar("this cause", "that one")
        raise Unsendable("this cause and that one")


@pytest.mark.parametrize("kind", ["peculiar", "unsendable"])
def test_any_exception_of_a_worker_ends_the_run_with_its_type_and_text(kind: str) -> None:
    told = said(RuntimeError, evaluate, SAMPLES[:1], METRICS[:1], steady_judge(Raising(kind)), workers=2)
    assert f"{kind.capitalize()}: this cause and that one" in told


@pytest.fixture
def words_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, list[str]]:
    """Commands that judge the eastern garden, by a judge that sleeps there for ever -> their words."""
    monkeypatch.setattr(Judge, "load", lambda *_, **__: steady_judge(Sleepy()))
    fields = {"user_input": "What?", "response": "The eastern garden.", "retrieved_contexts": ["Tea."]}
    names = ["eastern", *["northern"] * 20]
    rows = [{**fields, "response": f"The {x} garden {n}.", "label": n % 2} for n, x in enumerate(names)]
    data = str(write_rows(tmp_path / "data.jsonl", rows))
    return {
        "evaluate": [data, "--limit", "1", "--json", "-o", "run"],
        "score": ["--response", "The eastern garden.", "--context", "Tea.", "--json"],
        "card": [data, "-o", "run", "-q"],
    }


JUDGING_COMMANDS = ["evaluate", "score", "card"]


@pytest.mark.parametrize("command", JUDGING_COMMANDS)
def test_every_command_that_judges_has_the_time_limit(
    command: str, words_of: dict[str, list[str]], tmp_path: Path
) -> None:
    done = localeval(command, *words_of[command], "-m", "faithfulness", "--timeout", "2", cwd=tmp_path)
    assert "timeout" in done.stdout + done.stderr


@pytest.mark.parametrize("command", JUDGING_COMMANDS)
def test_every_command_that_judges_refuses_a_time_limit_of_0(
    command: str, words_of: dict[str, list[str]], tmp_path: Path
) -> None:
    done = localeval(command, *words_of[command], "-m", "faithfulness", "--timeout", "0", cwd=tmp_path)
    assert done.returncode == 2


INTERRUPTED = """
import _thread, threading, time

from localeval import evaluate
from tests.runs.test_timeout import METRICS, SAMPLES, Sleepy
from tests.steady import steady_judge

if __name__ == "__main__":
    threading.Timer(8, _thread.interrupt_main).start()
    evaluate(SAMPLES[1:2], METRICS, steady_judge(Sleepy()), workers=2)
"""


def test_ctrl_c_is_seen_while_all_workers_are_busy_also_where_it_ends_no_wait(tmp_path: Path) -> None:
    """As on Windows: the interrupt is only noted, and no system call is broken off by it."""
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED, encoding="utf-8")
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, script], env=variables, capture_output=True, text=True, timeout=100
    )
    assert done.stderr.splitlines()[-1] == "KeyboardInterrupt"


def run_without_a_sample_in_time(folder: Path) -> str:
    """Return the error of a run of 40 samples, each of which takes twice its time limit."""
    judge = steady_judge(Sleepy(0.2))
    judge.loader = None
    rows = [SAMPLES[1].model_copy(update={"id": str(n), "response": f"Tea {n}."}) for n in range(40)]
    return said(EngineFailing, evaluate, rows, METRICS, judge, folder, timeout=0.1)


def test_a_run_in_which_no_sample_is_done_in_time_says_so(tmp_path: Path) -> None:
    assert "timeout" in run_without_a_sample_in_time(tmp_path / "run")


def test_a_run_in_which_no_sample_is_done_in_time_stops_after_five(tmp_path: Path) -> None:
    """It would else take the time limit of each of its samples."""
    run_without_a_sample_in_time(tmp_path / "run")
    lines = (tmp_path / "run" / "journal.jsonl").read_text().splitlines()
    assert len({json.loads(line)["sample"] for line in lines}) == 5
