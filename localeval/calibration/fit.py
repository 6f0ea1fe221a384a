"""Fitting a curve to labels of responses, and what it does to responses that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from localeval.calibration import CLOSEST, Curve, all_supported

ISOTONIC_FROM = 1000
"""Labels of single statements. Steps need many labels, and one for each verdict: a response's label does not
say which of its statements is wrong, and of a free form that leaves too much open."""

STEEPEST = 8.0
"""A slope beyond it is what a few labels without one mistake would give."""

Responses = Sequence[Sequence[float]]
"""The raw probabilities of each response's statements, at least one."""


def fit(responses: Responses, labels: Sequence[int]) -> Curve:
    """The curve under which P(all supported) agrees best with `labels` (see `localeval.calibration`).

    Platt's two numbers, with his smoothed targets (Platt 1999), from logits; isotonic regression from 1000
    labels of responses that have one statement each. Both labels must occur.
    """
    if len(labels) >= ISOTONIC_FROM and all(len(one) == 1 for one in responses):
        return _isotonic([one[0] for one in responses], labels)
    return _platt(responses, labels)


def _platt(responses: Responses, labels: Sequence[int]) -> Curve:
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    raw = np.clip(np.concatenate([np.asarray(one, dtype=float) for one in responses]), CLOSEST, 1 - CLOSEST)
    logits = np.log(raw / (1 - raw))
    lengths = np.array([len(one) for one in responses])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    good, bad = sum(labels), len(labels) - sum(labels)
    targets = np.where(np.asarray(labels) == 1, (good + 1) / (good + 2), 1 / (bad + 2))

    def lost(numbers: tuple[float, float]) -> float:
        slope, intercept = np.exp(numbers[0]), numbers[1]
        logs = -np.logaddexp(0, -(slope * logits + intercept))
        share = np.clip(np.exp(np.add.reduceat(logs, starts) / np.sqrt(lengths)), CLOSEST, 1 - CLOSEST)
        return float(-(targets * np.log(share) + (1 - targets) * np.log(1 - share)).mean())

    limits = [(-np.log(STEEPEST), np.log(STEEPEST)), (-20.0, 20.0)]
    tries = [
        minimize(lost, start, method="Nelder-Mead", bounds=limits, options={"xatol": 1e-6, "fatol": 1e-9})
        for start in ((0.0, 0.0), (0.7, -1.0))
    ]
    slope, intercept = min(tries, key=lambda found: float(found.fun)).x
    # Six decimals are more than labels can tell, and are the same on every machine.
    return Curve(slope=round(float(np.exp(slope)), 6), intercept=round(float(intercept), 6))


def _isotonic(raw: Sequence[float], labels: Sequence[int]) -> Curve:
    from sklearn.isotonic import IsotonicRegression

    made = IsotonicRegression(y_min=0, y_max=1).fit(raw, labels)
    return Curve(steps=tuple(zip(made.X_thresholds_.tolist(), made.y_thresholds_.tolist(), strict=True)))


def curves_across(responses: Responses, labels: Sequence[int], folds: Sequence[int]) -> list[Curve]:
    """For each response the curve that was fitted on the other folds."""
    made = {}
    for fold in sorted(set(folds)):
        others = [i for i, own in enumerate(folds) if own != fold]
        made[fold] = fit([responses[i] for i in others], [labels[i] for i in others])
    return [made[fold] for fold in folds]


def shares(responses: Responses, curves: Sequence[Curve]) -> list[float]:
    """P(all supported) of each response under its curve."""
    return [all_supported([curve.of(p) for p in one]) for one, curve in zip(responses, curves, strict=True)]
