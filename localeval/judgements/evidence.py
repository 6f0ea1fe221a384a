"""The context sentence that a statement shares most with: arithmetic, no model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from localeval.judgements.desk import Record
from localeval.sentences import split
from localeval.texts import language

_TERM = re.compile(r"[㐀-鿿豈-﫿]+|[^\W㐀-鿿豈-﫿]+")


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


def evidence_for(statements: Sequence[str], sentences: Sequence[Evidence]) -> list[Evidence | None]:
    """For each statement the sentence whose shared terms weigh most (rare terms more), the first of equals.

    None where no sentence shares a term. It points a reader to the place; it does not prove support.
    """
    terms_of = [terms(s.text) for s in sentences]
    spread = Counter(term for own in terms_of for term in own)
    weight = {term: math.log(1 + len(sentences) / n) for term, n in spread.items()}
    found: list[Evidence | None] = []
    for statement in statements:
        wanted = terms(statement)
        shares = [sum(weight[t] for t in sorted(own & wanted)) for own in terms_of]
        best = max(range(len(shares)), key=lambda i: (shares[i], -i), default=None)
        found.append(sentences[best] if best is not None and shares[best] > 0 else None)
    return found


def terms(text: str) -> frozenset[str]:
    """Words in lower case; Han text as pairs of neighbouring characters, a lone one as itself.

    >>> sorted(terms("Tea 青岚茶"))
    ['tea', '岚茶', '青岚']
    """
    found: set[str] = set()
    for run in _TERM.findall(text.lower()):
        if "㐀" <= run[0] <= "﫿" and len(run) > 1:
            found.update(run[i : i + 2] for i in range(len(run) - 1))
        else:
            found.add(run)
    return frozenset(found)
