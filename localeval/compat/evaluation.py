"""A data set scored by metrics under their original names."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from localeval.compat.data import EvaluationDataset
from localeval.compat.metrics import Model, OriginalMetric, close, opened
from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.report.progress import live_line
from localeval.report.tables import renamed
from localeval.runs.result import SampleResult
from localeval.samples import check_columns
from localeval.system.arguments import STRICT, Number, Settings, Whole
from localeval.text.display import join_some, shorten

LOG = logging.getLogger(__name__)

MOST_NAMED = 10


@dataclass(frozen=True, config=STRICT)
class RunConfig(Settings):
    """How a data set is evaluated. Raises InputError for a timeout that is not above 0.

    timeout  seconds for the judgements that a metric needs of one sample; None for no limit. A judgement
             can't be broken off: once the limit is passed, the metric asks nothing more about this sample,
             and its score is *failed*, `timeout`. The first judgement of a model takes also the time of
             loading it, and what another metric asked before takes none
    seed     of every draw; the metric's own, unless said

    The other fields are accepted and change nothing: nothing is sent anywhere that could have to be retried,
    and a model answers one question after the other.
    """

    timeout: Annotated[Number, Field(gt=0)] | None = 180
    max_retries: Any = 10
    max_wait: Any = 60
    max_workers: Any = 16
    exception_types: Any = (Exception,)
    log_tenacity: Any = False
    seed: Whole | None = None


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
        """Give the numbers of a column, one a sample; a column with a mode is found without it too.

        Raises InputError for a column that is not there, or for one of several modes.
        """
        found = [name for name in self.judged if name == column]
        found = found or [name for name in self.judged if name.partition("(mode=")[0] == column]
        if len(found) != 1:
            raise InputError(f"{column!r} is no column of this result; it has: {', '.join(self.judged)}.")
        return [row[found[0]] for row in self.scores]

    def to_pandas(self) -> Any:
        """Put the columns of samples and scores into a data frame. Raises InputError without pandas.

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
        means = []
        for column in self.judged:
            scored = [value for value in self[column] if not math.isnan(value)]
            means.append(f"'{column}': {sum(scored) / len(scored) if scored else math.nan:.4f}")
        return "{" + ", ".join(means) + "}"


def evaluate(
    dataset: EvaluationDataset | Iterable[Any] | str | Path,
    metrics: Sequence[OriginalMetric],
    llm: Judge | Model | None = None,
    embeddings: EmbeddingModel | Model | None = None,
    run_config: RunConfig | None = None,
    show_progress: bool = True,
) -> EvaluationResult:
    """Score every sample by every metric.

    dataset          also one of ragas, a list of samples or dicts, or the path of a JSONL file
    llm, embeddings  for the metrics that were given none
    run_config       also one of ragas; None for no time limit
    show_progress    a live line on stderr

    What is loaded for this is freed at the end; a `Judge`, and what a metric had loaded before, stays open.
    Which samples have no score, and why, is logged, and which are in a language that a model does not read.
    Raises InputError or ModelError before any sample is judged.
    """
    if isinstance(dataset, str | Path):
        data = EvaluationDataset.from_jsonl(dataset)
    else:
        data = dataset if isinstance(dataset, EvaluationDataset) else EvaluationDataset(dataset)
    chosen = _by_column(metrics)
    timeout, options = _limits(run_config)
    for metric in chosen.values():
        check_columns(data.samples, metric.metric.columns, metric.name, "the dataset")
    bound = {column: metric.with_models(llm, embeddings) for column, metric in chosen.items()}
    judged: dict[str, list[SampleResult]] = {column: [] for column in bound}
    before = opened()
    try:
        for metric in bound.values():
            metric.judge().ready([metric.metric], metric.options)
        with live_line(not show_progress) as progress:
            for done, sample in enumerate(data, 1):
                for column, metric in bound.items():
                    judged[column].append(metric.judged(sample, timeout, **options))
                progress(done, data.samples)
        for column, metric in bound.items():
            _log_missing(column, judged[column])
            metric.log_languages(judged[column])
    finally:
        close(opened() - before)
    columns = [
        [math.nan if (value := one.scores[column].value) is None else value for one in found]
        for column, found in judged.items()
    ]
    scores = [dict(zip(judged, row, strict=True)) for row in zip(*columns, strict=True)]
    return EvaluationResult(scores, judged, data)


def _limits(config: Any) -> tuple[float | None, dict[str, Any]]:
    """Read (timeout, options) of a config, which may be one of ragas."""
    if config is None:
        return None, {}
    if not (hasattr(config, "timeout") and hasattr(config, "seed")):
        raise InputError(f"run_config is {shorten(repr(config), 60)}; give one, as RunConfig(timeout=600).")
    checked = RunConfig(timeout=config.timeout, seed=config.seed)
    return checked.timeout, {} if checked.seed is None else {"seed": checked.seed}


def _by_column(metrics: Sequence[OriginalMetric]) -> dict[str, OriginalMetric]:
    found: dict[str, OriginalMetric] = {}
    for metric in metrics if isinstance(metrics, Iterable) else [metrics]:
        if isinstance(metrics, OriginalMetric) or not isinstance(metric, OriginalMetric):
            raise InputError(
                f"metrics holds {shorten(repr(metric), 60)}; give a list of metrics, as [Faithfulness()]."
            )
        if metric.column() in found:
            raise InputError(f"two metrics are called {metric.column()!r}; give one of them another name=.")
        found[metric.column()] = metric
    if not found:
        raise InputError("metrics is empty; give one at least, as [Faithfulness()].")
    return found


def _log_missing(column: str, judged: Sequence[SampleResult]) -> None:
    """Log how many samples have no score, for which reasons, and the ids of the first of each reason."""
    without: dict[str, list[str]] = {}
    for sample in judged:
        score = sample.scores[column]
        if score.status != "scored":
            without.setdefault(f"{score.status} ({score.reason})", []).append(sample.sample.id)
    if without:
        told = "; ".join(f"{why}: sample {join_some(ids, MOST_NAMED)}" for why, ids in without.items())
        scored = len(judged) - sum(map(len, without.values()))
        LOG.warning("%s: %d of %d scored; %s.", column, scored, len(judged), told)
