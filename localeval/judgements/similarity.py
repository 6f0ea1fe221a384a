"""How close is each drawn question to the real one? Cosines of embeddings; no judge is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localeval.engine.interface import EmbeddingModel
from localeval.errors import InputError
from localeval.judgements.base import (
    AnsweredBy,
    Choices,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.judged_text import language_of
from localeval.judgements.questions import Drawn
from localeval.options import Options
from localeval.samples import Sample
from localeval.text.display import shorten

UNIT_TOLERANCE = 1e-3  # a vector whose length is this near to 1 is not rescaled


class SimilarityRecord(Record):
    """The cosine of the real question with each drawn one, in the order of the draws, -1 to 1, unclipped.

    unrelated  the embedder's mean cosine of questions that have nothing to do with each other, in the
               language of the response; None where it was not measured
    """

    cosines: tuple[float, ...]
    unrelated: float | None = None

    def scaled(self) -> tuple[float, ...]:
        """Return the cosines on a scale on which unrelated questions have about 0; 1 stays 1.

        Those below `unrelated` become 0. Without it they are returned as they are.

        >>> SimilarityRecord(cosines=(1.0, 0.875, 0.5), unrelated=0.75).scaled()
        (1.0, 0.5, 0.0)
        >>> SimilarityRecord(cosines=(0.9, -0.1)).scaled()
        (0.9, -0.1)
        """
        zero = self.unrelated
        if zero is None:
            return self.cosines
        return tuple(max(0.0, (cosine - zero) / (1 - zero)) for cosine in self.cosines)


class SimilarityInputs(Inputs):
    """The real question, the drawn ones in order, and the embedder.

    language  of the response: "zh", or "en" for all others, whose prompts are English
    embedder  signature of the embedder
    """

    question: str
    drawn: tuple[str, ...]
    language: str
    embedder: dict[str, Any]


class Similarity(Judgement[SimilarityInputs, SimilarityRecord]):
    """How similar each drawn question is to the real one, by an embedder."""

    name = "similarity"
    version = "2"
    needs = ("questions",)
    record = SimilarityRecord

    def answered_by(self, options: Options) -> AnsweredBy:  # noqa: ARG002 (always the same)
        return "embedder"

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> SimilarityInputs:
        draws: tuple[Drawn, ...] = records["questions"].draws
        return SimilarityInputs(
            question=sample.user_input or "",
            drawn=tuple(draw.question for draw in draws),
            language="zh" if language_of(sample) == "zh" else "en",
            embedder=dict(choices.embedder),
        )

    def ask(self, inputs: SimilarityInputs, models: Models) -> SimilarityRecord:
        """Embed all questions of the sample in one call, without the questions of other samples.

        Raises InputError if the caller's own embedder returns vectors that would give a wrong score.
        """
        if not inputs.drawn:
            return SimilarityRecord(cosines=())
        # The same question twice is embedded once, so that equal questions have equal cosines.
        distinct = list(dict.fromkeys(inputs.drawn))
        by_question = dict(zip(distinct, cosines(models.embedder, inputs.question, distinct), strict=True))
        return SimilarityRecord(
            cosines=tuple(by_question[question] for question in inputs.drawn),
            unrelated=_unrelated_cosine(models.embedder, inputs),
        )


def cosines(embedder: EmbeddingModel, text: str, others: Sequence[str]) -> list[float]:
    """Return the cosine of a text with each of the others. Raises InputError for impossible vectors."""
    import numpy as np

    texts = [text, *others]
    rows = np.asarray(embedder.embed(texts), dtype=np.float32)  # the caller's own may return lists
    if rows.shape[:-1] != (len(texts),) or not rows.size or not np.isfinite(rows).all():
        raise InputError(
            f"the embedder {type(embedder).__name__} did not give one vector of finite numbers for each of "
            f"{len(texts)} texts; mend its embed, or choose another embedder."
        )
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    lengths[(lengths == 0) | (abs(lengths - 1) <= UNIT_TOLERANCE)] = 1
    units = (rows / lengths).astype(np.float32)
    values: list[float] = (units[1:] @ units[0]).tolist()
    return values


def _unrelated_cosine(embedder: EmbeddingModel, inputs: SimilarityInputs) -> float | None:
    """Return the embedder's mean cosine of unrelated questions, from its signature; None if not known.

    Raises InputError for what is no cosine.
    """
    by_language = inputs.embedder.get("unrelated") or {}
    cosine = by_language.get(inputs.language) if isinstance(by_language, Mapping) else ""
    if cosine is None:
        return None
    if not isinstance(cosine, int | float) or not -1 <= cosine < 1:
        raise InputError(
            f"the embedder {type(embedder).__name__} has {shorten(repr(by_language), 60)} as `unrelated` in "
            'its signature; give a cosine from -1 to below 1 by language, as {"en": 0.77}, or leave it out.'
        )
    return float(cosine)


register_judgement(Similarity())
