"""The names of RAGAS, and of the tutorials that rebuild it, over localeval's judgements and metrics.

    from localeval.compat import EvaluationDataset, Faithfulness, RunConfig, evaluate

    dataset = EvaluationDataset.from_jsonl("samples.jsonl")
    result = evaluate(dataset=dataset, metrics=[Faithfulness()], llm="qwen2.5-coder-1.5b")
    print(result)                       # {'faithfulness': 0.9090}

The scores are those of `localeval.evaluate`, but `AnswerRelevance` has another default of `relevance`. The
package ragas is never imported.
"""

from __future__ import annotations

from localeval.compat.data import EvaluationDataset
from localeval.compat.evaluation import EvaluationResult, RunConfig, evaluate
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
