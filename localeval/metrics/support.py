"""Shares of statements that another text supports, or that none does. All from the same verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from localeval.judgements.calibration import all_supported
from localeval.metrics.score import Score
from localeval.prompts.options import DEFAULTS, Options

Records = Mapping[str, Any]


def probabilities(records: Records, judgement: str) -> list[float]:
    return [verdict.probability for verdict in records[judgement].verdicts]


def mean_of(shares: Sequence[float], threshold: float) -> Score:
    """`value` counts the shares of at least `threshold`, `soft` is their mean; both by how many there are."""
    if not shares:
        return Score.undefined("no_statements")
    return Score(sum(share >= threshold for share in shares) / len(shares), sum(shares) / len(shares))


def faithfulness(records: Records, options: Options = DEFAULTS) -> Score:
    """Supported statements / all statements of the response; 0 to 1, higher is better.

    `value` counts the statements whose probability is at least `options.threshold`, `soft` is the mean
    probability. Undefined (`no_statements`) when the response makes none. Source: RAGAS (Es et al. 2023).

    >>> from localeval.judgements.support import SupportRecord, Verdict
    >>> a, b = (Verdict(statement="S.", sentence=0, probability=p) for p in (0.9, 0.2))
    >>> faithfulness({"support": SupportRecord(verdicts=(a, b))})
    Score(value=0.5, soft=0.55, status='scored', reason='')
    """
    return mean_of(probabilities(records, "support"), options.threshold)


def full_support(records: Records, options: Options = DEFAULTS) -> Score:
    """1 if every statement of the response is supported, else 0; the mean is the share of such responses.

    `value` holds each statement's probability against `options.threshold`; `soft` is P(all supported): of a
    response that was read, what the head says (as in `groundedness`); else the product of the n probabilities
    to the power 1 / sqrt(n), which a calibration is fitted to (`localeval.judgements.calibration`). Higher is
    better. Undefined (`no_statements`) when the response makes none. Source: grounding of a whole response,
    as in FACTS Grounding (Jacovi et al. 2025).

    >>> from localeval.judgements.support import SupportRecord, Verdict
    >>> a, b = (Verdict(statement="S.", sentence=0, probability=p) for p in (0.9, 0.2))
    >>> full_support({"support": SupportRecord(verdicts=(a, b))}).value
    0.0
    """
    if not (shares := probabilities(records, "support")):
        return Score.undefined("no_statements")
    whole = records["support"].all_supported
    return Score(float(min(shares) >= options.threshold), all_supported(shares) if whole is None else whole)


def groundedness(records: Records, options: Options = DEFAULTS) -> Score:
    """Whether the contexts support every sentence of the response, as one reading tells; higher is better.

    `soft` is P(all supported), to which the head was fitted; `value` is 1 where that is at least
    `options.threshold`, else 0, so that the mean is the share of such responses. Undefined (`no_statements`)
    when no sentence claims anything. Source: a probe on hidden states (Azaria and Mitchell 2023; see
    localeval/judgements/calibration/README.md).
    """
    record = records["grounding"]
    if not record.sentences:
        return Score.undefined("no_statements")
    return Score(float(record.all_supported >= options.threshold), record.all_supported)


def faithfulness_hhem(records: Records, options: Options = DEFAULTS) -> Score:
    """As `faithfulness`, decided by HHEM-2.1-Open; `soft` is its raw mean probability. English only.

    Source: ragas' FaithfulnesswithHHEM; the model is Vectara's.
    """
    return mean_of(probabilities(records, "support_hhem"), options.threshold)


def context_recall(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements of the reference that the contexts support / all of them; 0 to 1, higher is better.

    Undefined (`no_reference_statements`) when the reference makes none. Source: ragas' LLMContextRecall;
    RAGChecker (Ru et al. 2024) calls it claim recall.
    """
    return _of_reference(mean_of(probabilities(records, "reference_in_contexts"), options.threshold))


def factual_correctness(records: Records, options: Options = DEFAULTS) -> Score:
    """Precision, recall or F-beta (`options.mode`, `options.beta`) of the response's statements.

    Precision: statements of the response that the reference supports / all of them. Recall: statements of
    the reference that the response supports / all of them. 0 to 1, higher is better; F is 0 where both are.
    A response without statements has recall 0 and F 0, and no precision (undefined, `no_statements`).
    Undefined (`no_reference_statements`) when the reference makes none. Source: ragas.
    """
    recall = _of_reference(mean_of(probabilities(records, "reference_in_response"), options.threshold))
    precision = mean_of(probabilities(records, "response_in_reference"), options.threshold)
    if recall.status != "scored":
        return recall
    if options.mode == "precision":
        return precision
    if precision.status != "scored":  # whatever the judge finds in a response that claims nothing
        return Score(0.0, 0.0)
    if options.mode == "recall":
        return recall
    return Score(
        _f(precision.value or 0.0, recall.value or 0.0, options.beta),
        _f(precision.soft or 0.0, recall.soft or 0.0, options.beta),
    )


def context_utilization(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements of the reference that contexts and response support / those that the contexts support.

    0 to 1, higher is better. Undefined: `no_reference_statements`, or `nothing_retrieved` where the contexts
    support none. Source: RAGChecker (Ru et al. 2024).
    """
    found = probabilities(records, "reference_in_contexts")
    told = probabilities(records, "reference_in_response")
    if not found:
        return Score.undefined("no_reference_statements")
    there = [t for f, t in zip(found, told, strict=True) if f >= options.threshold]
    if not there or not any(found):  # at a threshold of 0 even what is not there at all would count
        return Score.undefined("nothing_retrieved")
    both = sum(f * t for f, t in zip(found, told, strict=True))
    return Score(sum(t >= options.threshold for t in there) / len(there), both / sum(found))


def noise_sensitivity(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements of the response that are wrong (not in the reference), though the contexts support them.

    As a share of all statements; 0 to 1, lower is better. Undefined: `no_statements`. Source: RAGChecker
    (Ru et al. 2024), its two parts (relevant and irrelevant contexts) together.
    """
    return _both(records, options, lambda in_contexts, correct: (in_contexts, 1 - correct))


def hallucination(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements of the response that neither the reference nor the contexts support / all of them.

    0 to 1, lower is better. Undefined: `no_statements`. Source: RAGChecker (Ru et al. 2024).
    """
    return _both(records, options, lambda in_contexts, correct: (1 - in_contexts, 1 - correct))


def self_knowledge(records: Records, options: Options = DEFAULTS) -> Score:
    """Statements of the response that are right (in the reference), though no context supports them.

    As a share of all statements; 0 to 1. Undefined: `no_statements`. Source: RAGChecker (Ru et al. 2024).
    """
    return _both(records, options, lambda in_contexts, correct: (1 - in_contexts, correct))


def _both(records: Records, options: Options, of: Callable[[float, float], tuple[float, float]]) -> Score:
    """The share of statements with both properties that `of` makes of (in the contexts, in the reference).

    `value` decides each property at the threshold, `soft` multiplies their probabilities.
    """
    in_contexts = probabilities(records, "support")
    correct = probabilities(records, "response_in_reference")
    if not in_contexts:
        return Score.undefined("no_statements")
    pairs = list(zip(in_contexts, correct, strict=True))
    hard = [of(float(c >= options.threshold), float(r >= options.threshold)) for c, r in pairs]
    soft = [a * b for a, b in (of(c, r) for c, r in pairs)]
    return Score(sum(a * b for a, b in hard) / len(pairs), sum(soft) / len(pairs))


def _of_reference(score: Score) -> Score:
    return Score.undefined("no_reference_statements") if score.reason == "no_statements" else score


def _f(precision: float, recall: float, beta: float) -> float:
    weight = beta * beta
    below = weight * precision + recall
    return (1 + weight) * precision * recall / below if below else 0.0
