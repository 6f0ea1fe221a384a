"""Find statements that lost a negation of their sentence, or negate what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from localeval.claims.fidelity.clauses import Clause, content_keys, find_clauses, parts_of
from localeval.claims.tokens import Token, stem, tokens
from localeval.claims.word_roles import words

# "Only members may enter" says that others may not; so do "unless", "fewer than" and "except".
_LIMITS = frozenset(("qualifier:only", "qualifier:exception", "qualifier:condition", "qualifier:at most"))


def changes_negation(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether a statement lost a negation of the sentence, or has one that the sentence has not.

    >>> changes_negation("Kelvane is not approved in Japan.", ["Kelvane is approved in Japan."])
    True
    >>> changes_negation("The trams do not run on Sunday.", ["The trams can't run on Sunday."])
    False
    >>> changes_negation("A opened, but B did not.", ["A opened.", "B did not open."])
    False
    >>> changes_negation("该药不能用于孕妇。", ["该药能用于孕妇。"])
    True
    >>> changes_negation("桥未建成。", ["桥没有建成。"])
    False
    """
    clauses = find_clauses(sentence)
    return any(_loses_negation(clauses, s) or _adds_negation(clauses, s) for s in map(tokens, statements))


@dataclass(frozen=True)
class _NegatedClause:
    """A clause with a negation, and the keys of what it negates.

    own_scope  what it negates and what stands nowhere else in the sentence
    """

    clause: Clause
    scope: frozenset[str]

    @property
    def own_scope(self) -> frozenset[str]:
        return (self.scope & self.clause.own) - (self.clause.content - self.scope)


def _loses_negation(clauses: Sequence[Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement says what the sentence negates.

    A statement of several clauses may have one negation of the sentence and lack another one: so each of its
    clauses without negation is looked at, too, and must not have all of what a clause negates.
    """
    negated = [_NegatedClause(clause, _negated(clause.tokens)) for clause in clauses]
    negated = [found for found in negated if found.scope]
    if not _negates(statement):
        return _affirms(clauses, negated, statement)
    if len(negated) < 2:
        return False
    affirmed = [content_keys(part) for part in parts_of(statement) if not _negates(part)]
    own_scopes = [found.own_scope for found in negated if found.own_scope]
    return any(own_scope <= content for own_scope in own_scopes for content in affirmed)


def _negates(part: Sequence[Token]) -> bool:
    return any(token.negates for token in part)


def _affirms(
    clauses: Sequence[Clause], negated: Sequence[_NegatedClause], statement: Sequence[Token]
) -> bool:
    """Return whether a statement without any negation says what a clause negates."""
    stated = content_keys(statement)
    unprefixed = frozenset(key for token in statement for key in _without_prefix(token))
    affirmed = [clause for clause in clauses if not _negated(clause.tokens)]
    stated_own = frozenset(key for clause in clauses for key in clause.own) & stated
    for found in negated:
        if found.scope & unprefixed:
            continue
        from_others = stated_own - found.clause.own
        if _says_scope(found, stated, from_others) or _says_clause(found, stated, affirmed):
            return True
    return False


def _says_scope(found: _NegatedClause, stated: frozenset[str], from_others: frozenset[str]) -> bool:
    """Return whether a statement has all that only this clause negates, or half and nothing of others."""
    said = found.own_scope & stated
    if not said:
        return False
    return said == found.own_scope or (2 * len(said) >= len(found.own_scope) and not from_others)


def _says_clause(found: _NegatedClause, stated: frozenset[str], affirmed: Sequence[Clause]) -> bool:
    """Return whether a statement says what the negated clause says, and not what another one affirms."""
    clause = found.clause
    if found.scope & stated and _fits(stated, [clause]) and not _fits(stated, affirmed):
        return True
    # "approved in Korea", of "approved in Japan, and not approved in Korea"
    has_all = bool(clause.own) and found.scope | clause.own <= stated
    return has_all and not any(other.own and other.own <= stated for other in affirmed)


def _adds_negation(clauses: Sequence[Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement negates what the sentence does not."""
    scope = _negated(statement, grammar_only=True)
    if not scope:
        return False
    of_sentence = [token for clause in clauses for token in clause.tokens]
    if any(scope.intersection(_without_prefix(token)) for token in of_sentence):
        return False  # "invalid" for "not valid"
    if not any(token.negates or not token.labels.isdisjoint(_LIMITS) for token in of_sentence):
        return True
    negated = [clause for clause in clauses if _negates(clause.tokens)]
    affirmed = [clause for clause in clauses if not _negates(clause.tokens)]
    if not negated:
        return False
    stated = content_keys(statement)
    from_negated = any(clause.content <= stated for clause in negated) or _fits(stated, negated)
    return _fits(stated, affirmed) and not from_negated


def _negated(clause: Sequence[Token], grammar_only: bool = False) -> frozenset[str]:
    """Return the content that a clause negates: behind its first negation, or before one that ends it.

    "No, ..." answers. It negates the question before it, if there is one, and nothing of its own clause.
    """
    for i, token in enumerate(clause):
        if "negation" in token.labels or (token.negates and not grammar_only):
            is_answer = token.word == "no" and (i + 1 == len(clause) or clause[i + 1].after_mark)
            if is_answer and i > 0:
                return content_keys(clause[:i])
            if not is_answer:
                return content_keys(clause[i + 1 :]) or content_keys(clause[:i])
    return frozenset()


def _without_prefix(token: Token) -> list[str]:
    """Return the key of a word without a prefix that negates: of "valid" for "invalid"."""
    if token.is_han:
        return []
    prefixes = [prefix for prefix in words().negative_prefixes if token.word.startswith(prefix)]
    return [stem(token.word.removeprefix(prefix)) for prefix in prefixes]


def _fits(stated: frozenset[str], clauses: Sequence[Clause]) -> bool:
    """Return whether one of the clauses has all content of a statement."""
    return any(stated <= clause.content for clause in clauses)
