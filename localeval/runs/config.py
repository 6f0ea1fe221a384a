"""run.json: how a run was made, and so how it can be made again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from localeval.errors import InputError
from localeval.metrics.signature import Signature
from localeval.prompts.options import DEFAULTS, Options
from localeval.samples import Skipped
from localeval.system.files import reading

FILE = "run.json"


class Recipe(BaseModel):
    """How a run was made, and so how it can be made again.

    judge     a catalog name, or the path of a GGUF file; embedder and classifier likewise, of a folder
    engine    what of the judge decides a record: model hash, settings, package versions
    options   those of `localeval.prompts.options.Options`, prompts as text
    signature what the numbers are made with
    beside    signatures of embedder and classifier, as far as metrics of any call in this folder used them
    skipped   the rows of the data that could not be read and were left out, on demand
    """

    model_config = ConfigDict(frozen=True)

    metrics: list[str]
    judge: str
    embedder: str
    classifier: str
    engine: dict[str, Any]
    options: dict[str, Any]
    signature: dict[str, Any] = {}
    beside: dict[str, dict[str, Any]] = {}
    skipped: list[Skipped] = []


def noted(folder: Path) -> Recipe:
    """The recipe in a folder, of whatever version. Raises OSError or ValueError where there is none."""
    text = (folder / FILE).read_text(encoding="utf-8")
    try:
        # Not model_validate_json, which refuses a path whose bytes are no UTF-8.
        return Recipe.model_validate(json.loads(text))
    except RecursionError as error:
        raise ValueError(error) from error


def read(folder: Path) -> Recipe:
    """The recipe in a folder. Raises InputError."""
    try:
        with _reading(folder):
            return noted(folder)
    except OSError as error:
        raise InputError(
            f"{folder}: this is no run's folder ({FILE} can't be read); give one that `evaluate -o` wrote."
        ) from error


def usable(folder: Path) -> Recipe:
    """The recipe in a folder, with every part that something is made by. Raises InputError."""
    recipe = read(folder)
    with _reading(folder):
        _take_apart(recipe)
    return recipe


def _reading(folder: Path) -> AbstractContextManager[None]:
    what = f"{folder}: this is no run's folder for this version: its {FILE}"
    return reading(what, "give the run's `evaluate` command again.")


def _take_apart(recipe: Recipe) -> None:
    """Raises ValueError, LookupError, TypeError or AttributeError for what is missing, or of another type."""
    model, settings = recipe.engine["model"], recipe.engine["settings"]
    calibration = recipe.options.get("calibration", DEFAULTS.calibration)
    if not (isinstance(model, str) and isinstance(settings, Mapping) and isinstance(calibration, str)):
        raise TypeError
    try:
        Options.read(recipe.options)
    except InputError as error:
        raise ValueError(error) from error
    if recipe.signature:  # the oldest version kept none
        str(Signature(**recipe.signature).model_copy(update=recipe.beside))


def recorded(options: Options) -> dict[str, Any]:
    """`options` as JSON values: files are texts since `Options.read`."""
    plain: dict[str, Any] = json.loads(json.dumps(vars(options)))
    return plain
