"""The metrics of ragas that are computed here, under the names, arguments and columns of ragas 0.4.3."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

from localeval.compat.original_metrics import (
    AnswerRelevance,
    EmbeddingMetric,
    Faithfulness,
    Model,
    OriginalMetric,
)
from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.metrics import Metric, register_criteria
from localeval.options import Options
from localeval.prompts import Criterion
from localeval.samples import Sample
from localeval.text.display import shorten


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
    columns = ("user_input", "reference", "retrieved_contexts")
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


class SemanticSimilarity(EmbeddingMetric):
    """Cosine of response and reference by an embedder; no judge is asked.

    Raises InputError for a `threshold`, which turns the score of ragas into 0 or 1.
    """

    row = "semantic_similarity"
    columns = ("reference", "response")

    def __init__(
        self, embeddings: EmbeddingModel | Model | None = None, *, threshold: float | None = None, **rest: Any
    ) -> None:
        if threshold is not None:
            raise InputError("semantic_similarity: threshold can't be used here; compare the score with it.")
        super().__init__(rest.pop("llm", None), embeddings, **rest)


class AnswerSimilarity(SemanticSimilarity):
    """See `SemanticSimilarity`."""

    called = "answer_similarity"


class TextMetric(OriginalMetric):
    """Base class of the metrics that compare response and reference as texts; no model is asked."""

    columns = ("reference", "response")


class ExactMatch(TextMetric):
    """1 if the words of response and reference are the same, else 0; ragas compares each character."""

    row = "exact_match"


class RougeScore(TextMetric):
    """F1 of the longest common subsequence of words, without stemming; ragas stems them.

    Raises InputError for another `rouge_type` or `mode`.
    """

    row = "rouge_l"
    called = "rouge_score"

    def __init__(
        self,
        llm: Judge | Model | None = None,
        *,
        rouge_type: str = "rougeL",
        mode: str = "fmeasure",
        **rest: Any,
    ) -> None:
        if (rouge_type, mode) != ("rougeL", "fmeasure"):
            raise InputError(
                f"rouge_score: rouge_type is {shorten(repr(rouge_type))} and mode {shorten(repr(mode))}; "
                "only 'rougeL' and 'fmeasure' can be used here."
            )
        super().__init__(llm, **rest)


class ChrfScore(TextMetric):
    """chrF2 of sacrebleu. Raises InputError for `kwargs`, the options of sacrebleu."""

    row = "chrf"
    called = "chrf_score"

    def __init__(
        self,
        llm: Judge | Model | None = None,
        *,
        kwargs: Mapping[str, Any] | None = None,
        **rest: Any,
    ) -> None:
        if kwargs:
            raise InputError("chrf_score: kwargs can't be used here; leave it out for chrF2.")
        super().__init__(llm, **rest)


class CHRFScore(ChrfScore):
    """See `ChrfScore`."""


class AnswerCorrectness(EmbeddingMetric):
    """0.75 x F1 of statements + 0.25 x cosine of response and reference, the default weights of ragas.

    Raises InputError for other `weights`.
    """

    row = "answer_correctness"
    columns = ("user_input", "response", "reference")

    def __init__(
        self,
        llm: Judge | Model | None = None,
        embeddings: EmbeddingModel | Model | None = None,
        *,
        weights: Sequence[float] = (0.75, 0.25),
        **rest: Any,
    ) -> None:
        if tuple(weights) != (0.75, 0.25):
            raise InputError(
                f"answer_correctness: weights is {shorten(repr(weights), 60)}; only [0.75, 0.25] can be used "
                "here: for others, weigh factual_correctness and semantic_similarity yourself."
            )
        super().__init__(llm, embeddings, **rest)


SHOWN_BY_RAGAS = ("user_input", "response", "retrieved_contexts", "reference", "reference_contexts")


class CriterionMetric(OriginalMetric):
    """Base class of the metrics that ask a question of one's own; see `localeval.Criterion`.

    columns  that the judge is shown; by default, as in ragas, all of `SHOWN_BY_RAGAS` that the data has
    """

    def __init__(
        self, llm: Judge | Model | None, criterion: Criterion, columns: Sequence[str] | None, **rest: Any
    ) -> None:
        self.row = criterion.name
        self.shows_all = columns is None
        super().__init__(llm, name=criterion.name, **rest)
        self._ask(criterion if columns is None else with_columns(criterion, columns))

    def _ask(self, criterion: Criterion) -> None:
        self.criterion = criterion
        self.columns = criterion.columns
        self.set_options(criteria=[criterion])

    @property
    def metric(self) -> Metric:
        [metric] = register_criteria([self.criterion])
        return metric

    def for_samples(self, samples: Sequence[Sample]) -> Self:
        if not self.shows_all:
            return self
        columns = [
            name for name in SHOWN_BY_RAGAS if any(getattr(sample, name) is not None for sample in samples)
        ]
        metric = copy.copy(self)
        # With no column at all the default ones are asked for, and reported as missing.
        metric._ask(with_columns(self.criterion, columns or self.columns))
        return metric


def with_columns(criterion: Criterion, columns: Sequence[str]) -> Criterion:
    return Criterion(**{**criterion.model_dump(), "columns": columns})


class AspectCritic(CriterionMetric):
    """1 if the judge says yes to the question `definition`, else 0.

    strictness  accepted, without effect: the same question gets the same answer
    """

    def __init__(
        self,
        name: str,
        definition: str,
        llm: Judge | Model | None = None,
        *,
        columns: Sequence[str] | None = None,
        strictness: int = 1,  # noqa: ARG002
        **rest: Any,
    ) -> None:
        super().__init__(llm, Criterion(name=name, question=definition), columns, **rest)
        self.definition = definition


class RubricsScore(CriterionMetric):
    """The level that the judge chooses, from 0 for the worst to 1 for the best; in ragas, from 1 to 5.

    rubrics  {"score1_description": the worst level, "score2_description": ...}
    """

    def __init__(
        self,
        name: str = "domain_specific_rubrics",
        rubrics: Mapping[str, str] | None = None,
        llm: Judge | Model | None = None,
        *,
        columns: Sequence[str] | None = None,
        **rest: Any,
    ) -> None:
        if not rubrics:
            raise InputError(
                f'{name}: give rubrics={{"score1_description": ..., "score2_description": ...}}.'
            )
        question: dict[Literal["en", "zh"], str] = {
            "en": "Which of the levels does the response reach?",
            "zh": "回答达到哪一个等级？",
        }
        numbered = sorted(rubrics.items(), key=lambda rubric: _number_in(rubric[0]))
        levels = [description for _, description in numbered]
        super().__init__(llm, Criterion(name=name, question=question, levels=levels), columns, **rest)
        self.rubrics = dict(rubrics)


class DomainSpecificRubrics(RubricsScore):
    """See `RubricsScore`.

    with_reference  accepted, without effect: a reference is shown where there is one
    """

    called = "domain_specific_rubrics"

    def __init__(
        self,
        llm: Judge | Model | None = None,
        rubrics: Mapping[str, str] | None = None,
        with_reference: bool = False,  # noqa: ARG002
        name: str = "",
        **rest: Any,
    ) -> None:
        super().__init__(name or self.called, rubrics, llm, **rest)


class RubricsScoreWithReference(DomainSpecificRubrics):
    """See `RubricsScore`."""

    called = "rubrics_score_with_reference"


class RubricsScoreWithoutReference(DomainSpecificRubrics):
    """See `RubricsScore`."""

    called = "rubrics_score_without_reference"


def _number_in(key: str) -> int:
    """Return the number in a key of rubrics. Raises InputError where it has none.

    >>> _number_in("score10_description")
    10
    """
    digits = re.search(r"[0-9]+", key)
    if digits is None:
        raise InputError(f"rubrics: {shorten(key)} has no number; write score1_description and so on.")
    return int(digits[0])


faithfulness = Faithfulness()
answer_correctness = AnswerCorrectness()
answer_similarity = AnswerSimilarity()
answer_relevancy = AnswerRelevancy()
context_precision = ContextPrecision()
context_recall = ContextRecall()
context_utilization = ContextUtilization()

DEFAULT_METRICS = (answer_relevancy, context_precision, faithfulness, context_recall)
"""What `evaluate` computes if no metric is named, as in ragas."""
