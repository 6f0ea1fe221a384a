"""Calibration: fitted maps of the judge's probabilities of support, chosen for each run; see README.md.

Journals keep raw probabilities; a map is applied to the records that a metric reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localeval.fitted.curves import Curve, Curves
from localeval.fitted.files import FittedRow, load_fitted
from localeval.fitted.heads import Head
from localeval.judgements.base import JUDGEMENTS, Records
from localeval.options import Options
from localeval.prompts import LANGUAGES

CALIBRATED = ("statements", "support")
"""The judgements on which the probabilities depend that a calibration is fitted to."""

RAW: Curves = {}
"""No curve: probabilities stay as the judge gave them."""


class Calibration(FittedRow):
    """A curve, and what it was fitted on: it is applied to nothing else.

    language    of the responses, "en" or "zh"
    prompts     prompt -> sha256, of those that produced statements and verdicts in this language
    judgements  judgement -> version
    options     those that change the meaning of the probabilities
    """

    KIND = "calibrations"
    COMMAND = "card"

    prompts: dict[str, str]
    judgements: dict[str, str]
    options: dict[str, str]
    curve: Curve

    def fits(self, conditions: Mapping[str, Any]) -> bool:
        """Report whether `conditions` (see the function) is what the curve was fitted on."""
        fields = self.model_dump(include={"language", "prompts", "judgements", "options"})
        return {**fields, "model": self.judge.sha256} == dict(conditions)


def calibrate(records: Records, curves: Curves) -> Records:
    """Return the records as a metric reads them: where a curve applies, with calibrated probabilities.

    All others stay unchanged; so do verdicts by HHEM or a head, on a premise without a word (no model was
    asked), and on a response in a language without a curve.
    """
    if not curves:
        return records
    changed = {}
    for name in records:
        curve = _curve_for(name, records, curves)
        if curve is not None:
            raw = records[name]
            calibrated = raw.calibrated(curve)
            if calibrated is not raw:
                changed[name] = calibrated
    return {**records, **changed} if changed else records


def _curve_for(name: str, records: Records, curves: Curves) -> Curve | None:
    """Return the curve that calibrates the record of this judgement; None where it stays raw."""
    judgement = JUDGEMENTS.get(name)
    if judgement is None or not judgement.calibrated_by_language_of:
        return None
    language: str = getattr(records.get(judgement.calibrated_by_language_of), "language", "")
    return curves.get(language)


def conditions(
    model_sha256: str,
    options: Options,
    language: str,
    heads: Mapping[str, Head] = {},
    versions: Mapping[str, str] = {},
) -> dict[str, Any]:
    """Return the conditions under which a calibration is valid, in JSON values.

    Judge, language, prompts, versions of judgements, options. `versions` has the versions of judgements that
    differ from the current ones.
    """
    forms: dict[str, str] = {"statements": options.statements, "verdict": options.verdict}
    head = heads.get(language)
    if options.support_by == "auto" and head is not None and head.decides_long:
        forms["support_by"] = "auto"  # the judge is asked about short responses only
    prompts = ["support_reasoned" if options.verdict == "reasoned" else "support"]
    if options.statements == "llm":
        prompts.append("statements")
    return {
        "model": model_sha256,
        "language": language,
        "prompts": {name: options.prompt(name, language).sha256 for name in sorted(prompts)},
        "judgements": {name: versions.get(name, JUDGEMENTS[name].version) for name in CALIBRATED},
        "options": forms,
    }


def calibrations_for(
    model_sha256: str, options: Options, heads: Mapping[str, Head] = {}, versions: Mapping[str, str] = {}
) -> dict[str, Calibration]:
    """Return the calibrations of `options.calibration` that fit the judge, its heads and the options.

    By language; often none. Raises InputError for a file that is invalid or has no calibration that fits.
    """
    if not model_sha256 or options.support_by in ("head", "hhem"):
        return {}
    required = {code: conditions(model_sha256, options, code, heads, versions) for code in LANGUAGES}
    return load_fitted(Calibration, options.calibration, lambda row: row.fits(required.get(row.language, {})))


def curves_for(
    model_sha256: str, options: Options, heads: Mapping[str, Head] = {}, versions: Mapping[str, str] = {}
) -> Curves:
    """Return the curves of `calibrations_for`, by language."""
    calibrations = calibrations_for(model_sha256, options, heads, versions)
    return {language: calibration.curve for language, calibration in calibrations.items()}
