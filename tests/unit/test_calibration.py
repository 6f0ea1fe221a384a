"""Calibration: fitted numbers that are known, and that nothing else is ever calibrated."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localeval import InputError, evaluate, rescore
from localeval.judgements import JUDGEMENTS, support
from localeval.judgements.calibration import (
    Calibration,
    Curve,
    calibrate,
    calibrations_for,
    conditions,
    shipped,
    write,
)
from localeval.judgements.calibration.fit import cross_fitted_curves, fit, full_support_probabilities
from localeval.judgements.heads import FittedFor, heads_for, logit, sigmoid
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.metrics.formulas import share as faithfulness
from localeval.models.catalog import DEFAULT_JUDGE, entries
from localeval.prompts.options import Options
from localeval.testing import FakeEngine, fake_judge

STRICT = Curve(slope=2, intercept=-1)  # 0.5 stands at sigmoid(0.5), which is 0.62
FAKE = "0" * 64
QUICK_START = str(entries()[DEFAULT_JUDGE].files[0].sha256)
SENTENCES = Options(statements="sentences")
TEA = {"id": "tea", "response": "Tea is green. It sings.", "retrieved_contexts": ["Tea is green."]}


def calibration(sha256: str = FAKE, options: Options = SENTENCES, language: str = "en") -> Calibration:
    known = conditions(sha256, options, language)
    judge = FittedFor(name="fake", sha256=known.pop("model"))
    return Calibration(judge=judge, curve=STRICT, fitted_on={"labels": 60}, **known)


def said(*probabilities: float) -> tuple[Verdict, ...]:
    return tuple(Verdict(statement="S.", sentence=0, probability=p) for p in probabilities)


def records(*probabilities: float, language: str = "en", **more: Any) -> dict[str, Any]:
    verdicts = said(*probabilities)
    made = StatementsRecord(sentences=(), language=language)
    return {"statements": made, "support": SupportRecord(verdicts=verdicts, **more)}


def responses(number: int, longest: int, curve: Curve) -> tuple[list[tuple[Verdict, ...]], list[int]]:
    """Raw verdicts, and labels drawn with just the probability that `curve` says."""
    draw = random.Random(0)

    def drawn() -> Verdict:
        (verdict,) = said(draw.betavariate(2, 1))
        unknown = ("70",) * int(draw.random() < 0.2)
        return verdict.model_copy(update={"coverage": draw.random(), "unknown_numbers": unknown})

    raw = [tuple(drawn() for _ in range(draw.randint(1, longest))) for _ in range(number)]
    return raw, [int(draw.random() < share) for share in full_support_probabilities(raw, [curve] * number)]


def test_the_curve_moves_the_threshold_and_so_value_and_the_record_itself_stays_raw() -> None:
    assert STRICT.apply(sigmoid(0.5)) == pytest.approx(0.5)
    raw = records(0.9, 0.6, 0.55, 0.1)
    found = faithfulness(calibrate(raw, {"en": STRICT}))
    assert found.value == 1 / 4
    assert found.soft == pytest.approx(sum(sigmoid(2 * logit(p) - 1) for p in (0.9, 0.6, 0.55, 0.1)) / 4)
    assert faithfulness(raw).value == 3 / 4


@pytest.mark.parametrize("other", [{"language": "zh"}, {"by": "hhem"}, {"by": "head"}, {"windows": 0}])
def test_what_no_curve_was_fitted_for_stays_raw(other: dict[str, Any]) -> None:
    raw = records(0.6, **other)
    assert calibrate(raw, {"en": STRICT}) is raw


def test_a_fit_finds_the_curve_of_its_labels() -> None:
    curve = Curve(slope=1.2, coverage=2, unknown_number=-2, intercept=-1)
    found = fit(*responses(3000, 5, curve))
    assert found.slope == pytest.approx(curve.slope, rel=0.15)
    assert found.intercept == pytest.approx(curve.intercept, abs=0.3)
    assert found.coverage == pytest.approx(curve.coverage, abs=0.3)
    assert found.unknown_number == pytest.approx(curve.unknown_number, abs=0.3)


def test_a_few_labels_without_one_mistake_give_a_sane_curve() -> None:
    """Without a prior an evidence that parts 12 labels would weigh all that it may."""
    bad = [(said(0.6)[0].model_copy(update={"unknown_numbers": ("70",)}),)] * 6
    found = fit([*[said(0.6)] * 6, *bad], [1] * 6 + [0] * 6)
    assert -4 < found.unknown_number < -0.5
    plain = fit([said(0.9)] * 20 + [said(0.2)] * 20, [1] * 20 + [0] * 20)
    assert plain.apply(0.9) > 0.9
    assert plain.apply(0.2) < 0.1


def test_a_sample_has_no_part_in_the_curve_that_it_is_measured_under() -> None:
    raw, labels = responses(60, 3, STRICT)
    parts = [i % 3 for i in range(60)]
    found = cross_fitted_curves(raw, labels, parts)
    turned = [1 - label if parts[i] == 0 else label for i, label in enumerate(labels)]
    again = cross_fitted_curves(raw, turned, parts)
    assert [found[i] == again[i] for i in range(3)] == [True, False, False]


def test_an_unknown_number_counts_twice_at_most() -> None:
    found = [Curve(unknown_number=-1.5, coverage=2, intercept=-1).apply(0.5, 0.5, k) for k in range(4)]
    assert found == [sigmoid(0), sigmoid(-1.5), sigmoid(-3), sigmoid(-3)]


def test_a_calibration_fits_nothing_but_what_it_was_fitted_on() -> None:
    own = conditions(FAKE, SENTENCES, "en")
    assert calibration().fits(own)
    others = [conditions("1" * 64, SENTENCES, "en"), conditions(FAKE, Options(), "en")]
    others.append(conditions(FAKE, SENTENCES, "zh"))
    others += [own | {"judgements": {"support": "3"}}, own | {"prompts": {"support": FAKE}}]
    assert not [other for other in others if calibration().fits(other)]


def test_the_shipped_numbers_fit_the_shipped_prompts_of_the_quick_start_judge() -> None:
    """Where this fails a prompt or a judgement has changed: fit anew with `localeval card`."""
    for by in ("auto", "llm"):
        heads = heads_for(QUICK_START, Options(support_by=by))
        assert set(calibrations_for(QUICK_START, Options(support_by=by), heads)) == {"en", "zh"}
    assert all(one.fitted_on["labels"] >= 40 and one.fitted_on["date"] for one in shipped())
    for raw in (Options(calibration="none"), Options(support_by="hhem")):
        assert calibrations_for(QUICK_START, raw) == {}
    assert calibrations_for(FAKE, Options()) == {}


def test_a_calibration_file_is_kept_and_an_older_one_is_read(tmp_path: Path) -> None:
    file, old = tmp_path / "own.json", json.loads(write([calibration()]))
    for field in ("coverage", "unknown_number"):
        del old["calibrations"][0]["curve"][field]
    file.write_text(json.dumps(old), encoding="utf-8")
    options = Options.read({"statements": "sentences", "calibration": file})
    file.unlink()
    assert calibrations_for(FAKE, options) == {"en": calibration()}


def test_a_run_says_its_calibration_and_keeps_raw_records(tmp_path: Path) -> None:
    run, text = tmp_path / "run", write([calibration()])
    engine = FakeEngine([{"verdict": 0.9}, {"verdict": 0.6}])
    judge = fake_judge(engine)
    raw = evaluate([TEA], ["faithfulness"], judge, run, statements="sentences")
    found = evaluate([TEA], ["faithfulness"], judge, run, statements="sentences", calibration=text)
    assert len(engine.calls) == 1  # no model for another calibration
    assert (raw["faithfulness"].value, found["faithfulness"].value) == (1, 1 / 2)
    assert [v.probability for v in found.samples[0].records["support"].verdicts] == [0.9, 0.6]  # type: ignore[attr-defined]
    assert Curve(**found.signature.calibration["en"]) == STRICT
    assert ("raw" in str(found), "probabilities of support are raw" in str(raw)) == (False, True)
    assert ["|calibration:" in str(one.signature) for one in (found, raw)] == [True, False]
    kept = json.loads((run / "run.json").read_text(encoding="utf-8"))["options"]["calibration"]
    again = evaluate([TEA], ["faithfulness"], judge, run, statements="sentences", calibration=kept)
    assert again.signature == found.signature


def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file, judge = tmp_path / "own.json", fake_judge(FakeEngine([]))
    for content, what in (
        (None, "can't be read"),
        ("", "no calibration file"),
        ('{"schema": 2}', "schema"),
        (write([calibration()]).replace('"slope": 2.0', '"slope": -2.0'), "greater than 0"),
        (write([calibration(sha256="1" * 64)]), "another judge"),
        (write([calibration()]).replace('"sha256"', '"sha"', 1), "no calibration file"),
        ("[" * 100_000, "no calibration file"),
    ):
        if content is not None:
            file.write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=what):
            evaluate([TEA], ["faithfulness"], judge, statements="sentences", calibration=str(file))


def test_a_reason_is_asked_for_the_verdict_that_counts(tmp_path: Path) -> None:
    engine = FakeEngine([{"verdict": 0.9}, {"verdict": 0.6}, {"reason": "So."}, {"reason": "Nothing."}])
    options: dict[str, Any] = {"statements": "sentences", "calibration": write([calibration()])}
    evaluate([TEA], ["faithfulness"], fake_judge(engine), tmp_path, explain=True, **options)
    assert ["is not supported" in item for item in engine.calls[-1].items] == [False, True]
    raw = rescore(tmp_path, calibration="none").samples[0]
    assert "reasons" not in raw.records  # a verdict is another one


def test_a_run_of_an_earlier_version_is_scored_again_as_it_was_calibrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, folder = tmp_path / "own.json", tmp_path / "run"
    own.write_text(write([calibration()]))
    engine = FakeEngine([{"verdict": 0.6}, {"verdict": 0.9}])
    given: dict[str, Any] = {"statements": "sentences", "calibration": str(own)}
    before = evaluate([TEA], ["faithfulness"], fake_judge(engine), folder, **given)
    monkeypatch.setattr(support, "VERSION", "999")
    monkeypatch.setitem(JUDGEMENTS, "support", replace(JUDGEMENTS["support"], version="999"))
    after = rescore(folder)
    assert (after.scores, after.signature) == (before.scores, before.signature)
    with pytest.raises(InputError, match="another judge, other prompts"):  # it was fitted on another version
        rescore(folder, calibration=write([calibration()]))
