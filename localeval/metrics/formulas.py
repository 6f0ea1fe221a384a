"""The functions of the metrics: each computes a sample's score, 0 to 1, from its records.

`value` counts what has a probability of at least `options.threshold`; `soft` uses the probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localeval.fitted.curves import all_supported
from localeval.judgements import Records
from localeval.metrics.score import REASONS, Score
from localeval.options import DEFAULTS, Options

FACTS_WEIGHT = 0.75
"""Share of factual_correctness in answer_correctness; the rest is semantic_similarity."""


def share(records: Records, options: Options = DEFAULTS, judgement: str = "support", none: str = "") -> Score:
    """Supported statements / all statements that `judgement` decided.

    Undefined without one, for the reason `none`, or else for the reason why the response makes none (see
    `why_none`).

    >>> from localeval.judgements.support import SupportRecord, Verdict
    >>> a, b = (Verdict(statement="S.", sentence=0, probability=p) for p in (0.9, 0.2))
    >>> share({"support": SupportRecord(verdicts=(a, b))})
    Score(value=0.5, soft=0.55, status='scored', reason='')
    """
    probabilities = _probabilities(records, judgement)
    if not probabilities:
        return Score.undefined(none or why_none(records))
    n = len(probabilities)
    supported = sum(p >= options.threshold for p in probabilities)
    return Score(supported / n, sum(probabilities) / n)


def why_none(records: Records, judgement: str = "statements") -> str:
    """Return the reason code why nothing of the response is judged.

    The reason of all its parts, if it is one and has a meaning for a whole response; else "nothing_judged".
    "no_statements" for a response without words.

    >>> from localeval.judgements.judged_text import UnjudgedText
    >>> from localeval.judgements.statements import StatementsRecord
    >>> greeting = UnjudgedText(text="Hello!", start=0, end=6, reason="courtesy")
    >>> why_none({"statements": StatementsRecord(sentences=(), language="en", unjudged=(greeting,))})
    'courtesy'
    """
    unjudged = getattr(records.get(judgement), "unjudged", ())
    reasons = {stretch.reason for stretch in unjudged} - {"no_words"}
    if len(reasons) > 1:
        # "Sorry, ..." and a file's name beside a refusal.
        reasons -= {"courtesy", "source"}
    if not reasons:
        return "courtesy" if any(stretch.reason == "courtesy" for stretch in unjudged) else "no_statements"
    [reason, *others] = sorted(reasons)
    return "nothing_judged" if others or reason not in REASONS else reason


def full_support(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if every statement of the response is supported, else 0; undefined (`no_statements`) without one.

    `soft` is P(all supported), at most the least probability: the head's, if one read the response; else
    `calibration.all_supported`, to which a calibration is fitted.

    >>> from localeval.judgements.support import SupportRecord, Verdict
    >>> a, b = (Verdict(statement="S.", sentence=0, probability=p) for p in (0.9, 0.2))
    >>> full_support({"support": SupportRecord(verdicts=(a, b))}).value
    0.0
    """
    probabilities = _probabilities(records, "support")
    if not probabilities:
        return Score.undefined(why_none(records))
    by_head = records["support"].all_supported
    soft = all_supported(probabilities) if by_head is None else min(by_head, *probabilities)
    return Score(float(min(probabilities) >= options.threshold), soft)


def groundedness(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if P(all sentences of the response are supported), by a head, is at least the threshold, else 0.

    `soft` is that probability, at most the least sentence's. Undefined (`no_statements`) when no sentence
    claims anything. A probe on hidden states: Azaria and Mitchell 2023.
    """
    record = records["grounding"]
    if not record.sentences:
        return Score.undefined(why_none(records, "grounding"))
    soft = min(record.all_supported, *(sentence.probability for sentence in record.sentences))
    return Score(float(soft >= options.threshold), soft)


def factual_correctness(records: Records, options: Options = DEFAULTS) -> Score:
    """Precision, recall or F-beta (`options.mode`, `options.beta`) of the response's statements.

    Precision: statements of the response that the reference supports / all of them; undefined
    (`no_statements`) without one, where recall and F are 0. Recall: statements of the reference that the
    response supports / all of them. Undefined (`no_reference_statements`) when the reference makes none.
    """
    recall = share(records, options, "reference_in_response", "no_reference_statements")
    precision = share(records, options, "response_in_reference")
    if recall.status != "scored":
        return recall
    if options.mode == "precision":
        return precision
    if precision.status != "scored":
        # Whatever the judge found in a response that claims nothing.
        return Score(0.0, 0.0)
    if options.mode == "recall":
        return recall
    return Score(
        f_score(precision.value or 0.0, recall.value or 0.0, options.beta),
        f_score(precision.soft or 0.0, recall.soft or 0.0, options.beta),
    )


def f_score(precision: float, recall: float, beta: float = 1.0) -> float:
    """Return F-beta of precision and recall, 0 if both are; with a `beta` of 1 their harmonic mean.

    >>> f_score(1.0, 0.5)
    0.6666666666666666
    """
    weight = beta * beta
    denominator = weight * precision + recall
    if not denominator:
        return 0.0
    # The rounding of some betas makes it a bit more than 1.
    return min((1 + weight) * precision * recall / denominator, 1.0)


def context_utilization(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements of the reference that contexts and response support / those that the contexts support.

    Undefined: `no_reference_statements`, or `nothing_retrieved` if the contexts support none.
    """
    in_contexts = _probabilities(records, "reference_in_contexts")
    in_response = _probabilities(records, "reference_in_response")
    if not in_contexts:
        return Score.undefined("no_reference_statements")
    pairs = list(zip(in_contexts, in_response, strict=True))
    threshold = options.threshold
    # Of each statement in the contexts, whether it is in the response, too.
    used = [response >= threshold for context, response in pairs if context >= threshold]
    # At a threshold of 0 a probability of 0 would count as supported.
    if not used or not any(in_contexts):
        return Score.undefined("nothing_retrieved")
    soft = sum(context * response for context, response in pairs) / sum(in_contexts)
    return Score(sum(used) / len(used), soft)


def share_of_kind(records: Records, options: Options, *, in_contexts: bool, in_reference: bool) -> Score:
    """Statements of the response that are (not) in the contexts and (not) in the reference / all of them.

    `soft` multiplies. Noise sensitivity adds up RAGChecker's two, for relevant and irrelevant contexts.
    """
    supported = _probabilities(records, "support")
    correct = _probabilities(records, "response_in_reference")
    if not supported:
        return Score.undefined(why_none(records))
    pairs = list(zip(supported, correct, strict=True))
    threshold = options.threshold
    kind = (in_contexts, in_reference)
    of_kind = [(context >= threshold, reference >= threshold) == kind for context, reference in pairs]
    products = [
        _probability_of(in_contexts, context) * _probability_of(in_reference, reference)
        for context, reference in pairs
    ]
    return Score(sum(of_kind) / len(pairs), sum(products) / len(pairs))


def _probability_of(outcome: bool, probability_of_yes: float) -> float:
    return probability_of_yes if outcome else 1 - probability_of_yes


def answer_relevance(records: Records, options: Options = DEFAULTS) -> Score:
    """Mean over n questions drawn from the response of cos(user_input, question) x sufficiency; 0 to 1.

    Sufficiency is whether the response answers a question clearly and completely: the real question, asked
    once (`options.relevance` "question", which agrees best with people), each drawn one ("draws"), or the
    drawn one with the highest sufficiency ("ragas"). A drawn question with a word that the response does not
    have (`Drawn.foreign`) counts 0. `value` has the cosines themselves. `soft` has
    max(0, (cos - u) / (1 - u)), where u is the embedder's mean cosine of unrelated questions, if it is known
    (`SimilarityRecord.unrelated`). Only the mean is clipped to 0..1. Undefined (`no_statements`) for a
    response without a word.

    >>> from localeval.judgements.questions import Drawn, QuestionsRecord
    >>> from localeval.judgements.similarity import SimilarityRecord
    >>> draws = (Drawn(question="A?", sufficient=0.9), Drawn(question="B?", sufficient=0.2))
    >>> questions = QuestionsRecord(draws=draws, distinct=1.0, sufficient=0.75)
    >>> answer_relevance({"questions": questions, "similarity": SimilarityRecord(cosines=(0.8, 0.6))})
    Score(value=0.7, soft=0.525, status='scored', reason='')
    >>> scaled = SimilarityRecord(cosines=(1.0, 0.6), unrelated=0.75)
    >>> answer_relevance({"questions": questions, "similarity": scaled})
    Score(value=0.8, soft=0.375, status='scored', reason='')
    """
    questions = records["questions"]
    similarity = records["similarity"]
    if not questions.draws:
        return Score.undefined("no_statements")
    sufficient = [draw.sufficient for draw in questions.draws]
    if options.relevance == "question":
        sufficient = [questions.sufficient] * len(sufficient)
    elif options.relevance == "ragas":
        sufficient = [max(sufficient)] * len(sufficient)
    flags = [float(p >= options.threshold) for p in sufficient]
    for i, draw in enumerate(questions.draws):
        if draw.foreign:
            flags[i] = 0.0
            sufficient[i] = 0.0
    return Score(_mean_product(similarity.cosines, flags), _mean_product(similarity.scaled(), sufficient))


def context_relevance(records: Records, options: Options = DEFAULTS) -> Score:
    """Sentences of the contexts that the question needs / all of them; 0 to 1. Undefined: `no_contexts`.

    0 if they can't answer the question. `NeededRecord.decided` decides whether they can, and which sentences
    the question needs. `soft` is the mean probability x the probability of being answerable.
    """
    record = records["needed"]
    probabilities = [sentence.probability for sentence in record.sentences]
    if not probabilities:
        return Score.undefined("no_contexts")
    needed = sum(record.decided(options.threshold)) / len(probabilities)
    return Score(needed, record.answerable * sum(probabilities) / len(probabilities))


def context_precision(records: Records, options: Options = DEFAULTS) -> Score:
    """Mean over the useful contexts' ranks k of precision@k; 0 to 1, and 0 if none is useful.

    A context is useful for the reference or, without one, for the response. `soft` weights each by its
    probability.

    >>> from localeval.judgements.useful_contexts import UsefulRecord
    >>> context_precision({"useful": UsefulRecord(contexts=(0.9, 0.1, 0.8), against="reference")}).value
    0.8333333333333333
    """
    useful = records["useful"].contexts
    flags = [float(p >= options.threshold) for p in useful]
    return Score(_average_precision(flags), _average_precision(useful))


def context_usefulness(records: Records, options: Options = DEFAULTS) -> Score:
    """Useful contexts / all contexts, whatever their ranks; `soft` is the mean probability.

    >>> from localeval.judgements.useful_contexts import UsefulRecord
    >>> context_usefulness({"useful": UsefulRecord(contexts=(0.9, 0.1), against="reference")})
    Score(value=0.5, soft=0.5, status='scored', reason='')
    """
    useful = records["useful"].contexts
    number = sum(p >= options.threshold for p in useful)
    return Score(number / len(useful), sum(useful) / len(useful))


def semantic_similarity(records: Records, options: Options = DEFAULTS) -> Score:  # noqa: ARG001
    """Cosine of response and reference, 0 to 1: one below 0 counts as 0.

    >>> from localeval.judgements.semantic_similarity import SemanticSimilarityRecord
    >>> semantic_similarity({"semantic_similarity": SemanticSimilarityRecord(cosine=-0.1)}).value
    0.0
    """
    return Score(min(max(records["semantic_similarity"].cosine, 0.0), 1.0))


def answer_correctness(records: Records, options: Options = DEFAULTS) -> Score:
    """0.75 x factual_correctness as F-beta + 0.25 x semantic_similarity, ragas' weights.

    Undefined as factual_correctness is.
    """
    facts = factual_correctness(records, replace(options, mode="f1"))
    similarity = semantic_similarity(records).value
    if facts.value is None or facts.soft is None or similarity is None:
        return facts
    similarity_part = (1 - FACTS_WEIGHT) * similarity
    return Score(FACTS_WEIGHT * facts.value + similarity_part, FACTS_WEIGHT * facts.soft + similarity_part)


def _probabilities(records: Records, judgement: str) -> list[float]:
    return [verdict.probability for verdict in records[judgement].verdicts]


def _average_precision(weights: Sequence[float]) -> float:
    cumulative = 0.0
    total = 0.0
    for rank, weight in enumerate(weights, 1):
        cumulative += weight
        total += weight * cumulative / rank
    return total / cumulative if cumulative else 0.0


def _mean_product(cosines: Sequence[float], weights: Sequence[float]) -> float:
    # A cosine may lie a little beyond 1, or below 0.
    mean = sum(c * w for c, w in zip(cosines, weights, strict=True)) / len(cosines)
    return min(max(mean, 0.0), 1.0)
