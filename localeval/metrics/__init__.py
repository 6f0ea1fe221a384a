"""The metrics: each is a pure function from a sample's judgement records to its score, and a registration.

A new one is a function in `formulas` and a registration in `builtin`; those that no model is asked for are in
`reference_text` and `retrieval`. A caller's own is a call of `register`.
"""

from __future__ import annotations

from localeval.metrics import builtin as _builtin  # noqa: F401, registers them
from localeval.metrics import citations as _citations  # noqa: F401

# The order of these is the order of the tables.
# isort: split
from localeval.metrics import abstention as _abstention  # noqa: F401
from localeval.metrics import consistency as _consistency  # noqa: F401
from localeval.metrics import reference_text as _reference_text  # noqa: F401
from localeval.metrics import retrieval as _retrieval  # noqa: F401
from localeval.metrics.criteria import criteria_of, register_criteria
from localeval.metrics.metric import METRICS, Metric, default_metrics, find_metric, register
from localeval.metrics.score import REASONS, Score, Status

__all__ = [
    "METRICS",
    "REASONS",
    "Metric",
    "Score",
    "Status",
    "criteria_of",
    "default_metrics",
    "find_metric",
    "register",
    "register_criteria",
]
