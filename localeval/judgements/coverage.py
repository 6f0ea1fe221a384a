"""What a sentence says and the statements written for it leave out: arithmetic on words, no model."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localeval.judgements import lexical
from localeval.judgements.evidence import terms

_CLAUSE = re.compile(r"[,;:](?!\d)|[，；：、（）()]|\s(?:and|but)\s")

LEFT_OUT = 4  # words of a clause that no statement has: "based on the given passages" has fewer
SHARE_LEFT_OUT = 0.6
HAN_PAIR = 0.7  # so that seven characters are a clause, and the six of 根据所给资料 are not


def leaves_out(sentence: str, statements: Sequence[str]) -> bool:
    """Whether a number of the sentence, or most of one of its clauses, stands in none of the statements.

    What only introduces ("Based on the passages, it appears that ...") is short enough to be let pass.

    >>> leaves_out("It opened in 1962.", ["The bridge opened."])
    True
    >>> leaves_out("Ann Lee, who once trained the horses of the circus, left.", ["Ann Lee left."])
    True
    >>> leaves_out("According to passage 2, Ann Lee left.", ["Ann Lee left."])
    False
    """
    said = " ".join(statements)
    if numbers(sentence) - numbers(said):
        return True
    known = terms(said)
    for clause in _CLAUSE.split(sentence):
        words = _words(clause)
        missing = _size(words - known)
        if missing >= LEFT_OUT and missing > SHARE_LEFT_OUT * _size(words):
            return True
    return False


def numbers(text: str) -> frozenset[str]:
    """Its numbers of two digits and more. (A single digit may be the number of a passage or a list item.)

    As `lexical` reads them: 1,200 is 1200, and that of a passage is none.

    >>> sorted(numbers("Passage 12: 1,200 to 1,500 people, 3.5% of 70%"))
    ['1200', '1500', '3.5', '70']
    """
    return frozenset(number for number in lexical.numbers(text) if len(number) > 1)


def _size(words: frozenset[str]) -> float:
    """How many words; a pair of Han characters is less than one."""
    return sum(1 if word.isascii() else HAN_PAIR for word in words)


def _words(text: str) -> frozenset[str]:
    """Its terms without the short ones of alphabets, most of which carry no content."""
    return frozenset(term for term in terms(text) if len(term) > 3 or not term.isascii())
