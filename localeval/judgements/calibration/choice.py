"""Which calibration acts on a run: the caller's, or the one that is shipped for the judge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from pydantic import ValidationError

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS, in_order
from localeval.judgements.calibration import JUDGEMENT, Calibration, Curves
from localeval.judgements.grounding import ENOUGH
from localeval.judgements.heads import Head
from localeval.prompts import LANGUAGES
from localeval.prompts.options import FileText, Options, file_text
from localeval.text.display import said

SCHEMA = 1
"""Of a calibration file; another number is another form."""

NONE: Mapping[str, Head] = {}


def recipe(
    model_sha256: str, options: Options, language: str, heads: Mapping[str, Head] = NONE
) -> dict[str, Any]:
    """What a calibration has to have been fitted on to act on verdicts made with this, in JSON values."""
    forms: dict[str, str] = {"statements": options.statements, "verdict": options.verdict}
    if options.support_by == "auto" and (head := heads.get(language)) and head.long_answers >= ENOUGH:
        forms |= {"support_by": "auto"}  # only short responses are asked about
    by = ["support_reasoned" if options.verdict == "reasoned" else "support"]
    by += ["statements"] if options.statements != "sentences" else []
    return {
        "model": model_sha256,
        "language": language,
        "prompts": {name: options.prompt(name, language).sha256 for name in sorted(by)},
        "judgements": {row.name: row.version for row in in_order([JUDGEMENT])},
        "options": forms,
    }


def calibrations_for(
    model_sha256: str, options: Options, heads: Mapping[str, Head] = NONE
) -> dict[str, Calibration]:
    """Those of `options.calibration` that fit the judge, its heads and the options, by language; often none.

    Raises InputError for a file that can't be used, or that holds none that fits.
    """
    if options.calibration == "none" or options.support_by in ("head", "hhem"):
        return {}
    text = file_text("calibration", options.calibration)
    own = text != "auto"
    known = read(text) if own else shipped()
    fitting = {
        language: one
        for language in LANGUAGES
        for one in known
        if one.fits(recipe(model_sha256, options, language, heads))
    }
    if own and not fitting:
        raise InputError(
            f"{_name(text)}: it was fitted on another judge, other prompts or other options, "
            "and is never applied to these; make one with `localeval card`, or leave it out."
        )
    return fitting


def curves_for(model_sha256: str, options: Options, heads: Mapping[str, Head] = NONE) -> Curves:
    """The maps of `calibrations_for`, by language."""
    return {own: one.curve for own, one in calibrations_for(model_sha256, options, heads).items()}


def read(text: str) -> list[Calibration]:
    """The calibrations of a file that `localeval card` wrote, of which this is the text."""
    return _parsed(text, _name(text))


def write(calibrations: list[Calibration]) -> str:
    """The text of a calibration file."""
    rows = [one.model_dump(mode="json") for one in calibrations]
    return json.dumps({"schema": SCHEMA, "calibrations": rows}, ensure_ascii=False, indent=1) + "\n"


@lru_cache(maxsize=1)
def shipped() -> tuple[Calibration, ...]:
    """Every calibration in this package."""
    folder = resources.files(__package__)
    found: list[Calibration] = []
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".json") and not file.name.endswith(".head.json"):
            found += _parsed(file.read_text(encoding="utf-8"), file.name)
    return tuple(found)


@lru_cache(maxsize=8)
def _parsed(text: str, where: str) -> list[Calibration]:
    try:
        data = json.loads(text)
        if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        return [Calibration(**row) for row in data["calibrations"]]
    except (ValueError, KeyError, TypeError, RecursionError, ValidationError) as error:
        raise InputError(
            f"{where}: this is no calibration file ({said(error, 120)}); "
            "give one that `localeval card` wrote."
        ) from error


def _name(text: str) -> str:
    return text.path if isinstance(text, FileText) else "the given calibration"


assert JUDGEMENT in JUDGEMENTS  # noqa: S101
