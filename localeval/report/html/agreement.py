"""How far a score agrees with people, in one sentence: what is known of the calibration that made it."""

from __future__ import annotations

from localeval.calibration.choice import shipped
from localeval.result import Result, curves_of


def known(result: Result) -> dict[str, str]:
    """Metric -> a sentence, for what reads `support` where a shipped calibration was in force.

    The figures are those of P(all supported), cross-validated on the labels that it was fitted on; beside
    `faithfulness`, whose mean they are not of, that is said.
    """
    in_force = curves_of(result.signature)
    told = []
    for one in shipped():
        same = one.judge["sha256"] == result.signature.judge["sha256"]
        if same and in_force.get(one.language) == one.curve:
            parts = (
                f"{what} {figure:.2f} ({low:.2f} to {high:.2f})"
                for what, name in (("calibration error", "calibration_error"), ("Brier skill", "skill"))
                for figure, low, high in [one.figures[name]]
            )
            told.append(f"{one.language}, {one.fitted_on['labels']} labelled answers: {', '.join(parts)}")
    if not told:
        return {}
    figures = "; ".join(told)
    return {"full_support": figures, "faithfulness": f"soft of full_support (P(all supported)): {figures}"}
