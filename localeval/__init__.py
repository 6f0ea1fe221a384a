"""localeval: evaluate RAG answers on one machine, with no network.

    from localeval import Judge, Sample, evaluate

    result = evaluate("samples.jsonl", metrics=["faithfulness"])
    print(result)

Importing the package loads none of its modules: each is loaded when one of its names is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localeval.analysis.compare import Comparison as Comparison
    from localeval.analysis.compare import compare as compare
    from localeval.analysis.prefer import prefer as prefer
    from localeval.analysis.replacement import compare_under as compare_under
    from localeval.engine.architectures import Architecture as Architecture
    from localeval.engine.architectures import register_architecture as register_architecture
    from localeval.errors import InputError as InputError
    from localeval.errors import LocalevalError as LocalevalError
    from localeval.errors import ModelError as ModelError
    from localeval.errors import NetworkRefused as NetworkRefused
    from localeval.errors import NotComparable as NotComparable
    from localeval.judge import Judge as Judge
    from localeval.judgements import Inputs as Inputs
    from localeval.judgements import Judgement as Judgement
    from localeval.judgements import PromptBySha256 as PromptBySha256
    from localeval.judgements import PromptForm as PromptForm
    from localeval.judgements import Record as Record
    from localeval.judgements import register_judgement as register_judgement
    from localeval.judgements.decision import Decision as Decision
    from localeval.metrics import METRICS as METRICS
    from localeval.metrics import Metric as Metric
    from localeval.metrics import Score as Score
    from localeval.metrics import register as register
    from localeval.prompts.criteria import Criterion as Criterion
    from localeval.report.formats import register_format as register_format
    from localeval.runs.evaluate import aevaluate as aevaluate
    from localeval.runs.evaluate import evaluate as evaluate
    from localeval.runs.evaluate import plan as plan
    from localeval.runs.plan import Plan as Plan
    from localeval.runs.rescore import rescore as rescore
    from localeval.runs.result import Result as Result
    from localeval.runs.shards import merge as merge
    from localeval.samples import Sample as Sample
    from localeval.samples import Samples as Samples
    from localeval.samples import read_samples as read_samples
    from localeval.system.offline import offline as offline

_MODULES = {
    "analysis.compare": ["Comparison", "compare"],
    "analysis.prefer": ["prefer"],
    "analysis.replacement": ["compare_under"],
    "engine.architectures": ["Architecture", "register_architecture"],
    "errors": ["InputError", "LocalevalError", "ModelError", "NetworkRefused", "NotComparable"],
    "judge": ["Judge"],
    "judgements": ["Inputs", "Judgement", "PromptBySha256", "PromptForm", "Record", "register_judgement"],
    "judgements.decision": ["Decision"],
    "metrics": ["METRICS", "Metric", "Score", "register"],
    "prompts.criteria": ["Criterion"],
    "report.formats": ["register_format"],
    "runs.evaluate": ["aevaluate", "evaluate", "plan"],
    "runs.plan": ["Plan"],
    "runs.rescore": ["rescore"],
    "runs.result": ["Result"],
    "runs.shards": ["merge"],
    "samples": ["Sample", "Samples", "read_samples"],
    "system.offline": ["offline"],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'localeval' has no attribute {name!r}")
    return getattr(import_module(f"localeval.{_MODULE_OF[name]}"), name)
