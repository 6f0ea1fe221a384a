"""The sentences of the contexts, and which of them are closest to a statement by their words."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from pydantic import BaseModel, ConfigDict

from localeval.claims.terms import terms
from localeval.text.sentences import split_sentences

MIN_ADDED_SHARE = 0.15  # of the weight of a statement's terms, which a further sentence must add


class Evidence(BaseModel):
    """One sentence of the contexts: its text, the index of its context, and its offsets there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    context: int
    start: int
    end: int


def context_sentences(contexts: Sequence[str]) -> tuple[Evidence, ...]:
    """Return every sentence of the contexts, in order."""
    return _sentences(tuple(contexts))


@lru_cache(maxsize=4)  # several judgements of a sample need the sentences of its contexts
def _sentences(contexts: tuple[str, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(text=sentence.text, context=i, start=sentence.start, end=sentence.end)
        for i, text in enumerate(contexts)
        for sentence in split_sentences(text)
    )


def rank_sentences(
    statements: Sequence[str], sentences: Sequence[Evidence], number: int
) -> list[tuple[Evidence, ...]]:
    """Return for each statement up to `number` sentences that together share most with it, closest first.

    The closest has the greatest weight of shared terms (rare terms weigh more); ties go to the first. Each
    further sentence adds the greatest weight of terms that those before it lack; ties go to the one that
    shares most, and it must add `MIN_ADDED_SHARE` of the weight of the statement's terms. Sharing terms
    does not prove support; a statement that shares none has no sentence.

    >>> tea = context_sentences(["Tea grows on hills. Coffee grows too. Tea needs rain."])
    >>> ranked = rank_sentences(["Tea on hills needs rain.", "Tea grows.", "Zebras!"], tea, 2)
    >>> [[sentence.text for sentence in closest] for closest in ranked]
    [['Tea grows on hills.', 'Tea needs rain.'], ['Tea grows on hills.'], []]
    """
    if not statements:
        return []
    stated = frozenset[str]().union(*map(terms, statements))
    index = TermIndex(sentences, stated)
    return [tuple(sentences[i] for i in index.closest(terms(statement), number)) for statement in statements]


class TermIndex:
    """Where the terms of statements occur in the sentences, and what each term weighs: rare ones more."""

    def __init__(self, sentences: Sequence[Evidence], stated: frozenset[str]) -> None:
        self._sentences = sentences
        self._places = defaultdict[str, list[int]](list)
        for i, sentence in enumerate(sentences):
            for term in terms(sentence.text) & stated:
                self._places[term].append(i)
        count = len(sentences)
        self._weights = {term: math.log(1 + count / len(found)) for term, found in self._places.items()}
        # A term that no sentence has weighs as much as one of a single sentence.
        self._unknown_weight = math.log(1 + count)

    def closest(self, stated: frozenset[str], number: int) -> list[int]:
        """Return the indices of up to `number` sentences that together share most with `stated`."""
        min_gain = MIN_ADDED_SHARE * self._weight(stated)
        shared = self._shares(stated)
        missing = stated
        chosen: list[int] = []
        while len(chosen) < number:
            gains = self._shares(missing) if chosen else shared
            best = self._best(gains, shared)
            if best is None or (chosen and gains[best] < min_gain):
                break
            chosen.append(best)
            shared[best] = 0.0
            missing -= terms(self._sentences[best].text)
        return chosen

    def _weight(self, stated: frozenset[str]) -> float:
        return math.fsum(self._weights.get(term, self._unknown_weight) for term in stated)

    def shared_weights(self, stated: frozenset[str]) -> list[list[float]]:
        """Return for each sentence the weights of the terms of `stated` that it has, in the terms' order."""
        shared: list[list[float]] = [[] for _ in self._sentences]
        for term in sorted(stated & self._places.keys()):
            for i in self._places[term]:
                shared[i].append(self._weights[term])
        return shared

    def _shares(self, stated: frozenset[str]) -> list[float]:
        """Return for each sentence the weight of the terms of `stated` that it has, 0 for none."""
        return [_sum_in_order(weights) for weights in self.shared_weights(stated)]

    def _best(self, gains: Sequence[float], shared: Sequence[float]) -> int | None:
        """Return the index of the sentence that gains most, or None where it shares nothing.

        Of several that gain most, it is the one that shares most; of several of these, the first.
        """
        if not gains:
            return None
        # Of equals, `max` returns the first.
        best = max(range(len(gains)), key=lambda i: (gains[i], shared[i]))
        return best if shared[best] else None


def _sum_in_order(weights: Sequence[float]) -> float:
    """Add one weight after the other, which gives the same bits with every version of Python."""
    total = 0.0
    for weight in weights:
        total += weight
    return total
