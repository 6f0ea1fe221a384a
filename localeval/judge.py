"""A judge: a loaded model that makes judgements and scores samples."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from localeval.auxiliary.models import AuxiliaryModels
from localeval.engine.absent import AbsentEngine
from localeval.engine.engine import Engine
from localeval.engine.interface import EmbeddingModel, EngineError, EntailmentModel, TreeEngine
from localeval.engine.prefix_cache import PrefixCache
from localeval.engine.probe import check_weights, probe_vocabulary
from localeval.engine.settings import EngineSettings
from localeval.errors import InputError
from localeval.fitted.curves import Curves
from localeval.fitted.heads import Head, heads_for
from localeval.fitted.reply_heads import ReplyHead, reply_heads_for
from localeval.judgements import (
    JUDGEMENTS,
    AnyJudgement,
    Choices,
    Failure,
    Inputs,
    Models,
    Record,
    Records,
    ask,
    make_records,
    with_needs,
)
from localeval.judgements.base import own_judgements, register_judgement
from localeval.judgements.calibration import curves_for
from localeval.judgements.journal import (
    Journal,
    find_final,
    is_final,
    key_of,
    key_of_failure,
    put_failure,
)
from localeval.judgements.making import KeyedRecord
from localeval.metrics import Metric, Score, register_criteria
from localeval.metrics.sample_result import SampleResult, score_records
from localeval.metrics.signature import (
    Signature,
    build_signature,
    judgements_of,
    model_signature,
    models_used,
    needs_judge,
    puts_to_judge,
)
from localeval.metrics.summary import choose_metrics, judgements_of_sample, undefined_reason
from localeval.models import ModelFiles, resolve
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER, DEFAULT_JUDGE
from localeval.options import Options
from localeval.samples import Sample
from localeval.system.versions import package_versions
from localeval.text.display import shorten


class _Clock:
    """The time limit of a sample, from the first judgement that is asked; none for `timeout` None."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._ends = math.inf
        self.started = False

    def start(self) -> None:
        """Begin to count, at the first call."""
        if self._timeout is not None and not self.started:
            self._ends = time.monotonic() + self._timeout
        self.started = True

    def has_passed(self) -> bool:
        return time.monotonic() >= self._ends

    def failure(self) -> Failure:
        return late(self._timeout or 0.0)


def late(timeout: float) -> Failure:
    """Return the record of a judgement for which there was no time."""
    return Failure(failed="timeout", detail=f"more than {timeout:g} seconds")


# Of a judge without a model, in its signature and in the keys of what the embedder or classifier answers.
_NO_MODEL: Mapping[str, Any] = {"name": "", "sha256": "", "size": 0}


def _open_engine(files: ModelFiles, settings: EngineSettings, cache_prefix: bool) -> Engine:
    """Check the vocabulary of a model file, and open its engine, which loads the weights when first asked."""
    probe_vocabulary(files, settings)
    prefix_cache = PrefixCache(files.sha256, settings) if cache_prefix else None
    # Before the weights are loaded, at the first question, they are tried in another process.
    return Engine(files.paths, settings, prefix_cache, before_loading=partial(check_weights, files))


def _load_with(judgements: Sequence[AnyJudgement], load: Callable[[], Judge]) -> Judge:
    """Load a judge in a process that does not know these judgements yet."""
    for judgement in judgements:
        register_judgement(judgement)
    return load()


class Judge:
    """A model that judges. Make it with `Judge.load`; use it in a `with` block, or `close()` it.

    Threads may share a judge, which serves one at a time.

    >>> with Judge.load("qwen2.5-coder-1.5b") as judge:                      # doctest: +SKIP
    ...     judge.score("faithfulness", Sample(response="Tea grows.", retrieved_contexts=["Tea grows."]))
    Score(value=1.0, soft=0.9, status='scored', reason='')
    """

    def __init__(
        self,
        engine: TreeEngine,
        model: Mapping[str, Any],
        source: str = "",
        auxiliary_models: AuxiliaryModels | None = None,
    ) -> None:
        """Judge with `engine`; `model` has the name, sha256 and size of its model, for the signature.

        `source` is the argument by which `load` finds that model; by default its name.
        """
        self.engine = engine
        self.model = dict(model)
        self.source = source or str(self.model["name"])
        self.auxiliary_models = auxiliary_models or AuxiliaryModels()
        self._lock = threading.Lock()
        self._closed = threading.Event()  # shared with copies that have other auxiliary models
        self.loader: Callable[[], Judge] | None = None  # makes the same judge in another process
        self.memory = Journal()  # for `score` and `localeval.compat`

    @classmethod
    def load(
        cls,
        model: str | os.PathLike[str] | None = DEFAULT_JUDGE,
        *,
        embedder: str | os.PathLike[str] | EmbeddingModel = DEFAULT_EMBEDDER,
        classifier: str | os.PathLike[str] | EntailmentModel = DEFAULT_CLASSIFIER,
        cache_prefix: bool = True,
        **settings: Any,
    ) -> Judge:
        """Load a name of `localeval models list`, as `qwen2.5-coder-1.5b` or `ollama:qwen2.5:7b`, or the path
        of a GGUF file of an instruct model; made for Qwen2.5 and Qwen3.

        `embedder` (for answer_relevance) and `classifier` (for HHEM) are catalog names, paths of folders, or
        an `Embedder` and a `Classifier`, which no worker can load. With `cache_prefix`, the computed state of
        the prompts is stored in the user's cache folder for the next judge. `settings` are the fields of
        `EngineSettings`.

        The judge's file is checked and its vocabulary opened now; weights are loaded at the first question.
        A file that is not the catalog's is tried in another process before, once for a machine and settings.

        With None nothing is loaded, for metrics that ask no judge; any other metric then raises InputError.

        Raises ModelMissing or ModelBroken (with the command that repairs it), InputError for a setting or
        for a model of another program that is not there or can't be opened.
        """
        if model is not None and not isinstance(model, str | os.PathLike):
            raise InputError(f"judge is {shorten(repr(model), 60)}; give a Judge, a catalog name or a path.")
        parsed = EngineSettings.read(settings)
        auxiliary_models = AuxiliaryModels(embedder, classifier, parsed.n_threads)
        if model is None:
            judge = cls(AbsentEngine(parsed), _NO_MODEL, auxiliary_models=auxiliary_models)
        else:
            files = resolve(model, kind="judge")
            engine = _open_engine(files, parsed, cache_prefix)
            identity = {"name": files.name, "sha256": files.sha256, "size": files.size}
            judge = cls(engine, identity, files.source, auxiliary_models)
        # Another process can't be given a model's object, and a name would lose the object's settings.
        if all(isinstance(part, str | os.PathLike) for part in (embedder, classifier)):
            sources = judge.auxiliary_models.sources()
            judge.loader = partial(
                cls.load, judge.source or None, **sources, cache_prefix=cache_prefix, **vars(parsed)
            )
        return judge

    def loader_for_workers(self) -> Callable[[], Judge] | None:
        """Return what loads the same judge in another process, which then knows the caller's judgements too.

        None for a judge that no other process can load. Raises InputError as `own_judgements`.
        """
        judgements = own_judgements()
        if self.loader is None or not judgements:
            return self.loader
        return partial(_load_with, judgements, self.loader)

    def score(self, metric: str, sample: Sample | Mapping[str, Any], **options: Any) -> Score:
        """Score one sample. `options` are the fields of `localeval.options.Options`.

        Never raises for the content of a sample: see `Score.status`. Raises InputError for an unknown metric
        or option, a sample of the wrong shape, or a model that does not fit into memory; ModelMissing or
        ModelBroken if a model that the metric needs can't be used.
        """
        self._check_open()
        choices = Options.read(options)
        register_criteria(choices.criteria)
        [row] = choose_metrics([metric])
        parsed = Sample.read(sample, "Sample")
        undefined = undefined_reason(row, parsed)
        if undefined is not None:
            return undefined
        self.check_requirements([row], choices)
        without_reasons = replace(choices, explain=False)  # a score does not show them
        return self.score_sample(parsed, [row], without_reasons, self.memory).scores[metric]

    async def ascore(self, metric: str, sample: Sample | Mapping[str, Any], **options: Any) -> Score:
        """Call `score` in a thread of its own, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.score, metric, sample, **options)

    def score_sample(
        self,
        sample: Sample,
        metrics: Sequence[Metric],
        options: Options,
        journal: Journal,
        timeout: float | None = None,
    ) -> SampleResult:
        """Score a sample by these metrics, from records that are made here or are in the journal.

        timeout  seconds for all judgements of the sample, as in `judge_with_keys`
        """
        required = judgements_of_sample(metrics, options, sample)
        records, keys = self.judge_with_keys(sample, required, options, journal, timeout)
        return score_records(sample, metrics, records, keys, options, self.curves(options))

    def judge(
        self, sample: Sample, required: Sequence[str], options: Options, journal: Journal
    ) -> dict[str, Record]:
        """Make the records of `required` and of all that they need, or read them from the journal.

        A judgement that can't be made has a `Failure` as its record, and so have those that need it.
        """
        return self.judge_with_keys(sample, required, options, journal)[0]

    def judge_with_keys(
        self,
        sample: Sample,
        required: Sequence[str],
        options: Options,
        journal: Journal,
        timeout: float | None = None,
    ) -> tuple[dict[str, Record], dict[str, str]]:
        """Do what `judge` does, and return the records' journal keys too (see `make_records`).

        timeout  seconds for all judgements of the sample, beside loading the models. The one in which they
                 pass, and those after it, are failures; what was judged is in the journal. The clock is read
                 between judgements, as nothing in this process can end a model's call
        """
        with self._lock:
            choices = self.choices(required, options)
            clock = _Clock(timeout)

            def make(judgement: AnyJudgement, sample: Sample, records: Records) -> KeyedRecord | None:
                inputs = judgement.inputs(sample, records, choices)
                key = self.key(judgement, inputs)
                stored = find_final(journal, judgement, key)
                if stored is not None:
                    return stored, key
                if timeout is not None and not clock.started:
                    self.load_models(required, options)
                clock.start()
                if not clock.has_passed():
                    record, own_key = self._ask(judgement, inputs, key, sample, journal)
                    if not is_final(record) or not clock.has_passed():
                        return record, own_key
                failure = clock.failure()
                return failure, put_failure(journal, judgement, key, sample, failure)

            return make_records(sample, required, make, ask_judge=self.is_asked(required, options))

    def _ask(
        self, judgement: AnyJudgement, inputs: Inputs, key: str, sample: Sample, journal: Journal
    ) -> KeyedRecord:
        """Make a record and write it, with what it cost, to the journal."""
        spent_before = self.engine.spent
        start = time.perf_counter()
        record = ask(judgement, inputs, Models(self.engine, self.auxiliary_models))
        seconds = round(time.perf_counter() - start, 3)
        spent = self.engine.spent.since(spent_before)
        cost = {"seconds": seconds, "tokens": spent.total, "spent": spent._asdict()}
        own_key = key if is_final(record) else key_of_failure(key, sample)
        journal.put(own_key, judgement.name, sample.id, record.model_dump(mode="json"), cost)
        return record, own_key

    def load_models(self, required: Sequence[str], options: Options) -> None:
        """Load the models that these judgements ask, which are else loaded at the first question."""
        used = models_used(with_needs(required), options)
        with suppress(EngineError):  # the judgement that asks tells it
            if "judge" in used and isinstance(self.engine, Engine):
                assert self.engine.llama  # noqa: S101 (it loads)
            if "embedder" in used:
                self.auxiliary_models.embedder()
            if "classifier" in used:
                self.auxiliary_models.classifier()

    def is_asked(self, required: Sequence[str], options: Options) -> bool:
        """Return whether one of these judgements is put to the judge itself."""
        return self.has_model and puts_to_judge(required, options)

    def choices(self, required: Sequence[str], options: Options) -> Choices:
        """Collect what the inputs of these judgements are chosen by, with what was fitted for this judge.

        Raises InputError if the judge was closed, and what opening the embedder or the classifier raises.
        """
        self._check_open()
        auxiliary = self._open_auxiliary_models(with_needs(required), options)
        signatures = {name: model.signature() for name, model in auxiliary.items()}
        heads = self.heads(options)
        return Choices(options, heads, self.reply_heads(options), self.curves(options), **signatures)

    @property
    def has_model(self) -> bool:
        """Whether it can be asked; False for one without a model, see `load`."""
        return bool(self.model["sha256"])

    def curves(self, options: Options) -> Curves:
        """Return this judge's calibration curves, by language; often none. Raises as `curves_for`."""
        return curves_for(str(self.model["sha256"]), options, self.heads(options))

    def heads(self, options: Options) -> dict[str, Head]:
        """Return the heads fitted for this judge, by language; often none.

        Raises as `heads_for`, and InputError for a head whose shape does not fit the model, or a model
        that can't be read.
        """
        heads = heads_for(str(self.model["sha256"]), options)
        self._check_fit(heads.values())
        return heads

    def reply_heads(self, options: Options) -> dict[str, ReplyHead]:
        """Return the heads fitted for this judge's replies, by "prompt/language"; often none.

        Raises as `heads`.
        """
        heads = reply_heads_for(str(self.model["sha256"]), options)
        self._check_fit(heads.values())
        return heads

    def _check_fit(self, heads: Collection[Head | ReplyHead]) -> None:
        """Raise InputError for a head whose shape does not fit the model, or a model that can't be read."""
        if not heads or not isinstance(self.engine, Engine):
            return
        self.engine.check_readable()
        for head in heads:
            head.check_fits(self.engine.width(), self.engine.layers())

    def check_requirements(self, metrics: Sequence[Metric], options: Options) -> None:
        """Check that every model and head that these metrics need is available.

        Raises ModelMissing, ModelBroken or InputError.
        """
        self._check_open()
        self.curves(options)
        for metric in metrics:
            if not self.has_model and needs_judge([metric], options):
                raise InputError(
                    f"{metric.name} needs a judge, and none was loaded; name one for Judge.load."
                )
            judgements = [JUDGEMENTS[name] for name in metric.judgements]
            if any(judgement.needs_head(options) for judgement in judgements) and not self.heads(options):
                raise InputError(
                    f"{metric.name} needs a head that was fitted for this judge, and there is none; make one "
                    "with `localeval fit` and give it with --head, or leave the metric out."
                )
        self._open_auxiliary_models(judgements_of(metrics), options)

    def key(self, judgement: AnyJudgement, inputs: Inputs) -> str:
        """Return the key of the record in a journal: a digest of all that can change it."""
        return key_of(judgement, inputs, self.record_fingerprint())

    def record_fingerprint(self) -> dict[str, Any]:
        """Return the settings of this judge that are part of every record's key."""
        settings = dict(vars(self.engine.settings))
        return {"model": self.model["sha256"], "settings": settings, "packages": package_versions()}

    def signature(
        self, metrics: Sequence[Metric], options: Options, samples: Sequence[Sample] = ()
    ) -> Signature:
        """Return what the scores of these metrics are computed with. Raises what `check_requirements` raises.

        samples  of the run, see `build_signature`

        Raises ValueError for an embedder's or classifier's own signature without the texts name and sha256.
        """
        auxiliary = self._open_auxiliary_models(judgements_of(metrics), options)
        signatures = {name: model.signature() for name, model in auxiliary.items()}
        models = model_signature(self.model, self.engine.settings)
        models = models.model_copy(update=signatures)
        return build_signature(models, metrics, options, self.curves(options), samples)

    def _open_auxiliary_models(
        self, judgements: Sequence[AnyJudgement], options: Options
    ) -> dict[str, EmbeddingModel | EntailmentModel]:
        """Open the embedder and the classifier, each if one of the judgements asks it."""
        used = models_used(judgements, options)
        opened: dict[str, EmbeddingModel | EntailmentModel] = {}
        if "embedder" in used:
            opened["embedder"] = self.auxiliary_models.embedder()
        if "classifier" in used:
            opened["classifier"] = self.auxiliary_models.classifier()
        return opened

    def close(self) -> None:
        """Free the models. The judge can't be used afterwards."""
        with self._lock:
            self._closed.set()
            self.engine.close()
            self.auxiliary_models.close()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise InputError("this judge was closed; load it again with Judge.load.")

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
