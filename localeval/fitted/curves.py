"""Curves that calibrate a judge's probabilities, and P(all supported), to which they are fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pydantic import Field

from localeval.fitted.files import MAX_WEIGHT, Fitted, Weight
from localeval.fitted.logits import MIN_PROBABILITY, logit, sigmoid

# Unknown numbers of one statement that count: a list of ten says little more than two.
MAX_UNKNOWN_NUMBERS = 2
# Log-probability that a margin takes away at most: texts of a table may differ by 40, and that says no more.
MAX_DOUBT = 8.0


class Curve(Fitted):
    """A rising map of probabilities: a sigmoid, which is Platt's where `coverage` and `unknown_number` are 0.

    coverage        what full coverage adds to the logit, compared with none
    unknown_number  what each unknown number adds to the logit, 0 or less; at most two count
    binding         weight of log P(a value is the one that belongs there, and not the likeliest other one)

    >>> Curve(slope=1, intercept=0).apply(0.25)
    0.25
    >>> Curve(unknown_number=-2).apply(0.5, unknown=1) == sigmoid(-2)
    True
    >>> round(Curve(binding=1).apply(0.9, margin=-9.0), 3)
    0.003
    """

    slope: float = Field(default=1.0, gt=0, le=MAX_WEIGHT)
    coverage: float = Field(default=0.0, ge=0, le=MAX_WEIGHT)
    unknown_number: float = Field(default=0.0, ge=-MAX_WEIGHT, le=0)
    binding: float = Field(default=0.0, ge=0, le=MAX_WEIGHT)
    intercept: Weight = 0.0

    def apply(
        self,
        probability: float,
        coverage: float = 1.0,
        unknown: int = 0,
        margin: float | None = None,
    ) -> float:
        """Return the calibrated probability, 0 to 1.

        coverage  share of the statement's terms that the contexts have, 0 to 1
        unknown   how many of its numbers they lack
        margin    log-probability of the statement minus the one with another value; None without any
        """
        lexical = self.coverage * coverage + self.unknown_number * min(unknown, MAX_UNKNOWN_NUMBERS)
        bound = self.binding * log_preference(margin)
        return sigmoid(self.slope * logit(probability) + lexical + bound + self.intercept)


def log_preference(margin: float | None) -> float:
    """Return log P(the stated text is right, not another one), -8 or more, from the margin between them.

    0 without a margin: nothing speaks against the statement.

    >>> round(log_preference(0.0), 3), log_preference(-20.0), log_preference(None)
    (-0.693, -8.0, 0.0)
    """
    if margin is None:
        return 0.0
    return max(-MAX_DOUBT, -math.log1p(math.exp(-margin)) if margin > -MAX_DOUBT else margin)


Curves = Mapping[str, Curve]
"""Language of the response -> the curve that applies; responses in other languages stay raw."""


def all_supported(probabilities: Sequence[float]) -> float:
    """Return P(all supported) of a response from its statements' calibrated probabilities, at least one.

    It is the least, over all groups of k of the statements, of product ** (1 / sqrt(k)); for each k the group
    of the k least probable ones has it. So it is never above the least probability, and one more statement
    never raises it.

    >>> all_supported([0.5] * 4) == 0.5 ** 2
    True
    >>> all_supported([0.25, 0.99, 0.99])
    0.25
    """
    total = 0.0
    lowest = 0.0
    for count, probability in enumerate(sorted(probabilities), 1):
        total += math.log(max(probability, MIN_PROBABILITY))
        lowest = min(lowest, total / math.sqrt(count))
    return min(math.exp(lowest), *probabilities)
