"""Does the response answer the question, and do the contexts hold what the answer needs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localeval.metrics.score import Score
from localeval.prompts.options import DEFAULTS, Options

Records = Mapping[str, Any]


def answer_relevance(records: Records, options: Options = DEFAULTS) -> Score:
    """Mean over n questions drawn from the response of cos(user_input, question) x sufficiency; 0 to 1.

    Higher is better. Sufficiency is whether the response answers the question clearly and completely:
    `value` takes it as a flag (its probability against the threshold), `soft` as the probability. By
    `options.relevance` it is asked of
    "question"  the real question, once (the default: it agrees best with people)
    "draws"     each drawn question, as RAG evaluation tutorials do
    "ragas"     each drawn question, and the flag is 0 only where no draw is sufficient
    Only the mean is clipped to 0..1. Undefined (`no_statements`) for a response without a word. Truth is not
    judged. Source: RAGAS (Es et al. 2023).

    >>> from localeval.judgements.questions import Drawn, QuestionsRecord
    >>> from localeval.judgements.similarity import SimilarityRecord
    >>> draws = (Drawn(question="A?", sufficient=0.9), Drawn(question="B?", sufficient=0.2))
    >>> made = QuestionsRecord(draws=draws, distinct=1.0, sufficient=0.75)
    >>> answer_relevance({"questions": made, "similarity": SimilarityRecord(cosines=(0.8, 0.6))})
    Score(value=0.7, soft=0.525, status='scored', reason='')
    """
    made = records["questions"]
    cosines = records["similarity"].cosines
    if not made.draws:
        return Score.undefined("no_statements")
    shares = [draw.sufficient for draw in made.draws]
    if options.relevance == "question":
        shares = [made.sufficient] * len(cosines)
    elif options.relevance == "ragas":
        shares = [max(shares)] * len(cosines)
    flags = [float(share >= options.threshold) for share in shares]
    return Score(_mean_product(cosines, flags), _mean_product(cosines, shares))


def context_relevance(records: Records, options: Options = DEFAULTS) -> Score:
    """Sentences of the contexts that the question needs / all of them; 0 to 1, higher is better.

    0 where the question can't be answered from the contexts ("Insufficient Information"). When it can, and
    that the most probable sentence is needed and those nearly as probable: `NeededRecord.decided`. `soft` is
    the mean probability x that of being answerable. Undefined: `no_contexts`. Source: RAGAS (Es et al. 2023).
    """
    made = records["needed"]
    shares = [sentence.probability for sentence in made.sentences]
    if not shares:
        return Score.undefined("no_contexts")
    needed = sum(made.decided(options.threshold)) / len(shares)
    return Score(needed, made.answerable * sum(shares) / len(shares))


def context_precision(records: Records, options: Options = DEFAULTS) -> Score:
    """Mean over the useful contexts' ranks k of precision@k; 0 to 1, higher is better.

    Whether a context is of use is held against the reference, or without one against the response. 0 where
    none is. `soft` weighs each context by its probability. Source: ragas' LLMContextPrecision.

    >>> from localeval.judgements.useful import UsefulRecord
    >>> context_precision({"useful": UsefulRecord(contexts=(0.9, 0.1, 0.8), against="reference")}).value
    0.8333333333333333
    """
    shares = records["useful"].contexts
    flags = [float(share >= options.threshold) for share in shares]
    return Score(_average_precision(flags), _average_precision(shares))


def _average_precision(weights: Sequence[float]) -> float:
    found, total = 0.0, 0.0
    for rank, weight in enumerate(weights, 1):
        found += weight
        total += weight * found / rank
    return total / found if found else 0.0


def _mean_product(cosines: Sequence[float], weights: Sequence[float]) -> float:
    """The mean product, clipped to 0..1: a cosine may lie a little beyond 1, or below 0."""
    mean = sum(c * w for c, w in zip(cosines, weights, strict=True)) / len(cosines)
    return min(max(mean, 0.0), 1.0)
