"""The result of one sample: its scores, and the records from which they were computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from localeval.fitted.curves import Curves
from localeval.judgements.base import Record
from localeval.judgements.calibration import calibrate
from localeval.judgements.decision import DecisionList, list_decisions
from localeval.judgements.judged_text import count_unjudged
from localeval.metrics import Metric, Score
from localeval.metrics.summary import compute_all
from localeval.options import Options
from localeval.samples import Sample
from localeval.system.versions import digest


class Network(BaseModel):
    """Attempts to use the network in the process that ended a run; all were refused.

    watched  whether every process of the run refused and counted them from the beginning of the run
    refused  number of attempts; None where they were not counted
    """

    model_config = ConfigDict(frozen=True)

    watched: bool = False
    refused: int | None = None


@dataclass(frozen=True, slots=True)
class SampleResult:
    """One sample with its scores, by metric, and the records that they were computed from, by judgement.

    records    for a run in a folder, read from its journal at each access
    curves     calibration of the judge's probabilities of support, by language; those in `records` are raw
    threshold  probability from which a verdict counts as yes
    keys       judgement -> the key of its record in the journal; empty where no journal keeps the records
    """

    sample: Sample
    scores: Mapping[str, Score]
    records: Mapping[str, Record]
    curves: Curves = field(default_factory=dict)
    threshold: float = 0.5
    keys: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the id, the digest of the texts, and the scores as plain JSON values.

        Also how many stretches of the response are not judged, by reason, where there are any.
        """
        scores = {name: vars(score) for name, score in self.scores.items()}
        row = {"id": self.sample.id, "sha256": sample_sha256(self.sample), "scores": scores}
        unjudged = count_unjudged(self.records)
        return {**row, "unjudged": unjudged} if unjudged else row

    def calibrated(self) -> Mapping[str, Any]:
        """Return the records with calibrated probabilities of support, as the metrics read them."""
        return calibrate(self.records, self.curves)

    def decisions(self, threshold: float | None = None) -> list[DecisionList]:
        """Return what each judgement decided, calibrated; `threshold` is by default the scores' threshold."""
        threshold = self.threshold if threshold is None else threshold
        return list_decisions(self.sample, self.calibrated(), threshold)


def score_records(
    sample: Sample,
    metrics: Sequence[Metric],
    records: Mapping[str, Record],
    keys: Mapping[str, str],
    options: Options,
    curves: Curves,
) -> SampleResult:
    """Compute a sample's scores by these metrics from its raw records, which `curves` calibrate."""
    scores = compute_all(metrics, sample, records, options, curves)
    return SampleResult(sample, scores, records, curves, options.threshold, keys)


def sample_sha256(sample: Sample) -> str:
    """Return the digest of the texts alone: other columns may be edited without changing a verdict.

    What should be retrieved counts where a sample has it, and so does what was said before.
    """
    texts: list[Any] = [sample.user_input, sample.response, sample.retrieved_contexts, sample.reference]
    retrieval = [sample.reference_contexts, sample.retrieved_ids, sample.reference_ids]
    if any(column is not None for column in retrieval):
        texts += retrieval
    earlier = sample.earlier_messages()
    if earlier:
        texts.append({"history": earlier})
    return digest(texts)
