"""Does the response answer the question, and do the contexts hold what the answer needs?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from localeval.metrics.score import Score
from localeval.prompts.options import DEFAULTS, Options

Records = Mapping[str, Any]


def answer_relevance(records: Records, options: Options = DEFAULTS) -> Score:
    """Mean over n questions drawn from the response of cos(user_input, question) x sufficiency; 0 to 1.

    Sufficiency is whether the response answers the question clearly and completely: `value` takes it as a
    flag (its probability against the threshold), `soft` as the probability. By `options.relevance` it is that
    "question"  of the real question, asked once (the default: it agrees best with people)
    "draws"     of each drawn question, as RAG evaluation tutorials do
    "ragas"     of the drawn question that has most of it
    Only the mean is clipped to 0..1. Undefined (`no_statements`) for a response without a word. Truth is not
    judged.

    >>> from localeval.judgements.questions import Drawn, QuestionsRecord
    >>> from localeval.judgements.similarity import SimilarityRecord
    >>> draws = (Drawn(question="A?", sufficient=0.9), Drawn(question="B?", sufficient=0.2))
    >>> questions = QuestionsRecord(draws=draws, distinct=1.0, sufficient=0.75)
    >>> answer_relevance({"questions": questions, "similarity": SimilarityRecord(cosines=(0.8, 0.6))})
    Score(value=0.7, soft=0.525, status='scored', reason='')
    """
    questions, cosines = records["questions"], records["similarity"].cosines
    if not questions.draws:
        return Score.undefined("no_statements")
    sufficient = [draw.sufficient for draw in questions.draws]
    if options.relevance == "question":
        sufficient = [questions.sufficient] * len(cosines)
    elif options.relevance == "ragas":
        sufficient = [max(sufficient)] * len(cosines)
    flags = [float(p >= options.threshold) for p in sufficient]
    return Score(_mean_product(cosines, flags), _mean_product(cosines, sufficient))


def context_relevance(records: Records, options: Options = DEFAULTS) -> Score:
    """Sentences of the contexts that the question needs / all of them; 0 to 1. Undefined: `no_contexts`.

    0 where the question can't be answered from the contexts ("Insufficient Information"). When it can, and
    which sentences it needs, `NeededRecord.decided` says. `soft` is the mean probability x that of being
    answerable.
    """
    record = records["needed"]
    probabilities = [sentence.probability for sentence in record.sentences]
    if not probabilities:
        return Score.undefined("no_contexts")
    needed = sum(record.decided(options.threshold)) / len(probabilities)
    return Score(needed, record.answerable * sum(probabilities) / len(probabilities))


def context_precision(records: Records, options: Options = DEFAULTS) -> Score:
    """Mean over the useful contexts' ranks k of precision@k; 0 to 1, and 0 where none is useful.

    A context is useful for the reference, or without one for the response. `soft` weighs each by its
    probability.

    >>> from localeval.judgements.context_usefulness import UsefulRecord
    >>> context_precision({"useful": UsefulRecord(contexts=(0.9, 0.1, 0.8), against="reference")}).value
    0.8333333333333333
    """
    useful = records["useful"].contexts
    flags = [float(p >= options.threshold) for p in useful]
    return Score(_average_precision(flags), _average_precision(useful))


def _average_precision(weights: Sequence[float]) -> float:
    found, total = 0.0, 0.0
    for rank, weight in enumerate(weights, 1):
        found += weight
        total += weight * found / rank
    return total / found if found else 0.0


def _mean_product(cosines: Sequence[float], weights: Sequence[float]) -> float:
    # A cosine may lie a little beyond 1, or below 0.
    mean = sum(c * w for c, w in zip(cosines, weights, strict=True)) / len(cosines)
    return min(max(mean, 0.0), 1.0)
