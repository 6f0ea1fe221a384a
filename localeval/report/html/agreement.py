"""How far a score agrees with people, in one sentence: what is known of the calibration that made it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from localeval.calibration import Calibration, curves_of
from localeval.calibration.choice import shipped
from localeval.judgements import heads
from localeval.judgements.heads import Head
from localeval.report.html.labels import LANGUAGES, spans, words

if TYPE_CHECKING:
    from localeval.result import Result


def known(result: Result) -> dict[str, Markup]:
    """Metric -> a sentence, for what reads `support` where a shipped calibration was in force.

    The figures are those of P(all supported), cross-validated on the labels that it was fitted on; beside
    `faithfulness`, whose mean they are not of, that is said.
    """
    in_force = curves_of(result.signature)
    acting = [
        one
        for one in shipped()
        if one.judge["sha256"] == result.signature.judge["sha256"] and in_force.get(one.language) == one.curve
    ]
    if not acting:
        return _of_heads(result)
    figures = {language: _figures(acting, language) for language in LANGUAGES}
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
    told = {}
    for language in LANGUAGES:
        each = [
            words(
                "head_figures",
                language,
                spoken=words({"en": "spoken_en", "zh": "spoken_zh"}[head.language], language),
                n=head.fitted_on["labels"],
                auroc=_interval(head, "auroc", language),
                error=_interval(head, "calibration_error", language),
            )
            for head in acting
        ]
        told[language] = words("and", language).join(each)
    return {"groundedness": spans(told)}


def _figures(calibrations: Sequence[Calibration], language: str) -> str:
    """What each of them was measured to be worth, in one language of the page."""
    return words("and", language).join(
        words(
            "agreement_figures",
            language,
            spoken=words({"en": "spoken_en", "zh": "spoken_zh"}[one.language], language),
            n=one.fitted_on["labels"],
            error=_interval(one, "calibration_error", language),
            skill=_interval(one, "skill", language),
        )
        for one in calibrations
    )


def _interval(fitted: Calibration | Head, name: str, language: str) -> str:
    figure, low, high = (f"{number:.2f}" for number in fitted.figures[name])
    return words("figure", language, figure=figure, low=low, high=high)
