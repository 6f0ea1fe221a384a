"""Find what statements leave out of the sentence from which they were written."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from localeval.claims.fidelity.clauses import find_clauses
from localeval.claims.sources import source_terms, unsupported_numbers
from localeval.claims.tokens import Token, tokens

# Share of a clause's content above which, if no statement has it, the clause is missing.
_MAX_MISSING_SHARE = 0.6
# A word weighs as much as two Han characters.
_WORD_WEIGHT = 2
_HAN_WEIGHT = 1
_MIN_MISSING_WEIGHT = 2


def omits(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether a number, a name or a clause of the sentence is in no statement.

    A clause is in none if more than three fifths of its content are in none. Words that lead in ("based on
    the passages", "therefore") are no content, nor is the number of a passage.

    >>> omits("The mill was built in 1820 and Bob jailed its owner.", ["The mill was built in 1820."])
    True
    >>> omits("According to passage 2, it appears that Ann left.", ["Ann left."])
    False
    >>> omits("王明是总经理，曾因诈骗入狱。", ["王明是总经理。"]), omits("此外，桥长七米。", ["桥长7米。"])
    (True, False)
    """
    if unsupported_numbers(sentence, source_terms(tuple(statements))):
        return True
    of_sentence = tokens(sentence)
    stated = frozenset(token.key for statement in statements for token in tokens(statement))
    # A run of Han characters may be cut in another way: 二百 of 二百五十.
    text = " ".join(statements)
    for i, token in enumerate(of_sentence):
        if token.key in stated or token.word in text:
            continue
        is_number_in_words = token.is_number and not token.shown[0].isdigit()
        if is_number_in_words or (token.is_name and _is_certain_name(of_sentence, i)):
            return True
    return any(_is_missing(clause.tokens, stated) for clause in find_clauses(sentence))


def _is_certain_name(of_sentence: Sequence[Token], i: int) -> bool:
    """Return whether a word with a capital is a name. The first word of a sentence has one anyway."""
    token = of_sentence[i]
    if not token.initial or token.shown[1:].isupper():
        return True
    return i + 1 < len(of_sentence) and of_sentence[i + 1].is_name


def _is_missing(clause: Sequence[Token], stated: Collection[str]) -> bool:
    content = [token for token in clause if token.is_content]
    missing = [token for token in content if token.key not in stated]
    weight = sum(map(_weight, missing))
    return weight >= _MIN_MISSING_WEIGHT and weight > _MAX_MISSING_SHARE * sum(map(_weight, content))


def _weight(token: Token) -> int:
    return _HAN_WEIGHT if token.is_han else _WORD_WEIGHT
