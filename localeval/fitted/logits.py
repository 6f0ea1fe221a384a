"""Probabilities and their logits."""

from __future__ import annotations

import math

MIN_PROBABILITY = 1e-6  # probabilities are clipped to this distance from 0 and 1, so that a logit is finite


def logit(probability: float) -> float:
    """Return the logarithm of the odds; -13.8 to 13.8, as the probability is clipped.

    >>> logit(0.5), round(logit(0.0), 1)
    (0.0, -13.8)
    """
    clipped = min(max(probability, MIN_PROBABILITY), 1 - MIN_PROBABILITY)
    return math.log(clipped / (1 - clipped))


def sigmoid(x: float) -> float:
    """Return the probability of which `x` is the logit, without overflow.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))
