"""How close is the response to the reference? The cosine of their embeddings; no judge is asked."""

from __future__ import annotations

from typing import Any

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
from localeval.judgements.judged_text import response_of
from localeval.judgements.similarity import cosines
from localeval.options import Options
from localeval.samples import Sample
from localeval.text.sentences import has_words


class SemanticSimilarityRecord(Record):
    """The cosine of response and reference, -1 to 1, unclipped; 0 for a response without a word."""

    cosine: float


class SemanticSimilarityInputs(Inputs):
    """Both texts, the response without thoughts, and the signature of the embedder."""

    response: str
    reference: str
    embedder: dict[str, Any]


class SemanticSimilarity(Judgement[SemanticSimilarityInputs, SemanticSimilarityRecord]):
    """How similar the response is to the reference, by an embedder."""

    name = "semantic_similarity"
    version = "1"
    record = SemanticSimilarityRecord

    def answered_by(self, options: Options) -> AnsweredBy:  # noqa: ARG002 (always the same)
        return "embedder"

    def inputs(self, sample: Sample, records: Records, choices: Choices) -> SemanticSimilarityInputs:  # noqa: ARG002
        return SemanticSimilarityInputs(
            response=response_of(sample),
            reference=sample.reference or "",
            embedder=dict(choices.embedder),
        )

    def ask(self, inputs: SemanticSimilarityInputs, models: Models) -> SemanticSimilarityRecord:
        """Raises InputError if the caller's own embedder returns vectors that would give a wrong score."""
        if not has_words(inputs.response):
            return SemanticSimilarityRecord(cosine=0.0)
        [cosine] = cosines(models.embedder, inputs.reference, [inputs.response])
        return SemanticSimilarityRecord(cosine=cosine)


register_judgement(SemanticSimilarity())
