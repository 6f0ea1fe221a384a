"""What stands at the head of the report, and the order of the samples below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from localeval.judgements import heads
from localeval.judgements.calibration import Calibration, curves_of, shipped
from localeval.prompts import FENCES
from localeval.report.html.shown import LANGUAGES, spans, words
from localeval.text.injection import Injection, find_injections
from localeval.text.language import language

if TYPE_CHECKING:
    from localeval.runs.result import Result

MOST_DISAGREEMENTS = 100
MOST_SKIPPED = 100


class Overview(NamedTuple):
    """What the report needs to know of all samples before it shows one.

    order    numbers of the samples (from 0), worst first
    flagged  numbers of the samples whose text reads like an attack, with what was found in it
    foreign  how many samples are in another language than English
    chinese  whether most samples are Chinese
    """

    order: list[int]
    flagged: dict[int, list[Injection]]
    foreign: int
    chinese: bool


def look_over(result: Result) -> Overview:
    """Look at each sample once."""
    keys, flagged, spoken = [], {}, Counter[str]()
    for number, one in enumerate(result.samples):
        if found := find_injections(one.sample, FENCES):
            flagged[number] = found
        spoken[language(f"{one.sample.user_input or ''} {one.sample.response or ''}")] += 1
        # Worst first: by the mean of the values, turned round where lower is better, then of soft. Samples
        # that failed come after the scored ones, then the undefined ones.
        turned = [
            (s.value, s.soft) if result.higher_is_better.get(name, True) else (1 - s.value, 1 - s.soft)
            for name, s in one.scores.items()
            if s.value is not None and s.soft is not None
        ]
        failed = any(score.status == "failed" for score in one.scores.values())
        means = [sum(column) / len(turned) for column in zip(*turned, strict=True)]
        keys.append((0 if turned else 1 if failed else 2, means))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return Overview(order, flagged, len(keys) - spoken["en"], 2 * spoken["zh"] > len(keys))


def cards(result: Result, agreement: Mapping[str, str]) -> list[dict[str, Any]]:
    """Describe each metric: its summary, how many values lie in each tenth of 0 to 1, its agreement.

    `agreement` is HTML where it is `Markup`, and "" where nothing is known.
    """
    made = []
    for name in result.metrics:
        tenths = [0] * 10
        for one in result.samples:
            if (value := one.scores[name].value) is not None:
                tenths[min(int(value * 10 + 1e-9), 9)] += 1
        made.append(
            {
                "name": name,
                "summary": result[name],
                "lower": not result.higher_is_better.get(name, True),
                "tenths": tenths,
                "agreement": agreement.get(name, ""),
            }
        )
    return made


def clock(seconds: float) -> str:
    """Show a length of time.

    >>> clock(42.26), clock(61), clock(3 * 3600 + 125)
    ('42.3 s', '1:01 min', '3:02:05 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} h" if hours else f"{minutes}:{rest:02} min"


def known_agreement(result: Result) -> dict[str, Markup]:
    """Say how far metrics agree with people, where a shipped calibration or head was in force.

    The figures were cross-validated on the labels that it was fitted on. Those of a calibration are of P(all
    supported); beside `faithfulness`, whose mean they are not of, that is said.
    """
    signature, told = result.signature, {}
    curves = curves_of(signature.calibration)
    fitted = [
        one
        for one in shipped()
        if one.judge["sha256"] == signature.judge["sha256"] and curves.get(one.language) == one.curve
    ]
    if fitted:
        figures = _figures("agreement_figures", fitted, error="calibration_error", skill="skill")
        told["full_support"] = spans(figures)
        told["faithfulness"] = spans({x: words("of_full_support", x, figures=figures[x]) for x in LANGUAGES})
    used = [head for head in heads.shipped() if signature.heads.get(head.language) == head.sha256]
    if used:
        told["groundedness"] = spans(_figures("head_figures", used, auroc="auroc", error="calibration_error"))
    return told


def _figures(label: str, fitted: Sequence[Calibration | heads.Head], **names: str) -> dict[str, str]:
    """Word in each language of the page what these were measured to be worth; `names` names the figures."""
    told = {}
    for x in LANGUAGES:
        parts = []
        for one in fitted:
            figures = {}
            for place, name in names.items():
                figure, low, high = (f"{number:.2f}" for number in one.figures[name])
                figures[place] = words("figure", x, figure=figure, low=low, high=high)
            spoken = words({"en": "spoken_en", "zh": "spoken_zh"}[one.language], x)
            parts.append(words(label, x, spoken=spoken, n=one.fitted_on["labels"], **figures))
        told[x] = words("and", x).join(parts)
    return told
