"""The live line: how far a run is, how long it will still take, the means so far, and never a text."""

from __future__ import annotations

import errno
import io

import pytest

from localeval import Plan, Sample, Score
from localeval.engine.benchmark import Speed
from localeval.engine.interface import Spent
from localeval.report.progress import Meter, live_line
from localeval.runs.plan import Work

SAMPLES = [Sample(id=str(i), response="A secret.", retrieved_contexts=["A secret."]) for i in range(4)]
GOOD, BAD = Score(1.0, 0.9, "scored"), Score(0.0, 0.2, "scored")


class Full(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def plan(*rows: int, kept: int = 0) -> Plan:
    work = Work("support", "judge", to_make=4, kept=kept, spent=Spent(branch=sum(rows)), seconds=80.0)
    return Plan(4, 4, (work,), rows=rows, speed=Speed(0.01, 0.02, 0.05))


def test_time_left_follows_the_rows_of_the_plan() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.begin(plan(100, 300, 0, 400))
    assert (meter.seconds_left(), meter.rows_a_second()) == (80.0, None)
    clock.now += 10
    meter.took(1, SAMPLES, {"faithfulness": GOOD})
    assert (meter.seconds_left(), meter.rows_a_second()) == (70.0, 10.0)
    clock.now += 10
    meter.took(3, SAMPLES, {"faithfulness": BAD})
    assert (meter.seconds_left(), meter.rows_a_second()) == (20.0, 20.0)
    assert meter.pace() == "20 rows/s, about 0:20 left"


def test_what_the_journal_holds_says_nothing_of_the_time_that_is_left() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.begin(plan(0, 0, 400, 400, kept=2))
    clock.now += 1
    meter.took(2, SAMPLES, {})
    assert meter.seconds_left() == 80.0


def test_without_a_plan_time_left_follows_the_characters() -> None:
    clock = Clock()
    meter = Meter(clock)
    assert meter.seconds_left() is None
    clock.now += 3
    meter.took(3, SAMPLES, {})
    assert (meter.seconds_left(), meter.rows_a_second()) == (1.0, None)


def test_means_are_of_the_scored_samples_so_far() -> None:
    meter = Meter()
    for score in (GOOD, BAD, GOOD, Score.failed("engine_error")):
        meter.took(1, SAMPLES, {"faithfulness": score})
    meter.took(1, SAMPLES, {"context_relevance": Score.undefined("no_contexts")})
    assert meter.means() == "faithfulness 0.667"


def test_off_a_terminal_there_are_plain_lines_with_plan_pace_and_means(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with live_line() as line:
        line.begin(plan(1, 1, 1, 1))
        for done in range(1, 5):
            line.took(done, SAMPLES, {"faithfulness": GOOD})
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0] == "Plan: 4 samples, 4 judgements to make, about 4 rows."
    last = said.err.splitlines()[-1]
    assert last.startswith("Evaluating: 4/4, ")
    assert last.endswith("about 0:00 left; faithfulness 1.000")
    assert "secret" not in said.err


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with live_line(quiet=True) as line:
        line.begin(plan(1, 1, 1, 1))
        line.took(4, SAMPLES, {"faithfulness": GOOD})
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_there_is_one_line_that_is_drawn_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setenv("TERM", "xterm")
    with live_line() as line:
        line.begin(plan(1, 1, 1, 1))
        line.took(4, SAMPLES, {"[bold]mine": GOOD})
    said = capsys.readouterr().err
    assert "Plan: 4 samples" in said
    assert "4/4" in said
    assert "[bold]mine 1.000" in said
    assert said.count("\n") == said[: said.rindex("4/4")].count("\n") + 1


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_count_and_the_time_left_are_there_on_a_narrow_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    many = {f"a_metric_with_a_long_name_{i}": GOOD for i in range(3)}
    with live_line() as line:
        line.begin(plan(100, 300, 0, 400))
        line.meter._clock = lambda: line.meter._started + 10
        line.took(1, SAMPLES, many)
    drawn = capsys.readouterr().err.replace("\r", "\n").splitlines()
    last = [text for text in drawn if "Evaluating" in text][-1]
    assert "1/4" in last
    assert "left" in last


def test_a_stderr_that_is_closed_or_full_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with live_line() as line:
        line.begin(plan(100, 300, 0, 400))
        line.took(1, SAMPLES, {"faithfulness": GOOD})
    assert line.meter.done == 1
    monkeypatch.setattr("sys.stderr", Full())
    with live_line() as line:
        line.begin(plan(100, 300, 0, 400))
        line.took(4, SAMPLES, {"faithfulness": GOOD})
    assert line.meter.done == 4
