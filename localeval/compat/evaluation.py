"""A data set scored by metrics under their original names."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any

from localeval.compat.data import EvaluationDataset
from localeval.compat.metric import Model, OriginalMetric, plain_number
from localeval.engine.interface import Embeds
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.report.progress import SECONDS_BETWEEN_LINES
from localeval.report.tables import renamed
from localeval.runs.result import SampleResult
from localeval.samples import check_columns
from localeval.text.display import listed, said

LOG = logging.getLogger(__name__)

MOST_NAMED = 10


@dataclass
class RunConfig:
    """How a data set is evaluated. Raises InputError for a timeout that is not above 0.

    timeout  seconds for the judgements that a metric needs of one sample, those included that another metric
             made before; None for no limit. A judgement can't be broken off: once the limit is passed, the
             metric asks nothing more about this sample, and its score is *failed*, `timeout`. The first
             judgement of a model takes also the time of loading it
    seed     of every draw; the metric's own, unless said

    The other fields are accepted and change nothing: nothing is sent anywhere that could have to be retried,
    and a model answers one question after the other.
    """

    timeout: float | None = 180
    max_retries: int = 10
    max_wait: int = 60
    max_workers: int = 16
    exception_types: Any = (Exception,)
    log_tenacity: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        seconds = isinstance(self.timeout, Real) and not isinstance(self.timeout, bool) and self.timeout > 0
        if self.timeout is not None and not seconds:
            raise InputError(f"timeout is {self.timeout!r}; choose seconds above 0, or None for no limit.")


class EvaluationResult:
    """The scores of a data set; it prints the means, as `{'faithfulness': 0.9090}`.

    scores   a dict for each sample: column -> number, nan where there is no score
    judged   column -> for each sample its `Score`, with the reason of a nan, and the records behind it
    dataset  what was evaluated
    """

    def __init__(
        self,
        scores: list[dict[str, float]],
        judged: dict[str, list[SampleResult]],
        dataset: EvaluationDataset,
    ) -> None:
        self.scores, self.judged, self.dataset = scores, judged, dataset

    def __getitem__(self, column: str) -> list[float]:
        """The numbers of a column, one for each sample; a column with a mode is found without it too.

        Raises InputError for a column that is not there, or for one of several modes.
        """
        found = [name for name in self.judged if name == column]
        found = found or [name for name in self.judged if name.partition("(mode=")[0] == column]
        if len(found) != 1:
            raise InputError(f"{column!r} is no column of this result; it has: {', '.join(self.judged)}.")
        return [row[found[0]] for row in self.scores]

    def to_pandas(self) -> Any:
        """The columns of the samples and of the scores as a data frame. Raises InputError without pandas.

        A sample's own column that is called as one of the scores is `sample_NAME` there.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise InputError("to_pandas needs pandas, which is not installed; pip install pandas.") from error
        rows = zip(self.dataset.to_list(), self.scores, strict=True)
        columns = list(self.judged)
        return pandas.DataFrame([{**renamed(sample, columns), **scores} for sample, scores in rows])

    def __repr__(self) -> str:
        means = (f"'{column}': {_mean(self[column]):.4f}" for column in self.judged)
        return "{" + ", ".join(means) + "}"


def evaluate(
    dataset: EvaluationDataset | Iterable[Any] | str | Path,
    metrics: Sequence[OriginalMetric],
    llm: Judge | Model | None = None,
    embeddings: Embeds | Model | None = None,
    run_config: RunConfig | None = None,
    show_progress: bool = True,
) -> EvaluationResult:
    """Score every sample by every metric.

    dataset          also one of ragas, a list of samples or dicts, or the path of a JSONL file
    llm, embeddings  for the metrics that were given none
    run_config       None for no time limit
    show_progress    a line on stderr, as `Evaluating: 100% 67/67`

    What is loaded for this is freed at the end, unless a metric had loaded it before; a `Judge` stays open.
    Which samples have no score, and why, is logged, and which are in a language that a model does not read.
    Raises InputError or ModelError before any sample is judged.
    """
    data = _dataset(dataset)
    chosen = _by_column(metrics)
    config = _config(run_config)
    for metric in chosen.values():
        check_columns(data.samples, metric.metric.columns, metric.name, "the dataset")
    bound = {column: metric.bound(llm, embeddings) for column, metric in chosen.items()}
    options = {} if config.seed is None else {"seed": config.seed}
    judged: dict[str, list[SampleResult]] = {column: [] for column in bound}
    show = _progress(len(data)) if show_progress else None
    try:
        for metric in bound.values():
            metric.ready()
        for done, sample in enumerate(data, 1):
            for column, metric in bound.items():
                judged[column].append(metric.judged(sample, config.timeout, **options))
            if show is not None:
                show(done)
        strange = {column: metric.not_read(judged[column]) for column, metric in bound.items()}
    finally:
        for metric in bound.values():
            metric.close()
    for column, found in judged.items():
        _tell(column, found)
        for line in strange[column]:
            LOG.warning("%s: %s.", column, line)
    scores = [
        {column: plain_number(found[place].scores[column]) for column, found in judged.items()}
        for place in range(len(data))
    ]
    return EvaluationResult(scores, judged, data)


def _dataset(given: EvaluationDataset | Iterable[Any] | str | Path) -> EvaluationDataset:
    if isinstance(given, EvaluationDataset):
        return given
    return EvaluationDataset.from_jsonl(given) if isinstance(given, str | Path) else EvaluationDataset(given)


def _config(given: Any) -> RunConfig:
    """The fields of it that count here; an object of ragas has them too."""
    if given is None:
        return RunConfig(timeout=None)
    if not (hasattr(given, "timeout") and hasattr(given, "seed")):
        raise InputError(f"run_config is {said(repr(given), 60)}; give one, as RunConfig(timeout=600).")
    return RunConfig(timeout=given.timeout, seed=given.seed)


def _by_column(metrics: Sequence[OriginalMetric]) -> dict[str, OriginalMetric]:
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise InputError(f"metrics is {said(repr(metrics), 60)}; give a list, as [Faithfulness()].")
    found: dict[str, OriginalMetric] = {}
    for metric in metrics:
        if not isinstance(metric, OriginalMetric):
            raise InputError(
                f"{metric!r} is no metric of localeval.compat; give objects of it, as Faithfulness()."
            )
        if metric.column in found:
            raise InputError(f"two metrics are called {metric.column!r}; give one of them another name=.")
        found[metric.column] = metric
    if not found:
        raise InputError("metrics is empty; give one at least, as Faithfulness().")
    return found


def _tell(column: str, judged: Sequence[SampleResult]) -> None:
    """Log how many samples have no score, for which reasons, and the ids of the first of each reason."""
    without: dict[str, list[str]] = {}
    for sample in judged:
        score = sample.scores[column]
        if score.status != "scored":
            without.setdefault(f"{score.status} ({score.reason})", []).append(sample.sample.id)
    if not without:
        return
    told = [f"{why}: sample {listed(ids, MOST_NAMED)}" for why, ids in without.items()]
    scored = len(judged) - sum(map(len, without.values()))
    LOG.warning("%s: %d of %d scored; %s.", column, scored, len(judged), "; ".join(told))


def _progress(total: int) -> Callable[[int], None]:
    """One line that is written over on a terminal; elsewhere a line now and then, and the last."""
    said = time.monotonic()

    def show(done: int) -> None:
        nonlocal said
        line, last = f"Evaluating: {100 * done // total}% {done}/{total}", done == total
        if sys.stderr.isatty():
            print(f"\r{line}", end="\n" if last else "", file=sys.stderr, flush=True)
        elif last or time.monotonic() - said >= SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    return show


def _mean(values: Sequence[float]) -> float:
    """Of those that are no nan; nan where none is."""
    kept = [value for value in values if not math.isnan(value)]
    return sum(kept) / len(kept) if kept else math.nan
