"""Exported verdicts are those that the score was counted from: of calibrated probabilities."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import localeval
from localeval import Judge
from localeval.compat import Faithfulness, evaluate, to_original, to_ragas
from localeval.judgements.calibration import Calibration, Curve, recipe, write
from localeval.judgements.journal import Lines
from localeval.prompts.options import DEFAULTS
from localeval.runs import folder as run_folder
from localeval.runs.rescore import rescore
from localeval.runs.result import SampleResult
from localeval.testing import FakeEngine, fake_judge
from tests.originals import ANSWER, QUESTION, STATEMENTS

ROW: dict[str, Any] = {"user_input": QUESTION, "response": ANSWER, "retrieved_contexts": [ANSWER]}


def calibration() -> str:
    """One for the fake, as is shipped for the usual judge: it makes 0.35 of 0.55."""
    known = recipe("0" * 64, DEFAULTS, "en")
    own = {"name": "fake", "sha256": known.pop("model")}
    return write(
        [Calibration(judge=own, curve=Curve(slope=2, intercept=-1), fitted_on={"labels": 60}, **known)]
    )


CALIBRATION = calibration()


def leaning() -> Judge:
    """Calls a statement supported that it is hardly sure of."""
    return fake_judge(FakeEngine([*STATEMENTS, {"verdict": 0.9}, {"verdict": 0.55}]))


def evaluated(folder: Path | None = None) -> SampleResult:
    found = localeval.evaluate([ROW], ["faithfulness"], leaning(), folder, calibration=CALIBRATION)
    return found.samples[0]


def judged() -> SampleResult:
    return Faithfulness(leaning(), calibration=CALIBRATION).judged(ROW)


def by_compat() -> SampleResult:
    result = evaluate([ROW], [Faithfulness(calibration=CALIBRATION)], leaning(), show_progress=False)
    return result.judged["faithfulness"][0]


def loaded(folder: Path) -> SampleResult:
    evaluated(folder)
    return run_folder.load(folder).samples[0]


def rescored(folder: Path) -> SampleResult:
    evaluated(folder)
    return rescore(folder).samples[0]


@pytest.mark.parametrize(
    "made",
    [
        lambda _: judged(),
        lambda _: by_compat(),
        lambda _: evaluated(),
        evaluated,
        loaded,
        rescored,
    ],
    ids=["judged", "compat evaluate", "evaluate", "in a folder", "loaded", "rescored"],
)
def test_the_mean_of_the_exported_verdicts_is_the_score(
    made: Callable[[Path], SampleResult], tmp_path: Path
) -> None:
    sample = made(tmp_path)
    original = to_original(sample)["support"]["statement_verdications"]
    ragas = to_ragas(sample)["support"]["statements"]
    assert [verdict["verdication_result"] for verdict in original] == [1, 0]
    assert [verdict["verdict"] for verdict in ragas] == [1, 0]
    assert sample.scores["faithfulness"].value == 1 / 2


def test_the_records_themselves_stay_raw() -> None:
    sample = judged()
    raw, scored = sample.records["support"], sample.as_scored()["support"]
    assert [verdict.probability for verdict in raw.verdicts] == [0.9, 0.55]  # type: ignore[attr-defined]
    assert scored.verdicts[1].probability < 0.5


def test_a_loaded_run_reads_no_record_until_it_is_asked_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated(tmp_path)
    asked: list[str] = []
    get = Lines.get

    def counted(self: Lines, key: str) -> Any:
        asked.append(key)
        return get(self, key)

    monkeypatch.setattr(Lines, "get", counted)
    sample = run_folder.load(tmp_path).samples[0]
    assert asked == []
    to_ragas(sample)
    assert asked
