"""Calibration: fitted maps of the judge's probabilities of support, chosen for each run; see README.md.

Journals keep raw probabilities; a map is applied to the records that a metric reads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from localeval.fitted.heads import LARGEST, LEAST, Fitted, FittedRow, Head, Weight, logit, select, sigmoid
from localeval.judgements import statements, support
from localeval.judgements.bindings import Binding
from localeval.judgements.statements import StatementsRecord
from localeval.judgements.support import SupportRecord, Verdict
from localeval.options import Options
from localeval.prompts import LANGUAGES

MOST_UNKNOWN = 2  # unknown numbers of one statement that count: a list of ten says little more than two


# A margin below this says no more: texts of a table may differ by 40.
MOST_DOUBT = 8.0


class Curve(Fitted):
    """A rising map of probabilities: a sigmoid, which is Platt's where `coverage` and `unknown_number` are 0.

    coverage        what full coverage adds to the logit, compared with none
    unknown_number  what each unknown number adds to the logit, 0 or less; at most two count
    binding         weight of log P(a value is the one that belongs there, and not the likeliest other one)

    >>> Curve(slope=1, intercept=0).apply(0.25)
    0.25
    >>> Curve(unknown_number=-2).apply(0.5, unknown=1) == sigmoid(-2)
    True
    >>> swapped = Binding(value="20", alternative="35", margin=-9.0)
    >>> round(Curve(binding=1).apply(0.9, binding=swapped), 3)
    0.003
    """

    slope: float = Field(default=1.0, gt=0, le=LARGEST)
    coverage: float = Field(default=0.0, ge=0, le=LARGEST)
    unknown_number: float = Field(default=0.0, ge=-LARGEST, le=0)
    binding: float = Field(default=0.0, ge=0, le=LARGEST)
    intercept: Weight = 0.0

    def apply(
        self,
        probability: float,
        coverage: float = 1.0,
        unknown: int = 0,
        binding: Binding | None = None,
    ) -> float:
        """Return the calibrated probability, 0 to 1."""
        lexical = self.coverage * coverage + self.unknown_number * min(unknown, MOST_UNKNOWN)
        bound = 0.0 if binding is None else self.binding * log_preference(binding.margin)
        return sigmoid(self.slope * logit(probability) + lexical + bound + self.intercept)

    def apply_to(self, verdict: Verdict) -> float:
        return self.apply(
            verdict.probability, verdict.coverage, len(verdict.unknown_numbers), verdict.binding
        )


def log_preference(margin: float | None) -> float:
    """Return log P(the stated text is right, not another one), -8 or more, from the margin between them.

    0 without a margin: nothing speaks against the statement.

    >>> round(log_preference(0.0), 3), log_preference(-20.0), log_preference(None)
    (-0.693, -8.0, 0.0)
    """
    if margin is None:
        return 0.0
    return max(-MOST_DOUBT, -math.log1p(math.exp(-margin)) if margin > -MOST_DOUBT else margin)


class Calibration(FittedRow):
    """A curve, and what it was fitted on: it is applied to nothing else.

    language    of the responses, "en" or "zh"
    prompts     prompt -> sha256, of those that produced statements and verdicts in this language
    judgements  judgement -> version
    options     those that change the meaning of the probabilities
    """

    KIND, COMMAND = "calibrations", "card"

    prompts: dict[str, str]
    judgements: dict[str, str]
    options: dict[str, str]
    curve: Curve

    def fits(self, conditions: Mapping[str, Any]) -> bool:
        """Report whether `conditions` (see the function) is what the curve was fitted on."""
        fields = self.model_dump(include={"language", "prompts", "judgements", "options"})
        return {**fields, "model": self.judge.sha256} == dict(conditions)


Curves = Mapping[str, Curve]  # by language; responses in other languages stay raw
RAW: Curves = {}


def calibrate(records: Mapping[str, Any], curves: Curves) -> Mapping[str, Any]:
    """Return the records as a metric reads them: the verdicts of `support` with calibrated probabilities.

    All others stay unchanged; so do verdicts by HHEM or a head, on a premise without a word (no model was
    asked), and on a response in a language without a curve.
    """
    if not curves:
        return records
    raw, statements_record = records.get("support"), records.get("statements")
    if not isinstance(raw, SupportRecord) or not isinstance(statements_record, StatementsRecord):
        return records
    if raw.by != "llm" or not raw.windows or statements_record.language not in curves:
        return records
    curve = curves[statements_record.language]
    verdicts = tuple(v.model_copy(update={"probability": curve.apply_to(v)}) for v in raw.verdicts)
    return {**records, "support": raw.model_copy(update={"verdicts": verdicts})}


def all_supported(probabilities: Sequence[float]) -> float:
    """Return P(all supported) of a response from its statements' calibrated probabilities, at least one.

    It is the least, over all groups of k of the statements, of product ** (1 / sqrt(k)); for each k the group
    of the k least probable ones has it. So it is never above the least probability, and one more statement
    never raises it.

    >>> all_supported([0.5] * 4) == 0.5 ** 2
    True
    >>> all_supported([0.25, 0.99, 0.99])
    0.25
    """
    total = lowest = 0.0
    for count, probability in enumerate(sorted(probabilities), 1):
        total += math.log(max(probability, LEAST))
        lowest = min(lowest, total / math.sqrt(count))
    return min(math.exp(lowest), *probabilities)


def conditions(
    model_sha256: str,
    options: Options,
    language: str,
    heads: Mapping[str, Head] = {},
    versions: Mapping[str, str] = {},
) -> dict[str, Any]:
    """Return what a calibration must have been fitted on to apply to such verdicts, in JSON values.

    `versions` are those of the judgements, where they differ from the current ones.
    """
    forms: dict[str, str] = {"statements": options.statements, "verdict": options.verdict}
    if options.support_by == "auto" and (head := heads.get(language)) and head.decides_long:
        forms["support_by"] = "auto"  # the judge is asked about short responses only
    prompts = ["support_reasoned" if options.verdict == "reasoned" else "support"]
    prompts += ["statements"] if options.statements == "llm" else []
    return {
        "model": model_sha256,
        "language": language,
        "prompts": {name: options.prompt(name, language).sha256 for name in sorted(prompts)},
        "judgements": {
            "statements": versions.get("statements", statements.VERSION),
            "support": versions.get("support", support.VERSION),
        },
        "options": forms,
    }


def calibrations_for(
    model_sha256: str, options: Options, heads: Mapping[str, Head] = {}, versions: Mapping[str, str] = {}
) -> dict[str, Calibration]:
    """Return the calibrations of `options.calibration` that fit the judge, its heads and the options.

    By language; often none. Raises InputError for a file that is invalid or has no calibration that fits.
    """
    if options.support_by in ("head", "hhem"):
        return {}
    required = {code: conditions(model_sha256, options, code, heads, versions) for code in LANGUAGES}
    return select(Calibration, options.calibration, lambda row: row.fits(required.get(row.language, {})))


def curves_for(
    model_sha256: str, options: Options, heads: Mapping[str, Head] = {}, versions: Mapping[str, str] = {}
) -> Curves:
    """Return the curves of `calibrations_for`, by language."""
    calibrations = calibrations_for(model_sha256, options, heads, versions)
    return {language: calibration.curve for language, calibration in calibrations.items()}
