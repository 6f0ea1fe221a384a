"""What a card is made of: figures with their intervals, of all samples and of parts of them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Shown = tuple[float | None, float | None, float | None]
"""A figure and the ends of its 95 % interval; None where it is not defined."""


class ScoreFigures(BaseModel):
    """What one score says of the labels: figure -> (figure, low, high); see `localeval.runs.card.agreement`.

    gain  its AUROC (or its pair accuracy) less that of the baseline, paired
    """

    model_config = ConfigDict(frozen=True)

    figures: dict[str, Shown]
    gain: Shown | None = None


class Part(BaseModel):
    """Some of the samples: all of them, those of a language, those of a source.

    good, bad  labels 1 and 0; of pairs, and of rows with labelled sentences, `good` is how many there are
    scores     "soft" and "value" as the judge gives them; "... raw" without the calibration in force;
               "... refitted" with one fitted on the other folds of this data; and the baseline
    """

    model_config = ConfigDict(frozen=True)

    name: str
    good: int
    bad: int = 0
    scores: dict[str, ScoreFigures]
