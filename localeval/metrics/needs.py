"""What each metric needs, and how many of some samples it can score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from localeval.metrics.metric import METRICS, Metric
from localeval.metrics.score import explain
from localeval.metrics.signature import judgements_of, models_used
from localeval.metrics.summary import undefined_reason
from localeval.options import DEFAULTS
from localeval.samples import ALIASES, Sample

HEAD = "head"


def needs_of(metric: Metric) -> dict[str, Any]:
    """Return what a metric is and needs, as `localeval metrics --json` writes it.

    `models` are of the default options: "judge", "embedder", "classifier", and "head" for one that reads.
    """
    judgements = judgements_of([metric])
    models = models_used(judgements, DEFAULTS)
    if any(judgement.needs_head(DEFAULTS) for judgement in judgements):
        models.add(HEAD)
    return {
        "name": metric.name,
        "aliases": list(metric.aliases),
        "definition": metric.definition,
        "source": metric.source,
        "columns": list(metric.columns),
        "either": list(metric.either),
        "models": sorted(models),
        "by_default": metric.by_default,
        "higher_is_better": metric.higher_is_better,
    }


def needed_columns(metric: Metric) -> str:
    """Return the columns that a metric needs, in words.

    >>> needed_columns(METRICS["context_precision"])
    'user_input, retrieved_contexts, reference or response'
    """
    names = [*metric.columns]
    if metric.either:
        names.append(" or ".join(metric.either))
    return ", ".join(names)


@dataclass
class MetricOutlook:
    """How many samples a metric can score, and why not the others.

    scorable  number of samples that have all that it needs; a judgement may still fail or find nothing
    reasons   the reason of an undefined score -> number of samples
    """

    scorable: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def why_not(self, absent: Collection[str] = ()) -> str:
        """Return the reasons in words, the most frequent first; "" where all samples can be scored.

        absent  fields that no sample has
        """
        parts = []
        for reason, number in self.reasons.most_common():
            field_name = reason.removeprefix("missing_")
            if field_name in absent:
                parts.append(f"no sample has {field_name}")
                continue
            unit = "sample" if number == 1 else "samples"
            parts.append(f"{explain(reason)} ({number} {unit})")
        return "; ".join(parts)


@dataclass
class Overview:
    """What was read: samples by field, and what each metric can do with them.

    present   field -> number of samples that have it
    contexts  the lowest and highest number of contexts in a sample that has the field; None without one
    outlooks  metric -> how many it can score
    """

    present: dict[str, int]
    contexts: tuple[int, int] | None
    outlooks: dict[str, MetricOutlook]


def overview(samples: Iterable[Sample]) -> Overview:
    """Count the fields of the samples, and the samples that each metric can score. No model is asked.

    >>> found = overview([Sample(response="Tea.", retrieved_contexts=["Tea."]), Sample(response="Tea.")])
    >>> found.present["retrieved_contexts"], found.outlooks["faithfulness"].scorable
    (1, 1)
    >>> found.outlooks["faithfulness"].why_not()
    'missing_retrieved_contexts: the sample has no retrieved_contexts (1 sample)'
    """
    present = dict.fromkeys(ALIASES, 0)
    outlooks = {name: MetricOutlook() for name in METRICS}
    counts: list[int] = []
    for sample in samples:
        for name in present:
            present[name] += getattr(sample, name) is not None
        if sample.retrieved_contexts is not None:
            counts.append(len(sample.retrieved_contexts))
        for name, outlook in outlooks.items():
            undefined = undefined_reason(METRICS[name], sample)
            if undefined is None:
                outlook.scorable += 1
            else:
                outlook.reasons[undefined.reason] += 1
    contexts = (min(counts), max(counts)) if counts else None
    return Overview(present, contexts, outlooks)
