"""Metrics under their original names and parameters; each is a row of `localeval.METRICS`."""

from __future__ import annotations

import asyncio
import copy
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from localeval.compat.data import as_columns
from localeval.engine.auxiliary_models import AuxiliaryModels
from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError
from localeval.judge import Judge, Records
from localeval.judgements import failed_need, in_order
from localeval.metrics import METRICS, Metric, Score
from localeval.metrics.summary import compute, judgements_for, undefined_reason
from localeval.models import catalog
from localeval.prompts import LANGUAGES, text_of
from localeval.prompts.options import Options
from localeval.report.text import MOST_NAMED, language_warnings
from localeval.runs.result import Result, SampleResult
from localeval.samples import Sample
from localeval.system.arguments import whole
from localeval.text.display import join_some

LOG = logging.getLogger(__name__)

Self = TypeVar("Self", bound="OriginalMetric")
Model = str | os.PathLike[str]
Prompts = str | Path | Mapping[str, str | Path]

RAGAS_QUESTIONS = 3

_OPENED: dict[Hashable, Any] = {}
"""Models that were opened by name, for every metric that names the same."""
_LOCK = threading.RLock()


def opened() -> set[Hashable]:
    """Name the models that are open now."""
    return set(_OPENED)


def close(models: set[Hashable]) -> None:
    """Free these models, as far as they are open."""
    with _LOCK:
        for key in models & _OPENED.keys():
            _OPENED.pop(key).close()


def _source(model: Model) -> str:
    """Name a model the same however it is written: a catalog name, or where a path leads."""
    return model if isinstance(model, str) and model in catalog.rows() else os.path.realpath(model)


def beside(judge: Judge, companions: AuxiliaryModels) -> Judge:
    """Put other models beside a judge: the same one, engine, lock and memory included."""
    other = copy.copy(judge)
    other.companions = companions
    return other


class OriginalMetric:
    """Root of the metrics here.

    llm          a `Judge`, which stays the caller's to close; or a catalog name or a path to a GGUF file,
                 which is loaded at the first question, shared with other metrics of the same llm, and freed
                 by `close()` or at the end of a `with` block; who needs it afterwards loads it again
    name         the column in a result
    max_retries  accepted; a reply that is bound by a grammar needs none
    options      those of `localeval.prompts.options.Options`, such as verdict="reasoned" or threshold=0.6

    Inputs are a dict with the original names (query, answer, document_list) or ours, or a sample of ours or
    ragas'. Raises InputError for an unknown option or an llm of another library.
    """

    row: ClassVar[str]
    """Its name in `localeval.METRICS`."""
    called: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]

    def __init__(
        self, llm: Judge | Model | None = None, *, name: str = "", max_retries: int = 1, **options: Any
    ) -> None:
        self.llm: Judge | Model | None = _checked_llm(llm)
        self.name, self.max_retries = name or self.called, max_retries
        self.options = self.read(options)
        self._chosen = {option: getattr(self.options, option) for option in options}
        self._models: set[Hashable] = set()

    def read(self, given: Mapping[str, Any]) -> Options:
        """Add to the options what this metric has by itself. Raises InputError for what is none of it."""
        return Options.read(given)

    @property
    def metric(self) -> Metric:
        return METRICS[self.row]

    @property
    def required_columns(self) -> dict[str, set[str]]:
        """Tell the columns as ragas does. The question of faithfulness helps its first step only."""
        return {"SINGLE_TURN": set(self.columns)}

    def column(self, options: Options | None = None) -> str:  # noqa: ARG002
        """Name its column in the result of `evaluate`, by its own options unless others are given."""
        return self.name

    def invoke(self, inputs: Any) -> float:
        """Score one sample, 0 to 1; nan where that is undefined or failed, and why is logged.

        That a model does not read the sample's language is logged too.
        """
        return self._number_of(self.judged(inputs))

    async def ainvoke(self, inputs: Any) -> float:
        """`invoke` in a thread of its own, so that an event loop goes on."""
        return await asyncio.to_thread(self.invoke, inputs)

    def single_turn_score(self, sample: Any) -> float:
        return self.invoke(sample)

    async def single_turn_ascore(self, sample: Any) -> float:
        return await self.ainvoke(sample)

    def judged(self, inputs: Any, timeout: float | None = None, **options: Any) -> SampleResult:
        """Score one sample, with the records behind the score, as `to_original` takes them.

        `options` replace the metric's own. With a `timeout`, judgements that took more seconds make the score
        *failed*, `timeout`: the one that passes the limit is finished, and none is made after it.
        """
        given = as_columns(inputs)
        if not isinstance(given, Sample | Mapping):
            raise InputError(
                f"{self.name}: expected a dict or a sample, found a {type(inputs).__name__}; "
                "give the columns by name, as answer= and document_list=."
            )
        sample = given if isinstance(given, Sample) else Sample.read(given, self.name)
        choices = self.read({**self._chosen, **options})
        column = self.column(choices)
        if (undefined := undefined_reason(self.metric, sample)) is not None:
            return SampleResult(sample, {column: undefined}, {})
        judge, start = self.judge(), time.monotonic()
        records: Records = {}
        for row in in_order(judgements_for([self.metric], choices)):
            if failed := failed_need(row, records):
                records[row.name] = records[failed]
                continue
            records |= judge.judge(sample, [row.name], choices, judge.memory)
            if timeout is not None and time.monotonic() - start > timeout:
                return SampleResult(sample, {column: Score.failed("timeout")}, {})
        curves = judge.curves(choices)
        score = compute(self.metric, records, choices, curves)
        return SampleResult(sample, {column: score}, records, curves, choices.threshold)

    def number(self, score: Score) -> float:
        """Give the value, or what the original's `invoke` gives for an undefined or failed score."""
        return math.nan if score.value is None else score.value

    def _number_of(self, judged: SampleResult) -> float:
        (score,) = judged.scores.values()
        if score.status != "scored":
            LOG.warning("%s is %s for this sample: %s.", self.name, score.status, score.reason)
        named = judged.sample.model_copy(update={"id": judged.sample.id or "this sample"})
        self.log_languages([replace(judged, sample=named)])
        return self.number(score)

    def log_languages(self, judged: Sequence[SampleResult]) -> None:
        """Log which samples are in a language that a model does not read."""
        if not any(one.records for one in judged):
            return  # no model was asked, so that there may be none
        made = [(one.sample.id, one.records.get("statements")) for one in judged]
        others = [name for name, record in made if getattr(record, "language", "") == "other"]
        lines = [f"neither English nor Chinese: {join_some(others, MOST_NAMED)}"] if others else []
        signature = self.judge().signature([self.metric], self.options)
        for line in lines + language_warnings(Result(judged, [self.row], signature)):
            LOG.warning("%s: %s.", self.name, line)

    def judge(self) -> Judge:
        """The judge, loaded if it was not. Raises ModelMissing or ModelBroken."""
        if isinstance(self.llm, Judge):
            return self.llm
        model = catalog.DEFAULT_JUDGE if self.llm is None else self.llm
        judge: Judge = self._share(("judge", _source(model)), lambda: Judge.load(model))
        return judge

    def _share(self, key: Hashable, load: Callable[[], Any]) -> Any:
        self._models.add(key)
        with _LOCK:
            if key not in _OPENED:
                _OPENED[key] = load()
            return _OPENED[key]

    def with_models(self: Self, llm: Judge | Model | None, embeddings: EmbeddingModel | Model | None) -> Self:  # noqa: ARG002
        """Copy it, with `llm` and `embeddings` where it has none of its own."""
        other = copy.copy(self)
        other.llm = _checked_llm(llm) if self.llm is None else self.llm
        return other

    def close(self) -> None:
        """Free what was loaded by name. It is loaded again when needed."""
        close(self._models)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
    called = "faithfulness"
    columns = ("user_input", "response", "retrieved_contexts")

    def __init__(
        self,
        llm: Judge | Model | None = None,
        *,
        statement_generator_prompt: Prompts | None = None,
        nli_prompt: Prompts | None = None,
        **rest: Any,
    ) -> None:
        self._prompts = {
            name: {language: text_of(text) for language, text in _by_language(given).items()}
            for name, given in (("statements", statement_generator_prompt), ("support", nli_prompt))
            if given is not None
        }
        super().__init__(llm, **rest)

    def read(self, given: Mapping[str, Any]) -> Options:
        """Add the prompts that have a parameter of their own; that of verdicts in the form that is asked."""
        prompts: Any = Options.read({"prompts": given.get("prompts", {})}).prompts
        merged = {name: dict(by_language) for name, by_language in prompts.items()}
        for name, by_language in self._prompts.items():
            reasoned = name == "support" and given.get("verdict") == "reasoned"
            merged.setdefault(f"{name}_reasoned" if reasoned else name, {}).update(by_language)
        return super().read({**given, "prompts": merged})


class FaithfulnesswithHHEM(Faithfulness):
    """`Faithfulness` with the verdicts of the classifier HHEM-2.1-Open: that of the judge, unless said.

    device, batch_size  where it computes, and how many pairs together

    Raises InputError for what tells a judge how to decide (nli_prompt, verdict="reasoned") or to give its
    reasons (explain): here it does not decide, and they would change nothing.
    """

    row = "faithfulness_hhem"
    called = "faithfulness_with_hhem"

    def __init__(
        self, llm: Judge | Model | None = None, device: str = "cpu", batch_size: int = 10, **rest: Any
    ) -> None:
        super().__init__(llm, **rest)
        self.device, self.batch_size = device, whole("batch_size", batch_size, 1)

    def read(self, given: Mapping[str, Any]) -> Options:
        options = super().read(given)
        for name, chosen in (
            ("nli_prompt", not {"support", "support_reasoned"}.isdisjoint(options.prompts)),
            ("verdict='reasoned'", options.verdict == "reasoned"),
            ("explain", options.explain),
        ):
            if chosen:
                raise InputError(
                    f"{self.name}: {name} is for verdicts of a judge, and here a classifier decides; leave "
                    "it out, or take Faithfulness."
                )
        return options

    def judge(self) -> Judge:
        judge, where = super().judge(), (self.device, self.batch_size)
        if where == ("cpu", 10):
            return judge  # as its own classifier is, unless the caller chose another
        own = judge.companions.classifier()  # its files are checked; its weights are not loaded for this
        model = getattr(own, "source", None)
        if model is None:
            raise InputError(
                f"{self.name}: the judge's classifier is a {type(own).__name__}, which can't be opened again "
                "with another device or batch_size; leave them out, or open it with them."
            )
        from localeval.engine.hhem import Classifier

        threads = judge.engine.settings.n_threads
        classifier = self._share(
            ("classifier", _source(model), *where, threads),
            lambda: Classifier.load(model, device=self.device, batch_size=self.batch_size, threads=threads),
        )
        return beside(judge, AuxiliaryModels(classifier=classifier))


class ContextRelevance(OriginalMetric):
    """Sentences of the contexts that the question needs / all of them.

    0 where the question can't be answered from them; `invoke` gives it also where they have no sentence.
    """

    row = "context_relevance"
    called = "context_relevance"
    columns = ("user_input", "retrieved_contexts")

    def number(self, score: Score) -> float:
        return 0.0 if score.reason == "no_contexts" else super().number(score)


class AnswerRelevance(OriginalMetric):
    """Mean over questions drawn from the answer of cos(query, question) x sufficiency of that question.

    As the original weighs each draw by its own flag; `relevance="question"` is localeval's own rule. Ten
    questions are drawn; three with `relevance="ragas"`, as ragas does. `questions` is another number.

    embedding_model  a catalog name, a path to a sentence-transformer's folder, or an `Embedder` of
                     `localeval.engine.embedder`; that of the judge, unless said
    """

    row = "answer_relevance"
    called = "answer_relevance"
    columns = ("user_input", "response")

    def __init__(
        self,
        llm: Judge | Model | None = None,
        embedding_model: EmbeddingModel | Model | None = None,
        **rest: Any,
    ) -> None:
        super().__init__(llm, **rest)
        self.embedding_model: EmbeddingModel | Model | None = _checked_embedder(embedding_model)

    def read(self, given: Mapping[str, Any]) -> Options:
        drawn = {"questions": RAGAS_QUESTIONS} if given.get("relevance") == "ragas" else {}
        return super().read({"relevance": "draws", **drawn, **given})

    def invoke(self, inputs: Any, num_of_gen: int | None = None) -> float:
        """Score as every metric does, with `num_of_gen` questions instead of its own number."""
        drawn = {} if num_of_gen is None else {"questions": num_of_gen}
        return self._number_of(self.judged(inputs, **drawn))

    async def ainvoke(self, inputs: Any, num_of_gen: int | None = None) -> float:
        return await asyncio.to_thread(self.invoke, inputs, num_of_gen)

    def judge(self) -> Judge:
        judge, model = super().judge(), self.embedding_model
        if model is None:
            return judge
        if isinstance(model, str | os.PathLike):
            from localeval.engine.embedder import Embedder

            path, threads = model, judge.engine.settings.n_threads
            key = ("embedder", _source(path), threads)
            model = self._share(key, lambda: Embedder.load(path, threads=threads))
        return beside(judge, AuxiliaryModels(embedder=model))

    def with_models(self: Self, llm: Judge | Model | None, embeddings: EmbeddingModel | Model | None) -> Self:
        other: Any = super().with_models(llm, embeddings)
        if other.embedding_model is None:
            other.embedding_model = _checked_embedder(embeddings)
        copied: Self = other
        return copied


class FactualCorrectness(OriginalMetric):
    """F1 (`mode` "f1", with `beta`), "precision" or "recall" of the response against the reference."""

    row = "factual_correctness"
    called = "factual_correctness"
    columns = ("response", "reference")

    def __init__(self, llm: Judge | Model | None = None, mode: str = "f1", **rest: Any) -> None:
        super().__init__(llm, mode=mode, **rest)

    @property
    def mode(self) -> str:
        return self.options.mode

    def column(self, options: Options | None = None) -> str:
        """Add its mode, as ragas writes it."""
        return f"{self.name}(mode={(options or self.options).mode})"


def _by_language(given: Prompts) -> Mapping[str, str | Path]:
    return given if isinstance(given, Mapping) else dict.fromkeys(LANGUAGES, given)


def _checked_llm(given: Any) -> Any:
    own = isinstance(given, Judge)
    return _checked("llm", given, own, "a localeval.Judge, or a path to a GGUF file")


def _checked_embedder(given: Any) -> Any:
    own = hasattr(given, "embed") and hasattr(given, "signature")
    return _checked("embedding_model", given, own, "an Embedder, or a path to a model's folder")


def _checked(name: str, given: Any, own: bool, others: str) -> Any:
    """Raise InputError for a model of another library, and for an empty name."""
    if given is None or own or (given != "" and isinstance(given, str | os.PathLike)):
        return given
    what = "empty" if given == "" else f"a {type(given).__name__}"
    raise InputError(f"{name} is {what}; give a name from `localeval models list`, {others}.")
