"""Find qualifiers ("only", "may", "about") that statements lost or added."""

from __future__ import annotations

from collections.abc import Sequence

from localeval.claims.fidelity.clauses import content_keys, parts_of
from localeval.claims.tokens import Token, tokens
from localeval.claims.word_roles import words


def changes_qualifier(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether the statements lost a qualifier of the sentence ("only", "may"), or added one.

    A qualifier is lost if the clause of a statement that has most of what it qualifies has none of its kind.
    A condition ("unless booked") holds for the whole sentence, so it is lost if no statement has one.

    >>> changes_qualifier("At most 50 people may enter.", ["50 people may enter."])
    True
    >>> changes_qualifier("The drug may cause death.", ["The drug can cause death."])
    False
    >>> changes_qualifier("王明是副总经理。", ["王明是总经理。"])
    True
    >>> changes_qualifier("桥长约90米。", ["桥长90米左右。"])
    False
    """
    of_sentence = tokens(sentence)
    stated = [tokens(statement) for statement in statements]
    of_statements = [token for statement in stated for token in statement]
    if _adds_qualifier(of_sentence, of_statements):
        return True
    if _loses_whole(of_sentence, of_statements):
        return True
    parts = [part for statement in stated for part in parts_of(statement)]
    return any(_loses_one(clause, i, parts) for clause in parts_of(of_sentence) for i in range(len(clause)))


def _adds_qualifier(of_sentence: Sequence[Token], of_statements: Sequence[Token]) -> bool:
    """Return whether a statement has a kind of qualifier that neither the sentence has, nor any may add."""
    allowed = _kinds_said(of_sentence) | words().may_be_added
    return any(kind not in allowed for token in of_statements for kind in _kinds(token))


def _loses_whole(of_sentence: Sequence[Token], of_statements: Sequence[Token]) -> bool:
    """Return whether a kind of qualifier that holds for the whole sentence is in no statement."""
    lost = words().of_the_whole - _kinds_said(of_statements)
    return any(kind in lost for token in of_sentence for kind in _kinds(token))


def _kinds(token: Token) -> list[str]:
    """Return the kinds of qualifiers that a token is."""
    return [kind for kind in words().kinds if f"qualifier:{kind}" in token.labels]


def _kinds_said(of_text: Sequence[Token]) -> frozenset[str]:
    """Return the kinds of qualifiers that a text has, or that a word with the same meaning keeps."""
    return frozenset(kind for token in of_text for kind in words().kinds if _has(token, kind))


def _has(token: Token, kind: str) -> bool:
    return f"qualifier:{kind}" in token.labels or f"kept:{kind}" in token.labels


def _loses_one(clause: Sequence[Token], i: int, parts: Sequence[Sequence[Token]]) -> bool:
    """Return whether a qualifier, token `i` of a clause, is lost in the parts of the statements."""
    return any(_is_lost(kind, _scope(kind, clause, i), parts) for kind in _kinds(clause[i]))


def _scope(kind: str, clause: Sequence[Token], i: int) -> frozenset[str]:
    """Return the keys of what token `i` qualifies: the next number, or what follows it in the clause."""
    before = clause[:i]
    after = clause[i + 1 :]
    if kind in words().beside_number:
        numbers_after = [token.key for token in after if token.is_number]
        numbers_before = [token.key for token in before if token.is_number]
        return frozenset(numbers_after[:1] or numbers_before[-1:])
    return content_keys(after) or content_keys(before)


def _is_lost(kind: str, scope: frozenset[str], parts: Sequence[Sequence[Token]]) -> bool:
    """Return whether the parts that have most of what is qualified have no qualifier of this kind."""
    shared = [len(scope & content_keys(part)) for part in parts]
    most = max(shared, default=0)
    if not most or 2 * most < len(scope):
        return False  # the statements omit it altogether
    closest = [part for part, number in zip(parts, shared, strict=True) if number == most]
    return not any(_has(token, kind) for part in closest for token in part)
