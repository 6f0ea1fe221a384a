"""The names of RAGAS, and of the tutorials that rebuild it, over localeval's judgements and metrics.

The scores are as from `localeval.evaluate`, but `AnswerRelevance`, `AnswerRelevancy` and `ResponseRelevancy`
have other defaults. The package ragas is never imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from localeval.compat import missing_names as _missing_names
from localeval.compat.dataset import EvaluationDataset, SingleTurnSample
from localeval.compat.evaluation import EvaluationResult, RunConfig, aevaluate, evaluate
from localeval.compat.export import to_original, to_ragas
from localeval.compat.original_metrics import (
    AnswerRelevance,
    ContextRelevance,
    FactualCorrectness,
    Faithfulness,
    FaithfulnesswithHHEM,
    MetricResult,
)
from localeval.compat.ragas_metrics import (
    AnswerCorrectness,
    AnswerRelevancy,
    AnswerSimilarity,
    AspectCritic,
    CHRFScore,
    ChrfScore,
    ContextPrecision,
    ContextPrecisionWithoutReference,
    ContextPrecisionWithReference,
    ContextRecall,
    ContextUtilization,
    DomainSpecificRubrics,
    ExactMatch,
    LLMContextPrecisionWithoutReference,
    LLMContextPrecisionWithReference,
    LLMContextRecall,
    NoiseSensitivity,
    ResponseRelevancy,
    RougeScore,
    RubricsScore,
    RubricsScoreWithoutReference,
    RubricsScoreWithReference,
    SemanticSimilarity,
    answer_correctness,
    answer_relevancy,
    answer_similarity,
    context_precision,
    context_recall,
    context_utilization,
    faithfulness,
)

__all__ = [
    "AnswerCorrectness",
    "AnswerRelevance",
    "AnswerRelevancy",
    "AnswerSimilarity",
    "AspectCritic",
    "CHRFScore",
    "ChrfScore",
    "ContextPrecision",
    "ContextPrecisionWithReference",
    "ContextPrecisionWithoutReference",
    "ContextRecall",
    "ContextRelevance",
    "ContextUtilization",
    "DomainSpecificRubrics",
    "EvaluationDataset",
    "EvaluationResult",
    "ExactMatch",
    "FactualCorrectness",
    "Faithfulness",
    "FaithfulnesswithHHEM",
    "LLMContextPrecisionWithReference",
    "LLMContextPrecisionWithoutReference",
    "LLMContextRecall",
    "MetricResult",
    "NoiseSensitivity",
    "ResponseRelevancy",
    "RougeScore",
    "RubricsScore",
    "RubricsScoreWithReference",
    "RubricsScoreWithoutReference",
    "RunConfig",
    "SemanticSimilarity",
    "SingleTurnSample",
    "aevaluate",
    "answer_correctness",
    "answer_relevancy",
    "answer_similarity",
    "context_precision",
    "context_recall",
    "context_utilization",
    "evaluate",
    "faithfulness",
    "to_original",
    "to_ragas",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        # Python shows the message of no other error where a name is imported.
        if name in _missing_names.NAMES:
            raise ImportError(f"{name} of ragas is not available here; {_missing_names.NAMES[name]}.")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
