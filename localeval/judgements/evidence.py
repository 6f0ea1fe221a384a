"""The context sentence that a statement shares most with: arithmetic, no model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from localeval.judgements.desk import Record
from localeval.sentences import split
from localeval.texts import language

LEAST_ADDED = 0.15
"""Of the weight of a statement's terms, what a further sentence adds at least."""

TERM = re.compile(r"[㐀-鿿豈-﫿]+|[^\W㐀-鿿豈-﫿]+")


class Evidence(Record):
    """One sentence of the contexts: its text, the number of its context, and its place there."""

    text: str
    context: int
    start: int
    end: int


def context_sentences(contexts: Sequence[str]) -> tuple[Evidence, ...]:
    """Every sentence of the contexts, in order."""
    return _sentences(tuple(contexts))


@lru_cache(maxsize=4)  # several judgements of a sample ask for those of the same contexts
def _sentences(contexts: tuple[str, ...]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(text=s.text, context=i, start=s.start, end=s.end)
        for i, text in enumerate(contexts)
        for s in split(text, language(text))
    )


def closest(
    statements: Sequence[str], sentences: Sequence[Evidence], number: int
) -> list[tuple[Evidence, ...]]:
    """For each statement up to `number` sentences that together share most with it, the closest one first.

    That is the one whose shared terms weigh most (rare terms more), the first of equals: it points a reader
    to the place and does not prove support. Each further one adds most of what those before it lack, of
    equals the one that shares most, and is taken only where that is `LEAST_ADDED` of the weight of all the
    statement's terms: one that says little new costs a judge more than it tells. Often there is none that
    shares a term.

    >>> tea = context_sentences(["Tea grows on hills. Coffee grows too. Tea needs rain."])
    >>> [[one.text for one in own] for own in closest(["Tea on hills needs rain.", "Tea grows."], tea, 2)]
    [['Tea grows on hills.', 'Tea needs rain.'], ['Tea grows on hills.']]
    """
    if not statements:
        return []  # nothing is asked, so nothing is indexed
    places = places_of([terms(s.text) for s in sentences])
    weight = {term: math.log(1 + len(sentences) / len(where)) for term, where in places.items()}
    of_unknown = math.log(1 + len(sentences))  # as of a term that one sentence has
    found = []
    for statement in statements:
        wanted, chosen = terms(statement), list[int]()
        least = LEAST_ADDED * math.fsum(weight.get(term, of_unknown) for term in wanted)
        shares = shared(wanted, len(sentences), places, weight)
        sharing = [i for i, share in enumerate(shares) if share > 0]
        while sharing and len(chosen) < number:
            new = shared(wanted, len(sentences), places, weight) if chosen else shares
            ranked = {i: (new[i], shares[i]) for i in sharing}
            best = max(sharing, key=ranked.__getitem__)  # the first of equals
            if chosen and new[best] < least:
                break
            sharing.remove(best)
            chosen.append(best)
            wanted -= terms(sentences[best].text)
        found.append(tuple(sentences[i] for i in chosen))
    return found


def places_of(terms_of: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    """Term -> the numbers of the sentences that have it, in order."""
    places: dict[str, list[int]] = {}
    for i, own in enumerate(terms_of):
        for term in own:
            places.setdefault(term, []).append(i)
    return places


def shared(
    wanted: frozenset[str], number: int, places: Mapping[str, Sequence[int]], weight: Mapping[str, float]
) -> list[float]:
    """For each of `number` sentences the weight of the terms of `wanted` that it has; 0 where it has none.

    Summed in the order of the terms' letters, so that a sum has always the same bits.
    """
    shares = [0.0] * number
    for term in sorted(wanted & places.keys()):
        of_one = weight[term]
        for i in places[term]:
            shares[i] += of_one
    return shares


@lru_cache(maxsize=256)  # a sentence is looked at by several judgements
def terms(text: str) -> frozenset[str]:
    """Words in lower case; Han text as pairs of neighbouring characters, a lone one as itself.

    >>> sorted(terms("Tea 青岚茶"))
    ['tea', '岚茶', '青岚']
    """
    runs = TERM.findall(text.lower())
    if text.isascii():  # no Han among them
        return frozenset(runs)
    found: set[str] = set()
    for run in runs:
        if "㐀" <= run[0] <= "﫿" and len(run) > 1:
            found.update(run[i : i + 2] for i in range(len(run) - 1))
        else:
            found.add(run)
    return frozenset(found)
