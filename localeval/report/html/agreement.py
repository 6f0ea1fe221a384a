"""How far each metric is known to agree with people, in the words of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from localeval.judgements import heads
from localeval.judgements.calibration import Calibration, curves_of, shipped
from localeval.report.html.shown import LANGUAGES, spans, words

if TYPE_CHECKING:
    from localeval.metrics.signature import Signature


def known_agreement(signature: Signature) -> dict[str, Markup]:
    """Tell it by metric, where a shipped calibration or head was in force.

    The figures were cross-validated on the labels that it was fitted on. Those of a calibration are of P(all
    supported); beside `faithfulness`, whose mean they are not of, that is said.
    """
    told, curves = {}, curves_of(signature.calibration)
    fitted = [
        one
        for one in shipped()
        if one.judge.sha256 == signature.judge["sha256"] and curves.get(one.language) == one.curve
    ]
    if fitted:
        figures = _figures("agreement_figures", fitted)
        told["full_support"] = spans(figures)
        told["faithfulness"] = spans({x: words("of_full_support", x, figures=figures[x]) for x in LANGUAGES})
    used = [head for head in heads.shipped() if signature.heads.get(head.language) == head.sha256]
    if used:
        told["groundedness"] = spans(_figures("head_figures", used))
    return told


def _figures(label: str, fitted: Sequence[Calibration | heads.Head]) -> dict[str, str]:
    """Word in each language of the page what these were measured to be worth."""
    told = {}
    for x in LANGUAGES:
        parts = []
        for one in fitted:
            spoken, n = words(f"spoken_{one.language}", x), one.fitted_on["labels"]
            parts.append(words(label, x, spoken=spoken, n=n, **one.figures))
        told[x] = words("and", x).join(parts)
    return told
