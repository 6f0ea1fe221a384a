"""A run can be made again, whole or in part, in any process, and comes out the same, byte for byte."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from localeval import Judge, evaluate, rescore
from localeval.engine.interface import EngineError
from localeval.errors import InputError, ModelMissing
from localeval.judgements import JUDGEMENTS
from localeval.judgements.journal import JOURNAL
from localeval.runs.folder import RESULTS, finish
from localeval.runs.verify import Verified, verify
from localeval.testing import FakeEngine, fake_judge
from tests.commands import localeval, said
from tests.finished_runs import other_form
from tests.originals import built_in
from tests.steady import SteadyEmbedder, SteadyEngine, steady_judge

TEXTS = ["Tea grows in Assam. It sings!", "茶树种植于云南。产量很高,达到100吨。", "- one\n- two\n- three"]
SAMPLES: list[dict[str, Any]] = [
    {"id": f"s{i}", "user_input": "What?", "response": text, "retrieved_contexts": TEXTS[:2], "more": i}
    for i, text in enumerate(TEXTS)
]


@pytest.fixture(scope="module")
def judge(tiny_path: Path) -> Judge:
    return Judge.load(tiny_path, n_threads=1, n_ctx=16384)


@pytest.fixture
def run(judge: Judge, tmp_path: Path) -> Path:
    evaluate(SAMPLES, ["faithfulness"], judge, tmp_path / "run", explain=True)
    return tmp_path / "run"


def test_a_run_holds_all_that_is_needed_to_make_it_again(run: Path, judge: Judge) -> None:
    assert verify(run, share=1) == Verified(again=3, judged=3)
    assert verify(run, share=0.001, judge=judge).again == 1
    (prompt := run.parent / "prompt.toml").write_text(built_in("support"), encoding="utf-8")
    evaluate(SAMPLES, ["faithfulness"], judge, run.parent / "other", prompts={"support": {"en": prompt}})
    prompt.unlink()
    assert verify(run.parent / "other", share=1, judge=judge) == Verified(again=3, judged=3)


def test_a_record_that_comes_out_differently_is_told_with_its_place(run: Path, judge: Judge) -> None:
    other_form(run / JOURNAL, "reasons", {"reasons": ["Another reason."]})
    difference = verify(run, share=1, judge=judge).difference
    assert ", reasons.reasons" in difference
    assert "'Another reason.'" in difference
    done = localeval("verify", run, "--share", "1", "-q", cwd=run)
    assert (done.returncode, done.stdout, ", reasons.reasons" in done.stderr) == (1, "", True)


def test_what_cannot_be_made_again_here_is_refused(run: Path, tiny_path: Path, judge: Judge) -> None:
    narrow = Judge.load(tiny_path, n_threads=1, n_ctx=16384, width=16)
    with narrow, pytest.raises(InputError, match=r"settings\.width: 32 in the run, 16 now"):
        verify(run, judge=narrow)
    assert "share is 0" in said(InputError, verify, run, share=0, judge=judge)
    (run / RESULTS).unlink()
    assert "the run is not finished" in said(InputError, verify, run, judge=judge)


def test_what_another_judge_cannot_make_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another embedder, or another version of a judgement: it is no difference."""
    evaluate(SAMPLES, ["faithfulness", "answer_relevance"], steady_judge(SteadyEngine()), tmp_path)
    monkeypatch.setattr(SteadyEmbedder, "signature", lambda _: {"name": "other", "sha256": "1" * 64})
    assert "similarity of sample s" in said(InputError, verify, tmp_path, judge=steady_judge(SteadyEngine()))
    monkeypatch.setattr(JUDGEMENTS["support"], "version", "99")
    assert "support of sample s" in said(InputError, verify, tmp_path, judge=steady_judge(SteadyEngine()))


def test_the_judgements_of_the_results_are_made_again(tmp_path: Path) -> None:
    """A run's own results may have been replaced by the results of a rescoring."""
    judge = steady_judge(SteadyEngine())
    evaluate(SAMPLES, ["context_relevance"], judge, tmp_path)
    evaluate(SAMPLES, ["faithfulness"], judge, tmp_path)
    finish(tmp_path, rescore(tmp_path, ["context_relevance"]))
    other_form(tmp_path / JOURNAL, "needed", {"failed": "context_too_long"})
    assert ", needed" in verify(tmp_path, judge=judge).difference
    finish(tmp_path, rescore(tmp_path, ["faithfulness"]))
    assert verify(tmp_path, share=1, judge=judge) == Verified(again=3, judged=3)
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_bytes(b"".join(lines[:-1]))
    assert "the line of support" in said(InputError, verify, tmp_path, judge=judge)


def test_a_run_with_an_embedder_of_ones_own_needs_it_again(tiny_path: Path, tmp_path: Path) -> None:
    with Judge.load(tiny_path, embedder=SteadyEmbedder(), n_threads=1, n_ctx=16384) as judge:
        evaluate(SAMPLES[:1], ["faithfulness"], judge, tmp_path, statements="sentences")
        assert verify(tmp_path).difference == ""  # it was not asked
        evaluate(SAMPLES[:1], ["answer_relevance"], judge, tmp_path)
        assert "<SteadyEmbedder>" in said(ModelMissing, verify, tmp_path)
        assert verify(tmp_path, share=1, judge=judge).difference == ""


def test_an_error_is_left_out_and_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the engine; and the command tells how many were left out."""
    error = EngineError("no cell is free")
    failing = fake_judge(FakeEngine([error, {"verdict": 0.75}]))
    evaluate(SAMPLES[2:], ["faithfulness"], fake_judge(FakeEngine([error])), tmp_path)
    with pytest.raises(InputError, match=r"nothing to verify.*the engine failed in 1\)"):
        verify(tmp_path, judge=failing)
    run, tea = tmp_path / "run", {"response": "Tea grows.", "retrieved_contexts": ["Tea."]}
    samples = [{**tea, "id": "a"}, {**tea, "id": "b", "response": "Tea sings."}]
    evaluate(samples, ["faithfulness"], failing, run, statements="sentences")
    assert "'engine_error'" in verify(run, judge=fake_judge(FakeEngine([error]))).difference
    again = verify(run, judge=fake_judge(FakeEngine([{"verdict": 0.75}])))
    assert again == Verified(again=1, judged=1, left_out=1)
    monkeypatch.setattr("localeval.cli.runs.verify", lambda *_, **__: again)
    done = localeval("verify", run, cwd=run)
    assert (done.returncode, "1 left out" in done.stdout) == (0, True)


class Alone(SteadyEngine):
    """Fails where it is asked while it answers."""

    busy = threading.Lock()

    def generate(self, *question: Any, **how: Any) -> Any:
        assert self.busy.acquire(blocking=False)
        time.sleep(0.02)
        self.busy.release()
        return super().generate(*question, **how)


def test_a_judge_that_is_shared_is_asked_by_one_thread_at_a_time(tmp_path: Path) -> None:
    """Two at once in one context of llama.cpp can end the process."""
    evaluate(SAMPLES, ["faithfulness"], steady_judge(SteadyEngine()), tmp_path)
    shared = steady_judge(Alone())
    with ThreadPoolExecutor(2) as pool:
        verified = pool.submit(verify, tmp_path, 1, judge=shared)
        scored = [pool.submit(shared.score, "faithfulness", sample).result(30) for sample in SAMPLES]
        assert verified.result(30).difference == ""
    assert {score.status for score in scored} == {"scored"}
