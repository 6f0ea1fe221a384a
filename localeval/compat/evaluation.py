"""A data set, its evaluation and the result, under their original names; ragas' objects are accepted too."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from localeval.compat.metrics import LOG, OPENED, Model, OriginalMetric, as_columns, close
from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics.sample_result import SampleResult
from localeval.report.progress import live_line
from localeval.report.tables import renamed
from localeval.report.text import language_warnings
from localeval.runs import folder as run_folder
from localeval.runs.evaluate import NetworkCount, RunSetup, score_run
from localeval.runs.pool import InProcessPool
from localeval.runs.result import Result
from localeval.samples import Sample, Samples, check_columns, is_table, read_samples
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
        self.samples: list[Sample] = list(read_samples(_numbered(rows)))

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


def _numbered(rows: list[Any]) -> list[Any]:
    """Return the rows with a free number as the id of each row that would get the id of another one.

    Data sets that were joined may have numbered their samples alike, or as a new row is numbered.
    """
    ids = [_given_id(row) for row in rows]
    used = set(ids)
    free_ids = (number for number in map(str, count(len(rows) + 1)) if number not in used)
    seen: set[str] = set()
    numbered = []
    for position, (row, row_id) in enumerate(zip(rows, ids, strict=True), 1):
        is_taken = row_id in seen if row_id else str(position) in used
        if is_taken and isinstance(row, Sample):
            row = row.model_copy(update={"id": next(free_ids)})
        elif is_taken and not row_id and isinstance(row, Mapping):
            row = {**row, "id": next(free_ids)}
        numbered.append(row)
        if row_id:
            seen.add(row_id)
    return numbered


def _given_id(row: Any) -> str:
    """Return the id that a row has; "" for none."""
    value = row.get("id") if isinstance(row, Mapping) else getattr(row, "id", None)
    return "" if value is None else str(value)


class EvaluationResult:
    """The scores of a data set; printed as the means, such as `{'faithfulness': 0.9090}`.

    scores   a dict for each sample: column -> number, nan where there is no score
    judged   column -> for each sample its `Score`, with the reason of a nan, and its records
    """

    def __init__(self, judged: dict[str, list[SampleResult]], dataset: EvaluationDataset) -> None:
        self.judged = judged
        self.dataset = dataset
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
    data = _read_dataset(dataset)
    chosen = _choose(metrics, data, llm, embeddings)
    config = run_config or RunConfig(timeout=None)
    options = {} if config.seed is None else {"seed": config.seed}
    samples = Samples(data.samples, "the dataset")
    folders: list[Path | None] = [None] * len(chosen)
    if output is not None:
        folders = list(_folders(Path(output), chosen, samples))
    judged: dict[str, list[SampleResult]] = {}
    open_before = set(OPENED)
    try:
        for metric in chosen:
            metric.judge().check_requirements([metric.metric], metric.settings(**options))
        results = _score(chosen, samples, folders, config.timeout, options, show_progress)
        for metric, result in zip(chosen, results, strict=True):
            judged[metric.column] = [metric.in_column(item) for item in result.samples]
            metric.log(judged[metric.column])
            for line in language_warnings(result):
                LOG.warning("%s: %s.", metric.column, line)
    finally:
        close(OPENED.keys() - open_before)
    return EvaluationResult(judged, data)


def _read_dataset(dataset: EvaluationDataset | Iterable[Any] | str | Path) -> EvaluationDataset:
    """Read the samples of any accepted data set."""
    if isinstance(dataset, EvaluationDataset):
        return dataset
    if isinstance(dataset, str | Path):
        return EvaluationDataset.from_jsonl(dataset)
    return EvaluationDataset(dataset)


def _choose(
    metrics: Sequence[OriginalMetric],
    data: EvaluationDataset,
    llm: Judge | Model | None,
    embeddings: EmbeddingModel | Model | None,
) -> list[OriginalMetric]:
    """Return copies of the metrics, with these models where they have none. Raises InputError."""
    chosen = [copy.copy(metric) for metric in metrics] if isinstance(metrics, Iterable) else []
    if not chosen or not all(isinstance(metric, OriginalMetric) for metric in chosen):
        raise InputError(
            f"metrics is {shorten(repr(metrics), 60)}; give a list of metrics, as [Faithfulness()]."
        )
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


def _folders(output: Path, metrics: Sequence[OriginalMetric], samples: Samples) -> list[Path]:
    """Return the run's folder of each metric, which is named after its column.

    Raises InputError for two metrics with one folder, and for a folder that can't hold a run of the samples.
    """
    folders: list[Path] = []
    for metric in metrics:
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
        run_folder.check(folder, samples)
    return folders


def _score(
    metrics: Sequence[OriginalMetric],
    samples: Samples,
    folders: Sequence[Path | None],
    timeout: float | None,
    options: Mapping[str, Any],
    show_progress: bool,
) -> list[Result]:
    """Make a run for each metric, one after the other; what several of them need is judged once.

    A time limit is looked at between judgements. A worker could be ended meanwhile, but it imports the
    caller's script, which has no `if __name__ == "__main__":` where it was written for the original.
    """
    results: list[Result] = []
    finished: list[Path] = []
    with ExitStack() as stack:
        for number, (metric, folder) in enumerate(zip(metrics, folders, strict=True), 1):
            judge = metric.judge()
            stack.enter_context(judge.memory.remembering_all())
            setup = RunSetup(samples, [metric.metric], metric.settings(**options), folder)
            title = "Evaluating" if len(metrics) == 1 else f"Evaluating metric {number} of {len(metrics)}"
            with live_line(not show_progress, title) as progress:
                result = score_run(
                    setup,
                    judge,
                    InProcessPool(judge, timeout),
                    NetworkCount(),
                    memory=judge.memory,
                    known=finished,
                    progress=progress,
                )
            results.append(result)
            if folder is not None:
                finished.append(folder)
    return results
