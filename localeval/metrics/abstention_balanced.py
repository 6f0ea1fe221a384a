"""Abstention on both sides at once: the mean of the two shares that are right.

A system that answers everything has no over-refusals, and one that refuses everything no unsupported answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from localeval.metrics.score import Score
from localeval.metrics.summary import GroupNumbers, shared_groups
from localeval.statistics.two_means import mean_of_two_interval

# Each is scored for the samples of one side only: where the contexts answer the question, or do not.
_ANSWERABLE = "over_refusal_rate"
_UNANSWERABLE = "unsupported_answer_rate"
_RIGHT = "abstention_accuracy"
NEEDED_METRICS = frozenset({_ANSWERABLE, _UNANSWERABLE, _RIGHT})


@dataclass(frozen=True)
class AbstentionBalanced:
    """The two shares of a run that are right, and their mean: Trust-Score's macro average (Song et al. 2025).

    value         mean of answered / answerable and refused / unanswerable, 0 to 1; None where one is 0 / 0
    interval      its 95 % interval (low, high); None below two samples, or two groups, of a side
    answerable    number of samples whose question the contexts answer; answered: of these, answered
    unanswerable  number of the others; refused: of these, refused, or answered in part as the contexts allow
    """

    value: float | None
    interval: tuple[float, float] | None
    answerable: int
    answered: int
    unanswerable: int
    refused: int


def abstention_balanced(samples: Iterable[tuple[Mapping[str, Score], str | None]]) -> AbstentionBalanced:
    """Count both sides of the samples that have scores of all three metrics of abstention.

    samples  the scores of each, and its group (see `group_of`); read once: each may be read from a disk
    """
    answerable = _Side(_ANSWERABLE)
    unanswerable = _Side(_UNANSWERABLE)
    for scores, group in samples:
        answerable.add(scores, group)
        unanswerable.add(scores, group)
    has_both = bool(answerable.right and unanswerable.right)
    return AbstentionBalanced(
        value=(answerable.share + unanswerable.share) / 2 if has_both else None,
        interval=_interval(answerable, unanswerable) if has_both else None,
        answerable=len(answerable.right),
        answered=round(sum(answerable.right)),
        unanswerable=len(unanswerable.right),
        refused=round(sum(unanswerable.right)),
    )


class _Side:
    """The samples of one side.

    metric  that only these have a score of
    right   for each 1 if it is right, else 0
    """

    def __init__(self, metric: str) -> None:
        self.metric = metric
        self.right: list[float] = []
        self._numbers = GroupNumbers()
        self._groups: list[int] = []

    def add(self, scores: Mapping[str, Score], group: str | None) -> None:
        """Add a sample if it is of this side."""
        right = scores[_RIGHT].value
        if right is not None and scores[self.metric].value is not None:
            self.right.append(right)
            self._groups.append(self._numbers.of(group))

    @property
    def share(self) -> float:
        return sum(self.right) / len(self.right)

    @property
    def interval(self) -> tuple[float, float] | None:
        # It loads numpy.
        from localeval.statistics.intervals import mean_interval

        return mean_interval(self.right, groups=shared_groups(self._groups))


def _interval(answerable: _Side, unanswerable: _Side) -> tuple[float, float] | None:
    first = answerable.interval
    second = unanswerable.interval
    if first is None or second is None:
        return None
    return mean_of_two_interval(answerable.share, first, unanswerable.share, second)
