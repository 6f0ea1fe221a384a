"""The clauses of a sentence, and what each says by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from localeval.claims.tokens import Token, tokens


@dataclass(frozen=True)
class Clause:
    """One clause of a sentence.

    tokens   its tokens, in order
    content  the keys of its content
    own      the keys of its content that no other clause of the sentence has
    """

    tokens: tuple[Token, ...]
    content: frozenset[str]
    own: frozenset[str]

    @property
    def own_values(self) -> frozenset[str]:
        """The numbers and names that no other clause has."""
        values = (token.key for token in self.tokens if token.is_number or token.is_name)
        return self.own.intersection(values)


def find_clauses(sentence: str) -> list[Clause]:
    """Return the clauses of a sentence, in order."""
    parts = parts_of(tokens(sentence))
    contents = [content_keys(part) for part in parts]
    counts = Counter(key for content in contents for key in content)
    return [
        Clause(part, content, frozenset(key for key in content if counts[key] == 1))
        for part, content in zip(parts, contents, strict=True)
    ]


def parts_of(of_text: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Cut the tokens of a text into clauses. One without content ("Usually, ...") is part of the next one.

    But a "No" behind a question is part of the question.

    >>> [len(part) for part in parts_of(tokens("Is it safe? No, it is toxic."))]
    [4, 3]
    >>> [len(part) for part in parts_of(tokens("Usually, it rains in May, and in June it snows."))]
    [5, 5]
    """
    parts: list[tuple[Token, ...]] = []
    pending: tuple[Token, ...] = ()
    for _, group in groupby(of_text, lambda token: token.clause):
        pending += tuple(group)
        if content_keys(pending):
            parts.append(pending)
            pending = ()
            continue
        is_answer = pending[0].initial and "negation" in pending[0].labels
        if parts and is_answer:
            parts[-1] += pending
            pending = ()
    if pending and parts:
        pending = parts.pop() + pending
    return [*parts, pending] if pending else parts


def content_keys(part: Sequence[Token]) -> frozenset[str]:
    """Return the keys of the tokens that say something by themselves."""
    return frozenset(token.key for token in part if token.is_content)


def number_keys(part: Sequence[Token]) -> frozenset[str]:
    """Return the values of the numbers among the tokens."""
    return frozenset(token.key for token in part if token.is_number)
