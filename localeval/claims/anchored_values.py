"""Find the values of a sentence that may belong to something else, in a response that is read as a whole.

A value of `localeval.claims.replaceable_values` is compared only where words before it tie it to something,
and where the contexts may say another one of that.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence

from localeval.claims.evidence import TermIndex, context_sentences
from localeval.claims.replaceable_values import (
    CELL,
    Replaceable,
    Value,
    all_replaceable_values,
    is_name,
)
from localeval.claims.terms import terms
from localeval.text.word_lists import read_lists

# Further ones cost almost nothing: this only bounds the time for contexts full of names.
MAX_ALTERNATIVES = 60
_WORDS = read_lists("claims", "en")["values"]
_OPENERS = frozenset(_WORDS["openers"].split())
_BEFORE_PREDICATES = frozenset(_WORDS["before_predicates"].split())
# Words that a sentence shares with any other.
_SMALL_WORDS = _OPENERS | _BEFORE_PREDICATES | frozenset(_WORDS["no_units"].split())
_LETTER_OR_DIGIT = frozenset(string.ascii_letters + string.digits)
_WORD = re.compile(r"\w+")
# The words with a capital, and the spaces between them, at the end of a text: a name goes on behind them.
_NAME_SO_FAR = re.compile(r"(?:[A-Z][\w'’-]*\s+)+$")


def anchored_values(sentence: str, question: str, contexts: Sequence[str]) -> list[Replaceable]:
    """Return the values of `sentence` that may belong to something else, each with its alternatives.

    Left out are values with which the sentence opens, or which only small words precede, and a name that is
    the first of several values, unless something is said to be it. These tell what the sentence is about:
    that another one would have been as likely there does not make it wrong.

    Left out are also alternatives of prose whose sentence in the contexts shares less with the rest of the
    sentence than the value's own sentence does: another text may name another heat for another dish.

    >>> text = "Ann Lee led the mill from 1820. Bert Roe led the barn from 1851."
    >>> [(r.value.text, r.alternatives) for r in anchored_values("Ann Lee led it from 1851.", "", [text])]
    [('1851', ('1820',))]
    >>> anchored_values("Bert Roe led it from 1851.", "", [text])
    []
    """
    values = all_replaceable_values(sentence, question, contexts, any_unit=True)
    found = []
    for i, item in enumerate(values):
        if _tells_subject(item.value, sentence, is_first_of_several=i == 0 and len(values) > 1):
            continue
        others = item.alternatives
        if is_name(item.value):
            # Of names that stand side by side, either may come first.
            others = tuple(text for text in others if text not in sentence)
        if item.value.kind != CELL:
            others = _as_near(item.value, others, sentence, tuple(contexts))
        if others:
            found.append(Replaceable(item.value, others[:MAX_ALTERNATIVES]))
    return found


def _tells_subject(value: Value, sentence: str, *, is_first_of_several: bool) -> bool:
    """Return whether a value tells what its sentence is about, and not what is said of that."""
    before = _WORD.findall(_NAME_SO_FAR.sub("", sentence[: value.start]).lower())
    if _OPENERS.issuperset(before):
        return True
    return is_first_of_several and is_name(value) and _BEFORE_PREDICATES.isdisjoint(before)


def _as_near(
    value: Value, alternatives: Sequence[str], sentence: str, contexts: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the alternatives whose nearest sentence of the contexts is as near as that of the value.

    Near is a sentence by the weight of the terms that it shares with the rest of the value's sentence; small
    words do not count.
    """
    rest = terms(f"{sentence[: value.start]} {sentence[value.end :]}") - _SMALL_WORDS
    sentences = context_sentences(contexts)
    shared = TermIndex(sentences, rest).shared_weights(rest)
    # Exact: sentences that share terms of the same weights are as near, whichever the terms are.
    nearness = [math.fsum(weights) for weights in shared]
    own = max((nearness[i] for i, found in enumerate(sentences) if _has(found.text, value.text)), default=0.0)
    if own == 0.0:
        return tuple(alternatives)
    # One text, as a context may have thousands of alternatives and of sentences.
    near = "\n".join(found.text for i, found in enumerate(sentences) if nearness[i] >= own)
    return tuple(text for text in alternatives if _has(near, text))


def _has(text: str, value: str) -> bool:
    """Return whether a text has a value as words of its own.

    >>> _has("It has 12 rooms.", "12"), _has("It has 120 rooms.", "12")
    (True, False)
    """
    start = text.find(value)
    while start >= 0:
        end = start + len(value)
        if not _LETTER_OR_DIGIT.intersection(text[max(0, start - 1) : start] + text[end : end + 1]):
            return True
        start = text.find(value, start + 1)
    return False
