"""A calibration fitted on labels of responses, and what it does to those that it was not fitted on."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from localeval.judge import Judge
from localeval.judgements.calibration import Calibration, recipe
from localeval.judgements.calibration.fit import curves_across, fit, shares
from localeval.judgements.support import Verdict
from localeval.prompts import LANGUAGES
from localeval.prompts.options import Options
from localeval.runs.card.agreement import BootstrapWeights, has_both_labels, probabilities
from localeval.runs.card.labels import extra
from localeval.samples import Sample

FEWEST, FEWEST_OF_EACH = 40, 10
ALL_SUPPORTED = "P(all supported) refitted"


@dataclass(frozen=True)
class Scored:
    """A labelled sample with its scores by name, and the verdicts that a calibration is fitted to."""

    sample: Sample
    label: int
    group: str
    language: str
    verdicts: tuple[Verdict, ...]
    scores: dict[str, float]


def refitted(found: Sequence[Scored], parted: Sequence[int]) -> dict[int, dict[str, float]]:
    """Score each sample under a curve fitted on the other folds, where its language has enough labels.

    None of a language that lacks a label outside of some fold: no curve can be fitted there.
    """
    made: dict[int, dict[str, float]] = {}
    for language in LANGUAGES:
        own = [i for i, one in enumerate(found) if one.language == language]
        raw, labels = [found[i].verdicts for i in own], [found[i].label for i in own]
        folds = [parted[i] for i in own]
        enough = len(own) >= FEWEST and min(labels.count(0), labels.count(1)) >= FEWEST_OF_EACH
        if not enough or not all(raw) or not has_both_labels(labels, folds):
            continue
        curves = curves_across(raw, labels, folds)
        for i, curve, whole in zip(own, curves, shares(raw, curves), strict=True):
            calibrated = [curve.apply_to(verdict) for verdict in found[i].verdicts]
            made[i] = {
                "soft refitted": sum(calibrated) / len(calibrated),
                "value refitted": sum(p >= 0.5 for p in calibrated) / len(calibrated),
                ALL_SUPPORTED: whole,
            }
    return made


def calibrations(found: Sequence[Scored], judge: Judge, options: Options, dataset: str) -> list[Calibration]:
    """Fit a calibration for each language that has scores `refitted`, whose figures are cross-validated."""
    made = []
    for language in LANGUAGES:
        own = [one for one in found if one.language == language and ALL_SUPPORTED in one.scores]
        if not own:
            continue
        labels, groups = [one.label for one in own], [one.group for one in own]
        verdicts = [one.verdicts for one in own]
        figures = probabilities(
            [one.scores[ALL_SUPPORTED] for one in own], labels, BootstrapWeights(labels, groups)
        )
        known = recipe(judge.model["sha256"], options, language, judge.heads(options))
        own_judge = {"name": str(judge.model["name"]), "sha256": known.pop("model")}
        made.append(
            Calibration(
                judge=own_judge,
                **known,
                curve=fit(verdicts, labels),
                fitted_on={
                    "metric": "faithfulness",
                    "dataset": dataset,
                    "labels": len(own),
                    "supported": sum(labels),
                    "statements": sum(map(len, verdicts)),
                    "sources": dict(Counter(str(extra(one.sample, "source", "")) for one in own)),
                    "date": datetime.date.today().isoformat(),
                },
                figures={
                    name: (round(figure.value, 4), round(figure.low, 4), round(figure.high, 4))
                    for name, figure in figures.items()
                    if not any(map(math.isnan, figure))
                },
            )
        )
    return made
