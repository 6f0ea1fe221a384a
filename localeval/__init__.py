"""localeval: evaluate RAG answers on one machine, with no network.

    from localeval import Judge, Sample, evaluate

    result = evaluate("samples.jsonl", metrics=["faithfulness"])
    print(result)

Importing it loads neither torch nor llama_cpp; a judge does, when it is loaded.
"""

from __future__ import annotations

from localeval.errors import InputError, LocalevalError, ModelError, NetworkRefused, NotComparable
from localeval.judge import Judge
from localeval.metrics import METRICS, Metric, Score, register
from localeval.runs.compare import Comparison, compare
from localeval.runs.evaluate import aevaluate, evaluate, plan
from localeval.runs.plan import Plan
from localeval.runs.rescore import rescore
from localeval.runs.result import Result
from localeval.runs.shards import merge
from localeval.samples import Sample, Samples, read_samples
from localeval.system.offline import offline

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
    "merge",
    "offline",
    "plan",
    "read_samples",
    "register",
    "rescore",
]
