"""A run can be made again, whole or in part, in any process, and comes out the same, byte for byte."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, evaluate
from localeval.errors import InputError
from localeval.journal.lines import line_of
from localeval.verify import Verified, verify
from tests.steady import SteadyEngine, steady_judge

TEXTS = ["Tea grows in Assam. It sings!", "茶树种植于云南。产量很高,达到100吨。", "- one\n- two\n- three"]
SAMPLES: list[dict[str, Any]] = [
    {"id": f"s{i}", "user_input": "What?", "response": text, "retrieved_contexts": TEXTS[:2], "more": i}
    for i, text in enumerate(TEXTS)
]


@pytest.fixture(scope="module")
def judge(tiny_path: Path) -> Judge:
    return Judge.load(tiny_path, n_threads=2, n_ctx=16384)


@pytest.fixture
def run(judge: Judge, tmp_path: Path) -> Path:
    evaluate(SAMPLES, ["faithfulness"], judge, tmp_path / "run", explain=True)
    return tmp_path / "run"


def lines(run: Path) -> dict[str, Any]:
    read = [json.loads(line) for line in (run / "journal.jsonl").read_text("utf-8").splitlines()]
    return {line["key"]: line["record"] for line in read}


def command(data: Path, tiny_path: Path, run: Path) -> list[str]:
    own = [
        sys.executable,
        "-m",
        "localeval",
        "evaluate",
        str(data),
        "-m",
        "faithfulness",
        "-q",
        "--threads",
        "2",
        "--n-ctx",
        "16384",
    ]
    return [*own, "--judge", str(tiny_path), "-o", str(run)]


def test_a_run_holds_all_that_is_needed_to_make_it_again(run: Path) -> None:
    assert verify(run, share=1) == Verified(again=9, judged=9)  # 3 samples: statements, support, reasons


def test_a_share_is_drawn_by_its_seed_and_at_least_one_is_made(run: Path, judge: Judge) -> None:
    assert verify(run, share=0.3, judge=judge).again == 3
    assert verify(run, share=0.001, judge=judge).again == 1


def test_a_record_that_comes_out_differently_is_told_with_its_place_and_both_values(
    run: Path, judge: Judge
) -> None:
    path = run / "journal.jsonl"
    changed = []
    for text in path.read_text("utf-8").splitlines():
        line = json.loads(text)
        if line["judgement"] == "reasons" and line["sample"] == "s0":
            line["record"]["reasons"][0] = "Another reason."
        del line["check"]
        changed.append(line_of(line))
    path.write_bytes(b"".join(changed))
    found = verify(run, share=1, judge=judge).difference
    assert found.startswith("sample s0, reasons.reasons[0]: 'Another reason.' in the run, ")
    done = subprocess.run(
        [sys.executable, "-m", "localeval", "verify", str(run), "--share", "1", "-q"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "sample s0, reasons.reasons[0]" in done.stderr


def test_a_judge_with_other_settings_is_refused_with_the_one_that_differs(run: Path, tiny_path: Path) -> None:
    difference = r"engine\.settings\.width: 32 in the run, 16 now"
    with (
        Judge.load(tiny_path, n_threads=2, n_ctx=16384, width=16) as other,
        pytest.raises(InputError, match=difference),
    ):
        verify(run, judge=other)


def test_what_is_no_run_is_refused(tmp_path: Path, judge: Judge) -> None:
    with pytest.raises(InputError, match=r"run\.json can't be read"):
        verify(tmp_path)
    with pytest.raises(InputError, match="share is 0"):
        verify(tmp_path, share=0, judge=judge)


def test_a_replaced_prompt_is_in_the_run(judge: Judge, tmp_path: Path) -> None:
    from localeval import prompts

    own = (Path(prompts.__file__).parent / "en" / "support.toml").read_text("utf-8")
    given = tmp_path / "mine.toml"
    given.write_text(own.replace("Be strict", "Be kind"), encoding="utf-8")
    evaluate(SAMPLES, ["faithfulness"], judge, tmp_path / "run", prompts={"support": {"en": given}})
    given.unlink()
    assert verify(tmp_path / "run", share=1, judge=judge) == Verified(again=6, judged=6)


def test_a_metric_that_is_not_registered_here_is_named(run: Path, judge: Judge) -> None:
    """The run may have been made where it was."""
    recipe = json.loads((run / "run.json").read_text("utf-8"))
    (run / "run.json").write_text(json.dumps({**recipe, "metrics": ["faithfulness", "brevity"]}))
    with pytest.raises(InputError, match="there is no metric 'brevity'"):
        verify(run, judge=judge)


class Waiting(SteadyEngine):
    """Answers when it may; `begun` counts questions."""

    def __init__(self) -> None:
        super().__init__()
        self.may, self.begun = threading.Event(), threading.Semaphore(0)

    def generate(self, *question: Any, **how: Any) -> Any:
        self.begun.release()
        assert self.may.wait(30)
        return super().generate(*question, **how)


def test_a_judge_that_is_shared_is_asked_by_one_thread_at_a_time(tmp_path: Path) -> None:
    """Two at once in one context of llama.cpp can end the process."""
    evaluate(SAMPLES, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path / "run")
    engine = Waiting()
    shared = steady_judge(engine)
    with ThreadPoolExecutor(2) as pool:
        verified = pool.submit(verify, tmp_path / "run", 1, judge=shared)
        assert engine.begun.acquire(timeout=30)
        scored = pool.submit(shared.score, "faithfulness", SAMPLES[0])
        both = engine.begun.acquire(timeout=0.5)
        engine.may.set()
        assert not both
        assert verified.result(30).difference == ""
        assert scored.result(30).status == "scored"


def test_another_process_and_another_order_give_the_same_records(
    judge: Judge, tiny_path: Path, tmp_path: Path
) -> None:
    evaluate(SAMPLES, ["faithfulness"], judge, tmp_path / "here")
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(s) + "\n" for s in SAMPLES[::-1]), encoding="utf-8")
    subprocess.run(command(data, tiny_path, tmp_path / "there"), check=True, capture_output=True)
    assert lines(tmp_path / "there") == lines(tmp_path / "here")


def test_a_killed_run_goes_on_to_the_records_of_a_whole_one(tiny_path: Path, tmp_path: Path) -> None:
    data, run = tmp_path / "data.jsonl", tmp_path / "run"
    many = [
        {**s, "id": f"{s['id']}-{n}", "response": f"{s['response']} {n}."} for n in range(6) for s in SAMPLES
    ]
    data.write_text("".join(json.dumps(s) + "\n" for s in many), encoding="utf-8")
    process = subprocess.Popen(
        command(data, tiny_path, run), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    journal, deadline = run / "journal.jsonl", time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 3) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = journal.read_bytes().splitlines(keepends=True)
    assert 3 < len(kept) < 36
    subprocess.run(command(data, tiny_path, run), check=True, capture_output=True)
    subprocess.run(command(data, tiny_path, tmp_path / "whole"), check=True, capture_output=True)
    assert lines(run) == lines(tmp_path / "whole")
    assert (run / "results.json").read_bytes() == (tmp_path / "whole" / "results.json").read_bytes()
