"""How close is each drawn question to the real one? Cosines of embeddings; no judge is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localeval.judgements.desk import Desk, Record
from localeval.judgements.questions import QuestionsRecord
from localeval.samples import Sample


class SimilarityRecord(Record):
    """The cosine of the real question with each drawn one, in the order of the draws, -1 to 1, as it came."""

    cosines: tuple[float, ...]


def recipe(desk: Desk, _: Sample) -> dict[str, Any]:
    return desk.embedder.signature()


def ask(desk: Desk, sample: Sample, records: Mapping[str, Any]) -> SimilarityRecord:
    """All questions of the sample in one call of the embedder, apart from other samples'."""
    import numpy as np

    made: QuestionsRecord = records["questions"]
    if not made.draws:
        return SimilarityRecord(cosines=())
    # The same question twice is embedded once, so that equal questions have equal cosines.
    different = list(dict.fromkeys(draw.question for draw in made.draws))
    # An embedder of the caller's may give lists.
    vectors = np.asarray(desk.embedder.embed([sample.user_input or "", *different]), dtype=np.float32)
    cosines = dict(zip(different, (vectors[1:] @ vectors[0]).tolist(), strict=True))
    return SimilarityRecord(cosines=tuple(cosines[draw.question] for draw in made.draws))
