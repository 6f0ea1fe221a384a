"""One look at every sample: the order of the report, worst first, and what is counted over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from localeval.report.injection import Suspicion, suspicions
from localeval.text.language import language

if TYPE_CHECKING:
    from localeval.runs.result import Result, SampleResult

TENTHS = 10


@dataclass
class Standing:
    """What the report needs to know of all samples before it shows one.

    order      numbers of the samples (from 0), worst first
    tenths     metric -> how many values lie in each tenth of 0 to 1
    flagged    numbers of the samples whose text reads like an attack, with what was found in it
    foreign    how many samples are in another language than English
    chinese    whether most samples are Chinese
    """

    order: list[int] = field(default_factory=list)
    tenths: dict[str, list[int]] = field(default_factory=dict)
    flagged: dict[int, list[Suspicion]] = field(default_factory=dict)
    foreign: int = 0
    chinese: bool = False


def standing(result: Result) -> Standing:
    made = Standing(tenths={name: [0] * TENTHS for name in result.metrics})
    keys: list[tuple[int, float, float]] = []
    spoken: Counter[str] = Counter()
    for number, one in enumerate(result.samples):
        keys.append(badness(one, result.higher_is_better))
        for name in result.metrics:
            if (value := one.scores[name].value) is not None:
                made.tenths[name][min(max(int(value * TENTHS + 1e-9), 0), TENTHS - 1)] += 1
        if found := suspicions(one.sample):
            made.flagged[number] = found
        spoken[language(f"{one.sample.user_input or ''} {one.sample.response or ''}")] += 1
    made.order = sorted(range(len(keys)), key=keys.__getitem__)
    made.foreign = sum(spoken.values()) - spoken["en"]
    made.chinese = 2 * spoken["zh"] > sum(spoken.values())
    return made


def badness(one: SampleResult, higher_is_better: Mapping[str, bool]) -> tuple[int, float, float]:
    """What the samples are sorted by: the least is the worst.

    Scored samples by the mean of their values, where lower is better turned round, then by that of soft;
    then those that failed, then the undefined ones.
    """
    values, softs = [], []
    for name, score in one.scores.items():
        if score.value is not None and score.soft is not None:
            turned = not higher_is_better.get(name, True)
            values.append(1 - score.value if turned else score.value)
            softs.append(1 - score.soft if turned else score.soft)
    if not values:
        return (1 if any(score.status == "failed" for score in one.scores.values()) else 2, 0.0, 0.0)
    return (0, sum(values) / len(values), sum(softs) / len(softs))
