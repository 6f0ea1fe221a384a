"""The metrics of ragas that are computed here, under the names, arguments and columns of ragas 0.4.3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from localeval.compat.metrics import AnswerRelevance, Faithfulness, Model, OriginalMetric
from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics import Metric
from localeval.options import Options
from localeval.samples import Sample


class ResponseRelevancy(AnswerRelevance):
    """Mean cosine of `strictness` drawn questions to the question; 0 where none of them is sufficient.

    The score of `localeval.evaluate` with relevance="ragas", questions=3.
    """

    called = "answer_relevancy"

    def __init__(
        self,
        llm: Judge | Model | None = None,
        embeddings: EmbeddingModel | Model | None = None,
        *,
        strictness: int = 3,
        **rest: Any,
    ) -> None:
        super().__init__(llm, embeddings, **{"questions": strictness, **rest})

    def read(self, options: Mapping[str, Any]) -> Options:
        return super().read({"relevance": "ragas", **options})

    @property
    def strictness(self) -> int:
        """The number of questions that are drawn."""
        return self.options.questions

    @strictness.setter
    def strictness(self, number: int) -> None:
        self.set_options(questions=number)


class AnswerRelevancy(ResponseRelevancy):
    """See `ResponseRelevancy`."""


class _ContextPrecision(OriginalMetric):
    """Mean over the useful contexts' ranks k of precision@k.

    useful_for  the text that each context is compared with
    """

    row = "context_precision"
    useful_for: ClassVar[Literal["reference", "response"]]

    @property
    def metric(self) -> Metric:
        either = (self.useful_for,)
        return replace(super().metric, columns=(*super().metric.columns, *either), either=either)

    def judged_sample(self, sample: Sample) -> Sample:
        """Return the sample without the text that the contexts are not compared with."""
        other = "response" if self.useful_for == "reference" else "reference"
        return sample.model_copy(update={other: None})


class LLMContextPrecisionWithReference(_ContextPrecision):
    """Mean over the ranks k of contexts that are useful for the reference of precision@k."""

    called = "llm_context_precision_with_reference"
    columns = ("user_input", "retrieved_contexts", "reference")
    useful_for = "reference"


class ContextPrecisionWithReference(LLMContextPrecisionWithReference):
    """See `LLMContextPrecisionWithReference`."""

    called = "context_precision_with_reference"


class ContextPrecision(LLMContextPrecisionWithReference):
    """See `LLMContextPrecisionWithReference`."""

    called = "context_precision"


class LLMContextPrecisionWithoutReference(_ContextPrecision):
    """Mean over the ranks k of contexts that are useful for the response of precision@k."""

    called = "llm_context_precision_without_reference"
    columns = ("user_input", "response", "retrieved_contexts")
    useful_for = "response"


class ContextPrecisionWithoutReference(LLMContextPrecisionWithoutReference):
    """See `LLMContextPrecisionWithoutReference`."""

    called = "context_precision_without_reference"


class ContextUtilization(LLMContextPrecisionWithoutReference):
    """See `LLMContextPrecisionWithoutReference`. The metric context_utilization of localeval is another."""

    called = "context_utilization"


class LLMContextRecall(OriginalMetric):
    """Statements of the reference that the contexts support / all of them."""

    row = "context_recall"
    columns = ("user_input", "retrieved_contexts", "reference")


class ContextRecall(LLMContextRecall):
    """See `LLMContextRecall`."""


class NoiseSensitivity(OriginalMetric):
    """Statements of the response that the contexts support and the reference does not / all of them.

    ragas has a `mode`, for errors from relevant or from irrelevant contexts; here both count, and the column
    has no mode. Raises InputError for a mode.
    """

    row = "noise_sensitivity"
    columns = ("user_input", "response", "reference", "retrieved_contexts")

    def __init__(self, llm: Judge | Model | None = None, mode: str | None = None, **rest: Any) -> None:
        if mode is not None:
            raise InputError(
                "noise_sensitivity: relevant and irrelevant contexts are not told apart here; leave mode out "
                "for the errors from both."
            )
        super().__init__(llm, **rest)


faithfulness = Faithfulness()
answer_relevancy = AnswerRelevancy()
context_precision = ContextPrecision()
context_recall = ContextRecall()
context_utilization = ContextUtilization()

DEFAULT_METRICS = (answer_relevancy, context_precision, faithfulness, context_recall)
"""What `evaluate` computes if no metric is named, as in ragas."""
