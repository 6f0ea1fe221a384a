"""Calibrations that a card fits to its labelled samples, and scores under curves of the other folds."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence

from localeval.analysis.card_kinds import ALL_SUPPORTED, JudgedSample
from localeval.analysis.fit_curve import cross_fitted_curves, fit, full_support_probabilities
from localeval.analysis.labels import group, user_column
from localeval.fitted.curves import Curve
from localeval.fitted.files import FittedFor
from localeval.judge import Judge
from localeval.judgements.calibration import Calibration, conditions
from localeval.labels.fingerprint import Fingerprints
from localeval.options import Options
from localeval.prompts import LANGUAGES
from localeval.statistics import agreement

MIN_LABELS = 40
MIN_OF_EACH_LABEL = 10


def refit(
    items: Sequence[JudgedSample], metric: str, options: Options, judge: Judge, dataset: str
) -> list[Calibration]:
    """Fit a calibration for each language with enough labels.

    Each sample gets "refitted" scores, under a curve fitted on the other folds; the calibration's figures
    belong to these scores.
    """
    labels = [item.label for item in items]
    groups = [group(item.row) for item in items]
    folds = agreement.folds(labels, groups, seed=options.seed)
    if folds is None:
        return []
    for item, fold in zip(items, folds, strict=True):
        item.fold = fold
    calibrations = []
    for language in LANGUAGES:
        members = [item for item in items if item.language == language]
        if _can_be_fitted(members):
            probabilities = _add_refitted_scores(members, options.threshold)
            source = {"metric": metric, "dataset": dataset}
            calibrations.append(_calibration(members, probabilities, options, judge, language, source))
    return calibrations


def _can_be_fitted(items: Sequence[JudgedSample]) -> bool:
    """Report whether a curve can be fitted to these items, and to those outside each fold.

    There have to be enough labels, verdicts for each, and both kinds of labels outside each fold.
    """
    labels = [item.label for item in items]
    if len(items) < MIN_LABELS or min(labels.count(0), labels.count(1)) < MIN_OF_EACH_LABEL:
        return False
    if not all(item.verdicts for item in items):
        return False
    return agreement.has_both_labels(labels, [item.fold for item in items])


def _add_refitted_scores(items: Sequence[JudgedSample], threshold: float) -> list[float]:
    """Add the scores under the curves of the other folds; return P(all supported) of each item."""
    verdicts = [item.verdicts for item in items]
    curves = cross_fitted_curves(verdicts, [item.label for item in items], [item.fold for item in items])
    probabilities = full_support_probabilities(verdicts, curves)
    for item, curve, probability in zip(items, curves, probabilities, strict=True):
        soft, value = _share_supported(item, curve, threshold)
        item.scores["soft refitted"] = soft
        item.scores["value refitted"] = value
        item.scores[ALL_SUPPORTED] = probability
    return probabilities


def _share_supported(item: JudgedSample, curve: Curve, threshold: float) -> tuple[float, float]:
    """Return (mean probability, share of probabilities from the threshold on) under the curve."""
    probabilities = [verdict.calibrated(curve).probability for verdict in item.verdicts]
    supported = sum(probability >= threshold for probability in probabilities)
    return sum(probabilities) / len(probabilities), supported / len(probabilities)


def _calibration(
    items: Sequence[JudgedSample],
    probabilities: Sequence[float],
    options: Options,
    judge: Judge,
    language: str,
    source: Mapping[str, str],
) -> Calibration:
    """Fit the calibration to all items.

    probabilities  P(all supported) of each item, from the other folds
    source         the metric and the data set of the labels
    """
    labels = [item.label for item in items]
    verdicts = [item.verdicts for item in items]
    draws = agreement.Bootstrap(labels, [group(item.row) for item in items])
    sources = Counter(str(user_column(item.row, "source", "")) for item in items)
    valid_for = conditions(judge.model["sha256"], options, language, judge.heads(options))
    # A calibration names the model in its field `judge`.
    del valid_for["model"]
    return Calibration(
        judge=FittedFor(name=judge.model["name"], sha256=judge.model["sha256"]),
        **valid_for,
        curve=fit(verdicts, labels),
        fitted_on={
            **source,
            "labels": len(items),
            "supported": sum(labels),
            "statements": sum(len(of_item) for of_item in verdicts),
            "sources": dict(sources),
            "date": datetime.date.today().isoformat(),
        },
        figures=agreement.rounded(draws.probabilities(probabilities)),
        fingerprints=Fingerprints.of([item.row for item in items]),
    )
