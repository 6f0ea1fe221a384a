"""How far a score agrees with people, in one sentence: what is known of the calibration that made it."""

from __future__ import annotations

from localeval.calibration.choice import shipped
from localeval.result import Result, curves_of


def known(result: Result) -> dict[str, str]:
    """Metric -> a sentence, for what reads `support` where a shipped calibration was in force; figures are
    those of P(all supported), cross-validated on the labels that it was fitted on.
    """
    in_force = curves_of(result.signature)
    told = []
    for one in shipped():
        same = one.judge["sha256"] == result.signature.judge["sha256"]
        if same and in_force.get(one.language) == one.curve:
            figures = (
                f"{what} {figure:.2f} ({low:.2f} to {high:.2f})"
                for what, name in (("calibration error", "calibration_error"), ("Brier skill", "skill"))
                for figure, low, high in [one.figures[name]]
            )
            told.append(f"{one.language}, {one.fitted_on['labels']} labelled answers: {', '.join(figures)}")
    return dict.fromkeys(("faithfulness", "full_support"), "; ".join(told)) if told else {}
