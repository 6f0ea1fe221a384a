"""A run that is killed at any moment and started again ends in the same bytes."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from localeval.judgements.journal import JOURNAL, is_whole
from localeval.runs.folder import RESULTS
from tests.finished_runs import write_rows

KILLS = int(os.environ.get("LOCALEVAL_TEST_KILLS", "2"))  # the whole campaign is 20

# Beside what the command does, each judgement that is begun leaves a byte in a file.
COUNTED = """
import os, sys
from localeval import judge
from localeval.cli import main

ask, asked = judge.ask, os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def counted(*what):
    os.write(asked, b".")
    return ask(*what)

judge.ask = counted
main()
"""

TEXTS = ["Tea grows in Assam. It sings!", "茶树种植于云南。产量很高,达到100吨。", "- one\n- two\n- three"]


def start(tmp_path: Path, model: Path, name: str) -> subprocess.Popen[bytes]:
    command: list[str | Path] = [sys.executable, "-c", COUNTED, tmp_path / f"{name}.asked", "evaluate"]
    command += [tmp_path / "data.jsonl", "-m", "faithfulness", "-q", "--threads", "1", "--judge", model]
    command += ["--statements", "sentences", "-o", tmp_path / name]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_killed_run_ends_in_the_bytes_of_an_undisturbed_one(tiny_path: Path, tmp_path: Path) -> None:
    """And repeats at most one judgement a kill."""
    rows = [
        {"id": f"{i}-{n}", "response": f"{text} {n}.", "retrieved_contexts": TEXTS[:2]}
        for n in range(4 + 2 * KILLS)
        for i, text in enumerate(TEXTS)
    ]
    write_rows(tmp_path / "data.jsonl", rows)
    begin = time.monotonic()
    assert start(tmp_path, tiny_path, "whole").wait() == 0
    seconds = time.monotonic() - begin
    journal, rng = tmp_path / "run" / JOURNAL, random.Random(11)
    for kill in range(KILLS):
        size = journal.stat().st_size if journal.exists() else 0
        process = start(tmp_path, tiny_path, "run")
        # One kill in four comes while it loads, the others after a few more judgements.
        more = 0 if kill % 4 == 3 else rng.randrange(1, 4000)
        while more and not (journal.exists() and journal.stat().st_size >= size + more):
            assert process.poll() is None
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.02 if more else seconds / 4))
        process.kill()
        assert process.wait() == -getattr(signal, "SIGKILL", -1)
    assert start(tmp_path, tiny_path, "run").wait() == 0
    assert (tmp_path / "run" / RESULTS).read_bytes() == (tmp_path / "whole" / RESULTS).read_bytes()
    judged = journal.read_bytes().splitlines(keepends=True)
    assert all(map(is_whole, judged))
    asked = {name: (tmp_path / f"{name}.asked").stat().st_size for name in ("whole", "run")}
    assert len(judged) == asked["whole"] == 2 * len(rows)
    assert asked["run"] <= asked["whole"] + KILLS
