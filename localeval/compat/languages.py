"""Samples in a language that a model does not read, as the plain result tells them."""

from __future__ import annotations

from collections.abc import Sequence

from localeval.judge import Judge
from localeval.metrics import Metric
from localeval.prompts.options import Options
from localeval.report.text import MOST_NAMED, strangers
from localeval.runs.result import Result, SampleResult
from localeval.text.display import listed


def not_read(judge: Judge, metric: Metric, options: Options, judged: Sequence[SampleResult]) -> list[str]:
    """A line for each model that met such samples, with their ids; the judge reads English and Chinese."""
    if not any(sample.records for sample in judged):
        return []
    made = [(sample.sample.id, sample.records.get("statements")) for sample in judged]
    others = [name for name, record in made if getattr(record, "language", "") == "other"]
    lines = [f"neither English nor Chinese: {listed(others, MOST_NAMED)}"] if others else []
    return lines + strangers(Result(judged, [metric.name], judge.signature([metric], options)))
