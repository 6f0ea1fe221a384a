"""A run can be made again, whole or in part, in any process, and comes out the same, byte for byte."""

import threading
import time
from collections.abc import Iterator
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


def test_a_run_holds_all_that_is_needed_to_make_it_again(run: Path) -> None:
    assert verify(run, share=1) == Verified(again=3, judged=3)


def test_a_small_share_of_a_run_is_at_least_one_sample(run: Path, judge: Judge) -> None:
    assert verify(run, share=0.001, judge=judge).again == 1


def test_a_run_holds_the_prompts_that_it_was_given(judge: Judge, tmp_path: Path) -> None:
    (prompt := tmp_path / "prompt.toml").write_text(built_in("support"), encoding="utf-8")
    evaluate(
        SAMPLES,
        ["faithfulness"],
        judge,
        tmp_path / "run",
        explain=True,
        prompts={"support": {"en": prompt}},
    )
    prompt.unlink()
    assert verify(tmp_path / "run", share=1, judge=judge) == Verified(again=3, judged=3)


def test_a_record_that_comes_out_differently_is_told_with_its_place(run: Path, judge: Judge) -> None:
    other_form(run / JOURNAL, "reasons", {"reasons": ["Another reason."]})
    difference = verify(run, share=1, judge=judge).difference
    assert ", reasons.reasons" in difference
    assert "'Another reason.'" in difference


def test_the_command_ends_with_1_where_a_record_comes_out_differently(run: Path) -> None:
    other_form(run / JOURNAL, "reasons", {"reasons": ["Another reason."]})
    done = localeval("verify", run, "--share", "1", "-q", cwd=run)
    assert (done.returncode, done.stdout, ", reasons.reasons" in done.stderr) == (1, "", True)


def test_a_judge_with_other_settings_is_refused(run: Path, tiny_path: Path) -> None:
    narrow = Judge.load(tiny_path, n_threads=1, n_ctx=16384, width=16)
    with narrow, pytest.raises(InputError, match=r"settings\.width: 32 in the run, 16 now"):
        verify(run, judge=narrow)


def test_a_share_of_nothing_is_refused(run: Path, judge: Judge) -> None:
    assert "share is 0" in said(InputError, verify, run, share=0, judge=judge)


def test_a_run_that_is_not_finished_is_refused(run: Path, judge: Judge) -> None:
    (run / RESULTS).unlink()
    assert "the run is not finished" in said(InputError, verify, run, judge=judge)


def test_a_record_of_another_embedder_is_refused_and_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(SAMPLES, ["faithfulness", "answer_relevance"], steady_judge(SteadyEngine()), tmp_path)
    monkeypatch.setattr(SteadyEmbedder, "signature", lambda _: {"name": "other", "sha256": "1" * 64})
    assert "similarity of sample s" in said(InputError, verify, tmp_path, judge=steady_judge(SteadyEngine()))


def test_a_record_of_another_version_of_a_judgement_is_refused_and_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(SAMPLES, ["faithfulness", "answer_relevance"], steady_judge(SteadyEngine()), tmp_path)
    monkeypatch.setattr(JUDGEMENTS["support"], "version", "99")
    assert "support of sample s" in said(InputError, verify, tmp_path, judge=steady_judge(SteadyEngine()))


@pytest.fixture
def run_of_two_metrics(tmp_path: Path) -> Path:
    """A run whose own results, of faithfulness, may be replaced by the results of a rescoring."""
    judge = steady_judge(SteadyEngine())
    evaluate(SAMPLES, ["context_relevance"], judge, tmp_path)
    evaluate(SAMPLES, ["faithfulness"], judge, tmp_path)
    return tmp_path


def test_the_judgements_of_the_results_are_made_again(run_of_two_metrics: Path) -> None:
    finish(run_of_two_metrics, rescore(run_of_two_metrics, ["context_relevance"]))
    other_form(run_of_two_metrics / JOURNAL, "needed", {"failed": "context_too_long"})
    assert ", needed" in verify(run_of_two_metrics, judge=steady_judge(SteadyEngine())).difference


def test_the_judgements_that_the_results_do_not_need_are_not_made_again(run_of_two_metrics: Path) -> None:
    finish(run_of_two_metrics, rescore(run_of_two_metrics, ["context_relevance"]))
    other_form(run_of_two_metrics / JOURNAL, "needed", {"failed": "context_too_long"})
    finish(run_of_two_metrics, rescore(run_of_two_metrics, ["faithfulness"]))
    verified = verify(run_of_two_metrics, share=1, judge=steady_judge(SteadyEngine()))
    assert verified == Verified(again=3, judged=3)


def test_a_run_whose_journal_lacks_a_line_is_refused(run_of_two_metrics: Path) -> None:
    journal = run_of_two_metrics / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    refusal = said(InputError, verify, run_of_two_metrics, judge=steady_judge(SteadyEngine()))
    assert "the line of support" in refusal


@pytest.fixture
def judge_with_embedder(tiny_path: Path) -> Iterator[Judge]:
    """A judge with an embedder of one's own, which no run can load."""
    with Judge.load(tiny_path, embedder=SteadyEmbedder(), n_threads=1, n_ctx=16384) as judge:
        yield judge


def test_an_embedder_that_was_not_asked_is_not_needed_again(
    judge_with_embedder: Judge, tmp_path: Path
) -> None:
    evaluate(SAMPLES[:1], ["faithfulness"], judge_with_embedder, tmp_path, statements="sentences")
    assert verify(tmp_path).difference == ""


def test_a_run_with_an_embedder_of_ones_own_needs_it_again(
    judge_with_embedder: Judge, tmp_path: Path
) -> None:
    evaluate(SAMPLES[:1], ["answer_relevance"], judge_with_embedder, tmp_path)
    assert "<SteadyEmbedder>" in said(ModelMissing, verify, tmp_path)
    assert verify(tmp_path, share=1, judge=judge_with_embedder).difference == ""


NO_CELL = EngineError("no cell is free")


def test_a_run_in_which_the_engine_failed_each_time_has_nothing_to_verify(tmp_path: Path) -> None:
    evaluate(SAMPLES[2:], ["faithfulness"], fake_judge(FakeEngine([NO_CELL])), tmp_path)
    with pytest.raises(InputError, match=r"nothing to verify.*the engine failed in 1\)"):
        verify(tmp_path, judge=fake_judge(FakeEngine([])))


@pytest.fixture
def half_failed(tmp_path: Path) -> Path:
    """A run of two samples: at the first the engine failed, the second has 0.75."""
    tea = {"response": "Tea grows.", "retrieved_contexts": ["Tea."]}
    samples = [{**tea, "id": "a"}, {**tea, "id": "b", "response": "Tea sings."}]
    judge = fake_judge(FakeEngine([NO_CELL, {"verdict": 0.75}]))
    evaluate(samples, ["faithfulness"], judge, tmp_path / "run", statements="sentences")
    return tmp_path / "run"


def test_an_error_of_the_engine_in_the_run_is_left_out_and_no_difference(half_failed: Path) -> None:
    again = verify(half_failed, judge=fake_judge(FakeEngine([{"verdict": 0.75}])))
    assert again == Verified(again=1, judged=1, left_out=1)


def test_an_error_of_the_engine_that_the_run_did_not_have_is_a_difference(half_failed: Path) -> None:
    assert "'engine_error'" in verify(half_failed, judge=fake_judge(FakeEngine([NO_CELL]))).difference


def test_the_command_tells_how_many_were_left_out(half_failed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = verify(half_failed, judge=fake_judge(FakeEngine([{"verdict": 0.75}])))
    monkeypatch.setattr("localeval.cli.runs.verify", lambda *_, **__: again)
    done = localeval("verify", half_failed, cwd=half_failed)
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
