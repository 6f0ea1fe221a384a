"""Calibration: fitted numbers that are known, and that nothing else is ever calibrated."""

import json
import math
import random
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from localeval import InputError, evaluate, rescore
from localeval.analysis.fit_curve import cross_fitted_curves, fit, full_support_probabilities
from localeval.fitted.curves import Curve, all_supported
from localeval.fitted.files import FittedFor, file_text, shipped
from localeval.fitted.heads import heads_for
from localeval.fitted.logits import logit, sigmoid
from localeval.judgements import JUDGEMENTS, calibration
from localeval.judgements.calibration import calibrate, calibrations_for, conditions
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.metrics.formulas import share as faithfulness
from localeval.models.catalog import DEFAULT_JUDGE, entries
from localeval.options import Options
from localeval.testing import FakeEngine, fake_judge
from tests.commands import said

STRICT = Curve(slope=2, intercept=-1)  # 0.5 stands at sigmoid(0.5), which is 0.62
FAKE = "0" * 64
QUICK_START = str(entries()[DEFAULT_JUDGE].files[0].sha256)
SENTENCES = Options(statements="sentences")
TEA = {"id": "tea", "response": "Tea is green. It sings.", "retrieved_contexts": ["Tea is green."]}
evaluate_tea = partial(evaluate, [TEA], ["faithfulness"], statements="sentences")


def strict_calibration(sha256: str = FAKE) -> calibration.Calibration:
    fields = conditions(sha256, SENTENCES, "en")
    judge = FittedFor(name="fake", sha256=fields.pop("model"))
    return calibration.Calibration(judge=judge, curve=STRICT, fitted_on={"labels": 60}, **fields)


OWN = file_text([strict_calibration()])


def verdicts(*probabilities: float) -> tuple[Verdict, ...]:
    return tuple(Verdict(statement="S.", sentence=0, probability=p) for p in probabilities)


def records(*probabilities: float, language: str = "en", **more: Any) -> dict[str, Any]:
    statements = StatementsRecord(sentences=(), language=language)
    return {"statements": statements, "support": SupportRecord(verdicts=verdicts(*probabilities), **more)}


def responses(number: int, longest: int, curve: Curve) -> tuple[list[tuple[Verdict, ...]], list[int]]:
    """Raw verdicts, and labels drawn with just the probability that `curve` says."""
    draw = random.Random(0)

    def draw_verdict() -> Verdict:
        (verdict,) = verdicts(draw.betavariate(2, 1))
        unknown = ("70",) * int(draw.random() < 0.2)
        return verdict.model_copy(update={"coverage": draw.random(), "unknown_numbers": unknown})

    raw = [tuple(draw_verdict() for _ in range(draw.randint(1, longest))) for _ in range(number)]
    shares = full_support_probabilities(raw, [curve] * number)
    return raw, [int(draw.random() < share) for share in shares]


def test_a_curve_moves_the_threshold_of_the_value_and_leaves_the_record_raw() -> None:
    curve = Curve(unknown_number=-1.5, coverage=2, intercept=-1)  # an unknown number counts twice at most
    assert [curve.apply(0.5, 0.5, k) for k in range(4)] == [sigmoid(x) for x in (0, -1.5, -3, -3)]
    assert STRICT.apply(sigmoid(0.5)) == pytest.approx(0.5)
    assert [Curve().apply(p) for p in (0, 1)] == pytest.approx([1e-6, 1 - 1e-6])  # nothing is sure
    raw = records(0.9, 0.6, 0.55, 0.1)
    score = faithfulness(calibrate(raw, {"en": STRICT}))
    assert score.value == 1 / 4
    assert score.soft == pytest.approx(sum(sigmoid(2 * logit(p) - 1) for p in (0.9, 0.6, 0.55, 0.1)) / 4)
    assert faithfulness(raw).value == 3 / 4
    others: list[dict[str, Any]] = [{"language": "zh"}, {"by": "hhem"}, {"by": "head"}, {"windows": 0}]
    for raw in (records(0.6, **other) for other in others):  # no curve was fitted for it
        assert calibrate(raw, {"en": STRICT}) is raw


def test_a_fit_finds_the_curve_of_its_labels() -> None:
    curve = Curve(slope=1.2, coverage=2, unknown_number=-2, intercept=-1)
    fitted = fit(*responses(3000, 5, curve))
    assert fitted.slope == pytest.approx(curve.slope, rel=0.15)
    assert (fitted.coverage, fitted.unknown_number, fitted.intercept) == pytest.approx((2, -2, -1), abs=0.3)


PROBABILITIES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(PROBABILITIES)
def test_no_response_is_likelier_supported_than_its_least_statement(probabilities: list[float]) -> None:
    assert 0 <= all_supported(probabilities) <= min(probabilities)


@given(PROBABILITIES, PROBABILITIES)
def test_more_statements_never_make_a_response_likelier_supported(
    given: list[float], more: list[float]
) -> None:
    rounding = 1e-12
    assert all_supported([*given, *more]) <= all_supported(given) + rounding


@given(PROBABILITIES, st.floats(0, 1, exclude_max=True), st.floats(0, 1))
def test_no_statements_lift_a_doubtful_one_to_the_threshold(
    more: list[float], doubtful: float, threshold: float
) -> None:
    assume(doubtful < threshold)
    assert all_supported([doubtful, *more]) < threshold


def test_the_gradient_of_a_fit_leads_to_the_least_loss() -> None:
    """No step away from the fitted curve, along one of its numbers, lowers the loss."""
    raw, labels = responses(400, 6, Curve(slope=1.2, coverage=2, unknown_number=-2, intercept=-1))
    good, bad = sum(labels), len(labels) - sum(labels)
    targets = [(good + 1) / (good + 2) if label else 1 / (bad + 2) for label in labels]

    def loss(curve: Curve) -> float:
        shares = full_support_probabilities(raw, [curve] * len(raw))
        logs = [t * math.log(s) + (1 - t) * math.log(1 - s) for t, s in zip(targets, shares, strict=True)]
        prior = (curve.coverage**2 + curve.unknown_number**2) / 8  # of a standard deviation of 2
        return prior - sum(logs)

    fitted = fit(raw, labels)
    for name in ("slope", "coverage", "unknown_number", "intercept"):
        for step in (-0.05, 0.05):
            moved = fitted.model_copy(update={name: getattr(fitted, name) + step})
            assert loss(moved) > loss(fitted), name


def test_labels_without_a_mistake_are_fitted_to_the_targets_of_platt_many_or_few() -> None:
    """Of n labels 1 the target is (n + 1) / (n + 2), of n labels 0 it is 1 / (n + 2) (Platt 1999)."""
    plain = fit([verdicts(0.9)] * 20 + [verdicts(0.1)] * 8, [1] * 20 + [0] * 8)
    assert (plain.apply(0.9), plain.apply(0.1)) == pytest.approx((21 / 22, 1 / 10), abs=1e-3)
    # With the targets 7/8 and 1/8 of 12 labels, and the prior, a weight w is 2 logit(7/8 - w / 24).
    for field, value in (("unknown_numbers", ("70",)), ("coverage", 0.0)):
        bad = [(verdicts(0.5)[0].model_copy(update={field: value}),)] * 6
        fitted = fit([*[verdicts(0.5)] * 6, *bad], [1] * 6 + [0] * 6)
        assert abs(getattr(fitted, field.removesuffix("s"))) == pytest.approx(2.45, abs=0.01)


def test_a_sample_has_no_part_in_the_curve_that_it_is_measured_under() -> None:
    raw, labels = responses(60, 3, STRICT)
    parts = [i % 3 for i in range(60)]
    curves = cross_fitted_curves(raw, labels, parts)
    turned = [1 - label if parts[i] == 0 else label for i, label in enumerate(labels)]
    turned_curves = cross_fitted_curves(raw, turned, parts)
    assert [curves[i] == turned_curves[i] for i in range(3)] == [True, False, False]


def test_a_calibration_fits_nothing_but_what_it_was_fitted_on() -> None:
    fitted = conditions(FAKE, SENTENCES, "en")
    assert strict_calibration().fits(fitted)
    changed = [conditions("1" * 64, SENTENCES, "en"), conditions(FAKE, Options(), "en")]
    changed.append(conditions(FAKE, SENTENCES, "zh"))
    changed += [fitted | {"judgements": {"support": "3"}}, fitted | {"prompts": {"support": FAKE}}]
    assert not [fields for fields in changed if strict_calibration().fits(fields)]


def test_the_shipped_numbers_fit_the_shipped_prompts_of_the_quick_start_judge() -> None:
    """Where this fails a prompt or a judgement has changed: fit anew with `localeval card`."""
    for by in ("auto", "llm"):
        heads = heads_for(QUICK_START, Options(support_by=by))
        assert set(calibrations_for(QUICK_START, Options(support_by=by), heads)) == {"en", "zh"}
    fitted_on = [row.fitted_on for row in shipped(calibration.Calibration)]
    assert all(facts["labels"] >= 40 and facts["date"] for facts in fitted_on)
    for raw in (Options(calibration="none"), Options(support_by="hhem")):
        assert calibrations_for(QUICK_START, raw) == {}
    assert calibrations_for(FAKE, Options()) == {}


def test_a_calibration_file_is_kept_and_an_older_one_is_read(tmp_path: Path) -> None:
    file, old = tmp_path / "own.json", json.loads(OWN)
    for field in ("coverage", "unknown_number"):
        del old["calibrations"][0]["curve"][field]
    file.write_text(json.dumps(old), encoding="utf-8")
    options = Options.read({"statements": "sentences", "calibration": file})
    file.unlink()
    assert calibrations_for(FAKE, options) == {"en": strict_calibration()}


def test_a_run_says_its_calibration_and_keeps_raw_records(tmp_path: Path) -> None:
    engine = FakeEngine([{"verdict": 0.9}, {"verdict": 0.6}])
    judge = fake_judge(engine)
    raw = evaluate_tea(judge, tmp_path)
    calibrated = evaluate_tea(judge, tmp_path, calibration=OWN)
    assert len(engine.calls) == 1  # no model for another calibration
    assert (raw["faithfulness"].value, calibrated["faithfulness"].value) == (1, 1 / 2)
    assert [v.probability for v in calibrated.samples[0].records["support"].verdicts] == [0.9, 0.6]  # type: ignore[attr-defined]
    assert calibrated.signature.calibration == {"en": STRICT}
    assert ("raw" in str(calibrated), "probabilities of support are raw" in str(raw)) == (False, True)
    for result, part in ((calibrated, r"\|calibration:\w{8}"), (raw, "")):
        form = rf"faithfulness\.1\|judge:fake@0{{8}}\|prompts:\w{{8}}{part}\|statements=sentences\|ctx:.*"
        assert re.fullmatch(form, str(result.signature))
    text = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["options"]["calibration"]
    assert evaluate_tea(judge, tmp_path, calibration=text).signature == calibrated.signature


def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(tmp_path: Path) -> None:
    file, judge = tmp_path / "own.json", fake_judge(FakeEngine([]))
    assert "can't be read" in said(InputError, evaluate_tea, judge, calibration=str(file))
    for content, message in (
        ("", "no file of calibrations"),
        ('{"schema": 2}', "schema"),
        (OWN.replace('"slope": 2.0', '"slope": -2.0'), "greater than 0"),
        (OWN.replace('"slope": 2.0', '"slope": 1e300'), "no file of calibrations"),
        (OWN.replace('"slope": 2.0', '"slopes": 2.0'), "no file of calibrations"),
        (file_text([strict_calibration(sha256="1" * 64)]), "no calibrations for this judge"),
        (OWN.replace('"sha256"', '"sha"', 1), "no file of calibrations"),
        ("[" * 100_000, "no file of calibrations"),
    ):
        file.write_text(content, encoding="utf-8")
        assert message in said(InputError, evaluate_tea, judge, calibration=str(file))


def test_a_reason_is_asked_for_the_verdict_that_counts(tmp_path: Path) -> None:
    engine = FakeEngine([{"verdict": 0.9}, {"verdict": 0.6}, {"reason": "So."}, {"reason": "Nothing."}])
    evaluate_tea(fake_judge(engine), tmp_path, explain=True, calibration=OWN)
    assert ["is not supported" in item for item in engine.calls[-1].items] == [False, True]
    raw = rescore(tmp_path, calibration="none").samples[0]
    assert "reasons" not in raw.records  # a verdict is another one


def test_a_run_of_an_earlier_version_keeps_its_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine([{"verdict": 0.6}, {"verdict": 0.9}])
    before = evaluate_tea(fake_judge(engine), tmp_path, calibration=OWN)
    monkeypatch.setattr(JUDGEMENTS["support"], "version", "999")
    after = rescore(tmp_path)
    assert (after.scores, after.signature) == (before.scores, before.signature)
    newer = file_text([strict_calibration()])
    assert "no calibrations for this judge" in said(InputError, rescore, tmp_path, calibration=newer)
