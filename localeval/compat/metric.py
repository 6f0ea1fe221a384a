"""What the metrics under original names have in common: inputs, models, and how they are called."""

from __future__ import annotations

import asyncio
import copy
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from localeval.compat.data import one_sample
from localeval.compat.languages import not_read
from localeval.compat.models import hold, judge_within, release, source
from localeval.engine.interface import Embeds
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics import METRICS, Metric, Score
from localeval.metrics.summary import compute, judgements_for, nothing_to_judge
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.prompts.options import Options
from localeval.runs.result import SampleResult

LOG = logging.getLogger(__name__)

Self = TypeVar("Self", bound="OriginalMetric")
Model = str | os.PathLike[str]


class OriginalMetric:
    """Root of the metrics here.

    llm          a `Judge`, which stays the caller's to close; or a catalog name or a path to a GGUF file,
                 which is loaded at the first question, shared with other metrics of the same llm, and freed
                 by `close()`, at the end of a `with` block, or when Python ends
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
        self.llm, self.name, self.max_retries = _llm(llm), name or self.called, max_retries
        self.options = self.read(options)
        self._chosen = {option: getattr(self.options, option) for option in options}

    def read(self, given: Mapping[str, Any]) -> Options:
        """The options that `given` ones come to, with those that this metric has by itself.

        Raises InputError for what is no option of it.
        """
        return Options.read(given)

    @property
    def metric(self) -> Metric:
        return METRICS[self.row]

    @property
    def required_columns(self) -> dict[str, set[str]]:
        """As ragas tells them. The question of faithfulness helps its first step and may be missing."""
        return {"SINGLE_TURN": set(self.columns)}

    @property
    def column(self) -> str:
        """Its name in the result of `evaluate`."""
        return self.column_with(self.options)

    def column_with(self, options: Options) -> str:  # noqa: ARG002
        """The same with other options than its own."""
        return self.name

    def invoke(self, inputs: Any) -> float:
        """The score of one sample, 0 to 1; nan where it is undefined or failed, and why is logged.

        That a model does not read the sample's language is logged too.
        """
        return self._told(self.judged(inputs))

    async def ainvoke(self, inputs: Any) -> float:
        """`invoke` in a thread of its own, so that an event loop goes on."""
        return await asyncio.to_thread(self.invoke, inputs)

    def single_turn_score(self, sample: Any) -> float:
        return self.invoke(sample)

    async def single_turn_ascore(self, sample: Any) -> float:
        return await self.ainvoke(sample)

    def judged(self, inputs: Any, timeout: float | None = None, **options: Any) -> SampleResult:
        """The sample with its score and with the records behind it, as `to_original` takes them.

        `options` replace the metric's own. With a `timeout`, judgements that took more seconds make the score
        *failed*, `timeout`.
        """
        sample = one_sample(inputs, self.name)
        choices = self.read({**self._chosen, **options})
        column = self.column_with(choices)
        if (undefined := nothing_to_judge(self.metric, sample)) is not None:
            return SampleResult(sample, {column: undefined}, {})
        wanted = judgements_for([self.metric], choices)
        records = judge_within(self.judge(), sample, wanted, choices, timeout)
        if records is None:
            return SampleResult(sample, {column: Score.failed("timeout")}, {})
        curves = self.judge().curves(choices)
        score = compute(self.metric, records, choices, curves)
        return SampleResult(sample, {column: score}, records, curves, choices.threshold)

    def number(self, score: Score) -> float:
        """The value, or what the original's `invoke` gives for a score that is undefined or failed."""
        return plain_number(score)

    def _told(self, judged: SampleResult) -> float:
        (score,) = judged.scores.values()
        if score.status != "scored":
            LOG.warning("%s is %s for this sample: %s.", self.name, score.status, score.reason)
        named = judged.sample.model_copy(update={"id": judged.sample.id or "this sample"})
        for line in self.not_read([replace(judged, sample=named)]):
            LOG.warning("%s: %s.", self.name, line)
        return self.number(score)

    def not_read(self, judged: Sequence[SampleResult]) -> list[str]:
        """A line for each model that does not read the language of some samples, with their ids."""
        if not any(one.records for one in judged):
            return []  # no model was asked, so that there may be none
        return not_read(self.judge(), self.metric, self.options, judged)

    def judge(self) -> Judge:
        """The judge, loaded if it was not. Raises ModelMissing or ModelBroken."""
        if isinstance(self.llm, Judge):
            return self.llm
        model = DEFAULT_JUDGE if self.llm is None else self.llm
        return hold(self, ("judge", source(model)), lambda: Judge.load(model))

    def ready(self) -> None:
        """Check the files of every model that it needs. Raises ModelMissing or ModelBroken."""
        self.judge().ready([self.metric], self.options)

    def bound(self: Self, llm: Judge | Model | None, embeddings: Embeds | Model | None) -> Self:  # noqa: ARG002
        """One like this, with `llm` and `embeddings` where it has none of its own; to be closed apart."""
        other = copy.copy(self)
        other.llm = _llm(llm) if self.llm is None else self.llm
        return other

    def close(self) -> None:
        """Free what was loaded by name, unless another metric uses it. It is loaded again when needed."""
        release(self)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


def plain_number(score: Score) -> float:
    """The value; nan for a score that is undefined or failed."""
    return math.nan if score.value is None else score.value


def _llm(given: Any) -> Judge | Model | None:
    if given == "":
        raise InputError("llm is empty; give a name from `localeval models list`, or leave it out.")
    if given is None or isinstance(given, Judge | str | os.PathLike):
        return given
    raise InputError(
        f"llm is a {type(given).__name__}, which localeval can't judge with; give a localeval.Judge, a name "
        "from `localeval models list`, or a path to a GGUF file."
    )
