"""The names of RAGAS, and of the tutorials that rebuild it, over localeval's judgements and metrics.

The scores are as from `localeval.evaluate`, but `AnswerRelevance` has another default of `relevance`. The
package ragas is never imported.
"""

from __future__ import annotations

from localeval.compat.evaluation import EvaluationDataset, EvaluationResult, RunConfig, evaluate
from localeval.compat.export import to_original, to_ragas
from localeval.compat.metrics import (
    AnswerRelevance,
    ContextRelevance,
    FactualCorrectness,
    Faithfulness,
    FaithfulnesswithHHEM,
)
from localeval.samples import Sample as SingleTurnSample

__all__ = [
    "AnswerRelevance",
    "ContextRelevance",
    "EvaluationDataset",
    "EvaluationResult",
    "FactualCorrectness",
    "Faithfulness",
    "FaithfulnesswithHHEM",
    "RunConfig",
    "SingleTurnSample",
    "evaluate",
    "to_original",
    "to_ragas",
]
