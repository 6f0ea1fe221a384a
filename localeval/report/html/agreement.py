"""How far a score agrees with people, in one sentence: what is known of the calibration that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from localeval.judgements import heads
from localeval.judgements.calibration import Calibration, curves_of, shipped
from localeval.judgements.heads import Head
from localeval.report.html.labels import LANGUAGES, spans, words

if TYPE_CHECKING:
    from localeval.runs.result import Result


def known(result: Result) -> dict[str, Markup]:
    """Metric -> a sentence, for what reads `support` where a shipped calibration was in force.

    The figures are those of P(all supported), cross-validated on the labels that it was fitted on; beside
    `faithfulness`, whose mean they are not of, that is said.
    """
    in_force = curves_of(result.signature.calibration)
    acting = [
        one
        for one in shipped()
        if one.judge["sha256"] == result.signature.judge["sha256"] and in_force.get(one.language) == one.curve
    ]
    if not acting:
        return _of_heads(result)
    told = {"error": "calibration_error", "skill": "skill"}
    figures = {language: _figures("agreement_figures", acting, told, language) for language in LANGUAGES}
    of_another = {
        language: words("of_full_support", language, figures=figures[language]) for language in figures
    }
    return {"full_support": spans(figures), "faithfulness": spans(of_another)} | _of_heads(result)


def _of_heads(result: Result) -> dict[str, Markup]:
    """What the shipped heads that decided were measured to be worth."""
    used = result.signature.heads
    acting = [head for head in heads.shipped() if used.get(head.language) == head.sha256]
    if not acting:
        return {}
    told = {"auroc": "auroc", "error": "calibration_error"}
    return {
        "groundedness": spans({x: _figures("head_figures", acting, told, x) for x in LANGUAGES}),
    }


def _figures(label: str, fitted: Sequence[Calibration | Head], told: Mapping[str, str], language: str) -> str:
    """What each of them was measured to be worth, in one language of the page; `told` names the figures."""
    return words("and", language).join(
        words(
            label,
            language,
            spoken=words({"en": "spoken_en", "zh": "spoken_zh"}[one.language], language),
            n=one.fitted_on["labels"],
            **{name: _interval(one, figure, language) for name, figure in told.items()},
        )
        for one in fitted
    )


def _interval(fitted: Calibration | Head, name: str, language: str) -> str:
    figure, low, high = (f"{number:.2f}" for number in fitted.figures[name])
    return words("figure", language, figure=figure, low=low, high=high)
