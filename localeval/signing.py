"""The signature of metrics with options: what judgements they stand on, and the models that answer these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from localeval.calibration import JUDGEMENT, told
from localeval.calibration.choice import curves_for
from localeval.engine.interface import EngineSettings
from localeval.judgements import Judgement, in_order
from localeval.judgements.heads import heads_for
from localeval.judgements.heads import told as heads_told
from localeval.metrics import Metric
from localeval.options import Options
from localeval.prompts import LANGUAGES
from localeval.signature import Signature, machine, own_version, package_versions

_TOLD_APART = ("explain", "prompts", "calibration", "head")
"""Options that a signature tells by their effect, or that have none on a number."""


def unsigned(judge: Mapping[str, Any], settings: EngineSettings) -> Signature:
    """A signature of no metrics yet: the judge, its engine's settings, the packages and the machine."""
    return Signature(
        localeval=own_version(),
        metrics={},
        judgements={},
        prompts={},
        judge=dict(judge),
        embedder={},
        classifier={},
        engine=asdict(settings),
        options={},
        packages=package_versions(),
        machine=machine(),
    )


def signed(models: Signature, metrics: Sequence[Metric], options: Options) -> Signature:
    """The signature of these metrics, with the models, packages and machine of `models`."""
    rows = rows_of(metrics)
    used = models_used(rows, options)
    heads = heads_for(models.judge["sha256"], options, models.engine["n_gpu_layers"])
    curves = curves_for(models.judge["sha256"], options, heads)
    return models.model_copy(
        update={
            "localeval": own_version(),
            "metrics": {metric.name: metric.version for metric in metrics},
            "judgements": {row.name: row.version for row in rows},
            "prompts": {
                f"{name}/{language}": options.prompt(name, language).sha256
                for row in rows
                for name in row.prompts
                for language in LANGUAGES
            },
            "embedder": models.embedder if "embedder" in used else {},
            "classifier": models.classifier if "classifier" in used else {},
            "options": {name: value for name, value in vars(options).items() if name not in _TOLD_APART},
            "heads": heads_told(heads) if _reads(rows, options) else {},
            "calibration": told(curves) if JUDGEMENT in (row.name for row in rows) else {},
        }
    )


def _reads(rows: Sequence[Judgement], options: Options) -> bool:
    """Whether a head has a part in these judgements."""
    names = {row.name for row in rows}
    return "grounding" in names or ("statements" in names and options.statements == "auto")


def rows_of(metrics: Sequence[Metric]) -> list[Judgement]:
    """The judgements that the metrics stand on, each once."""
    return in_order([name for metric in metrics for name in metric.judgements])


def models_used(rows: Sequence[Judgement], options: Options) -> set[str]:
    """The models that answer these judgements: "judge", "embedder", "classifier"."""
    return {answers(row, options) for row in rows}


def answers(row: Judgement, options: Options) -> str:
    """The model that answers a judgement."""
    by = {"llm": "judge", "hhem": "classifier"}[options.support_by]
    return by if row.uses == "support" else row.uses
