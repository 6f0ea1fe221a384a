"""The evaluation of a data set and its result, under their original names."""

from __future__ import annotations

import asyncio
import copy
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from localeval.compat import missing_names
from localeval.compat.dataset import EvaluationDataset, pandas_module
from localeval.compat.original_metrics import LOG, OPENED, Model, OriginalMetric, close
from localeval.compat.ragas_metrics import DEFAULT_METRICS, AspectCritic
from localeval.compat.runnable import traced
from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError, LocalevalError
from localeval.judge import Judge
from localeval.metrics import Score
from localeval.metrics.sample_result import SampleResult
from localeval.report.progress import live_line
from localeval.report.tables import renamed
from localeval.report.text import language_warnings
from localeval.runs import folder as run_folder
from localeval.runs.evaluate import NetworkCount, Progress, RunSetup, Watch, score_run
from localeval.runs.plan import Plan
from localeval.runs.pool import InProcessPool
from localeval.runs.result import Result
from localeval.samples import Sample, Samples, check_columns, read_samples
from localeval.system.arguments import STRICT, Int, Number, Settings
from localeval.text.display import shorten


@dataclass(frozen=True, config=STRICT)
class RunConfig(Settings):
    """Settings of an evaluation. Raises InputError for a timeout that is not above 0.

    timeout  seconds for all judgements of a sample that a metric needs, without loading models; None for no
             limit. The judgement that exceeds it is finished, none follows it, and the score is *failed*,
             `timeout`
    seed     of every draw; None for the metric's seed

    The other fields are accepted and have no effect.
    """

    timeout: Annotated[Number, Field(gt=0)] | None = 180
    max_retries: Any = 10
    max_wait: Any = 60
    max_workers: Any = 16
    exception_types: Any = (Exception,)
    log_tenacity: Any = False
    seed: Int | None = None


class EvaluationResult:
    """The scores of a data set; printed as the means, such as `{'faithfulness': 0.9090}`.

    scores          a dict for each sample: column -> number, nan where there is no score
    judged          column -> for each sample its `Score`, with the reason of a nan, and its records
    binary_columns  of the metrics that answer yes or no
    """

    def __init__(
        self,
        judged: dict[str, list[SampleResult]],
        dataset: EvaluationDataset,
        binary_columns: Sequence[str] = (),
    ) -> None:
        self.judged = judged
        self.dataset = dataset
        self.binary_columns = [*binary_columns]
        self.scores: list[dict[str, float]] = [{} for _ in dataset]
        for column, sample_results in judged.items():
            for row, sample_result in zip(self.scores, sample_results, strict=True):
                value = sample_result.scores[column].value
                row[column] = math.nan if value is None else value

    def __getitem__(self, column: str) -> list[float]:
        """Return a column, a number for each sample; one that has a single mode is found without it too."""
        names = [name for name in self.judged if name == column]
        names = names or [name for name in self.judged if name.partition("(mode=")[0] == column]
        if len(names) != 1:
            raise InputError(f"{column!r} is no column of this result; it has: {', '.join(self.judged)}.")
        return [row[names[0]] for row in self.scores]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in missing_names.RESULT_NAMES:
                raise AttributeError(f"{name} is not available here; {missing_names.RESULT_NAMES[name]}.")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def to_pandas(self, batch_size: int | None = None, batched: bool = False) -> Any:  # noqa: ARG002
        """Return samples and scores as a data frame; a sample's column named as a score is `sample_NAME`.

        `batch_size` and `batched` have no effect, as in ragas.
        """
        rows = zip(self.dataset.to_list(), self.scores, strict=True)
        return pandas_module().DataFrame(
            [{**renamed(sample, list(scores)), **scores} for sample, scores in rows]
        )

    @property
    def _repr_dict(self) -> dict[str, float]:
        """The mean of each column, nan where it has no score. ragas' pages read the means by this name."""
        means = {}
        for column in self.judged:
            scored = [value for value in self[column] if not math.isnan(value)]
            means[column] = sum(scored) / len(scored) if scored else math.nan
        return means

    def __repr__(self) -> str:
        return "{" + ", ".join(f"'{column}': {mean:.4f}" for column, mean in self._repr_dict.items()) + "}"


def evaluate(
    dataset: EvaluationDataset | Iterable[Any] | str | Path,
    metrics: Sequence[OriginalMetric] | None = None,
    llm: Judge | Model | None = None,
    embeddings: EmbeddingModel | Model | None = None,
    experiment_name: str | None = None,
    callbacks: Any = None,
    run_config: RunConfig | None = None,
    token_usage_parser: Any = None,
    raise_exceptions: bool = False,
    column_map: Mapping[str, str] | None = None,
    show_progress: bool = True,
    batch_size: int | None = None,  # noqa: ARG001 (a judge answers one sample at a time)
    return_executor: bool = False,
    allow_nest_asyncio: bool = True,  # noqa: ARG001 (there is no event loop to nest)
    output: str | Path | None = None,
) -> EvaluationResult:
    """Score every sample by every metric.

    dataset           also one of ragas, a list of samples or dicts, or the path of a JSONL file
    metrics           by default answer_relevancy, context_precision, faithfulness and context_recall
    llm, embeddings   for the metrics that have none
    callbacks         of LangChain: they see a run named `experiment_name`, and in it one for each metric
    run_config        also one of ragas; None for no time limit
    raise_exceptions  raise LocalevalError for the first sample that fails, instead of giving it a nan
    column_map        maps fields to the columns that they are read from: {"contexts": "passages"}
    output            a folder that gets a run's folder for each metric, named after its column: a call that
                      was interrupted goes on there, and `localeval report` and `compare` read it; without it
                      all is kept in memory, and an interruption loses it

    `batch_size` and `allow_nest_asyncio` have no effect. Models loaded by this call are freed at the end; a
    `Judge`, and models loaded before, stay open. Samples without a score are logged with the reason, as are
    samples in a language that a model does not read. Raises InputError or ModelError before any sample is
    judged; also for `token_usage_parser` and `return_executor`, which can't be used here.
    """
    _check_arguments(token_usage_parser, return_executor, experiment_name)
    data = _read_dataset(dataset, column_map or {})
    chosen = _choose(DEFAULT_METRICS if metrics is None else metrics, data, llm, embeddings)
    config = run_config or RunConfig(timeout=None)
    samples = [Samples(map(metric.judged_sample, data.samples), "the dataset") for metric in chosen]
    folders: list[Path | None] = [None] * len(chosen)
    if output is not None:
        folders = list(_folders(Path(output), chosen, samples))
    score = partial(
        _score,
        chosen,
        data,
        samples,
        folders,
        timeout=config.timeout,
        options={} if config.seed is None else {"seed": config.seed},
        show_progress=show_progress,
        watch=_RaiseFailures() if raise_exceptions else None,
        in_trace=bool(callbacks),
    )
    open_before = set(OPENED)
    try:
        if not callbacks:
            return score()
        name = experiment_name or "evaluation"
        return traced(name, score, lambda result: {"scores": result.scores}, {"callbacks": callbacks})
    finally:
        close(OPENED.keys() - open_before)


@wraps(evaluate, assigned=())  # for its signature
async def aevaluate(*arguments: Any, **options: Any) -> EvaluationResult:
    """Call `evaluate` in a thread of its own, so that it does not block the event loop."""
    return await asyncio.to_thread(evaluate, *arguments, **options)


def _check_arguments(token_usage_parser: Any, return_executor: bool, experiment_name: object) -> None:
    """Raise InputError for arguments of the original that have no meaning here, or another type."""
    if token_usage_parser is not None:
        raise InputError("token_usage_parser: no tokens are paid for here; leave it out.")
    if return_executor:
        raise InputError("return_executor: there is no executor here; call aevaluate, and cancel its task.")
    if not isinstance(experiment_name, str | None):
        shown = shorten(repr(experiment_name), 60)
        raise InputError(f"experiment_name is {shown}; give a text, and the other arguments by their names.")


def _read_dataset(
    dataset: EvaluationDataset | Iterable[Any] | str | Path, column_map: Mapping[str, str]
) -> EvaluationDataset:
    """Read the samples of any accepted data set, a field in `column_map` from its column there."""
    if isinstance(dataset, str | Path):
        return EvaluationDataset(read_samples(dataset, columns=column_map, format="jsonl"))
    data = dataset if isinstance(dataset, EvaluationDataset) else None
    if column_map:
        return EvaluationDataset(read_samples(data.to_list() if data else dataset, columns=column_map))
    return data or EvaluationDataset(dataset)


def _choose(
    metrics: Sequence[OriginalMetric],
    data: EvaluationDataset,
    llm: Judge | Model | None,
    embeddings: EmbeddingModel | Model | None,
) -> list[OriginalMetric]:
    """Return copies of the metrics, with these models where they have none. Raises InputError."""
    chosen = [*metrics] if isinstance(metrics, Iterable) else []
    if not chosen or not all(isinstance(metric, OriginalMetric) for metric in chosen):
        raise InputError(
            f"metrics is {shorten(repr(metrics), 60)}; give a list of metrics, as [Faithfulness()]."
        )
    chosen = [copy.copy(metric.for_samples(data.samples)) for metric in chosen]
    columns = dict.fromkeys(metric.column for metric in chosen)
    if len(columns) < len(chosen):
        raise InputError(f"two metrics have one name ({', '.join(columns)}); give one another with name=.")
    for metric in chosen:
        if metric.llm is None:
            metric.llm = llm
        if metric.embedding_model is None:
            metric.embedding_model = embeddings
        check_columns(data.samples, metric.metric.columns, metric.name, "the dataset")
    return chosen


def _folders(output: Path, metrics: Sequence[OriginalMetric], samples: Sequence[Samples]) -> list[Path]:
    """Return the run's folder of each metric, which is named after its column, for its samples.

    Raises InputError for two metrics with one folder, and for a folder that can't hold a run of the samples.
    """
    folders: list[Path] = []
    for metric, judged_samples in zip(metrics, samples, strict=True):
        # Of other characters, a file system may not take each.
        name = re.sub(r"[^\w.=-]+", "-", metric.column).strip(".-") or "metric"
        folder = output / name
        if folder in folders:
            other = metrics[folders.index(folder)]
            raise InputError(
                f"{other.column} and {metric.column} would share the folder {folder}; give one of them "
                "another name with name=."
            )
        folders.append(folder)
        run_folder.check(folder, judged_samples)
    return folders


class _RaiseFailures:
    """Raises LocalevalError for the first sample whose score failed; a `Watch` of a run."""

    def on_plan(self, plan: Plan) -> None:
        """Nothing is shown here."""

    def on_sample(
        self,
        done: int,
        samples: Sequence[Sample],
        scores: Mapping[str, Score],
        workers: str,  # noqa: ARG002
    ) -> None:
        for name, score in scores.items():
            if score.status == "failed":
                raise LocalevalError(f"{name}: sample {samples[done - 1].id} failed ({score.reason}).")


def _score(
    metrics: Sequence[OriginalMetric],
    data: EvaluationDataset,
    samples: Sequence[Samples],
    folders: Sequence[Path | None],
    *,
    timeout: float | None,
    options: Mapping[str, Any],
    show_progress: bool,
    watch: Watch | None,
    in_trace: bool,
) -> EvaluationResult:
    """Make a run for each metric, of its samples, one after the other; what several need is judged once.

    in_trace  a run of LangChain's callbacks is open, in which each metric has one
    """
    for metric in metrics:
        metric.judge().check_requirements([metric.metric], metric.settings(**options))
    judged: dict[str, list[SampleResult]] = {}
    results: list[Result] = []
    finished: list[Path] = []
    with ExitStack() as stack:
        for number, (metric, judged_samples, folder) in enumerate(
            zip(metrics, samples, folders, strict=True), 1
        ):
            stack.enter_context(metric.judge().memory.remembering_all())
            title = "Evaluating" if len(metrics) == 1 else f"Evaluating metric {number} of {len(metrics)}"
            setup = RunSetup(judged_samples, [metric.metric], metric.settings(**options), folder)
            with live_line(not show_progress, title) as progress:
                run = partial(_run, setup, metric.judge(), timeout, finished, progress, watch)
                result = traced(metric.column, run, _scores) if in_trace else run()
            results.append(result)
            if folder is not None:
                finished.append(folder)
    for metric, result in zip(metrics, results, strict=True):
        judged[metric.column] = [metric.in_column(item) for item in result.samples]
        metric.log(judged[metric.column])
        for line in language_warnings(result):
            LOG.warning("%s: %s.", metric.column, line)
    binary = [metric.column for metric in metrics if isinstance(metric, AspectCritic)]
    return EvaluationResult(judged, data, binary)


def _run(
    setup: RunSetup,
    judge: Judge,
    timeout: float | None,
    finished: Sequence[Path],
    progress: Progress,
    watch: Watch | None,
) -> Result:
    """Make the run of one metric.

    A time limit is looked at between judgements. A worker could be ended meanwhile, but it imports the
    caller's script, which has no `if __name__ == "__main__":` where it was written for the original.
    """
    return score_run(
        setup,
        judge,
        InProcessPool(judge, timeout),
        NetworkCount(),
        memory=judge.memory,
        known=finished,
        progress=progress,
        watch=watch,
    )


def _scores(result: Result) -> dict[str, list[float | None]]:
    """Return the values of a run of one metric, for LangChain's callbacks."""
    return {"scores": [score.value for item in result.samples for score in item.scores.values()]}
