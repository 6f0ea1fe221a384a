"""run.json: the configuration of a run, from which it can be repeated."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, field_validator

from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics.signature import Signature
from localeval.prompts.options import Options
from localeval.samples import Skipped
from localeval.system.files import parsing
from localeval.system.offline import is_offline

CONFIG = "run.json"

M = TypeVar("M", bound=BaseModel)


class EngineConfig(BaseModel):
    """What determines a record: the sha256 of the judge's model, settings, package versions."""

    model_config = ConfigDict(extra="allow", frozen=True)

    model: str
    settings: dict[str, Any]


class RunConfig(BaseModel):
    """The content of run.json.

    judge     a catalog name, or the path of a GGUF file; embedder and classifier likewise, of a folder
    options   those of `localeval.prompts.options.Options`, files as their text
    signature what the scores depend on
    beside    signatures of embedder and classifier, where metrics of any call in this folder used them
    skipped   the rows of the data that could not be read and were left out, on request
    watched   whether every process that judged here refused the network and counted the attempts
    """

    model_config = ConfigDict(frozen=True)

    metrics: list[str]
    judge: str
    embedder: str
    classifier: str
    engine: EngineConfig
    options: dict[str, Any]
    signature: Signature
    beside: dict[str, dict[str, Any]] = {}
    skipped: list[Skipped] = []
    watched: bool = True

    @field_validator("options")
    @classmethod
    def _options_of_this_version(cls, options: dict[str, Any]) -> dict[str, Any]:
        try:
            Options.read(options)
        except InputError as error:
            raise ValueError(error) from error
        return options

    def after(self, before: RunConfig) -> RunConfig:
        """Merge in what still holds of an earlier call in the same folder."""
        same = {k: v for k, v in before.beside.items() if getattr(before, k) == getattr(self, k)}
        watched = self.watched and before.watched
        return self.model_copy(update={"beside": same | self.beside, "watched": watched})

    def lines(self) -> list[str]:
        """Return the lines of the file."""
        return (json.dumps(self.model_dump(), indent=1) + "\n").splitlines(keepends=True)


def config_of(judge: Judge, options: Options, signature: Signature, skipped: Sequence[Skipped]) -> RunConfig:
    """Return the configuration of a run that begins now."""
    return RunConfig(
        metrics=list(signature.metrics),
        judge=judge.source,
        **judge.auxiliary_models.sources(),
        engine=EngineConfig(**judge.signature_of_engine()),
        options=vars(options),
        signature=signature,
        beside={kind: model for kind in ("embedder", "classifier") if (model := getattr(signature, kind))},
        skipped=list(skipped),
        watched=is_offline(),
    )


def load_config(folder: Path) -> RunConfig:
    """Read the configuration of a run. Raises InputError where there is none, or one of another form."""
    return read_model(folder / CONFIG, RunConfig, "run's folder", "evaluate -o")


def read_model(path: Path, model: type[M], kind: str, command: str) -> M:
    """Read the JSON file that marks a folder as a `kind`, as `command` writes it. Raises InputError."""
    folder = path.parent
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{folder}: this is no {kind} ({path.name} can't be read); give one that `{command}` wrote."
        ) from error
    subject = f"{folder}: this is no {kind} for this version: its {path.name}"
    with parsing(subject, "give the run's `evaluate` command again."):
        # Not model_validate_json, which refuses a path that is not UTF-8.
        return model.model_validate(json.loads(text))


def find_config(folder: Path) -> RunConfig | None:
    """Read the configuration of a run; None where there is none of this version."""
    with suppress(InputError):
        return load_config(folder)
    return None
