"""Metrics under their original names and parameters; each is a row of `localeval.METRICS`."""

from __future__ import annotations

import asyncio
import copy
import logging
import math
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from localeval.auxiliary.models import AuxiliaryModels
from localeval.compat import missing_names
from localeval.compat.runnable import MetricBase
from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.decision import statement_language
from localeval.metrics import METRICS, Metric, Score
from localeval.metrics.sample_result import SampleResult
from localeval.metrics.signature import needs_judge
from localeval.metrics.summary import undefined_reason
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.options import Options
from localeval.prompts import LANGUAGES
from localeval.report.text import MAX_NAMED
from localeval.samples import ALIASES, Sample
from localeval.text.display import join_some, shorten

LOG = logging.getLogger(__name__)

Model = str | os.PathLike[str]
Prompts = str | Path | Mapping[str, str | Path]

OPENED: dict[Hashable, Any] = {}
"""Models loaded by name, shared by all metrics that name them."""

_LOCK = threading.RLock()


def close(models: Iterable[Hashable]) -> None:
    """Free the models among these that `OPENED` holds."""
    with _LOCK:
        for key in OPENED.keys() & {*models}:
            OPENED.pop(key).close()


def _with_models(judge: Judge, auxiliary_models: AuxiliaryModels) -> Judge:
    """Return a judge with the same engine, lock and memory, and with these companion models."""
    new_judge = copy.copy(judge)
    new_judge.auxiliary_models = auxiliary_models
    return new_judge


def as_columns(source: Any) -> Any:
    """Return a pydantic model (as of ragas), or another object with our fields, as a dict of its columns."""
    if isinstance(source, Sample | Mapping):
        return source
    dump = getattr(source, "model_dump", None)
    if callable(dump):
        dumped = dump()
        if not ALIASES.keys() & dumped:
            # Another model, such as a message of LangChain; `Sample` refuses it.
            return source
        return {name: value for name, value in dumped.items() if value is not None}
    columns = {name: getattr(source, name) for name in ALIASES if hasattr(source, name)}
    return columns or source


CHAIN_NAMES = {
    "input": "user_input",
    "result": "response",
    "context": "retrieved_contexts",
    "source_documents": "retrieved_contexts",
}
"""Names in the output of LangChain's retrieval chains -> the field."""


def _of_chain(columns: Any) -> Any:
    """Read the names of LangChain's chains as fields, and its documents and messages as their texts.

    A field that the columns have under one of its own names stays.
    """
    if not isinstance(columns, Mapping):
        return columns
    fields = {name: _as_text(value) for name, value in columns.items()}
    for name, field in CHAIN_NAMES.items():
        is_given = any(alias in fields for alias in (field, *ALIASES[field]))
        if name in fields and not is_given:
            fields[field] = fields[name]
    return fields


def _as_text(value: Any) -> Any:
    """Return the text of a document or a message of LangChain, also in a list; anything else as it is."""
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    for name in ("page_content", "content"):
        text = getattr(value, name, None)
        if isinstance(text, str):
            return text
    return value


def _config(callbacks: Any) -> dict[str, Any] | None:
    return {"callbacks": callbacks} if callbacks else None


class MetricResult(float):
    """A score as ragas' `score` and `ascore` return it: a number, nan where there is none.

    value   the number
    reason  why there is none; None where there is one
    traces  None: the records of a judgement are in `judged`

    >>> MetricResult(0.5), MetricResult(0.5).value + 1
    (MetricResult(value=0.5), 1.5)
    """

    reason: str | None
    traces: None = None

    def __new__(cls, value: float, reason: str | None = None) -> MetricResult:
        result = super().__new__(cls, value)
        result.reason = reason
        return result

    @property
    def value(self) -> float:
        return float(self)

    def to_dict(self) -> dict[str, Any]:
        return {"result": self.value, "reason": self.reason}

    def __repr__(self) -> str:
        reason = f", reason={self.reason!r}" if self.reason else ""
        return f"MetricResult(value={self.value}{reason})"


class OriginalMetric(MetricBase, AbstractContextManager[Any]):
    """Base class of the metrics, which are Runnables of LangChain where langchain-core is installed.

    llm          a `Judge`, which the caller closes; or a catalog name or a path to a GGUF file, which is
                 loaded when it is first needed, shared with other metrics of the same llm, and freed by
                 `close()` or at the end of a `with` block; a metric that needs it afterwards loads it again
    name         the column in a result
    max_retries  accepted, without effect: a reply under a grammar needs no retry
    options      as in `localeval.options.Options`, such as verdict="reasoned" or threshold=0.6

    Inputs are a dict with the original names (query, answer, document_list), ours, or the names in the output
    of LangChain's chains (input, context); or a sample of localeval or ragas. Raises InputError for an
    unknown option.
    """

    row: str  # its name in `localeval.METRICS`
    called: ClassVar[str] = ""  # its original name, if that is different
    name: str
    columns: tuple[str, ...]
    embedding_model: EmbeddingModel | Model | None = None

    def __init__(
        self, llm: Judge | Model | None = None, *, name: str = "", max_retries: int = 1, **options: Any
    ) -> None:
        for option in options:
            if option in missing_names.OPTIONS:
                remedy = missing_names.OPTIONS[option]
                raise InputError(f"{type(self).__name__}: {option} can't be used here; {remedy}.")
        self.llm = llm
        self.name = name or self.called or self.row
        self.max_retries = max_retries
        self._own_options: dict[str, Any] = {}
        self.set_options(**options)
        # Keys in `OPENED`.
        self._models: set[Hashable] = set()

    def set_options(self, **options: Any) -> None:
        """Set options, as when the metric is made. Raises InputError for an unknown one."""
        given = {**self._own_options, **options}
        self.options = self.read(given)
        self._own_options = {option: getattr(self.options, option) for option in given}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in missing_names.METHODS:
                raise AttributeError(f"{name} is not available here; {missing_names.METHODS[name]}.")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def read(self, options: Mapping[str, Any]) -> Options:
        """Read options, with the defaults of this metric. Raises InputError for an unknown one."""
        return Options.read(options)

    @property
    def metric(self) -> Metric:
        return METRICS[self.row]

    @property
    def required_columns(self) -> dict[str, set[str]]:
        """The columns in the form of ragas. Faithfulness uses the question in its first step only."""
        return {"SINGLE_TURN": set(self.columns)}

    def get_required_columns(self, with_optional: bool = False) -> dict[str, set[str]]:  # noqa: ARG002
        """Return the columns in the form of ragas; here none is optional."""
        return self.required_columns

    def init(self, run_config: Any = None) -> None:
        """Do nothing: here a metric needs no preparation. Scripts for ragas call this before `ascore`."""

    @property
    def column(self) -> str:
        """The column in the result of `evaluate`."""
        return self.name

    # The originals call the first argument `inputs`, and LangChain, which gives it by its place, `input`.
    def invoke(self, inputs: Any, config: Any = None, **options: Any) -> float:  # type: ignore[override]
        """Score one sample, 0 to 1; nan if the score is undefined or failed, with the reason logged.

        config   of LangChain: callbacks, tags, metadata, run_name
        options  replace the metric's own
        """
        return self.call_with_config(partial(self._score_and_log, **options), inputs, config)

    async def ainvoke(self, inputs: Any, config: Any = None, **options: Any) -> float:  # type: ignore[override]
        """Do as `invoke`, in a thread of its own, so that the event loop is not blocked."""
        score = partial(asyncio.to_thread, self._score_and_log, **options)
        return await self.acall_with_config(score, inputs, config)

    def single_turn_score(self, sample: Any, callbacks: Any = None) -> float:
        return self.invoke(sample, _config(callbacks))

    async def single_turn_ascore(
        self, sample: Any, callbacks: Any = None, timeout: float | None = None
    ) -> float:
        return await self.ainvoke(sample, _config(callbacks), timeout=timeout)

    def score(self, *values: Any, **columns: Any) -> MetricResult:
        """Score one sample, given by its columns: `score(user_input=..., response=...)`.

        values  of `columns`, in their order, which is that of ragas
        """
        return self._metric_result(self._by_name(values, columns))

    async def ascore(self, *values: Any, **columns: Any) -> MetricResult:
        """Do as `score`, in a thread of its own, so that the event loop is not blocked."""
        return await asyncio.to_thread(self._metric_result, self._by_name(values, columns))

    def batch_score(self, inputs: Iterable[Mapping[str, Any]]) -> list[MetricResult]:
        """Score samples one after the other, each given by its columns."""
        return [self._metric_result(columns) for columns in inputs]

    async def abatch_score(self, inputs: Iterable[Mapping[str, Any]]) -> list[MetricResult]:
        """Do as `batch_score`, in a thread of its own, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.batch_score, inputs)

    def _by_name(self, values: Sequence[Any], columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return all columns by their names. Raises InputError for a value that has none, or has two."""
        names = self.columns[: len(values)]
        if len(values) > len(names) or any(name in columns for name in names):
            raise InputError(
                f"{self.name}: score takes {', '.join(self.columns)}, each once; give each by its name."
            )
        return {**dict(zip(names, values, strict=True)), **columns}

    def _metric_result(self, columns: Mapping[str, Any]) -> MetricResult:
        sample_result = self.judged(columns)
        self.log([sample_result])
        score = sample_result.scores[self.column]
        reason = None if score.status == "scored" else f"{score.status} ({score.reason})"
        return MetricResult(self.number(score), reason)

    def _score_and_log(self, inputs: Any, **options: Any) -> float:
        sample_result = self.judged(inputs, **options)
        self.log([sample_result])
        return self.number(sample_result.scores[self.column])

    def judged(self, inputs: Any, timeout: float | None = None, **options: Any) -> SampleResult:
        """Score one sample, and return the score with its records, as `to_original` accepts them.

        If the judgements take more than `timeout` seconds, the score is *failed* (see `RunConfig`).
        """
        sample = self.judged_sample(Sample.read(_of_chain(as_columns(inputs)), self.name))
        return self.for_samples([sample])._judge_sample(sample, timeout, options)

    def _judge_sample(
        self, sample: Sample, timeout: float | None, options: Mapping[str, Any]
    ) -> SampleResult:
        settings = self.settings(**options)
        undefined = undefined_reason(self.metric, sample)
        if undefined is not None:
            # No model is loaded for it.
            return SampleResult(sample, {self.column: undefined}, {})
        judge = self.judge()
        judge.check_requirements([self.metric], settings)
        return self.in_column(judge.score_sample(sample, [self.metric], settings, judge.memory, timeout))

    def judged_sample(self, sample: Sample) -> Sample:
        """Return the sample as the metric judges it, often as it is."""
        return sample

    def for_samples(self, samples: Sequence[Sample]) -> Self:  # noqa: ARG002
        """Return the metric as it judges these samples, which is itself where it needs no columns of them."""
        return self

    def in_column(self, result: SampleResult) -> SampleResult:
        """Return a result with the score under the name of the column, in place of the row's."""
        return replace(result, scores={self.column: result.scores[self.row]})

    def settings(self, **options: Any) -> Options:
        """Return the metric's options, with these in place of its own."""
        return self.read({**self._own_options, **options})

    def number(self, score: Score) -> float:
        """Return the value, or the number that the original returns for an undefined or failed score."""
        return math.nan if score.value is None else score.value

    def log(self, judged: Sequence[SampleResult]) -> None:
        """Log the samples that have no score, with the reason, and those in no language of the prompts."""
        notes: dict[str, list[str]] = {}
        for sample_result in judged:
            score = sample_result.scores[self.column]
            name = sample_result.sample.id or "this sample"
            if score.status != "scored":
                notes.setdefault(f"{score.status} ({score.reason})", []).append(name)
            if statement_language(sample_result.decisions()) == "other":
                notes.setdefault("neither English nor Chinese", []).append(name)
        for note, ids in notes.items():
            LOG.warning("%s: %s: %s.", self.column, note, join_some(ids, MAX_NAMED))

    def judge(self) -> Judge:
        """Return the judge; load it if needed. Raises ModelMissing, ModelBroken or InputError."""
        if isinstance(self.llm, Judge):
            return self.llm
        model = DEFAULT_JUDGE if self.llm is None else self.llm
        # No model is loaded for a metric that asks no judge.
        is_asked = needs_judge([self.metric], self.options)
        judge: Judge = self._open(Judge.load, model if is_asked else None)
        return judge

    def _open(self, load: Callable[..., Any], model: Any, **options: Hashable) -> Any:
        """Return a model; load it unless a metric has already."""
        key = (load, str(model), *options.values())
        self._models.add(key)
        with _LOCK:
            if key not in OPENED:
                OPENED[key] = load(model, **options)
            return OPENED[key]

    def close(self) -> None:
        """Free the models that were loaded by name."""
        close(self._models)

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


class Faithfulness(OriginalMetric):
    """Supported statements / statements of the response. nan where it makes none.

    statement_generator_prompt, nli_prompt  a prompt file of localeval (its path or its text) for both
        languages, or a dict with one for "en" or "zh"

    >>> Faithfulness().required_columns == {"SINGLE_TURN": {"user_input", "response", "retrieved_contexts"}}
    True
    """

    row = "faithfulness"
    columns = ("user_input", "response", "retrieved_contexts")

    def __init__(
        self,
        llm: Judge | Model | None = None,
        *,
        statement_generator_prompt: Prompts | None = None,
        nli_prompt: Prompts | None = None,
        **rest: Any,
    ) -> None:
        support_prompt = "support_reasoned" if rest.get("verdict") == "reasoned" else "support"
        prompts = {"statements": statement_generator_prompt, support_prompt: nli_prompt}
        for name, prompt in prompts.items():
            if prompt is not None:
                by_language = prompt if isinstance(prompt, Mapping) else dict.fromkeys(LANGUAGES, prompt)
                rest["prompts"] = {**rest.get("prompts", {}), name: by_language}
        super().__init__(llm, **rest)


class FaithfulnesswithHHEM(Faithfulness):
    """`Faithfulness` with the verdicts of the classifier HHEM-2.1-Open, by default the judge's.

    device, batch_size  its device, and the number of pairs in a batch
    """

    row = "faithfulness_hhem"
    called = "faithfulness_with_hhem"

    def __init__(
        self, llm: Judge | Model | None = None, device: str = "cpu", batch_size: int = 10, **rest: Any
    ) -> None:
        super().__init__(llm, **rest)
        self.device = device
        self.batch_size = batch_size

    def judge(self) -> Judge:
        judge = super().judge()
        if self.device == "cpu" and self.batch_size == 10:
            # The judge's own classifier has these settings by default.
            return judge
        from localeval.auxiliary.hhem import Classifier

        classifier = self._open(
            Classifier.load,
            judge.auxiliary_models.sources()["classifier"],
            device=self.device,
            batch_size=self.batch_size,
            threads=judge.engine.settings.n_threads,
        )
        return _with_models(judge, AuxiliaryModels(classifier=classifier))


class ContextRelevance(OriginalMetric):
    """Sentences of the contexts that the question needs / all of them.

    0 where the question can't be answered from them; `invoke` also returns 0 where they have no sentence.
    """

    row = "context_relevance"
    columns = ("user_input", "retrieved_contexts")

    def number(self, score: Score) -> float:
        return 0.0 if score.reason == "no_contexts" else super().number(score)


class EmbeddingMetric(OriginalMetric):
    """Base class of the metrics that need an embedder.

    embedding_model  a catalog name, a path to a sentence-transformer's folder, or an `Embedder` of
                     `localeval.auxiliary.embedder`; by default the judge's
    """

    def __init__(
        self,
        llm: Judge | Model | None = None,
        embedding_model: EmbeddingModel | Model | None = None,
        **rest: Any,
    ) -> None:
        super().__init__(llm, **rest)
        self.embedding_model = embedding_model

    @property
    def embeddings(self) -> EmbeddingModel | Model | None:
        """The embedding model, under the name of ragas."""
        return self.embedding_model

    @embeddings.setter
    def embeddings(self, model: EmbeddingModel | Model | None) -> None:
        self.embedding_model = model

    def judge(self) -> Judge:
        judge = super().judge()
        model = self.embedding_model
        if model is None:
            return judge
        if isinstance(model, str | os.PathLike):
            from localeval.auxiliary.embedder import Embedder

            model = self._open(Embedder.load, model, threads=judge.engine.settings.n_threads)
        # The originals take the embeddings of LangChain, which have no signature.
        if not hasattr(model, "signature"):
            raise InputError(
                f"{self.name}: a {type(model).__name__} is no embedder; give a catalog name, the path of a "
                "folder, or an `Embedder` of localeval."
            )
        return _with_models(judge, AuxiliaryModels(embedder=model))


class AnswerRelevance(EmbeddingMetric):
    """Mean over questions drawn from the answer of cos(query, question) x sufficiency of that question."""

    row = "answer_relevance"
    columns = ("user_input", "response")

    def read(self, options: Mapping[str, Any]) -> Options:
        defaults: dict[str, Any] = {"relevance": "draws"}
        if options.get("relevance") == "ragas":
            defaults["questions"] = 3
        return super().read({**defaults, **options})

    def invoke(self, inputs: Any, config: Any = None, **options: Any) -> float:  # type: ignore[override]
        """Score one sample, with `num_of_gen` questions instead of the number in the options.

        In the originals that number is the second argument: an integer there is one, and no config.
        """
        if isinstance(config, int):
            return super().invoke(inputs, num_of_gen=config, **options)
        return super().invoke(inputs, config, **options)

    async def ainvoke(self, inputs: Any, config: Any = None, **options: Any) -> float:  # type: ignore[override]
        """Do as `invoke`, in a thread of its own, so that the event loop is not blocked."""
        if isinstance(config, int):
            return await super().ainvoke(inputs, num_of_gen=config, **options)
        return await super().ainvoke(inputs, config, **options)

    def _score_and_log(self, inputs: Any, num_of_gen: int | None = None, **options: Any) -> float:
        if num_of_gen is not None:
            options = {"questions": num_of_gen, **options}
        return super()._score_and_log(inputs, **options)


class FactualCorrectness(OriginalMetric):
    """F1 (`mode` "f1", with `beta`), "precision" or "recall" of the response against the reference.

    atomicity, coverage  "high", as all statements of a sentence are judged. Raises InputError for "low"
    """

    row = "factual_correctness"
    columns = ("response", "reference")

    def __init__(
        self,
        llm: Judge | Model | None = None,
        mode: str = "f1",
        *,
        atomicity: str = "high",
        coverage: str = "high",
        **rest: Any,
    ) -> None:
        for name, value in {"atomicity": atomicity, "coverage": coverage}.items():
            if value != "high":
                raise InputError(
                    f"factual_correctness: {name} is {shorten(repr(value), 60)}; all statements of a "
                    "sentence are judged here, so leave it out."
                )
        super().__init__(llm, mode=mode, **rest)

    @property
    def mode(self) -> str:
        return self.options.mode

    @property
    def column(self) -> str:
        """The name with the mode, as in ragas."""
        return f"{self.name}(mode={self.mode})"
