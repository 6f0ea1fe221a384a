"""The outcome of a certification as a sentence, in each language of the pages.

The words are those of the report, so that a run's page can show the sentence with the certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from localeval.analysis.labels import judged_column
from localeval.analysis.ledger import Place, ordinal
from localeval.metrics import Metric
from localeval.report.html.translations import words
from localeval.statistics.certification import BoundedRate, further_labels, level_of_test

DEFAULT_MINIMUM = 0.7
# Values closer than this differ by rounding alone.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class JudgeOnLabels:
    """What was counted of a judge in one language, by which it is certified or not.

    sensitivity  of samples with label 1, the share judged good; specificity: with label 0, judged bad
    read, asked  number of samples that a head read, and about which the judge was asked
    """

    metric: Metric
    language: str
    place: Place
    minimum: float
    sensitivity: BoundedRate
    specificity: BoundedRate
    read: int
    asked: int

    @property
    def is_certified(self) -> bool:
        return min(self.sensitivity.at_least, self.specificity.at_least) >= self.minimum


def sentence(tested: JudgeOnLabels, page: str) -> str:
    """Say in a language of the pages whether the judge is certified, by which numbers, or why not."""
    say = partial(words, language=page)
    subject = {
        "place": _place(tested.place, page),
        "metric": tested.metric.name,
        "code": tested.language,
        "labels": _labels(tested, page),
    }
    if not tested.is_certified:
        faults = say("and").join(_faults(tested, page))
        return say("certified_not", **subject, faults=faults)
    return say(
        "certified",
        **subject,
        sensitivity=_rate(tested.sensitivity, page),
        specificity=_rate(tested.specificity, page),
    )


def _place(place: Place, page: str) -> str:
    """Name the place of a judge that is not the first one on these labels."""
    if place.test == 1:
        return ""
    is_another_judge = place.test == place.judge
    number = place.judge if is_another_judge else place.test
    key = "certified_judge" if is_another_judge else "certified_test"
    return words(key, page, nth=ordinal(number) if page == "en" else number)


def _rate(rate: BoundedRate, page: str) -> str:
    """Format a rate with its bound, which is never rounded up."""
    return words("certified_rate", page, rate=f"{rate.rate:.2f}", bound=_down(rate.at_least))


def _labels(tested: JudgeOnLabels, page: str) -> str:
    """Say how many labels there are, and what else a reader has to know of them."""
    say = partial(words, language=page)
    rates = (tested.sensitivity, tested.specificity)
    good, bad = (rate.labels for rate in rates)
    parts = [say("certified_labels", good=good, bad=bad)]
    if any(rate.effective < rate.labels - 0.5 for rate in rates):
        good_worth, bad_worth = (f"{rate.effective:.0f}" for rate in rates)
        parts.append(say("certified_worth", good=good_worth, bad=bad_worth))
    if tested.read and tested.asked:
        parts.append(say("certified_read", n=tested.read))
    if tested.minimum != DEFAULT_MINIMUM:
        parts.append(say("certified_minimum", minimum=f"{tested.minimum:g}"))
    return "".join(parts)


def _faults(tested: JudgeOnLabels, page: str) -> Iterator[str]:
    """Yield for each rate that is not enough why, and how many more labels would do."""
    kind = "answers" if judged_column(tested.metric) == "response" else "samples"
    for name, rate, label in (("sensitivity", tested.sensitivity, 1), ("specificity", tested.specificity, 0)):
        if rate.at_least < tested.minimum:
            yield _fault(tested, name, rate, words(f"certified_{kind}_{label}", page), page)


def _fault(tested: JudgeOnLabels, name: str, rate: BoundedRate, noun: str, page: str) -> str:
    """Say why a rate is not enough, and how many more labels would do at the level of the next test.

    name  sensitivity or specificity
    noun  the samples of its label
    """
    say = partial(words, language=page)
    if not rate.labels:
        return say("certified_unlabelled", noun=noun)
    minimum = tested.minimum
    shown = f"{rate.rate:.2f}" if rate.rate > minimum else _down(rate.rate)
    found = say(f"certified_{name}", rate=shown, bound=_down(rate.at_least), minimum=f"{minimum:g}")
    number = further_labels(rate, minimum, level_of_test(tested.place.test + 1))
    if number is None:
        return found + say("certified_never")
    return found + say("certified_further", n=f"{_two_digits(number):,}", noun=noun)


def _down(number: float) -> str:
    """Format a number with two decimals, rounded down.

    >>> _down(0.6999)
    '0.69'
    """
    return f"{math.floor(100 * number + _ROUNDING) / 100:.2f}"


def _two_digits(number: int) -> int:
    """Round a number up to two significant digits.

    >>> [_two_digits(number) for number in (7, 65, 115, 2781)]
    [7, 65, 120, 2800]
    """
    unit = int(10 ** max(0, len(str(number)) - 2))
    return math.ceil(number / unit) * unit
