"""Corrected numbers: what people's labels, or a judge card, make of what a judge says of a run."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from localeval.judgements import JUDGEMENTS
from localeval.metrics.metric import Metric
from localeval.metrics.score import Score
from localeval.options import Options

Method = Literal["post-stratified", "ppi", "rogan-gladen"]
Number = Literal["share right", "share wrong", "mean"]
# A share of 1 may be stored as 0.9999999999999999.
_ROUNDING = 1e-9


class Corrected(BaseModel):
    """A metric's number for a run, corrected for the judge's errors. All are in the metric's own direction.

    method            "post-stratified" by labels 0 and 1, "ppi" by graded labels, "rogan-gladen" by a card
    unit              what is counted: whole samples, or the statements of their responses
    number            what it is: the share of units that people call right (wrong, where lower is better), or
                      the mean of graded labels
    raw               the same by the judge alone
    value, interval   corrected, with its 95 % interval; `value` is None where `reason` says why
    labels            number of the labels it rests on
    effective_labels  how many labels of the run alone would be as precise; None where there is no value
    source            the file of labels, or the card
    claimed_random    whether only the user says that the labels are a random draw
    cant_tell         labels "can't tell", which are left out
    unscored          labels of samples without a score, which are left out
    not_labelled      number of units that were drawn and have no label
    groups            number of groups that some units share; None where none do
    design_effect     how many units count as one, as those of a group are alike
    """

    model_config = ConfigDict(frozen=True)

    method: Method
    unit: Literal["sample", "statement"]
    number: Number
    raw: float
    value: float | None
    interval: tuple[float, float] | None
    labels: int
    effective_labels: float | None = None
    reason: str = ""
    source: str = ""
    claimed_random: bool = False
    cant_tell: int = 0
    unscored: int = 0
    not_labelled: int = 0
    groups: int | None = None
    design_effect: float = 1.0

    @property
    def worth(self) -> int | None:
        """How many more labels the judge was worth than there are, 0 or more; None without a value."""
        if self.effective_labels is None:
            return None
        return max(0, round(self.effective_labels) - self.labels)


class JudgeRates(BaseModel):
    """How often a judge was right on the labelled samples of a card, in all or in one language.

    language        "en", "zh" or "other"; "" for all samples
    right_of_good   number of the `good` samples (label 1) that the judge calls right
    right_of_bad    number of the `bad` samples (label 0) that it calls wrong
    design_effects  of good and of bad: how many samples count as one, as those of a group are alike
    """

    model_config = ConfigDict(frozen=True)

    language: str = ""
    right_of_good: int
    good: int
    right_of_bad: int
    bad: int
    design_effects: tuple[float, float] = (1.0, 1.0)


def oriented_soft(score: Score, metric: Metric) -> float:
    """Return how far the soft score is from the worst, 0 to 1: a higher one means "more likely right"."""
    soft = score.checked().soft or 0.0
    return soft if metric.higher_is_better else 1 - soft


def is_judged_right(score: Score, metric: Metric, threshold: float) -> bool:
    """Report whether the judge calls a sample right: it finds nothing wrong with it at the run's threshold.

    A metric that counts verdicts is then at its best value. One that measures how alike texts are never is:
    of that a value from the threshold on counts.

    >>> from localeval.metrics.metric import METRICS
    >>> faithfulness = METRICS["faithfulness"]
    >>> is_judged_right(Score(1.0), faithfulness, 0.5), is_judged_right(Score(0.9), faithfulness, 0.5)
    (True, False)
    """
    value = score.value or 0.0
    from_worst = value if metric.higher_is_better else 1 - value
    least = 1.0 if _counts_verdicts(metric) else threshold
    return from_worst >= least - _ROUNDING


def _counts_verdicts(metric: Metric) -> bool:
    """Report whether a judge decided all that the metric is computed from."""
    if metric.reads_sample:
        return False
    answered_by = (JUDGEMENTS[name].answered_by(Options()) for name in metric.judgements)
    return "embedder" not in answered_by
