"""How often the judge of a card was right, at the threshold of its run: by it other runs are corrected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from localeval.analysis.labels import label
from localeval.judgements.judged_text import language_of
from localeval.metrics import Metric
from localeval.metrics.corrected import JudgeRates, is_judged_right
from localeval.metrics.summary import GroupNumbers, group_of
from localeval.runs.result import Result


class JudgedLabel(NamedTuple):
    """A labelled sample: its label, whether the judge was right about it, its group and its language."""

    label: int
    is_agreed: bool
    group: int
    language: str


def measure_rates(result: Result, metric: Metric) -> list[JudgeRates]:
    """Count how often the judge calls right what people call right, and wrong what they call wrong.

    All samples first, then those in each language. The threshold is the run's; a threshold that is fitted to
    the labels has no part in it.
    """
    judged = _judged_labels(result, metric)
    languages = sorted({one.language for one in judged})
    by_language = [
        _rates_of([one for one in judged if one.language == language], language) for language in languages
    ]
    return [_rates_of(judged, ""), *by_language]


def _judged_labels(result: Result, metric: Metric) -> list[JudgedLabel]:
    groups = GroupNumbers()
    judged = []
    for item in result.samples:
        score = item.scores[metric.name]
        if score.status != "scored":
            continue
        is_right = is_judged_right(score, metric, result.signature.threshold)
        labelled = label(item.sample)
        judged.append(
            JudgedLabel(
                label=labelled,
                is_agreed=is_right == bool(labelled),
                group=groups.of(group_of(item.sample)),
                language=language_of(item.sample),
            )
        )
    return judged


def _rates_of(judged: Sequence[JudgedLabel], language: str) -> JudgeRates:
    good = [one for one in judged if one.label == 1]
    bad = [one for one in judged if one.label == 0]
    return JudgeRates(
        language=language,
        right_of_good=sum(one.is_agreed for one in good),
        good=len(good),
        right_of_bad=sum(one.is_agreed for one in bad),
        bad=len(bad),
        design_effects=(_effect(good), _effect(bad)),
    )


def _effect(judged: Sequence[JudgedLabel]) -> float:
    """Return how many of these samples count as one, as those of a group are alike."""
    from localeval.statistics.rates import correlation_within, design_effect_by_correlation

    if not judged:
        return 1.0
    groups = [one.group for one in judged]
    correlation = correlation_within([float(one.is_agreed) for one in judged], groups)
    return design_effect_by_correlation(groups, correlation)
