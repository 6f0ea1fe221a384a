"""What a metric is, and the table of all that are registered."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from localeval.errors import InputError
from localeval.judgements import JUDGEMENTS
from localeval.metrics.score import Score
from localeval.options import Options
from localeval.system.versions import is_installed
from localeval.text.display import shorten, suggested

Baseline = Literal["lexical precision", "question overlap"]
Agreement = Literal["calibration", "calibration of full_support", "head"]


@dataclass(frozen=True)
class Metric:
    """A metric, with all that the package says about it; `register` adds it to `METRICS`.

    version           to be raised when `compute` changes: `compare` refuses runs of two versions
    columns           the sample's fields that it needs; the score is undefined without one of them
    judgements        the judgements whose records `compute` reads, in the order in which they are made
    compute           (records by judgement, options) -> Score; for one that reads the sample,
                      (sample, options) -> Score
    definition        what it measures, in a line; the report shows it
    definition_zh     the same in Chinese; without it the report shows `definition` in both languages
    source            the paper or the library that the formula comes from
    undefined         reason codes of samples that have all columns and no score; see `score.REASONS`
    higher_is_better  False where lower is better; report, `compare` and gates tell better from worse by it
    either            fields of which it needs at least one
    by_default        whether `evaluate` computes it if no metric is named, as far as columns and models allow
    baseline          the score without a model that a judge card compares it with
    agreement         which shipped figures of agreement with people belong to this metric
    fits_calibration  whether a judge card of it fits a calibration to the verdicts of `support`
    aliases           other names that `evaluate` and the command line take for it
    reads_sample      whether it is computed from the sample itself; it has no judgements then
    packages          the packages that it is computed with, which an extra of localeval installs
    extra             the name of that extra
    """

    name: str
    version: str
    columns: tuple[str, ...]
    judgements: tuple[str, ...]
    compute: Callable[[Any, Options], Score]
    definition: str
    _: KW_ONLY
    definition_zh: str = ""
    source: str = ""
    undefined: tuple[str, ...] = ()
    higher_is_better: bool = True
    either: tuple[str, ...] = ()
    by_default: bool = False
    baseline: Baseline = "question overlap"
    agreement: Agreement | None = None
    fits_calibration: bool = False
    aliases: tuple[str, ...] = ()
    reads_sample: bool = False
    packages: tuple[str, ...] = ()
    extra: str = ""

    def check_packages(self) -> None:
        """Raise InputError where a package that it is computed with is not installed."""
        for package in self.packages:
            if not is_installed(package):
                raise InputError(
                    f"{self.name} needs the package {package}, which is not installed; "
                    f"pip install 'localeval[{self.extra}]', or leave the metric out."
                )


METRICS: dict[str, Metric] = {}
"""Name -> metric, in the order in which they were registered."""


def register(metric: Metric) -> Metric:
    """Add a metric, so that `evaluate` and `score` find it by its name, and replace one of the same name.

    Raises InputError for a judgement that does not exist, and for a name that is not a word, or that collides
    with a column of scores.csv.

    >>> def brevity(records, options):
    ...     return Score(1 / max(1, len(records["support"].verdicts)))
    >>> metric = register(Metric("brevity", "1", ("response", "retrieved_contexts"), ("support",), brevity,
    ...                          "1 / statements of the response"))
    >>> METRICS.pop("brevity").name
    'brevity'
    """
    for name in (metric.name, *metric.aliases):
        if not re.fullmatch(r"[\w.-]+", name) or re.search("^id$|_(soft|status|reason)$", name):
            raise InputError(
                f"{shorten(repr(name))} can't be a metric's name; choose a word that is not id and does "
                "not end in _soft, _status or _reason, as columns of scores.csv do."
            )
    for name in metric.judgements:
        if name not in JUDGEMENTS:
            raise InputError(f"{metric.name} reads the judgement {name!r}; {suggested(name, [*JUDGEMENTS])}")
    METRICS[metric.name] = metric
    return metric


def find_metric(name: str) -> Metric:
    """Return the metric of a name or an alias; a name goes before an alias. Raises InputError for neither.

    >>> find_metric("claim_recall").name
    'context_recall'
    """
    if name in METRICS:
        return METRICS[name]
    for metric in METRICS.values():
        if name in metric.aliases:
            return metric
    raise InputError(f"there is no metric {name!r}; {suggested(name, list(METRICS))}")


def default_metrics() -> list[Metric]:
    """Return the metrics that `evaluate` computes if none are named."""
    return [metric for metric in METRICS.values() if metric.by_default]
