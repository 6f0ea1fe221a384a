"""What a reader should know of abstention: both sides at once.

A system that answers everything has no over-refusals, and one that refuses everything no unsupported answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from localeval.metrics.score import Score
from localeval.metrics.summary import GroupNumbers, group_of, shared_groups
from localeval.report.view import RunView
from localeval.statistics.two_means import mean_of_two_interval

# These say of a sample to which side it belongs: the first is scored where the contexts answer the question.
_SIDES = ("over_refusal_rate", "unsupported_answer_rate")
_RIGHT = "abstention_accuracy"


class Side(NamedTuple):
    """Samples whose question the contexts answer, or do not: 1 for each that is right, and their groups."""

    right: Sequence[float]
    groups: Sequence[int] | None

    @property
    def recall(self) -> float:
        return sum(self.right) / len(self.right)


def abstention_note(run: RunView) -> list[str]:
    """Return a line with both shares and their mean, where the run has all three metrics.

    Where all samples are of one side, the line says so.
    """
    if not {_RIGHT, *_SIDES} <= set(run.metrics):
        return []
    answerable, unanswerable = (_side(run, name) for name in _SIDES)
    if not answerable.right and not unanswerable.right:
        return []
    if not unanswerable.right:
        return ["abstention: the contexts answer every question, so no refusal could be right"]
    if not answerable.right:
        return ["abstention: the contexts answer no question, so no refusal could be needless"]
    mean = (answerable.recall + unanswerable.recall) / 2
    interval = _interval(answerable, unanswerable)
    return [
        f"abstention: of {len(answerable.right)} questions that the contexts answer, {_count(answerable)} "
        f"are answered; of {len(unanswerable.right)} others, {_count(unanswerable)} are refused; "
        f"mean of both shares {mean:.3f}{interval}"
    ]


def _count(side: Side) -> int:
    return round(sum(side.right))


def _side(run: RunView, name: str) -> Side:
    """Return the samples that have a score of this name."""
    numbers = GroupNumbers()
    right = []
    groups = []
    for sample_result in run.samples:
        scores: Mapping[str, Score] = sample_result.scores
        value = scores[_RIGHT].value
        if scores[name].value is not None and value is not None:
            right.append(value)
            groups.append(numbers.of(group_of(sample_result.sample)))
    return Side(right, shared_groups(groups))


def _interval(answerable: Side, unanswerable: Side) -> str:
    """Return the 95 % interval of the mean, or "" where a side has too few samples."""
    # It loads numpy.
    from localeval.statistics.intervals import mean_interval

    intervals = [mean_interval(side.right, groups=side.groups) for side in (answerable, unanswerable)]
    if intervals[0] is None or intervals[1] is None:
        return ""
    low, high = mean_of_two_interval(answerable.recall, intervals[0], unanswerable.recall, intervals[1])
    return f" (95 % {low:.3f} to {high:.3f})"
