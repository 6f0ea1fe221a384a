"""localeval: evaluate RAG answers on one machine, with no network.

    from localeval import Judge, Sample, evaluate

    result = evaluate("samples.jsonl", metrics=["faithfulness"])
    print(result)

Importing it loads neither torch nor llama_cpp; a judge does, when it is loaded.
"""

from __future__ import annotations

from localeval.compare import Comparison, compare
from localeval.errors import InputError, LocalevalError, ModelError, NetworkRefused, NotComparable
from localeval.evaluate import aevaluate, evaluate, plan
from localeval.judge import Judge
from localeval.metrics import METRICS, Metric, Score, register
from localeval.offline import offline
from localeval.plan import Plan
from localeval.rescore import rescore
from localeval.result import Result
from localeval.samples import Sample, Samples, read_samples

__all__ = [
    "METRICS",
    "Comparison",
    "InputError",
    "Judge",
    "LocalevalError",
    "Metric",
    "ModelError",
    "NetworkRefused",
    "NotComparable",
    "Plan",
    "Result",
    "Sample",
    "Samples",
    "Score",
    "aevaluate",
    "compare",
    "evaluate",
    "offline",
    "plan",
    "read_samples",
    "register",
    "rescore",
]
