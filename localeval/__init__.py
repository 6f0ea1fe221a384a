"""localeval: evaluate RAG answers on one machine, with no network.

    from localeval import Judge, Sample, evaluate

    result = evaluate("samples.jsonl", metrics=["faithfulness"])
    print(result)

Importing it loads neither torch nor llama_cpp; a judge does, when it is loaded.
"""

from __future__ import annotations

from localeval.errors import InputError, LocalevalError, ModelError, NetworkRefused
from localeval.evaluate import aevaluate, evaluate
from localeval.judge import Judge
from localeval.metrics import METRICS, Metric, Score, register
from localeval.offline import offline
from localeval.result import Result
from localeval.samples import Sample, read_samples

__all__ = [
    "METRICS",
    "InputError",
    "Judge",
    "LocalevalError",
    "Metric",
    "ModelError",
    "NetworkRefused",
    "Result",
    "Sample",
    "Score",
    "aevaluate",
    "evaluate",
    "offline",
    "read_samples",
    "register",
]
