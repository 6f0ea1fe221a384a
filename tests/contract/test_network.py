"""How often something tried to use the network while a run went on stands in its results and reports."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import localeval
from localeval import Result, evaluate, rescore
from localeval.cli import main
from localeval.testing import FakeEngine, fake_judge

SAMPLES: list[dict[str, Any]] = [
    {"id": str(i), "user_input": "Tea?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
    for i in range(3)
]


def try_out() -> None:
    """One attempt, which is refused under the guard. Without it nothing goes out: nobody has that address."""
    with socket.socket(type=socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.sendto(b"", ("192.0.2.1", 9))


def judged(folder: Path | None, *at: int, **given: Any) -> Result:
    """A run whose engine tries to use the network at the calls with these numbers, from 0, and goes on."""

    class Curious(FakeEngine):
        def generate(self, *given: Any, **named: Any) -> Any:
            if len(self.calls) in at:
                try_out()
            return super().generate(*given, **named)

    judge = fake_judge(Curious([{"verdict": 0.75}] * len(SAMPLES)))
    return evaluate(SAMPLES, ["faithfulness"], judge, folder, statements="sentences", **given)


def kept(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results.json").read_text("utf-8"))["network"]
    return found


@pytest.mark.parametrize("at", [(), (0, 2)])
def test_attempts_of_the_run_are_counted_and_none_from_before_it(tmp_path: Path, at: tuple[int, ...]) -> None:
    localeval.offline()
    try_out()
    result = judged(tmp_path, *at)
    assert kept(tmp_path) == result.to_dict()["network"] == {"watched": True, "refused": len(at)}
    assert f"\nnetwork attempts refused: {len(at)}\n" in str(result)
    assert f"each refused: {len(at)}" in (tmp_path / "report.html").read_text("utf-8")
    assert rescore(tmp_path).network == result.network


def test_where_nothing_refused_from_the_start_or_nothing_is_told_the_count_is_unknown(tmp_path: Path) -> None:
    result = judged(tmp_path, 1)
    assert kept(tmp_path) == {"watched": False, "refused": None}
    assert "network attempts: not counted" in str(result)
    assert "Attempts to use the network were not counted" in (tmp_path / "report.html").read_text("utf-8")
    older = json.loads((tmp_path / "results.json").read_text("utf-8"))
    del older["network"]
    (tmp_path / "results.json").write_text(json.dumps(older))
    assert not rescore(tmp_path).network.watched
    late = judged(None, 2, progress=lambda done, samples: localeval.offline())
    assert not late.network.watched


@pytest.mark.usefixtures("steady")
def test_the_command_line_watches(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text(json.dumps(SAMPLES[0]) + "\n")
    given = ["evaluate", tmp_path / "data.jsonl", "-m", "faithfulness", "--statements", "sentences"]
    main([str(part) for part in (*given, "-o", tmp_path / "run", "-q")])
    assert kept(tmp_path / "run") == {"watched": True, "refused": 0}


def test_a_run_that_goes_on_ends_in_the_same_bytes_and_is_watched_where_all_of_it_was(tmp_path: Path) -> None:
    def stop(done: int, _: Sequence[object]) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path / "unwatched", progress=stop)
    localeval.offline()
    assert judged(tmp_path / "unwatched").network.watched is False
    assert kept(tmp_path / "unwatched") == {"watched": False, "refused": None}
