"""How close is each drawn question to the real one? Cosines of embeddings; no judge is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from localeval.errors import InputError
from localeval.judgements.context import JudgeContext, Record
from localeval.judgements.questions import Drawn
from localeval.samples import Sample

UNIT = 1e-3  # a vector whose length is this near to 1 is not rescaled


class SimilarityRecord(Record):
    """The cosine of the real question with each drawn one, in the order of the draws, -1 to 1, unclipped."""

    cosines: tuple[float, ...]


def key_fields(context: JudgeContext, _: Sample) -> dict[str, Any]:
    return context.embedder().signature()


def ask(context: JudgeContext, sample: Sample, records: Mapping[str, Any]) -> SimilarityRecord:
    """Embed all questions of the sample in one call, without those of other samples.

    Raises InputError if the caller's own embedder returns vectors that would give a wrong score.
    """
    import numpy as np

    draws: tuple[Drawn, ...] = records["questions"].draws
    if not draws:
        return SimilarityRecord(cosines=())
    # The same question twice is embedded once, so that equal questions have equal cosines.
    distinct = list(dict.fromkeys(draw.question for draw in draws))
    embedder, texts = context.embedder(), [sample.user_input or "", *distinct]
    rows = np.asarray(embedder.embed(texts), dtype=np.float32)  # the caller's own may return lists
    if rows.shape[:-1] != (len(texts),) or not rows.size or not np.isfinite(rows).all():
        raise InputError(
            f"the embedder {type(embedder).__name__} did not give one vector of finite numbers for each of "
            f"{len(texts)} texts; mend its embed, or choose another embedder."
        )
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    lengths[(lengths == 0) | (abs(lengths - 1) <= UNIT)] = 1
    units = (rows / lengths).astype(np.float32)
    cosines = dict(zip(distinct, (units[1:] @ units[0]).tolist(), strict=True))
    return SimilarityRecord(cosines=tuple(cosines[draw.question] for draw in draws))
