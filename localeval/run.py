"""A run's folder, complete in itself: what was judged, with what, and every judgement.

samples.jsonl  the samples as they were read
run.json       the recipe: metrics, options, replaced prompts, judge and engine
journal.jsonl  the judgements (see `localeval.journal`)
results.json   scores, records and signature of a finished run
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from localeval.calibration.choice import text_of as calibration_text
from localeval.errors import InputError
from localeval.options import Options
from localeval.prompts import text_of
from localeval.samples import Sample, read_samples

SAMPLES, RECIPE, RESULTS = "samples.jsonl", "run.json", "results.json"


class Recipe(BaseModel):
    """How a run was made, and so how it can be made again.

    judge     a catalog name, or the path of a GGUF file; embedder and classifier likewise, of a folder
    engine    what of the judge decides a record: model hash, settings, package versions
    options   those of `localeval.options.Options`, prompts as text
    """

    model_config = ConfigDict(frozen=True)

    metrics: list[str]
    judge: str
    embedder: str
    classifier: str
    engine: dict[str, Any]
    options: dict[str, Any]


def write(folder: Path, samples: Sequence[Sample], recipe: Recipe) -> None:
    """Write samples and recipe. Raises InputError when the folder can't be written."""
    lines = [json.dumps(sample.model_dump(exclude_none=True)) + "\n" for sample in samples]
    try:
        (folder / SAMPLES).write_text("".join(lines), encoding="utf-8")
        (folder / RECIPE).write_text(json.dumps(recipe.model_dump(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: the run can't be written there ({error.strerror}).") from error


def read(folder: Path) -> tuple[list[Sample], Recipe]:
    """The samples and the recipe of a run. Raises InputError when the folder holds none."""
    try:
        recipe = Recipe.model_validate_json((folder / RECIPE).read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise InputError(
            f"{folder}: this is no run's folder ({RECIPE} can't be read); give one that `evaluate -o` wrote."
        ) from error
    return read_samples(folder / SAMPLES), recipe


def recorded(options: Options) -> dict[str, Any]:
    """`options` as JSON values, every replaced prompt and a calibration file as their texts."""
    prompts = {
        judgement: {language: text_of(given) for language, given in by_language.items()}
        for judgement, by_language in options.prompts.items()
    }
    chosen = options.calibration
    calibration = chosen if chosen in ("auto", "none") else calibration_text(chosen)
    plain: dict[str, Any] = json.loads(
        json.dumps({**vars(options), "prompts": prompts, "calibration": calibration})
    )
    return plain
