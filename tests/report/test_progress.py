"""The live line: how far a run is, how long it will still take, the means so far, and never a text."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from localeval import Sample, Score
from localeval.report.progress import LiveLine, live_line

SAMPLES = [Sample(id=str(i), response="A secret.", retrieved_contexts=["A secret."]) for i in range(40)]
GOOD, BAD = Score(1.0, 0.9, "scored"), Score(0.0, 0.2, "scored")
PLAN: Any = SimpleNamespace(samples=40, summary=lambda: ["Plan: 40 samples."])


def test_time_left_follows_the_characters_and_the_pace_of_the_last_ten_samples() -> None:
    now = 100.0
    line = LiveLine("Evaluating", quiet=True, clock=lambda: now)
    line.on_plan(PLAN)
    now += 500  # the first sample waits for the model, which says nothing of the others
    line.on_sample(1, SAMPLES, {})
    assert line.time_left() == ""
    for done in range(2, 21):  # these come from the journal, in no time
        line.on_sample(done, SAMPLES, {})
    for done in range(21, 31):
        now += 60
        line.on_sample(done, SAMPLES, {})
    assert line.time_left() == "about 10:00 left"


def test_off_a_terminal_there_are_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with live_line() as line:
        line.on_plan(PLAN)
        for done in range(1, 38):
            line.on_sample(done, SAMPLES, {"faithfulness": Score.failed("engine_error")})
        for done, score in ((38, GOOD), (39, BAD), (40, GOOD)):  # means are of the scored samples
            line.on_sample(done, SAMPLES, {"faithfulness": score}, "3 workers on 2 nodes")
    last = "Evaluating: 40/40, 3 workers on 2 nodes, about 0:00 left; faithfulness 0.667"
    assert tuple(capsys.readouterr()) == ("", f"Plan: 40 samples.\n{last}\n")
    with live_line(quiet=True) as line:
        line.on_plan(PLAN)
    assert tuple(capsys.readouterr()) == ("", "")


@pytest.mark.parametrize("columns", [60, 80])
def test_a_terminal_has_one_line_drawn_again_with_the_count_and_the_time_left(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))
    with live_line() as line:
        line.on_plan(PLAN)
        line.on_sample(9, SAMPLES, {})
        line.on_sample(10, SAMPLES, {"[bold]mine": GOOD, "a_metric_with_a_long_name": GOOD, "a_third": GOOD})
    stderr = capsys.readouterr().err
    assert "Plan: 40 samples." in stderr
    last = [text for text in stderr.replace("\r", "\n").splitlines() if "Evaluating" in text][-1]
    assert "10/40" in last
    assert "left" in last
    assert ("[bold]mine 1.000" in last) == (columns == 80)


FULL = Mock(isatty=lambda: False, write=Mock(side_effect=OSError(28, "No space left on device")))


@pytest.mark.parametrize("stderr", [None, FULL])
def test_a_stderr_that_is_closed_or_full_stops_no_run(stderr: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", stderr)
    with live_line() as line:
        line.on_plan(PLAN)
        line.on_sample(40, SAMPLES, {"faithfulness": GOOD})
    assert line.means() == "faithfulness 1.000"
