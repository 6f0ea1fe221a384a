"""What a calibration fitted on these labels does, and the calibration itself."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from localeval.judge import Judge
from localeval.judgements.calibration import Calibration, Curve
from localeval.judgements.calibration.choice import recipe
from localeval.judgements.calibration.fit import curves_across, fit, shares
from localeval.judgements.support import Verdict
from localeval.prompts import LANGUAGES
from localeval.prompts.options import Options
from localeval.runs.card.agreement import Draws, both_outside, probabilities
from localeval.samples import Sample

FEWEST, FEWEST_OF_EACH = 40, 10
WHOLE = "P(all supported) refitted"


@dataclass(frozen=True)
class Scored:
    """A labelled sample with its scores by name, and what a calibration is fitted to."""

    sample: Sample
    label: int
    group: str
    language: str
    verdicts: tuple[Verdict, ...]
    scores: dict[str, float]


def refitted(found: Sequence[Scored], parted: Sequence[int]) -> dict[int, dict[str, float]]:
    """Scores of each sample under a curve fitted on the other folds, where its language has enough labels.

    None of a language that lacks a label outside of some fold: no curve can be fitted there.
    """
    made: dict[int, dict[str, float]] = {}
    for language in LANGUAGES:
        own = [i for i, one in enumerate(found) if one.language == language]
        if not _enough([found[i] for i in own]):
            continue
        raw, labels = [found[i].verdicts for i in own], [found[i].label for i in own]
        if not both_outside(labels, folds := [parted[i] for i in own]):
            continue
        curves = curves_across(raw, labels, folds)
        for i, curve, whole in zip(own, curves, shares(raw, curves), strict=True):
            soft, value = _aggregated(found[i].verdicts, curve)
            made[i] = {"soft refitted": soft, "value refitted": value, WHOLE: whole}
    return made


def _aggregated(raw: Sequence[Verdict], curve: Curve) -> tuple[float, float]:
    """`soft` and, at 0.5, `value` of faithfulness."""
    own = [curve.on(verdict) for verdict in raw]
    return sum(own) / len(own), sum(p >= 0.5 for p in own) / len(own)


def _enough(own: Sequence[Scored]) -> bool:
    labels = [one.label for one in own]
    fewest = min(labels.count(0), labels.count(1))
    several = all(one.verdicts for one in own)
    return several and len(labels) >= FEWEST and fewest >= FEWEST_OF_EACH


def calibrated(found: Sequence[Scored], judge: Judge, options: Options, dataset: str) -> list[Calibration]:
    """A calibration for each language that has scores `refitted`, and their cross-validated figures."""
    made = []
    for language in LANGUAGES:
        own = [one for one in found if one.language == language and WHOLE in one.scores]
        if not own:
            continue
        labels, groups = [one.label for one in own], [one.group for one in own]
        whole = [one.scores[WHOLE] for one in own]
        figured = probabilities(whole, labels, Draws(labels, groups))
        known = recipe(judge.model["sha256"], options, language, judge.heads(options))
        known["judge"] = {"name": str(judge.model["name"]), "sha256": known.pop("model")}
        fitted_on = {
            "metric": "faithfulness",
            "dataset": dataset,
            "labels": len(own),
            "supported": sum(labels),
            "statements": sum(len(one.verdicts) for one in own),
            "sources": dict(Counter(str((one.sample.model_extra or {}).get("source", "")) for one in own)),
            "date": datetime.date.today().isoformat(),
        }
        curve = fit([one.verdicts for one in own], labels)
        shown_figures = {
            key: tuple(round(x, 4) for x in figure)
            for key, figure in figured.items()
            if not any(math.isnan(x) for x in figure)
        }
        made.append(Calibration(**known, curve=curve, fitted_on=fitted_on, figures=shown_figures))  # type: ignore[arg-type]
    return made
