"""The count of network attempts that a run carries: whose they are, and when there is none to tell."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import localeval
from localeval import Result, evaluate, rescore
from localeval.cli import main
from localeval.errors import FolderError
from localeval.judge import Judge
from localeval.judgements.journal.lines import FILE as JOURNAL
from localeval.report import html
from localeval.runs.folder import RESULTS, load
from localeval.runs.network import FILE, Network
from localeval.testing import FakeEngine, fake_judge

SAMPLES: list[dict[str, Any]] = [
    {"id": str(i), "user_input": "Tea?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
    for i in range(3)
]


def try_out() -> None:
    """One attempt, which is refused under the guard. Without it nothing goes out: nobody has that address."""
    with socket.socket(type=socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.sendto(b"", ("192.0.2.1", 9))


class Curious(FakeEngine):
    """Tries to use the network at the calls with these numbers, from 0, and goes on when it is refused."""

    def __init__(self, at: Sequence[int] = ()) -> None:
        super().__init__([{"verdict": 0.75}] * len(SAMPLES))
        self._at = at

    def generate(self, *given: Any, **named: Any) -> Any:
        if len(self.calls) in self._at:
            try_out()
        return super().generate(*given, **named)


def judged(folder: Path | None, *at: int, **given: Any) -> Result:
    return evaluate(SAMPLES, ["faithfulness"], of(*at), folder, statements="sentences", **given)


def of(*at: int) -> Judge:
    return fake_judge(Curious(at))


def kept(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / RESULTS).read_text("utf-8"))["network"]
    return found


def stop(done: int, _: Sequence[object]) -> None:
    if done == 2:
        raise KeyboardInterrupt


def test_a_watched_run_in_which_nothing_tried_says_so_in_every_report(tmp_path: Path) -> None:
    localeval.offline()
    result = judged(tmp_path)
    assert kept(tmp_path) == result.to_dict()["network"] == {"watched": True, "refused": 0}
    assert "\nnetwork attempts refused: 0\n" in str(result)
    assert "Attempts to use the network, each refused: 0" in (tmp_path / "report.html").read_text("utf-8")


def test_attempts_of_the_run_are_counted_and_none_from_before_it(tmp_path: Path) -> None:
    localeval.offline()
    try_out()
    result = judged(tmp_path, 0, 2)
    assert result.network == Network(watched=True, refused=2)
    assert kept(tmp_path) == {"watched": True, "refused": 2}
    assert "network attempts refused: 2\n" in str(result)
    assert "each refused: 2" in html.page(result)
    assert judged(None, 1).network.refused == 1


def test_where_nothing_refuses_the_count_is_not_0_but_unknown(tmp_path: Path) -> None:
    result = judged(tmp_path, 1)
    assert kept(tmp_path) == {"watched": False, "refused": None}
    line = next(line for line in str(result).splitlines() if line.startswith("network"))
    assert line == "network attempts: not watched (localeval.offline() refuses and counts them)"
    page = html.page(result)
    assert "The network was not watched" in page
    assert "each refused" not in page


def test_a_guard_that_is_set_in_the_middle_of_a_run_did_not_watch_it() -> None:
    def guard(done: int, _: Sequence[object]) -> None:
        localeval.offline()

    assert judged(None, 2, progress=guard).network == Network()


def test_the_command_line_watches(tiny_path: Path, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(SAMPLES[0]) + "\n")
    given = ["evaluate", tmp_path / "data.jsonl", "-m", "faithfulness", "--statements", "sentences"]
    main([str(part) for part in (*given, "--judge", tiny_path, "-o", tmp_path / "run", "-q")])
    assert kept(tmp_path / "run") == {"watched": True, "refused": 0}


def test_attempts_of_a_call_that_was_ended_are_counted_too(tmp_path: Path) -> None:
    localeval.offline()
    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path, 0, 1, progress=stop)
    assert judged(tmp_path, 0).network == Network(watched=True, refused=3)
    assert kept(tmp_path) == {"watched": True, "refused": 3}
    assert judged(tmp_path).network.refused == 3  # and no call counts another's again


def test_a_run_that_goes_on_ends_in_the_same_bytes(tmp_path: Path) -> None:
    localeval.offline()
    judged(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path / "run", progress=stop)
    judged(tmp_path / "run")
    assert (tmp_path / "run" / RESULTS).read_bytes() == (tmp_path / "whole" / RESULTS).read_bytes()


def test_a_folder_that_was_removed_gets_its_count_back_with_its_journal(tmp_path: Path) -> None:
    def remove(done: int, _: Sequence[object]) -> None:
        if done == 1:
            shutil.rmtree(tmp_path / "run")

    localeval.offline()
    with pytest.raises(FolderError, match="has been put back"):
        judged(tmp_path / "run", 0, progress=remove)
    assert judged(tmp_path / "run").network == Network(watched=True, refused=1)


def test_one_call_without_the_guard_makes_the_whole_run_unwatched(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path, progress=stop)
    localeval.offline()
    result = judged(tmp_path, 0)
    assert result.network == Network(watched=False, refused=1)
    assert "network attempts: not watched in every process of the run; refused where it was: 1" in str(result)
    assert "not watched in every process of the run; attempts refused where it was: 1" in html.page(result)


@pytest.mark.parametrize("told", [None, "", "{", "[]", '{"watched": true, "refused": -1}', '{"watched": 1}'])
def test_judgements_of_which_nothing_tells_were_not_watched(tmp_path: Path, told: str | None) -> None:
    localeval.offline()
    judged(tmp_path)
    (tmp_path / FILE).unlink()
    if told is not None:
        (tmp_path / FILE).write_text(told)
    assert not judged(tmp_path).network.watched


def test_what_is_read_back_or_scored_again_has_the_count_of_the_run(tmp_path: Path) -> None:
    localeval.offline()
    judged(tmp_path, 1)
    assert load(tmp_path).network == rescore(tmp_path).network == Network(watched=True, refused=1)
    older = json.loads((tmp_path / RESULTS).read_text("utf-8"))
    del older["network"]
    (tmp_path / RESULTS).write_text(json.dumps(older))
    assert load(tmp_path).network == Network()
    assert (tmp_path / JOURNAL).exists()
