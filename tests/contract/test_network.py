"""How often something tried to use the network while a run went on stands in its results and reports."""

import contextlib
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from localeval import Result, evaluate, offline, rescore
from localeval.testing import FakeEngine, fake_judge

SAMPLES: list[dict[str, Any]] = [
    {"id": str(i), "user_input": "Tea?", "response": f"Tea {i}.", "retrieved_contexts": ["Tea."]}
    for i in range(3)
]


def try_out() -> None:
    """One attempt, which is refused under the guard. Without it nothing goes out: nobody has that address."""
    with socket.socket(type=socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.sendto(b"", ("192.0.2.1", 9))


def judged(folder: Path | None, *calls: int, **options: Any) -> Result:
    """A run whose engine tries to use the network at the calls with these numbers, from 0, and goes on."""

    class Curious(FakeEngine):
        def generate(self, *args: Any, **how: Any) -> Any:
            if len(self.calls) in calls:
                try_out()
            return super().generate(*args, **how)

    judge = fake_judge(Curious([{"verdict": 0.75}] * len(SAMPLES)))
    return evaluate(SAMPLES, ["faithfulness"], judge, folder, statements="sentences", **options)


def stored(folder: Path) -> Any:
    return json.loads((folder / "results.json").read_text("utf-8"))["network"]


@pytest.mark.parametrize("calls", [(), (0, 2)], ids=["none", "two"])
def test_attempts_of_the_run_are_counted_and_none_from_before_it(
    tmp_path: Path, calls: tuple[int, ...]
) -> None:
    offline()
    try_out()
    result = judged(tmp_path, *calls)
    expected = {"watched": True, "refused": len(calls)}
    assert stored(tmp_path) == expected
    assert result.to_dict()["network"] == expected
    assert rescore(tmp_path).network == result.network


@pytest.mark.parametrize("calls", [(), (0, 2)], ids=["none", "two"])
def test_the_count_of_attempts_is_in_the_table_and_on_the_page(
    tmp_path: Path, calls: tuple[int, ...]
) -> None:
    offline()
    result = judged(tmp_path, *calls)
    assert f"\nnetwork attempts refused: {len(calls)}\n" in str(result)
    assert f"each refused: {len(calls)}" in (tmp_path / "report.html").read_text("utf-8")


def test_a_run_without_the_guard_says_that_nothing_was_counted(tmp_path: Path) -> None:
    result = judged(tmp_path, 1)
    assert stored(tmp_path) == {"watched": False, "refused": None}
    assert "network attempts: not counted" in str(result)
    assert "Attempts to use the network were not counted" in (tmp_path / "report.html").read_text("utf-8")


def test_a_run_without_a_stored_count_is_unwatched(tmp_path: Path) -> None:
    offline()
    judged(tmp_path)
    results = json.loads((tmp_path / "results.json").read_text("utf-8"))
    del results["network"]
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert not rescore(tmp_path).network.watched


def test_a_run_that_goes_offline_on_its_way_is_unwatched() -> None:
    assert not judged(None, 2, progress=lambda done, samples: offline()).network.watched


def test_a_run_that_began_unwatched_and_goes_on_watched_is_unwatched(tmp_path: Path) -> None:
    def stop(done: int, _: Sequence[object]) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(tmp_path, progress=stop)
    offline()
    assert judged(tmp_path).network.watched is False
    assert stored(tmp_path) == {"watched": False, "refused": None}
