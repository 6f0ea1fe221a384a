"""A data set, its evaluation and the result, under their original names; ragas' objects are accepted too."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from localeval.compat.kept_run import KeptRun, folders_of
from localeval.compat.metrics import OPENED, Model, OriginalMetric, as_columns, close
from localeval.engine.interface import EmbeddingModel
from localeval.engine.prefix_cache import LOG
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics.signature import Signature
from localeval.metrics.summary import judgements_for
from localeval.report.progress import live_line
from localeval.report.tables import renamed
from localeval.report.text import language_warnings
from localeval.runs.result import Result, SampleResult
from localeval.samples import Sample, check_columns, is_table, read_samples
from localeval.system.arguments import STRICT, Int, Number, Settings
from localeval.text.display import shorten


@dataclass(frozen=True, config=STRICT)
class RunConfig(Settings):
    """Settings of an evaluation. Raises InputError for a timeout that is not above 0.

    timeout  seconds for all judgements of a sample that a metric needs, with loading the model for the first
             sample; None for no limit. The judgement that exceeds it is finished, none follows it, and the
             score is *failed*, `timeout`
    seed     of every draw; None for that of the metric

    The other fields are accepted and have no effect.
    """

    timeout: Annotated[Number, Field(gt=0)] | None = 180
    max_retries: Any = 10
    max_wait: Any = 60
    max_workers: Any = 16
    exception_types: Any = (Exception,)
    log_tenacity: Any = False
    seed: Int | None = None


class EvaluationDataset:
    """Samples in order, each with a unique id: its line, or its position (from 1), if it has none.

    Where that number is another sample's id, it is the next free one after all positions.

    `samples` may be samples of localeval or ragas, dicts, a table, or a whole data set of ragas. Raises
    InputError for anything else, with its position, and for no samples.

    >>> EvaluationDataset([{"question": "Where?", "answer": "In Assam."}])
    EvaluationDataset(features=['user_input', 'response'], len=1)
    """

    def __init__(self, samples: Iterable[Any]) -> None:
        is_sequence = hasattr(samples, "__iter__") or hasattr(samples, "__getitem__")
        if is_table(samples) or isinstance(samples, Mapping) or not is_sequence:
            samples = read_samples(samples)  # which refuses what is no data set
        rows = [as_columns(item) for item in samples]
        given = [row.get("id") if isinstance(row, Mapping) else getattr(row, "id", None) for row in rows]
        ids = ["" if value is None else str(value) for value in given]
        used, seen = {*ids}, set[str]()
        free_ids = (number for number in map(str, count(len(rows) + 1)) if number not in used)
        for i, (row, row_id) in enumerate(zip(rows, ids, strict=True)):
            # Data sets that were joined may have numbered their samples alike, or as a new row is numbered.
            is_taken = row_id in seen or (not row_id and str(i + 1) in used)
            if is_taken and isinstance(row, Sample):
                rows[i] = row.model_copy(update={"id": next(free_ids)})
            elif is_taken and not row_id and isinstance(row, Mapping):
                rows[i] = {**row, "id": next(free_ids)}
            seen |= {row_id} - {""}
        self.samples: list[Sample] = [*read_samples(rows)]

    @classmethod
    def from_jsonl(cls, path: str | Path) -> EvaluationDataset:
        """Read the samples of a JSONL file of any name. Raises InputError with the line and the field."""
        return cls(read_samples(path, format="jsonl"))

    @classmethod
    def from_list(cls, data: Iterable[Mapping[str, Any]]) -> EvaluationDataset:
        return cls(data)

    def features(self) -> list[str]:
        """List the columns that any sample has, without `id`."""
        return list(dict.fromkeys(name for row in self.to_list() for name in row if name != "id"))

    def to_list(self) -> list[dict[str, Any]]:
        """Return each sample as a dict, without its empty columns."""
        return [sample.model_dump(exclude_none=True) for sample in self.samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __getitem__(self, index: int | slice) -> Any:
        return EvaluationDataset(self.samples[index]) if isinstance(index, slice) else self.samples[index]

    def __repr__(self) -> str:
        return f"EvaluationDataset(features={self.features()}, len={len(self)})"


class EvaluationResult:
    """The scores of a data set; printed as the means, such as `{'faithfulness': 0.9090}`.

    scores   a dict for each sample: column -> number, nan where there is no score
    judged   column -> for each sample its `Score`, with the reason of a nan, and its records
    """

    def __init__(self, judged: dict[str, list[SampleResult]], dataset: EvaluationDataset) -> None:
        self.judged, self.dataset = judged, dataset
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

    def to_pandas(self) -> Any:
        """Return samples and scores as a data frame; a sample's column named as a score is `sample_NAME`."""
        try:
            import pandas
        except ImportError as error:
            raise InputError("to_pandas needs pandas, which is not installed; pip install pandas.") from error
        rows = zip(self.dataset.to_list(), self.scores, strict=True)
        return pandas.DataFrame([{**renamed(sample, list(scores)), **scores} for sample, scores in rows])

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
    output: str | Path | None = None,
) -> EvaluationResult:
    """Score every sample by every metric.

    dataset          also one of ragas, a list of samples or dicts, or the path of a JSONL file
    llm, embeddings  for the metrics that have none
    run_config       also one of ragas; None for no time limit
    output           a folder that gets a run's folder for each metric, named after its column: a call that
                     was interrupted goes on there, and `localeval report` and `compare` read it; without it
                     all is kept in memory, and an interruption loses it

    Models loaded by this call are freed at the end; a `Judge`, and models loaded before, stay open. Samples
    without a score are logged with the reason, as are samples in a language that a model does not read.
    Raises InputError or ModelError before any sample is judged.
    """
    if isinstance(dataset, str | Path):
        data = EvaluationDataset.from_jsonl(dataset)
    else:
        data = dataset if isinstance(dataset, EvaluationDataset) else EvaluationDataset(dataset)
    chosen = [copy.copy(metric) for metric in metrics] if isinstance(metrics, Iterable) else []
    if not chosen or not all(isinstance(metric, OriginalMetric) for metric in chosen):
        raise InputError(
            f"metrics is {shorten(repr(metrics), 60)}; give a list of metrics, as [Faithfulness()]."
        )
    judged: dict[str, list[SampleResult]] = {metric.column: [] for metric in chosen}
    if len(judged) < len(chosen):
        raise InputError(f"two metrics have one name ({', '.join(judged)}); give one another with name=.")
    config = run_config or RunConfig(timeout=None)
    seed = {} if config.seed is None else {"seed": config.seed}
    for metric in chosen:
        metric.llm = llm if metric.llm is None else metric.llm
        metric.embedding_model = embeddings if metric.embedding_model is None else metric.embedding_model
        check_columns(data.samples, metric.metric.columns, metric.name, "the dataset")
    settings = {metric.column: metric.settings(**seed) for metric in chosen}
    kept: dict[str, KeptRun] = {}
    if output is not None:
        folders = folders_of(Path(output), chosen, data.samples)
        for metric, folder in zip(chosen, folders, strict=True):
            kept[metric.column] = KeptRun(metric, folder, data.samples, settings[metric.column])
    open_before, signatures = set(OPENED), list[Signature]()
    try:
        for metric in chosen:
            metric.judge().check_requirements([metric.metric], metric.options)
            signatures.append(metric.judge().signature([metric.metric], settings[metric.column]))
        with ExitStack() as stack:
            for run, signature in zip(kept.values(), signatures, strict=False):
                stack.enter_context(run.open(signature))
            progress = stack.enter_context(live_line(not show_progress))
            for done, sample in enumerate(data, 1):
                for metric in chosen:
                    if metric.column in kept:
                        result = _judge_and_keep(metric, sample, config.timeout, kept)
                    else:
                        result = metric.judged(sample, config.timeout, **seed)
                    judged[metric.column].append(result)
                progress(done, data.samples)
            for run in kept.values():
                run.finish()
        for metric, signature in zip(chosen, signatures, strict=True):
            metric.log(judged[metric.column])
            for line in language_warnings(Result(judged[metric.column], [metric.row], signature)):
                LOG.warning("%s: %s.", metric.column, line)
    finally:
        close(OPENED.keys() - open_before)
    return EvaluationResult(judged, data)


def _judge_and_keep(
    metric: OriginalMetric, sample: Sample, timeout: float | None, kept: Mapping[str, KeptRun]
) -> SampleResult:
    """Score one sample by one metric, and keep it in the metric's run."""
    run = kept[metric.column]
    others = [other for other in kept.values() if other is not run and other.sample_id == sample.id]
    run.take_from(others, judgements_for([metric.metric], run.options))
    result, keys = metric.judged_with_keys(sample, timeout, run.journal, run.options)
    return run.put(result, keys)
