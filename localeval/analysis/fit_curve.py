"""Fit a curve to labels of responses. A module of its own, as applying a curve needs no numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from localeval.fitted.curves import MAX_UNKNOWN_NUMBERS, Curve, all_supported, log_preference
from localeval.fitted.logits import MIN_PROBABILITY, logit
from localeval.judgements.bindings import Binding
from localeval.judgements.support import Verdict

# The largest slope, and the inverse of the smallest: a few labels without a mistake would give more.
MAX_SLOPE = 8.0
# The standard deviation of the normal prior on the weights of lexical evidence: a hundred labels outweigh it,
# ten do not.
PRIOR_DEVIATION = 2.0
# The verdicts on each response's statements, at least one, with raw probabilities.
Responses = Sequence[Sequence[Verdict]]
Weights = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def fit(responses: Responses, labels: Sequence[int]) -> Curve:
    """Fit the curve under which P(all supported) agrees best with `labels`; both labels must occur.

    It is a sigmoid of logits, fitted to smoothed targets (Platt 1999). Where all verdicts have full coverage
    and no unknown number it is Platt's scaling.

    P(all supported) is the lowest value of groups of statements (see `all_supported`); its gradient is the
    gradient of the group that has it.
    """
    from scipy.optimize import minimize  # type: ignore[import-untyped]

    verdicts = [verdict for response in responses for verdict in response]
    plain = all(v.coverage == 1 and not v.unknown_numbers for v in verdicts)
    features = np.array([features_of(verdict) for verdict in verdicts])
    lengths = np.array([len(response) for response in responses])
    starts = np.cumsum(lengths) - lengths
    good = sum(labels)
    bad = len(labels) - good
    targets = np.where(np.asarray(labels) == 1, (good + 1) / (good + 2), 1 / (bad + 2))
    prior = PRIOR_DEVIATION**-2
    penalty = np.array([0, prior, prior, prior, 0]) / len(labels)

    response_of = np.repeat(np.arange(len(lengths)), lengths)
    # Place of a statement in its response, from 1, when the statements are sorted by probability.
    place = np.arange(len(verdicts)) - np.repeat(starts, lengths) + 1

    def loss_and_gradient(weights: Weights) -> tuple[float, Weights]:
        logits = features @ weights
        order = np.lexsort((logits, response_of))
        sums = np.cumsum(-np.logaddexp(0, -logits[order]))
        sums -= np.repeat(np.append(0.0, sums)[starts], lengths)
        by_size = sums / np.sqrt(place)
        logs = np.minimum.reduceat(by_size, starts)
        size = np.repeat(_first_lowest(by_size, logs, starts, lengths), lengths)
        share = np.clip(np.exp(logs), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        loss = -(targets * np.log(share) + (1 - targets) * np.log(1 - share)).mean()
        by_log = np.repeat(((1 - targets) * share / (1 - share) - targets) / len(lengths), lengths)
        by_logit = np.where(place <= size, by_log / np.sqrt(size), 0.0) / (1 + np.exp(logits[order]))
        return float(loss + penalty @ weights**2 / 2), by_logit @ features[order] + penalty * weights

    bound = 0 if plain else 20
    # A weight that no verdict has a feature for is 0.
    binding_bound = 20 if np.any(features[:, 3]) else 0
    bounds = [
        (1 / MAX_SLOPE, MAX_SLOPE),
        (0, bound),
        (-bound, 0),
        (0, binding_bound),
        (-20 - bound, 20),
    ]
    settings = {"jac": True, "bounds": bounds, "method": "L-BFGS-B", "options": {"ftol": 1e-14, "gtol": 1e-9}}
    initial = (1.0, 0.0, 0.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0, -1.0)
    fits = [minimize(loss_and_gradient, start, **settings) for start in initial]
    best = min(fits, key=lambda x: float(x.fun)).x
    # Four decimals are more than labels determine, and are the same on every machine.
    slope, coverage, unknown, binding, intercept = (round(float(weight), 4) for weight in best)
    return Curve(
        slope=slope,
        coverage=coverage,
        unknown_number=unknown,
        binding=binding,
        intercept=intercept,
    )


def features_of(verdict: Verdict) -> tuple[float, ...]:
    """Return what the weights of a `Curve` multiply, in the order in which they are fitted."""
    binding = verdict.binding or Binding()
    return (
        logit(verdict.probability),
        verdict.coverage,
        min(len(verdict.unknown_numbers), MAX_UNKNOWN_NUMBERS),
        log_preference(binding.margin),
        1.0,
    )


def _first_lowest(by_size: Weights, lowest: Weights, starts: Indices, lengths: Indices) -> Indices:
    """Return for each response the size, from 1, of its first group that has the lowest value."""
    indices = np.where(by_size == np.repeat(lowest, lengths), np.arange(len(by_size)), len(by_size))
    return np.asarray(np.minimum.reduceat(indices, starts) - starts + 1)


def cross_fitted_curves(responses: Responses, labels: Sequence[int], folds: Sequence[int]) -> list[Curve]:
    """Return for each response the curve fitted on the other folds; both labels must occur there."""
    curves = {}
    for fold in set(folds):
        others = [i for i, other in enumerate(folds) if other != fold]
        curves[fold] = fit([responses[i] for i in others], [labels[i] for i in others])
    return [curves[fold] for fold in folds]


def full_support_probabilities(responses: Responses, curves: Sequence[Curve]) -> list[float]:
    """Return P(all supported) of each response under its curve."""
    return [
        all_supported([v.calibrated(curve).probability for v in row])
        for row, curve in zip(responses, curves, strict=True)
    ]
