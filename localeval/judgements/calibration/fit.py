"""Fitting a curve to labels of responses. It imports numpy; what applies a curve does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from localeval.judgements.calibration import MOST_UNKNOWN, Curve, all_supported
from localeval.judgements.heads import CLOSEST, logit
from localeval.judgements.support import Verdict

# A slope beyond it, or below its inverse, is what a few labels without one mistake would give.
STEEPEST = 8.0
# The weights of lexical evidence are drawn towards 0 as by normal priors this wide, which a hundred labels
# outweigh and ten do not.
USUAL = 2.0
# The verdicts on each response's statements, with raw probabilities; at least one.
Responses = Sequence[Sequence[Verdict]]
Array = npt.NDArray[np.float64]


def fit(responses: Responses, labels: Sequence[int]) -> Curve:
    """Fit the curve under which P(all supported) agrees best with `labels`, of which both must occur.

    A sigmoid with Platt's smoothed targets (Platt 1999), from logits. Where all verdicts have full coverage
    and no unknown number it is Platt's scaling.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    verdicts = [verdict for one in responses for verdict in one]
    plain = all(v.coverage == 1 and not v.unknown_numbers for v in verdicts)
    seen = np.array(
        [(logit(v.probability), v.coverage, min(len(v.unknown_numbers), MOST_UNKNOWN), 1.0) for v in verdicts]
    )
    lengths = np.array([len(one) for one in responses])
    starts = np.cumsum(lengths) - lengths
    good, bad = sum(labels), len(labels) - sum(labels)
    targets = np.where(np.asarray(labels) == 1, (good + 1) / (good + 2), 1 / (bad + 2))
    pull = np.array([0, USUAL**-2, USUAL**-2, 0]) / len(labels)

    def loss_and_gradient(weights: Array) -> tuple[float, Array]:
        moved = seen @ weights
        logs = np.add.reduceat(-np.logaddexp(0, -moved), starts) / np.sqrt(lengths)
        share = np.clip(np.exp(logs), CLOSEST, 1 - CLOSEST)
        loss = -(targets * np.log(share) + (1 - targets) * np.log(1 - share)).mean()
        of_log = ((1 - targets) * share / (1 - share) - targets) / np.sqrt(lengths) / len(lengths)
        of_weights = (np.repeat(of_log, lengths) / (1 + np.exp(moved))) @ seen
        return float(loss + pull @ weights**2 / 2), of_weights + pull * weights

    most = 0 if plain else 20
    limits = [(1 / STEEPEST, STEEPEST), (0, most), (-most, 0), (-20 - most, 20)]
    how = {"jac": True, "bounds": limits, "method": "L-BFGS-B", "options": {"ftol": 1e-14, "gtol": 1e-9}}
    starts_of_search = (1.0, 0.0, 0.0, 0.0), (2.0, 0.0, 0.0, -1.0)
    tries = [minimize(loss_and_gradient, start, **how) for start in starts_of_search]
    best = min(tries, key=lambda one: float(one.fun)).x
    # Four decimals are more than labels can tell, and are the same on every machine.
    slope, coverage, unknown, intercept = (round(float(weight), 4) for weight in best)
    return Curve(slope=slope, coverage=coverage, unknown_number=unknown, intercept=intercept)


def cross_fitted_curves(responses: Responses, labels: Sequence[int], folds: Sequence[int]) -> list[Curve]:
    """Give for each response the curve fitted on the other folds; both labels must occur there."""
    made = {}
    for fold in set(folds):
        others = [i for i, own in enumerate(folds) if own != fold]
        made[fold] = fit([responses[i] for i in others], [labels[i] for i in others])
    return [made[fold] for fold in folds]


def full_support_probabilities(responses: Responses, curves: Sequence[Curve]) -> list[float]:
    """Give P(all supported) of each response under its curve."""
    return [
        all_supported([curve.apply_to(v) for v in one]) for one, curve in zip(responses, curves, strict=True)
    ]
