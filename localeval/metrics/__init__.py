"""Metrics: rows of a table, each with a pure function from records to a score.

A metric asks no model and reads no clock or file. What it needs was judged before, once a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from localeval.metrics.faithfulness import faithfulness
from localeval.metrics.score import REASONS, Score, Status

__all__ = ["METRICS", "REASONS", "Metric", "Score", "Status"]


@dataclass(frozen=True)
class Metric:
    """One row of `METRICS`.

    columns     the sample's fields without which it is undefined
    judgements  whose records `compute` reads, in the order in which they are made
    compute     (records by judgement, threshold) -> Score
    """

    name: str
    version: str
    columns: tuple[str, ...]
    judgements: tuple[str, ...]
    compute: Callable[[Mapping[str, Any], float], Score]
    definition: str
    source: str
    higher_is_better: bool = True


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "faithfulness",
            "1",
            ("response", "retrieved_contexts"),
            ("statements", "support"),
            faithfulness,
            "supported statements / all statements of the response",
            "RAGAS (Es et al. 2023)",
        ),
    )
}
