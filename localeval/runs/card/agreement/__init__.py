"""How far scores agree with people's labels: arithmetic on (score, label) pairs, nothing else.

Scores are any numbers where more means "rather 1"; labels are 1 (good) and 0 (bad). Each figure comes with
the middle 95 % of what it is on samples drawn anew (`Draws`), or where that has no width an exact bound.
"""

from localeval.runs.card.agreement.draws import Draws, Figure
from localeval.runs.card.agreement.figures import (
    auroc,
    auroc_gain,
    bins,
    calibration_error,
    decisions,
    mean,
    probabilities,
)
from localeval.runs.card.agreement.folds import both_outside, decided_across, folds

__all__ = [
    "Draws",
    "Figure",
    "auroc",
    "auroc_gain",
    "bins",
    "both_outside",
    "calibration_error",
    "decided_across",
    "decisions",
    "folds",
    "mean",
    "probabilities",
]
