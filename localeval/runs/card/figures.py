"""Every figure of labelled samples' scores, for all of them, by language and by source."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from localeval.errors import InputError
from localeval.judgements.calibration import RAW
from localeval.metrics import Metric
from localeval.metrics.summary import compute
from localeval.prompts.options import Options
from localeval.runs.card import baseline
from localeval.runs.card.agreement import (
    Draws,
    Figure,
    auroc,
    auroc_gain,
    bins,
    decided_across,
    decisions,
    folds,
    probabilities,
)
from localeval.runs.card.fitted import WHOLE, Scored, refitted
from localeval.runs.card.groups import group
from localeval.runs.card.labels import FEWEST_OF_EACH, label
from localeval.runs.card.parts import Part, ScoreFigures, Shown
from localeval.runs.result import Result, SampleResult

FEWEST_OF_A_PART = 10


@dataclass(frozen=True)
class Figures:
    """What `localeval.runs.card.Card` says of the scores."""

    parts: list[Part]
    not_scored: dict[str, int]
    baseline: str
    scored: list[Scored]
    reliability: dict[str, list[tuple[float, float, int]]]


def figures(result: Result, metric: Metric, options: Options) -> Figures:
    """Every figure of the scored samples, for all of them, by language and by source."""
    found = [
        _scored(one, metric, options, bool(result.signature.calibration))
        for one in result.samples
        if one.scores[metric.name].status == "scored"
    ]
    missing = Counter(
        one.scores[metric.name].reason for one in result.samples if one.scores[metric.name].status != "scored"
    )
    labels = [one.label for one in found]
    if min(labels.count(0), labels.count(1)) < FEWEST_OF_EACH:
        raise InputError(
            f"of {len(result.samples)} samples {len(found)} were scored, with fewer than {FEWEST_OF_EACH} "
            f"of a label; the others were {', '.join(missing)}."
        )
    parted = folds(labels, [one.group for one in found], seed=options.seed)
    for i, own in (refitted(found, parted) if parted else {}).items():
        found[i].scores.update(own)
    name = baseline.name(metric.name)
    parts = [
        _part(title, [found[i] for i in own], [parted[i] for i in own] if parted else None, name)
        for title, own in _parts(found)
    ]
    scores = [key for key in ("soft", WHOLE) if all(key in one.scores for one in found)]
    reliability = {key: [tuple(b) for b in bins([o.scores[key] for o in found], labels)] for key in scores}
    return Figures(parts, dict(missing), name, found, reliability)  # type: ignore[arg-type]


def shown(figure: Figure) -> Shown:
    """A figure in JSON values: nan is None."""
    value, low, high = (None if math.isnan(x) else x for x in figure)
    return value, low, high


def _scored(one: SampleResult, metric: Metric, options: Options, calibrated: bool) -> Scored:
    score, raw = one.scores[metric.name], compute(metric, one.records, options, RAW)
    given = {"soft": score.soft, "value": score.value}
    if calibrated:
        given |= {"soft raw": raw.soft, "value raw": raw.value}
    scores = {name: rather_good(metric, share) for name, share in given.items()}
    scores[baseline.name(metric.name)] = baseline.score(one.sample, metric.name)
    support = one.records.get("support")
    judged = metric.name == "faithfulness" and getattr(support, "by", "") == "llm"
    return Scored(
        one.sample,
        label(one.sample),
        group(one.sample),
        getattr(one.records.get("statements") or one.records.get("grounding"), "language", ""),
        getattr(support, "verdicts", ()) if judged else (),
        scores,
    )


def rather_good(metric: Metric, share: float | None) -> float:
    """The score so that more means "rather good"; 0, the worst, for none."""
    if share is None:
        return 0.0
    return share if metric.higher_is_better else 1 - share


def _parts(found: Sequence[Scored]) -> list[tuple[str, list[int]]]:
    """("all", places), then each language and each source with both labels, where there are several."""
    parts: dict[str, list[int]] = {}
    for place, one in enumerate(found):
        extra: dict[str, Any] = one.sample.model_extra or {}
        for title in (f"lang {extra.get('lang', one.language)}", f"source {extra.get('source', '')}"):
            parts.setdefault(title, []).append(place)
    kept = []
    for title, places in sorted(parts.items()):
        labels = [found[i].label for i in places]
        if FEWEST_OF_A_PART <= len(places) < len(found) and min(labels.count(0), labels.count(1)) >= 3:
            kept.append((title, places))
    return [("all", list(range(len(found)))), *kept]


def _part(title: str, found: Sequence[Scored], parted: Sequence[int] | None, lexical: str) -> Part:
    """Its figures; none of decisions where no threshold can be fitted on other samples of the part."""
    labels, groups = [one.label for one in found], [one.group for one in found]
    draws, within = Draws(labels, groups), folds(labels, groups)
    others = [one.scores[lexical] for one in found]
    scores = {}
    for name in found[0].scores:
        if not all(name in one.scores for one in found):
            continue
        own = [one.scores[name] for one in found]
        # Curves of different folds give no common order, so only pairs of one fold are held together.
        apart = parted if name.endswith("refitted") else None
        made = {"auroc": auroc(own, labels, draws, apart)}
        if within is not None:
            made |= decisions(decided_across(own, labels, within), labels, draws)
        if name in ("soft", WHOLE):
            made |= probabilities(own, labels, draws)
        gain = None if name == lexical else shown(auroc_gain(own, others, labels, draws, apart))
        scores[name] = ScoreFigures(figures={key: shown(figure) for key, figure in made.items()}, gain=gain)
    return Part(name=title, good=sum(labels), bad=len(labels) - sum(labels), scores=scores)
