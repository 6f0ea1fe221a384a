"""From the judge's raw probability that a statement is supported to one that means what it says.

What is fitted. People label whole responses (1: all is supported), the judge decides statements. A map of a
statement's raw probability p, of the share c of its terms that the contexts have, and of the number k of its
numbers that they name nowhere,

    p' = sigmoid(slope x logit(p) + coverage x c + unknown_number x min(k, 2) + intercept)

is fitted so that of n statements

    P(all supported) = (p'1 x p'2 x ... x p'n) ** (1 / sqrt(n))

agrees best with the labels (maximum likelihood). The exponent stands between two wrong extremes: 1 takes the
statements for independent, and then long responses are never believed; 1 / n takes them for copies of one
another, and then one false statement among ten is never seen. With one statement it is logistic regression;
where c and k have no part, Platt's scaling. So p' is the probability of one statement, and a probability of
the whole response comes with it.

What it does. It moves the threshold (`value` asks whether p', not p, is at least 0.5), and in `soft` it parts
the clearly supported from the doubtful. Of two statements with the same c and k the one with the higher p has
the higher p'; more coverage never lowers p', and an unknown number never raises it. Where c and k have a part
it is no map of p alone: a statement that names a number which is nowhere in the contexts may come behind one
of which the model was less sure. Both stand in the record of the verdict; the fit says how much they weigh,
and that may be nothing.

Journals keep the raw probabilities; the map is applied to the records that a metric reads, which needs no
model.

Where it applies. A map belongs to what it was fitted on: the model file, the prompts of one language, the
versions of the judgements and the forms of `statements` and `verdict`. To anything else it is never applied;
there the probabilities stay raw, and the result says so. It is fitted on and applied to the judgement
`support` (the response's statements against the contexts), not to its sisters that read a reference.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from localeval.judgements.heads import CLOSEST, logit, sigmoid
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord, Verdict

JUDGEMENT = "support"
MOST_UNKNOWN = 2
"""Unknown numbers of one statement that count: a list of ten says little more than two."""


class Curve(BaseModel):
    """A map of probabilities, rising with each: a sigmoid, or the steps of an isotonic regression.

    coverage        what full coverage adds to the logit, against none
    unknown_number  what each of at most two unknown numbers adds to it, 0 or less

    With both 0 the sigmoid is Platt's. Steps look at the probability alone.

    >>> Curve(slope=1, intercept=0).of(0.25)
    0.25
    >>> Curve(unknown_number=-2).of(0.5, unknown=1) == sigmoid(-2)
    True
    >>> Curve(steps=((0.25, 0.0), (0.75, 1.0))).of(0.5)
    0.5
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    slope: float = Field(default=1.0, gt=0)
    coverage: float = Field(default=0.0, ge=0)
    unknown_number: float = Field(default=0.0, le=0)
    intercept: float = 0.0
    steps: tuple[tuple[float, float], ...] = ()

    def of(self, probability: float, coverage: float = 1.0, unknown: int = 0) -> float:
        """The calibrated probability, 0 to 1. Between two steps it goes straight from one to the other."""
        if not self.steps:
            lexical = self.coverage * coverage + self.unknown_number * min(unknown, MOST_UNKNOWN)
            return sigmoid(self.slope * logit(probability) + lexical + self.intercept)
        at = bisect_right([raw for raw, _ in self.steps], probability)
        if at in (0, len(self.steps)):
            return self.steps[min(at, len(self.steps) - 1)][1]
        (left, low), (right, high) = self.steps[at - 1], self.steps[at]
        return low + (high - low) * (probability - left) / (right - left)

    def on(self, verdict: Verdict) -> float:
        """The calibrated probability of a verdict."""
        return self.of(verdict.probability, verdict.coverage, len(verdict.unknown_numbers))


class Calibration(BaseModel):
    """A curve, and what it was fitted on: it acts on nothing else.

    judge       name and sha256 of the model file
    language    of the responses, "en" or "zh"
    prompts     prompt -> sha256, those that made statements and verdicts in this language
    judgements  judgement -> version
    options     those that give the probabilities another meaning
    fitted_on   for people to read: metric, data set, labels, date, ...
    figures     cross-validated on that data: name -> (figure, ends of its 95 % interval)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    judge: dict[str, str]
    language: str
    prompts: dict[str, str]
    judgements: dict[str, str]
    options: dict[str, str]
    curve: Curve
    fitted_on: dict[str, Any]
    figures: dict[str, tuple[float, float, float]] = {}

    def fits(self, recipe: Mapping[str, Any]) -> bool:
        """Whether `recipe` (see `choice.recipe`) is what it was fitted on."""
        own = self.model_dump(include={"language", "prompts", "judgements", "options"})
        return {**own, "model": self.judge["sha256"]} == dict(recipe)


Curves = Mapping[str, Curve]
"""By language; a language that is not there stays raw."""

RAW: Curves = {}


def as_scored(records: Mapping[str, Any], curves: Curves) -> Mapping[str, Any]:
    """The records as a metric reads them: the verdicts of `support` with calibrated probabilities.

    All others as they are; so are verdicts of HHEM, of a premise without a word (no model was asked), and
    of a response in a language without a curve.
    """
    if not curves or JUDGEMENT not in records or "statements" not in records:
        return records
    support, made = records[JUDGEMENT], records["statements"]
    if not isinstance(support, SupportRecord) or not isinstance(made, StatementsRecord):
        return records
    if support.by != "llm" or not support.windows or made.language not in curves:
        return records
    curve = curves[made.language]
    verdicts = tuple(
        verdict.model_copy(update={"probability": curve.on(verdict)}) for verdict in support.verdicts
    )
    return {**records, JUDGEMENT: support.model_copy(update={"verdicts": verdicts})}


def all_supported(probabilities: Sequence[float]) -> float:
    """P(all supported) of a response from the calibrated probabilities of its statements, at least one.

    >>> all_supported([0.5] * 4) == 0.5 ** 2
    True
    """
    logs = sum(math.log(max(p, CLOSEST)) for p in probabilities)
    return math.exp(logs / math.sqrt(len(probabilities)))


def told(curves: Curves) -> dict[str, Any]:
    """The curves as a signature keeps them, in JSON values. Nothing else of a calibration moves a score."""
    return {language: curve.model_dump(mode="json") for language, curve in sorted(curves.items())}


def curves_of(kept: Mapping[str, Any]) -> Curves:
    """The curves that a signature keeps (`Signature.calibration`), by language."""
    return {language: Curve(**curve) for language, curve in kept.items()}
